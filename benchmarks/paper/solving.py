"""One solve, judged on its training and test rows by expected confusion matrices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scoring
from probabilities import Split
from settings import AUTHORS_RADIUS

import metricfit as mf
from metricfit.methods import Ellipsoid, FrankWolfe, Plugin

METHODS = {
    "plugin": Plugin(),
    "plugin_bal": Plugin(balanced=True),
    # It uses up its calls, as in the paper.
    "frank_wolfe": FrankWolfe(early_stop=False),
    # The radius of the authors' code; the paper's is 1,000.
    AUTHORS_RADIUS: Ellipsoid(radius=31.6),
}


def solve(
    data: Split,
    method: object,
    objective: object,
    constraints: Iterable[object] = (),
    max_calls: int | None = None,
    groups: bool = False,
    **options: object,
) -> tuple[np.ndarray, np.ndarray, mf.Result]:
    """Return the confusion tensors of a method on the training and test rows, and the result."""
    g, gt = (data.g, data.gt) if groups else (None, None)
    # The paper counts labels. The default chooses by itself what it counts; "calibrated" is the same without a choice.
    counting = {"auto": "auto", "calibrated": "calibrated"}.get(method, "labels")
    asked = "auto" if method in ("calibrated", "labels") else METHODS.get(method, method)
    result = mf.optimize(
        data.P,
        data.y,
        objective,
        constraints,
        method=asked,
        counting=counting,
        sensitive_features=g,
        max_calls=max_calls,
        **options,
    )
    train = result.policy.decision_proba(data.P, g)
    test = result.policy.decision_proba(data.Pt, gt)
    return scoring.expected(train, data.y, g), scoring.expected(test, data.yt, gt), result


def told(result: mf.Result) -> dict[str, object]:
    """Return what a result tells about itself, for a row."""
    return {
        "calls": result.n_oracle_calls,
        "status": result.status,
        "solver": result.method,
        "rules": result.policy.n_rules,
    }
