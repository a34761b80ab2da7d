"""What `result.expected` costs beside the solve itself, in CPU time: the bar is 3 solves.

For each problem, draws of rows from a population with several classes. Each is solved with ``expect=True`` and without;
a time is the shortest of ``--repeats``, because other work on the machine only adds to it. Printed: the median of the
solve's seconds, and median and largest of the cost in solves.

    python benchmarks/trust/expected_cost.py --rows 3000 --classes 5 --draws 11
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from populations import several_classes

import metricfit as mf

PROBLEMS = {
    "macro_f1": ("macro_f1", []),
    "micro_f1": ("micro_f1(default=0)", []),
    "g_mean": ("g_mean", []),
    "h_mean, coverage": ("h_mean", [mf.coverage(0) <= 0.3]),
    "g_mean, precision floor": ("g_mean", [mf.precision(0) >= 0.6]),
}


def seconds(
    repeats: int, proba: np.ndarray, y: np.ndarray, objective: str, limits: list, **more: bool
) -> float:
    """Return the CPU time of a solve, the shortest of some."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        mf.optimize(proba, y, objective, limits, classes=range(proba.shape[1]), **more)
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--draws", type=int, default=11)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    whole = several_classes(options.classes)
    for name, (objective, limits) in PROBLEMS.items():
        solves, costs = [], []
        for draw in range(options.draws):
            part = whole.draw(options.rows, draw)
            case = (options.repeats, part.proba, part.y, objective, limits)
            try:
                if not draw:
                    seconds(*case, expect=True)  # compiles and imports
                solves.append(seconds(*case))
            except mf.InfeasibleError:
                continue
            costs.append(seconds(*case, expect=True) / solves[-1] - 1)
        print(
            f"{name}: solve {np.median(solves):.3f} s, expected {np.median(costs):.2f} solves, at most {max(costs):.2f}"
        )


if __name__ == "__main__":
    main()
