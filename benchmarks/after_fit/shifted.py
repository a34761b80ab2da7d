"""Shifted classes: how much of what labels of the new population give is recovered without them; and the intervals.

For each data set a logistic regression is fitted, and a policy tuned for macro-F1. New rows have the odds of the rarest
class multiplied or divided by 2 to 5. The old policy, `Result.adapt` on unlabelled new rows, and a policy tuned on as
many labelled new rows are judged on other new rows.

    python benchmarks/after_fit/shifted.py
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf

SETS = ("adult", "default", "satimage", "covtype", "compas")


def shifted(rng: np.random.Generator, y: np.ndarray, target: int, factor: float, rows: int) -> np.ndarray:
    """Return places of rows, drawn with replacement, in which the odds of a class are multiplied."""
    weights = np.where(y == target, factor, 1.0)
    return rng.choice(len(y), rows, p=weights / weights.sum())


def merit(policy: mf.Policy, proba: np.ndarray, y: np.ndarray) -> float:
    """Return macro-F1 on labelled rows."""
    return float(policy.evaluate(proba, y, "macro_f1()")["value"][0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    covered = intervals = 0
    totals = np.zeros(3)
    for name in options.sets:
        found = mf.datasets.load(name)
        X, y = np.asarray(found.X, float), np.unique(np.asarray(found.y), return_inverse=True)[1]
        sums = np.zeros(3)
        for seed in range(options.seeds):
            rng = np.random.default_rng([seed, len(y)])
            order = rng.permutation(len(y))[:30_000]
            model, tune, unseen, judge = np.split(
                order, (np.array([0.3, 0.55, 0.75]) * order.size).astype(int)
            )
            scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X[model], y[model])
            tune = tune[: options.rows]
            target = int(np.argsort(np.bincount(y))[0])
            result = mf.optimize(scaled.predict_proba(X[tune]), y[tune], "macro_f1")
            for factor in (0.2, 0.35, 2.0, 5.0):
                new = unseen[shifted(rng, y[unseen], target, factor, options.rows)]
                other = judge[shifted(rng, y[judge], target, factor, 20_000)]
                proba = scaled.predict_proba(X[new])
                adapted = result.adapt(proba)
                shares = mf.class_shares(result.policy, proba)
                true = np.bincount(y[unseen], np.where(y[unseen] == target, factor, 1.0))
                true = true / true.sum()
                covered += int(np.sum((shares["low"] <= true) & (true <= shares["high"])))
                intervals += true.size
                labelled = mf.optimize(proba, y[new], "macro_f1")
                judged = [
                    merit(one.policy, scaled.predict_proba(X[other]), y[other])
                    for one in (result, adapted, labelled)
                ]
                sums += judged
        old, without, with_labels = sums / (options.seeds * 4)
        totals += sums / (options.seeds * 4)
        share = (without - old) / (with_labels - old)
        print(
            f"{name}: as it was {old:.4f}, adapted {without:.4f}, labels {with_labels:.4f}: recovered {share:.0%}"
        )
    old, without, with_labels = totals / len(options.sets)
    print(f"all: recovered {(without - old) / (with_labels - old):.0%}")
    print(f"95 % intervals of shares contain the true one in {covered / intervals:.3f} of {intervals}")


if __name__ == "__main__":
    main()
