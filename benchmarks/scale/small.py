"""Warm solves of 3,000 rows of 5 classes, and what `expect` adds to them.

    python benchmarks/scale/small.py [--rows 3000] [--repeats 7]

Times are CPU seconds of the whole default call on one thread, the best of some calls for each of three data sets after
one that loads what is needed (``first.py`` has that one); printed is the mean of the three. Probabilities are sharper
than they should be, so that labels disagree with them. "expect" is what ``expect=True`` adds, in solves without it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import suppress

import numpy as np
from rows import arrays

import metricfit as mf

CLASSES, SHARPER, SETS = 5, 1.4, 3
# Objective, constraints, bars in seconds and of "expect" in solves.
CASES = [
    ("g_mean", (), 0.15),
    ("macro_f1", (), 0.15),
    ("h_mean", ("coverage(1) <= {coverage:.3f}",), 0.15),
    ("g_mean", ("precision(1) >= {precision:.3f}",), 0.15),
    ("macro_f1", ("recall(0) >= {recall:.3f}",), 0.15),
    ("g_mean", ("precision(1) >= {precision:.3f}", "recall(0) >= {recall:.3f}"), None),
    ("g_mean", ("precision(1) >= 0.999", "recall(1) >= 0.999"), None),
]
SOLVES = 3.0


def data(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Return probabilities, labels, and limits that a policy can just keep: a little above what argmax reaches."""
    proba, y = arrays(SETS * rows, CLASSES)
    some = slice(seed * rows, (seed + 1) * rows)
    proba, y = proba[some].astype(float) ** SHARPER, y[some]
    proba /= proba.sum(axis=1, keepdims=True)
    plain = mf.Confusion.from_predictions(y, proba.argmax(axis=1), classes=range(CLASSES))
    limits = {
        "precision": mf.precision(1)(plain) + 0.02,
        "recall": mf.recall(0)(plain) + 0.02,
        "coverage": 0.9 * mf.coverage(1)(plain),
    }
    return proba, y, limits


def seconds(work, repeats: int) -> float:
    """Return the shortest CPU time of some repeats after one."""
    taken = []
    for _ in range(repeats + 1):
        started = time.process_time()
        with suppress(mf.InfeasibleError):
            work()
        taken.append(time.process_time() - started)
    return min(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'problem':70} {'solve s':>8} {'bar':>5} {'expect':>7} {'bar':>4}")
    for objective, constraints, bar in CASES:
        alone, judged = [], []
        for seed in range(SETS):
            proba, y, limits = data(options.rows, seed)
            kept = [text.format(**limits) for text in constraints]

            def solve(expect: bool, proba=proba, y=y, kept=kept, objective=objective):
                return mf.optimize(proba, y, objective, kept, classes=range(CLASSES), expect=expect)

            alone.append(seconds(lambda: solve(False), options.repeats))
            judged.append(seconds(lambda: solve(True), max(1, options.repeats // 2)))
        name = " ".join([objective, *constraints])
        print(
            f"{name:70} {np.mean(alone):8.3f} {bar or '':>5} {np.mean(judged) / np.mean(alone) - 1:7.2f} {SOLVES:4.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
