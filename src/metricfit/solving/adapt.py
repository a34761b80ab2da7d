"""The problem of a result solved again for other shares of classes, without new labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from metricfit.calibration import Calibration
from metricfit.exceptions import ShiftWarning
from metricfit.messages import brief, some, unknown, warn
from metricfit.options import Options
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import Counting, OracleBase
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.solving.door import solve
from metricfit.solving.new_rows import with_expected
from metricfit.trust.class_shares import class_shares
from metricfit.types import FloatArray, Label

# Below this p-value new rows differ in more than the shares of their classes.
UNEXPLAINED = 0.01


def adapted(
    result: Result, proba: Any, shares: Mapping[Any, float] | None, sensitive_features: Any
) -> Result:
    """Return a new result for the class shares of new rows, or for given ones; see `Result.adapt`."""
    if (proba is None) == (shares is None):
        raise ValueError("adapt: give either proba of new rows, or shares={class: share}")
    if result.origin is None:
        raise ValueError("adapt needs the tuning rows, which a pickled result does not keep; solve again")
    origin = result.origin
    counting: Counting = "auto" if result.choice else origin.oracle.counting
    classes = origin.oracle.axes.classes
    if shares is None:
        found = class_shares(result.policy, proba, sensitive_features)
        if found.attrs["p_value"] < UNEXPLAINED:
            warn(
                f"other class shares do not explain the scores of these rows (p = {found.attrs['p_value']:.2g}): "
                "something else has changed, so label some of them and fit again",
                ShiftWarning,
            )
        wanted = found["share"].to_numpy()
    else:
        wanted = checked_shares(shares, classes)
    return solved_for(origin.problem, origin.oracle, counting, origin.options, wanted)


def solved_for(
    problem: Problem, oracle: OracleBase, counting: Counting, options: Options, shares: FloatArray
) -> Result:
    """Return the result of a problem on rows that are weighted to class shares, with what to expect on new rows."""
    if not isinstance(oracle, PluginOracle) or oracle.axes.seen is not oracle.axes:
        raise ValueError(
            "adapt needs tuning rows in memory and a policy that sees its attributes; pass arrays and solve again"
        )
    rows = oracle.rows
    margins = rows.margins().sum(axis=0)
    lost = [
        c for c, share, known in zip(oracle.axes.classes, shares, margins, strict=True) if share and not known
    ]
    if lost:
        raise ValueError(f"shares: no tuning row has the class {some(lost)}, so nothing can stand for it")
    ratio = np.divide(shares, margins, out=np.zeros(shares.size), where=margins > 0)
    base = np.full(len(rows), 1 / len(rows)) if rows.weights is None else rows.weights
    weights = base * ratio[rows.labels]
    kept = np.flatnonzero(weights > 0)
    moved = replace(rows, weights=weights).take(kept)
    if counting == "model":
        # Probabilities are used as given, so they must be shifted; a calibration learns the shift from the weights.
        shift = Calibration("bias", np.log(np.maximum(ratio, 1e-12))[None])
        moved = replace(moved, proba=shift(moved.proba))
        weighted = PluginOracle(moved, counting, oracle.threads, shift)
    else:
        weighted = PluginOracle(moved, counting, oracle.threads)
    how = replace(options, start=None, callback=None, verbose=0)
    return with_expected(problem, weighted, solve(problem, weighted, how), how)


def checked_shares(shares: Mapping[Any, float], classes: tuple[Label, ...]) -> FloatArray:
    """Return the share of each class, in order.

    Examples
    --------
    >>> checked_shares({"fraud": 0.1, "ok": 0.9}, ("fraud", "ok")).tolist()
    [0.1, 0.9]
    """
    if not isinstance(shares, Mapping):
        raise ValueError(f"shares must be a dict of classes with their shares; got {brief(shares)}")
    for name in shares:
        if name not in classes:
            raise ValueError(unknown("class in shares", name, classes))
    if missing := [c for c in classes if c not in shares]:
        raise ValueError(f"shares lacks the classes {some(missing)}; name all, and let them sum to 1")
    found = np.array([shares[c] for c in classes], dtype=float)
    if not (np.isfinite(found).all() and found.min() >= 0 and abs(found.sum() - 1) < 1e-6):
        raise ValueError(f"shares must be at least 0 and sum to 1; they sum to {found.sum():.6g}")
    return np.asarray(found / found.sum())
