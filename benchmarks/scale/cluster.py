"""A Dask cluster of two workers against two threads in memory: whole solves of the same problem on the same rows.

    python benchmarks/scale/cluster.py --rows 4000000

The bar is 1.5 times the time in memory. Blocks are made on the workers and persisted there before the clock starts, as
a user's are; checking them, all calls and the final tensor are timed, on both sides. Both have solved a smaller problem
before, so that neither waits for compiled code to be loaded. Of so many rows a sample is solved first, of the same rows
on both sides, so that values differ by rounding only.
"""

from __future__ import annotations

import argparse
import time

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from rows import blocks

import metricfit as mf

BAR = 1.5


def block(number: int, rows: int, classes: int) -> np.ndarray:
    """Return labels (first column) and probabilities of one block."""
    y, x = next(blocks(rows, classes, seed=number))
    return np.column_stack([y, x]).astype(np.float32)


def collection(rows: int, classes: int, count: int) -> tuple[da.Array, da.Array]:
    import dask

    parts = [
        da.from_delayed(
            dask.delayed(block)(number, rows // count, classes), (rows // count, classes + 1), np.float32
        )
        for number in range(count)
    ]
    whole = da.concatenate(parts)
    return whole[:, 1:].map_blocks(np.ascontiguousarray), whole[:, 0].astype(np.int32)


def timed(*arguments, **options) -> tuple[float, mf.Result]:
    started = time.perf_counter()
    result = mf.optimize(*arguments, **options)
    return time.perf_counter() - started, result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--problem", default="h_mean")
    options = parser.parse_args()
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        small = collection(400_000, options.classes, 4)
        proba, y = client.persist(collection(options.rows, options.classes, options.blocks))
        in_memory = np.ascontiguousarray(proba.compute()), y.compute()
        print(f"{options.rows} x {options.classes} float32 in {options.blocks} blocks, {options.problem}")
        print(f"{'confusion':9} {'status':8} calls  memory  cluster  ratio  bar {BAR}  values differ by")
        for confusion in ("auto", "model"):
            solve = {"objective": options.problem, "counting": confusion}
            timed(*small, **solve)
            timed(*(part.compute() for part in small), n_jobs=2, **solve)
            seconds = []
            for _ in range(options.repeats):
                memory, expected = timed(*in_memory, n_jobs=2, **solve)
                spread, found = timed(proba, y, **solve)
                seconds.append((memory, spread))
            memory, spread = np.min(seconds, axis=0)
            print(
                f"{confusion:9} {found.status:8} {found.n_oracle_calls:5d} {memory:7.2f} {spread:8.2f} "
                f"{spread / memory:6.2f}  {'kept  ' if spread <= BAR * memory else 'MISSED'}   "
                f"{found.value - expected.value:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
