"""What the single rule of exports loses beside the mixture, on real data, on the fitted rows and on new ones.

For each data set, model and split: a floor on the precision of a rare class and of a middle one, above what is reached
without it, on up to 2,500 rows; judged by labels on the others. Probabilities are cross-fitted.

    METRICFIT_DATA=... python benchmarks/trust/single_rules.py --data macho satimage --splits 6
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf

DATA = ("macho", "pageblocks", "satimage", "abalone", "crimes", "compas", "adult", "covtype")
MOST, FITTED = 6_500, 2_500
OBJECTIVES = ("g_mean", "macro_f1", "h_mean", "balanced_accuracy")


def probabilities(name: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the cross-fitted probabilities of two models, and the labels."""
    data = mf.datasets.load(name)
    X, y = np.nan_to_num(np.asarray(data.X, float)), np.asarray(data.y, int)
    X = np.sign(X) * np.log1p(np.abs(X)) if name == "macho" else X
    some = np.random.default_rng(0).permutation(len(y))[:MOST]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    models = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "boosted": HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0),
    }
    for kind, model in models.items():
        yield kind, cross_val_predict(model, X[some], y[some], cv=folds, method="predict_proba"), y[some]


def alone(policy: mf.Policy) -> mf.Policy:
    """Return the policy of the single rules."""
    places = zip(policy.rules, policy.single, strict=True)
    return replace(
        policy, rules=tuple((replace(mixture[at], weight=1.0),) for mixture, at in places), single=()
    )


def judged(
    policy: mf.Policy, proba: np.ndarray, y: np.ndarray, objective: str, floor: Any
) -> tuple[float, float]:
    """Return the objective of a policy on labelled rows, and by how much it misses the floor."""
    chances = policy.decision_proba(proba)
    tensor = np.zeros((1, proba.shape[1], chances.shape[1]))
    np.add.at(tensor[0], y, chances)
    confusion = mf.Confusion(tensor / tensor.sum(), policy.axes)
    return mf.parse(f"{objective}()")(confusion), max(0.0, floor.limit - floor.metric(confusion))


def cases(name: str, splits: int, counting: str) -> Iterator[dict[str, Any]]:
    """Yield what is reached with the mixture and with the single rule in each case of a data set."""
    for kind, proba, y in probabilities(name):
        shares = np.bincount(y, minlength=proba.shape[1])
        wanted = (
            {1} if shares.size == 2 else {int(shares.argmin()), int(np.argsort(shares)[shares.size // 2])}
        )
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            fitted, new = np.split(order, [min(len(y) // 2, FITTED)])
            objective = OBJECTIVES[max(split - 2, 0) % len(OBJECTIVES)]
            how = {"counting": counting, "classes": range(shares.size)}
            free = mf.optimize(
                proba[fitted], y[fitted], objective, counting="calibrated", classes=range(shares.size)
            )
            for c, more in [(c, more) for c in sorted(wanted) for more in (0.06, 0.2)]:
                floor = mf.precision(c) >= round(min(mf.precision(c)(free.confusion) + more, 0.95), 3)
                try:
                    result = mf.optimize(proba[fitted], y[fitted], objective, [floor], **how)
                except mf.InfeasibleError:
                    continue
                told = result.deterministic
                mixed = judged(result.policy, proba[new], y[new], objective, floor)
                single = judged(alone(result.policy), proba[new], y[new], objective, floor)
                yield {
                    "case": f"{name} {kind} {split} {objective} {floor}",
                    "lost": 0.0 if told is None else told.loss,
                    "broken": 0.0 if told is None else max(told.violation, 0.0),
                    "lost on new rows": mixed[0] - single[0],
                    "missed by the mixture": mixed[1],
                    "missed by the rule": single[1],
                }


def main() -> None:
    """Print the means, and the cases that lose most."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--counting", nargs="+", default=["labels", "calibrated"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for counting in options.counting:
        frame = pd.DataFrame(
            [case for name in options.data for case in cases(name, options.splits, counting)]
        )
        print(f"{counting}: {len(frame)} problems, {(frame['lost'] > 0.0035).sum()} lose more than .0035")
        print(frame.drop(columns="case").agg(["mean", "max"]).round(4).to_string())
        print(frame.nlargest(5, "lost").round(4).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
