"""One solve, judged on its training and test rows by expected confusion matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import scoring
from probabilities import Split

import metricfit as mf
from metricfit.methods import FrankWolfe, Iterate


class WholeBudget(FrankWolfe):
    """Frank-Wolfe that uses up its calls, as in the paper.

    Where labels are counted its gap is an estimate, which may be too small.
    """

    def steps(self, program: object, walk: object) -> Iterator[Iterate]:
        for iterate in super().steps(program, walk):
            yield replace(iterate, settled=False)


def baseline(P: np.ndarray, y: np.ndarray, balanced: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Return Plugin[0-1] or Plugin(bal), from probabilities to decisions; ties to the larger index."""
    prior = np.bincount(y, minlength=P.shape[1]) / len(y)
    weights = 1 / prior if balanced else np.ones(P.shape[1])

    def decide(proba: np.ndarray) -> np.ndarray:
        k = proba.shape[1]
        return np.eye(k)[k - 1 - (proba * weights)[:, ::-1].argmax(axis=1)]

    return decide


def solve(
    data: Split,
    method: object,
    objective: object,
    constraints: Iterable[object] = (),
    max_calls: int | None = None,
    groups: bool = False,
    **options: object,
) -> tuple[np.ndarray, np.ndarray, mf.Result | None]:
    """Return the confusion tensors of a method on the training and test rows, and the result."""
    g, gt = (data.g, data.gt) if groups else (None, None)
    if method in ("plugin", "plugin_bal"):
        decide = baseline(data.P, data.y, method == "plugin_bal")
        return (
            scoring.expected(decide(data.P), data.y, g),
            scoring.expected(decide(data.Pt), data.yt, gt),
            None,
        )
    method = WholeBudget() if method == "frank_wolfe" else method
    result = mf.optimize(
        data.P,
        data.y,
        objective,
        constraints,
        method=method,
        sensitive_features=g,
        max_calls=max_calls,
        **options,
    )
    train = result.policy.decision_proba(data.P, g)
    test = result.policy.decision_proba(data.Pt, gt)
    return scoring.expected(train, data.y, g), scoring.expected(test, data.yt, gt), result


def told(result: mf.Result | None) -> dict[str, object]:
    """Return what a result tells about itself, for a row."""
    if result is None:
        return {"calls": 0, "status": "", "solver": "", "rules": 1}
    return {
        "calls": result.n_oracle_calls,
        "status": result.status,
        "solver": result.method,
        "rules": result.policy.n_rules,
    }
