"""Rates of a confusion tensor with the uncertainty that the number of rows leaves."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.intervals.estimate import Estimate, wilson
from metricfit.types import FloatArray

RateKind = Literal["decided", "recall", "precision", "false_positive_rate"]
KINDS: dict[RateKind, str] = {
    "decided": "share decided {}",
    "recall": "recall of {}",
    "precision": "precision of {}",
    "false_positive_rate": "false-positive rate of {}",
}


def rate(confusion: Confusion, kind: RateKind, decision: int, rows: float | None) -> Estimate:
    """Return a rate of one decision (of the class that it names) on a whole confusion tensor.

    Examples
    --------
    >>> confusion = Confusion.from_predictions([0, 0, 1, 1], [0, 1, 1, 1])
    >>> round(rate(confusion, "precision", 1, 4.0).value, 3)
    0.667
    """
    matrix, place = confusion.matrix, int(confusion.axes.match[decision])
    right = matrix[place, decision] if place >= 0 else 0.0
    decided = matrix[:, decision].sum()
    part = {"decided": decided, "false_positive_rate": decided - right}.get(kind, right)
    own = matrix[place].sum() if place >= 0 else 0.0
    whole = {
        "decided": matrix.sum(),
        "recall": own,
        "precision": decided,
        "false_positive_rate": matrix.sum() - own if place >= 0 else 0.0,
    }[kind]
    if not whole > 0:
        return Estimate(float("nan"), float("nan"), float("nan"))
    value = min(max(float(part / whole), 0.0), 1.0)
    if rows is None:
        return Estimate(value, float("nan"), float("nan"))
    return Estimate(value, *wilson(value, rows * float(whole)))


def bins(
    proba: FloatArray, hits: FloatArray, weights: FloatArray, count: int = 10
) -> list[tuple[float, Estimate]]:
    """Return mean probability and share of hits in bins that say about equally much of the hits.

    Each bin has about the same sum of ``p (1 - p)``, so that a rare class, whose probabilities are nearly all near 0,
    still has bins where they are not.

    Examples
    --------
    >>> import numpy as np
    >>> found = bins(np.array([0.1, 0.1, 0.9, 0.9]), np.array([0.0, 0.0, 1.0, 0.0]), np.ones(4), 2)
    >>> [(round(mean, 2), one.value) for mean, one in found]
    [(0.1, 0.0), (0.9, 0.5)]
    """
    order = np.argsort(proba, kind="stable")
    spread = np.cumsum((weights * (proba * (1 - proba) + 1e-9))[order])
    place = np.empty(len(proba), np.int64)
    place[order] = np.minimum(count * (spread - spread[0] / 2) / spread[-1], count - 1).astype(np.int64)
    found = []
    for number in np.unique(place):
        inside = place == number
        weight = weights[inside]
        total = weight.sum()
        if total > 0:
            share = float(weight @ hits[inside] / total)
            size = float(total**2 / np.square(weight).sum())
            found.append((float(weight @ proba[inside] / total), Estimate(share, *wilson(share, size))))
    return found
