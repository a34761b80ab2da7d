"""How close ``randomize="never"`` comes to the mixture it stands for.

For each of some generated problems with continuous probabilities (two to four classes, one to three groups, six
objectives, six kinds of constraints): the loss of value of one rule per cell against the mixture, and by how much it
breaks a limit that the mixture keeps, on the rows that the policy was fitted on.

    python benchmarks/trust/never.py --problems 50 --counting labels calibrated model
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import metricfit as mf

OBJECTIVES = ("g_mean", "accuracy", "h_mean", "macro_f1", "balanced_accuracy", "q_mean")
LIMITS = ("recall", "precision", "coverage", "parity", "opportunity", "recall and coverage")


def problem(seed: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, str, str]:
    """Return probabilities, labels, groups, the objective and the kind of constraint of a problem."""
    rng = np.random.default_rng(seed)
    classes, groups = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    objective, kind = OBJECTIVES[seed % len(OBJECTIVES)], LIMITS[int(rng.integers(len(LIMITS)))]
    if kind in ("parity", "opportunity"):
        groups = max(groups, 2)
    y = rng.choice(classes, size, p=rng.dirichlet(np.full(classes, 3.0)))
    group = rng.choice(groups, size, p=rng.dirichlet(np.full(groups, 5.0)))
    middles = rng.normal(scale=0.8, size=(classes, 3))
    X = middles[y] + rng.normal(size=(size, 3)) + 0.4 * rng.normal(size=(groups, 3))[group]
    far = ((X[:, None] - middles) ** 2).sum(-1)
    shown = np.exp(-rng.uniform(0.3, 0.7) * far)
    return shown / shown.sum(1, keepdims=True), y, group if groups > 1 else None, objective, kind


def limits(kind: str, free: mf.Confusion) -> list:
    """Return constraints that bind: a little more than is kept without them."""
    last = free.values.shape[1] - 1
    recall, coverage = mf.recall(last), mf.coverage(last)
    floor = recall >= min(recall(free) + 0.06, 0.97)
    match kind:
        case "recall":
            return [floor]
        case "precision":
            precision = mf.precision(last)
            return [precision >= min(precision(free) + 0.05, 0.97)]
        case "coverage":
            return [coverage <= 0.8 * coverage(free)]
        case "parity":
            metric = mf.demographic_parity(over="group")
            return [metric <= 0.5 * metric(free)]
        case "opportunity":
            metric = mf.equal_opportunity(over="group", c=last)
            return [metric <= 0.5 * metric(free)]
    return [recall >= min(recall(free) + 0.03, 0.97), coverage <= 1.05 * coverage(free)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the first problem's seed")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--counting", nargs="+", default=["labels", "calibrated", "model"])
    parser.add_argument(
        "--show", type=float, default=0.003, help="print problems that lose or break more than this"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for kind in options.counting:
        lost, broken, mixed, infeasible, seconds = [], [], 0, 0, time.process_time()
        for seed in range(options.first, options.first + options.problems):
            proba, y, group, objective, limit = problem(seed, options.rows)
            common = {"sensitive_features": group, "counting": kind, "classes": range(proba.shape[1])}
            free = mf.optimize(proba, y, objective, **common)
            asked = limits(limit, free.confusion)
            try:
                result = mf.optimize(proba, y, objective, asked, start=free, **common)
            except mf.InfeasibleError:
                infeasible += 1
                continue
            alone = result.deterministic
            mixed += alone is not None
            excess = max(0.0, *(record.violation for record in result.constraints))
            lost.append(0.0 if alone is None else alone.loss)
            broken.append(0.0 if alone is None else max(0.0, alone.violation - excess))
            if max(lost[-1], broken[-1]) > options.show:
                shape = f"{proba.shape[1]} classes, {1 if group is None else group.max() + 1} groups"
                print(
                    f"  {seed}: {objective}, {limit}, {shape}: lost {lost[-1]:.4f}, broken {broken[-1]:.4f}",
                    flush=True,
                )
        print(
            f"{kind:10} {len(lost)} problems ({infeasible} infeasible), {mixed} with mixtures: "
            f"lost {np.mean(lost):.5f}, at most "
            f"{max(lost):.4f}; broken {np.mean(broken):.5f}, at most {max(broken):.4f}; "
            f"{time.process_time() - seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
