"""The NumPy twins of the kernels: the few lines that say what is computed.

They are what small jobs run, and what the tests hold :mod:`metricfit.kernels.counting` to, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from metricfit.data.layout import Layout
from metricfit.types import FloatArray, IntArray


def scores_numpy(
    P: FloatArray, cell: IntArray | None, loss: FloatArray, match: IntArray, *, layout: Layout
) -> FloatArray:
    """Return the N x k scores of a rule, in the dtype of P.

    Products are added class by class, not by ``P @ loss``: the order in which BLAS adds depends on the
    shape and the machine, and with it the decision of a row with nearly equal scores.
    """
    loss, a = loss.astype(P.dtype), 0 if cell is None else cell
    if layout == "diagonal":
        slope = np.where(match >= 0, loss[:, 0], P.dtype.type(0))
        return P[:, match] * slope[a] + loss[a, 1]
    scores = np.zeros((P.shape[0], loss.shape[2]), P.dtype)
    for i in range(P.shape[1]):
        scores += P[:, i, None] * loss[a, i]
    return scores


def decide_numpy(
    P: FloatArray,
    cell: IntArray | None,
    loss: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    out: IntArray | None = None,
) -> IntArray:
    """Return the decision with the smallest score, the larger index of equal ones."""
    scores = scores_numpy(P, cell, loss, match, layout=layout)
    out = np.empty(len(P), np.int32) if out is None else out
    out[...] = scores.shape[1] - 1 - scores[:, ::-1].argmin(axis=1)
    return out


def count_numpy(
    P: FloatArray,
    y: IntArray | None,
    cell: IntArray | None,
    weight: FloatArray | None,
    loss: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
) -> FloatArray:
    """Return the statistic that the rule of a loss reaches."""
    decisions = decide_numpy(P, cell, loss, match, layout=layout)
    n_cells, _, k = loss.shape
    if layout == "full":
        return confusion_numpy(P, y, cell, weight, decisions, n_cells, k)
    named = match[decisions]
    hit = y == named if y is not None else np.where(named >= 0, P[np.arange(len(P)), named], 0)
    slot = _code(cell) * k + decisions
    w: FloatArray = np.ones(len(P)) if weight is None else weight
    statistic = np.stack([_sums(slot, part, n_cells, k) for part in (w * hit, w)], axis=1)
    return statistic / len(P) if weight is None else statistic


def confusion_numpy(
    P: FloatArray,
    y: IntArray | None,
    cell: IntArray | None,
    weight: FloatArray | None,
    decisions: IntArray,
    n_cells: int,
    n_decisions: int,
) -> FloatArray:
    """Return the confusion tensor (cells, classes, decisions) of given decisions."""
    n, a = P.shape[1], _code(cell)
    w: FloatArray = np.ones(len(P)) if weight is None else weight
    if y is not None:
        tensor = _sums((a * n + _code(y)) * n_decisions + decisions, w, n_cells, n, n_decisions)
    else:
        slot = a * n_decisions + decisions
        tensor = np.stack([_sums(slot, w * p, n_cells, n_decisions) for p in P.T], axis=1)
    return tensor / len(P) if weight is None else tensor


def mixture_confusion_numpy(
    P: FloatArray,
    y: IntArray | None,
    cell: IntArray | None,
    weight: FloatArray | None,
    losses: FloatArray,
    cell_weights: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
) -> FloatArray:
    """Return the expected confusion tensor of a mixture of rules in each cell."""
    n_cells, k = cell_weights.shape[0], losses.shape[3]
    tensor = np.zeros((n_cells, P.shape[1], k))
    for loss, share in zip(losses, cell_weights.T, strict=True):
        decisions = decide_numpy(P, cell, loss, match, layout=layout)
        tensor += share[:, None, None] * confusion_numpy(P, y, cell, weight, decisions, n_cells, k)
    return tensor


def _code(values: IntArray | None) -> IntArray:
    # Wide enough for an index into a tensor of many cells.
    return np.asarray(0 if values is None else values, np.intp)


def _sums(slot: IntArray, w: FloatArray, *shape: int) -> FloatArray:
    sums: Any = np.bincount(slot, w, math.prod(shape))
    return cast(FloatArray, sums.reshape(shape))
