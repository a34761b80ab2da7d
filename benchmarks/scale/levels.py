"""Points of frontiers beside single solves of the same problems: Adult, default and COMPAS, with and without groups.

METRICFIT_DATA=... python benchmarks/scale/levels.py --rows 5000 --levels 20
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf

#: Bar: no point is further below its single solve, in units of the objective.
BAR = 0.003
SETS = ("adult", "default", "compas")
MODELS = {
    "boosted": HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0),
    "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
}


def problems() -> dict[str, tuple[Any, Any, list[Any]]]:
    """Return objective, traded metric and further limits of each problem."""
    equal = mf.equal_opportunity(over="sex", c=1, to="pairs") <= 0.05
    return {
        "recall, precision": (mf.recall(1), mf.precision(1), []),
        "recall, precision, equal opportunity": (mf.recall(1), mf.precision(1), [equal]),
        "G-mean, precision": (mf.g_mean(), mf.precision(1), []),
        "G-mean, precision, parity": (
            mf.g_mean(),
            mf.precision(1),
            [mf.demographic_parity(over="sex") <= 0.03],
        ),
        "accuracy, equal opportunity": (
            mf.accuracy(),
            mf.equal_opportunity(over="sex", c=1, to="pairs") <= 0,
            [],
        ),
        "macro-F1, recall": (mf.macro_f1(), mf.recall(1), []),
    }


def scores(rows: int, seed: int) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield name, cross-fitted probabilities, labels and groups of each set and model."""
    for name in SETS:
        with np.load(f"{os.environ['METRICFIT_DATA']}/{name}.npz") as data:
            take = np.random.default_rng(seed).permutation(len(data["y"]))[:rows]
            X, y, group = data["X"][take].astype(float), data["y"][take].astype(int), data["group"][take]
        for kind, model in MODELS.items():
            proba = cross_val_predict(model, X, y, cv=5, method="predict_proba")
            yield f"{name} {kind}", proba, y, {"sex": group}


def compared(given: tuple[Any, ...], problem: tuple[Any, ...], counting: Any, levels: int, every: int) -> str:
    """Return in a line how far the points of a frontier are from single solves that count in the same way."""
    proba, y, group = given
    objective, traded, kept = problem
    same = {"sensitive_features": group, "counting": counting}
    started = time.process_time()
    front = mf.frontier(proba, y, objective, traded, levels, constraints=kept, **same)
    spent, below, alone, others, stalled = time.process_time() - started, [], [], 0, 0
    for point in front.points[::every]:
        started = time.process_time()
        limit = front.traded[0].metric
        limit = limit >= point.level if front.traded[0].sense == ">=" else limit <= point.level
        try:
            single = mf.optimize(proba, y, objective, [*kept, limit], **same)
        except mf.InfeasibleError:
            single = None
        alone.append(time.process_time() - started)
        if single is None or point.result is None:
            below.append(0.0 if single is None else np.inf)
            continue
        stalled += point.result.status == "stalled"
        if single.counting != point.result.counting:
            others += 1
            single = mf.optimize(
                proba, y, objective, [*kept, limit], **(same | {"counting": point.result.counting})
            )
        below.append(single.value - point.result.value)
    worst = max(below)
    kind = next((p.result.counting for p in front if p.result is not None), "none")
    return (
        f"{kind:10} at most {worst:+.4f} below, {-min(below):.4f} above; {others} of {len(below)} single solves count "
        f"otherwise, {stalled} stalled; {spent / np.mean(alone):5.1f} solves, {front.passes} reads"
        f"{'' if worst <= BAR else '   <- over the bar'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--levels", type=int, default=20)
    parser.add_argument("--every", type=int, default=3, help="solve each so-manieth level alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--counting", nargs="+", default=["auto", "calibrated"])
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="the beginnings of names")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, *given in scores(options.rows, options.seed):
        if not name.startswith(tuple(options.sets)):
            continue
        for words, problem in problems().items():
            for counting in options.counting:
                told = compared(tuple(given), problem, counting, options.levels, options.every)
                print(f"{name:16} {words:38} {counting:10} {told}", flush=True)


if __name__ == "__main__":
    main()
