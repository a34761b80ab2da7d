"""Quadratic kappa against the usual rounder: thresholds on a score, found by Nelder-Mead.

    python benchmarks/peers/kappa.py [--seeds 3]

Grades lie along a bow, so a regression cannot follow them all; the rounder is also given the expected grade from
the same class probabilities that metricfit gets. Seconds are processor time, on one thread, of the whole default call
that finds the decisions, the best of some after a first one, which is printed too; models are not counted.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

# Before NumPy is imported: idle threads of a linear algebra library spin, and that is counted as processor time.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from data import grades
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import cohen_kappa_score

import metricfit as mf

SIZES, CLASSES = (20_000, 100_000), 6
Decide = Callable[[np.ndarray], np.ndarray]


def kappa(y: np.ndarray, decided: np.ndarray) -> float:
    return float(cohen_kappa_score(y, decided, weights="quadratic"))


def rounder(score: np.ndarray, y: np.ndarray) -> Decide:
    """Return the decisions of thresholds that Nelder-Mead finds, from those half way between the grades."""

    def cut(score: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.sort(thresholds), score)

    start = np.arange(CLASSES - 1) + 0.5
    found = minimize(lambda t: -kappa(y, cut(score, t)), start, method="Nelder-Mead").x
    return lambda score: cut(score, found)


def policy(proba: np.ndarray, y: np.ndarray) -> Decide:
    found = mf.optimize(proba, y, mf.cohen_kappa(weights="quadratic")).policy
    return lambda rows: found.decide(rows)


def timed(
    tool: Callable[[np.ndarray, np.ndarray], Decide], x: np.ndarray, y: np.ndarray, repeats: int
) -> tuple[Decide, float, float]:
    """Return what was found, the fewest seconds, and those of the first call."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        decide = tool(x, y)
        seconds.append(time.process_time() - start)
    return decide, min(seconds), seconds[0]


def compare(size: int, seed: int) -> bool:
    x, y = grades(3 * size, CLASSES, seed)
    train, fit, new = (slice(i * size, (i + 1) * size) for i in range(3))
    classifier = LogisticRegression(max_iter=1000).fit(x[train], y[train])
    regression = LinearRegression().fit(x[train], y[train])
    proba = classifier.predict_proba(x)
    tools = {
        "rounder, regression": (rounder, regression.predict(x), 1),
        "rounder, expected grade": (rounder, proba @ np.arange(CLASSES), 1),
        "metricfit": (policy, proba, 6),
    }
    found = {name: (*timed(tool, s[fit], y[fit], repeats), s) for name, (tool, s, repeats) in tools.items()}
    rows = {
        name: (kappa(y[fit], decide(s[fit])), kappa(y[new], decide(s[new])), seconds)
        for name, (decide, seconds, _, s) in found.items()
    }
    rows = {
        "argmax": (kappa(y[fit], proba[fit].argmax(1)), kappa(y[new], proba[new].argmax(1)), np.nan),
        **rows,
    }
    for name, (on_fit, on_new, seconds) in rows.items():
        times = seconds / rows["metricfit"][2]
        print(f"{size:7d}  {seed:4d}  {name:24s} {on_fit:.4f}  {on_new:.4f}  {seconds:8.3f}  {times:6.1f}")
    print(f"{'':14s}first call {found['metricfit'][2]:.2f} s\n", flush=True)
    return rows["metricfit"][1] > rows["rounder, expected grade"][1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    print(f"quadratic kappa of {CLASSES} grades, as many new rows as rows to fit")
    print("   rows  seed  tool                     fit     new      seconds  times ours")
    kept = [compare(size, seed) for size in SIZES for seed in range(seeds)]
    print(f"higher on new rows than the rounder on the expected grade in {sum(kept)} of {len(kept)} runs")


if __name__ == "__main__":
    main()
