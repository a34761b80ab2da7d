"""Rows larger than memory: passes over the data, seconds and resident memory of whole solves from disk.

    python benchmarks/scale/disk.py --rows 10000000

The bars are 12 passes and 1 GB. A pass is one read of all probabilities, the first of which checks them. Every solve
runs in a process of its own, whose largest resident memory is measured by the system.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rows import blocks, resident

PASSES, MEMORY = 12, 1.0
PROBLEMS = {
    "h_mean": ("h_mean", ()),
    "g_mean": ("g_mean", ()),
    "h_mean under a coverage constraint": ("h_mean", ("coverage_deviation() <= 0.02",)),
}


def write(folder: Path, rows: int, classes: int, parquet: bool) -> None:
    need = rows * classes * 4 * 1.1
    free = shutil.disk_usage(folder).free
    if need > free:
        sys.exit(
            f"{rows} rows need {need / 1e9:.1f} GB but {folder} has {free / 1e9:.1f} GB; pass fewer --rows"
        )
    if parquet:
        import pyarrow as pa
        import pyarrow.parquet as pq

        writer = None
        for y, x in blocks(rows, classes):
            table = pa.table({"y": y, **{f"p_{i}": np.ascontiguousarray(x[:, i]) for i in range(classes)}})
            writer = writer or pq.ParquetWriter(folder / "scores.parquet", table.schema, use_dictionary=["y"])
            writer.write_table(table)
        writer.close()
        return
    proba = np.lib.format.open_memmap(folder / "proba.npy", "w+", np.float32, (rows, classes))
    labels = np.empty(rows, np.int16)
    start = 0
    for y, x in blocks(rows, classes):
        proba[start : start + len(y)], labels[start : start + len(y)] = x, y
        start += len(y)
    proba.flush()
    np.save(folder / "y.npy", labels)


def solve(folder: Path, problem: str, confusion: str, threads: int) -> None:
    """Solve and print what it cost; meant to be all that a process does."""
    import metricfit as mf
    from metricfit.oracles.choice import oracle_for
    from metricfit.problem import Problem
    from metricfit.solving import solve as run

    if (folder / "proba.npy").exists():
        proba, y = np.load(folder / "proba.npy", mmap_mode="r"), np.load(folder / "y.npy")
    else:
        proba, y = mf.scores(folder / "scores.parquet", label="y", proba_prefix="p_"), None
    started = time.perf_counter()
    oracle = oracle_for(proba, y, counting=confusion, threads=threads)
    checked = time.perf_counter() - started
    result = run(Problem.of(*PROBLEMS[problem]), oracle)
    print(
        json.dumps(
            {
                "problem": problem,
                "counting": confusion,
                "status": result.status,
                "value": result.value,
                "gap": result.gap,
                "calls": result.n_oracle_calls,
                # The default reads through oracles of its own.
                "passes": None if confusion == "auto" else oracle.passes,
                "seconds": time.perf_counter() - started,
                "first_pass": checked,
                "gigabytes": resident(),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parquet", action="store_true", help="write Parquet in place of .npy")
    parser.add_argument("--folder", type=Path, help="where to write the data; a temporary folder by default")
    parser.add_argument("--problem", choices=PROBLEMS, action="append")
    parser.add_argument("--counting", choices=("auto", "model", "labels"), action="append")
    parser.add_argument("--solve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    problems, confusions = options.problem or list(PROBLEMS), options.counting or ["auto", "model"]
    if options.solve:
        solve(options.folder, problems[0], confusions[0], options.threads)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write(folder, options.rows, options.classes, options.parquet)
        print(f"{options.rows} x {options.classes} float32, {'Parquet' if options.parquet else '.npy'}")
        print(
            f"{'problem':36} {'confusion':9} {'status':9} {'gap':>8} calls passes seconds  a pass   GB  bars"
        )
        for problem in problems:
            for confusion in confusions:
                command = [sys.executable, __file__, "--solve", "--folder", name, "--problem", problem]
                command += ["--counting", confusion, "--threads", str(options.threads)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                found = json.loads(done.stdout)
                kept = (found["passes"] or 0) <= PASSES and found["gigabytes"] <= MEMORY
                each = ""
                if found["passes"]:
                    each = f"{(found['seconds'] - found['first_pass']) / max(found['passes'] - 1, 1):.2f}"
                print(
                    f"{problem:36} {confusion:9} {found['status']:9} {found['gap']:8.1e} {found['calls']:5d} "
                    f"{found['passes'] or '':>6} {found['seconds']:7.1f} {each:>7} {found['gigabytes']:5.2f}  "
                    f"{'kept' if kept else 'MISSED'}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
