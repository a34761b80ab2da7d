"""What a new process costs: importing metricfit, the first and the second solve, and `metricfit fit` on a small table.

    python benchmarks/scale/first.py [--rows 3000]

CPU seconds, the best of three processes each, and which large libraries were loaded by the end: a small problem should
need neither numba nor CVXPY nor scikit-learn. A large problem loads compiled code: the last line has its first solve in
the first process after an install, which compiles, and in a later one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARIES = ("numba", "cvxpy", "sklearn", "pandas", "matplotlib", "scipy.optimize", "highspy", "clarabel")
PROCESSES = 3
SMALL, LARGE = '"g_mean", ["precision(1) >= 0.8"]', '"h_mean"'
SOLVES = """
import json, sys, time
started = time.process_time()
import metricfit as mf
imported = time.process_time()
sys.path.insert(0, {folder!r})
from rows import arrays
proba, y = arrays({rows}, {classes})
proba = proba.astype(float) ** 1.4
proba /= proba.sum(axis=1, keepdims=True)
taken = [imported - started]
for _ in range(2):
    before = time.process_time()
    mf.optimize(proba, y, {problem})
    taken.append(time.process_time() - before)
print(json.dumps([taken, [name for name in {libraries!r} if name in sys.modules]]))
"""


def command_line(rows: int) -> float:
    """Return the CPU seconds of the children that fit a table."""
    from rows import arrays

    proba, y = arrays(rows, 5)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "scores.csv"
        lines = ["y," + ",".join(f"p_{i}" for i in range(5))]
        lines += [
            f"{label}," + ",".join(f"{p:.9g}" for p in row) for label, row in zip(y, proba, strict=True)
        ]
        table.write_text("\n".join(lines))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        asked = ["--label", "y", "--proba-prefix", "p_", "--maximize", "g_mean"]
        asked += ["--out", str(Path(folder) / "policy.json")]
        subprocess.run(
            [sys.executable, "-m", "metricfit", "fit", str(table), *asked], check=True, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def process(problem: str, rows: int, classes: int, **environment: str) -> tuple[list[float], list[str]]:
    """Return the seconds of the import and of two solves in a new process, and what it loaded."""
    folder = str(Path(__file__).parent)
    code = SOLVES.format(folder=folder, rows=rows, classes=classes, libraries=LIBRARIES, problem=problem)
    made = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ | environment
    )
    return json.loads(made.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3000)
    rows = parser.parse_args().rows
    found = [process(SMALL, rows, 5) for _ in range(PROCESSES)]
    best = [min(taken[i] for taken, _ in found) for i in range(3)]
    print(f"import metricfit {best[0]:.2f} s, first solve {best[1]:.2f} s, second {best[2]:.2f} s")
    print(f"loaded: {', '.join(found[0][1])}")
    print(
        f"metricfit fit, {rows:,} rows of 5 classes: {min(command_line(rows) for _ in range(PROCESSES)):.2f} s"
    )
    with tempfile.TemporaryDirectory() as empty:
        cold, warm = (process(LARGE, 400_000, 7, NUMBA_CACHE_DIR=empty)[0] for _ in range(2))
    print(
        f"H-mean of 400,000 x 7: first solve {cold[1]:.2f} s when it compiles, else {warm[1]:.2f} s, "
        f"second {warm[2]:.2f} s"
    )


if __name__ == "__main__":
    main()
