"""Solves with many groups and classes: the default call, and the countings it chooses between.

    python benchmarks/scale/groups.py [--case odds] [--world labels] [--seconds 120]

G-mean under demographic parity of 20 groups x 10 classes (60,000 rows), and accuracy under equalized odds of 30 groups
x 8 classes: rows whose groups differ in what they look like, and rows with probabilities drawn at random, where each
class of a group has 25 rows. Times are CPU seconds on one thread, of the first and the second of two solves.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import metricfit as mf

WORLDS = ("auto", "calibrated", "labels")
# Rows, groups, classes, whether probabilities are drawn at random, objective, constraint, bar in seconds.
CASES = {
    "parity": (60_000, 20, 10, False, "g_mean", mf.demographic_parity(over="group") <= 0.05, 2.0),
    "odds 30,000": (30_000, 30, 8, False, "accuracy", mf.equalized_odds(over="group") <= 0.05, 5.0),
    "odds 6,000": (6_000, 30, 8, False, "accuracy", mf.equalized_odds(over="group") <= 0.1, 5.0),
    "odds random .3": (6_000, 30, 8, True, "accuracy", mf.equalized_odds(over="group") <= 0.3, 5.0),
    "odds random .05": (6_000, 30, 8, True, "accuracy", mf.equalized_odds(over="group") <= 0.05, 5.0),
}


def data(rows: int, groups: int, classes: int, drawn: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities, labels and groups."""
    random = np.random.default_rng(0)
    group = random.integers(0, groups, rows)
    if drawn:
        proba = random.dirichlet(np.ones(classes), rows)
        y = (proba.cumsum(axis=1) < random.random((rows, 1))).sum(axis=1).clip(max=classes - 1)
        return proba, y, group
    prior = random.dirichlet(np.full(classes, 3.0))
    y = random.choice(classes, rows, p=prior)
    x = random.normal(size=(rows, classes)) + 0.5 * random.normal(size=(groups, classes))[group]
    x[np.arange(rows), y] += 1.5
    logits = 1.5 * x + np.log(prior)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True), y, group


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", default="", help="text in the name of a case")
    parser.add_argument("--world", choices=WORLDS, action="append")
    parser.add_argument("--seconds", type=float, default=None, help="budget of a solve")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'case':16} {'confusion':10} {'first s':>8} {'solve s':>8} {'bar':>4} {'calls':>6} {'value':>8} "
        f"{'limit':>7} status"
    )
    for name, (rows, groups, classes, drawn, objective, limit, bar) in CASES.items():
        if options.case not in name:
            continue
        proba, y, group = data(rows, groups, classes, drawn)
        for world in options.world or WORLDS:
            taken = []
            for _ in range(2):
                started = time.process_time()
                result = mf.optimize(
                    proba,
                    y,
                    objective,
                    limit,
                    sensitive_features=group,
                    counting=world,
                    max_seconds=options.seconds,
                )
                taken.append(time.process_time() - started)
            kept = result.constraints[0].value
            print(
                f"{name:16} {world:10} {taken[0]:8.2f} {taken[1]:8.2f} {bar:4.0f} {result.n_oracle_calls:6d} "
                f"{result.value:8.5f} {kept:7.4f} {result.status}; {result.choice}",
                flush=True,
            )


if __name__ == "__main__":
    main()
