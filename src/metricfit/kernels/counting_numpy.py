"""The NumPy twins of the kernels: the few lines that say what is computed.

They are what small jobs run, and what the tests hold :mod:`metricfit.kernels.counting` to, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from metricfit.data.layout import Layout
from metricfit.data.rows import RowArrays
from metricfit.types import FloatArray, IntArray

# With more rows for each decision than this, rows are decided decision by decision.
MANY_ROWS = 64


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
    out = np.empty(len(P), np.int32) if out is None else out
    if layout == "diagonal" and len(P) > MANY_ROWS * match.size:
        return _decide_by_columns(P, cell, loss, match, out)
    scores = scores_numpy(P, cell, loss, match, layout=layout)
    out[...] = scores.shape[1] - 1 - scores[:, ::-1].argmin(axis=1)
    return out


def _decide_by_columns(
    P: FloatArray, cell: IntArray | None, loss: FloatArray, match: IntArray, out: IntArray
) -> IntArray:
    """Compare the scores of `scores_numpy` decision by decision: long columns are faster than short rows."""
    loss, a = loss.astype(P.dtype), 0 if cell is None else cell
    least = np.full(len(P), np.inf, P.dtype)
    out[...] = 0
    for j, named in enumerate(match.tolist()):
        score = loss[a, 1, j] if named < 0 else P[:, named] * loss[a, 0, j] + loss[a, 1, j]
        # Decisions only grow, so a maximum is enough; to copy where a mask says so takes three times as long.
        np.maximum(out, (score <= least) * out.dtype.type(j), out=out)
        np.minimum(least, score, out=least)
    return out


def tally_numpy(
    rows: RowArrays,
    decisions: IntArray,
    shape: tuple[int, ...],
    match: IntArray,
    *,
    layout: Layout,
) -> FloatArray:
    """Return the statistic of given decisions, of the shape of a loss."""
    n_cells, _, k = shape
    if layout == "full":
        return confusion_numpy(rows, decisions, n_cells, k)
    named, places = match[decisions], np.arange(len(rows))
    hit = np.where(named >= 0, rows.proba[places, named], 0) if rows.labels is None else rows.labels == named
    slot = _code(rows.cells) * k + decisions
    w: FloatArray = np.ones(len(rows)) if rows.weights is None else rows.weights
    statistic = np.stack([_sums(slot, part, n_cells, k) for part in (w * hit, w)], axis=1)
    return statistic / len(rows) if rows.weights is None else statistic


def confusion_numpy(
    rows: RowArrays,
    decisions: IntArray,
    n_cells: int,
    n_decisions: int,
) -> FloatArray:
    """Return the confusion tensor (cells, classes, decisions) of given decisions."""
    n, a = rows.proba.shape[1], _code(rows.cells)
    w: FloatArray = np.ones(len(rows)) if rows.weights is None else rows.weights
    if rows.labels is not None:
        tensor = _sums((a * n + _code(rows.labels)) * n_decisions + decisions, w, n_cells, n, n_decisions)
    else:
        slot = a * n_decisions + decisions
        tensor = np.stack([_sums(slot, w * p, n_cells, n_decisions) for p in rows.proba.T], axis=1)
    return tensor / len(rows) if rows.weights is None else tensor


def mixture_confusion_numpy(
    rows: RowArrays,
    losses: FloatArray,
    cell_weights: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
) -> FloatArray:
    """Return the expected confusion tensor of a mixture of rules in each cell."""
    n_cells, k = cell_weights.shape[0], losses.shape[3]
    tensor = np.zeros((n_cells, rows.proba.shape[1], k))
    for loss, share in zip(losses, cell_weights.T, strict=True):
        decisions = decide_numpy(rows.proba, rows.cells, loss, match, layout=layout)
        tensor += share[:, None, None] * confusion_numpy(rows, decisions, n_cells, k)
    return tensor


def _code(values: IntArray | None) -> IntArray:
    # Wide enough for an index into a tensor of many cells.
    return np.asarray(0 if values is None else values, np.intp)


def _sums(slot: IntArray, w: FloatArray, *shape: int) -> FloatArray:
    sums: Any = np.bincount(slot, w, math.prod(shape))
    return cast(FloatArray, sums.reshape(shape))
