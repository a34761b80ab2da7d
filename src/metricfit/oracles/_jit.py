"""Numba kernels behind :mod:`metricfit.oracles.kernels`, imported when the first of them runs.

Every function works on one chunk of rows and releases the GIL. An empty ``cell`` or ``weight`` stands
for None, so that there is one compiled version for each dtype of the probabilities.

Nothing is compiled with fast-math: the order of additions, and with it every tie, is that of the NumPy
twins. Scores are never ``-0.0`` (a sum is only if both its terms are, and each sum here starts with, or
ends with, a term that is not), so equal scores have equal bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

# Rows that are decided together. Not a power of two: the columns of a block would share few cache sets.
BLOCK = 80

# Classes whose products are added up while the scores of a block stay in the first-level cache.
STRIP = 32

# Accumulators of the diagonal tally: rows in sequence often take the same decision, and with only one
# accumulator each addition would wait for the one before.
BANKS = 4


@njit(forceinline=True)
def _keep(x: Any, slope: Any, offset: Any, j: Any, old: Any, new: Any) -> None:
    # Reads one buffer and writes another: in place, LLVM makes the store a masked one, which is slow.
    # The decision is a float of the score's width, so that both are selected in the same vector lanes.
    for r in range(BLOCK):
        score = slope * x[r] + offset
        best, decision = old[0, r], old[1, r]
        better = score <= best
        new[0, r] = score if better else best
        new[1, r] = j if better else decision


@njit(nogil=True, cache=True)
def decide_narrow(P: Any, slope: Any, offset: Any, match: Any, out: Any) -> None:
    """Diagonal rule for one cell and few decisions, BLOCK rows or more: vector lanes are rows."""
    k = match.size
    x = np.empty(BLOCK, P.dtype)
    state = np.zeros((2, 2, BLOCK), P.dtype)
    for begin in range(0, P.shape[0], BLOCK):
        start = min(begin, P.shape[0] - BLOCK)  # the last block is full too: it decides some rows again
        block, decisions = P[start : start + BLOCK], out[start : start + BLOCK]
        state[0, 0] = np.inf
        for j in range(k):
            i = max(match[j], 0)
            for r in range(BLOCK):
                x[r] = block[r, i]
            _keep(x, slope[0, j], offset[0, j], P.dtype.type(j), state[j & 1], state[1 - (j & 1)])
        for r in range(BLOCK):
            decisions[r] = np.int32(state[k & 1, 1, r])


def _key(score: Any) -> Any:
    """Integer as wide as the score and in the same order; scores are never -0.0."""


def _score(key: Any) -> Any:
    """Inverse of `_key`."""


@overload(_key, inline="always")
def _overload_key(score: Any) -> Any:
    if score == types.float32:

        def key(score: Any) -> Any:
            bits = np.float32(score).view(np.int32)
            return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))
    else:

        def key(score: Any) -> Any:
            bits = np.float64(score).view(np.int64)
            return np.int64(bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF)))

    return key


@overload(_score, inline="always")
def _overload_score(key: Any) -> Any:
    if key == types.int32:

        def score(key: Any) -> Any:
            return np.int32(key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF))).view(np.float32)
    else:

        def score(key: Any) -> Any:
            return np.int64(key ^ ((key >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)

    return score


@njit(forceinline=True)
def _argmin_two(x: Any, first: Any, slope: Any, offset: Any, a: Any, b: Any) -> Any:
    # Two rows at once, as the second pass over a row has to wait for the end of the first. The first is on
    # integers: without fast-math LLVM does not vectorise the minimum of floats, and never an argmin.
    width = np.uintp(slope.shape[1])
    low0 = low1 = _key(x.dtype.type(np.inf))
    for j in range(width):
        key0 = _key(slope[a, j] * x[first[0] + j] + offset[a, j])
        key1 = _key(slope[b, j] * x[first[1] + j] + offset[b, j])
        low0 = key0 if key0 < low0 else low0
        low1 = key1 if key1 < low1 else low1
    score0, score1 = _score(low0), _score(low1)
    last0 = last1 = np.int32(0)
    for j in range(width):
        here0 = np.int32(j) if slope[a, j] * x[first[0] + j] + offset[a, j] == score0 else np.int32(0)
        here1 = np.int32(j) if slope[b, j] * x[first[1] + j] + offset[b, j] == score1 else np.int32(0)
        last0 = here0 if here0 > last0 else last0
        last1 = here1 if here1 > last1 else last1
    return last0, last1


@njit(nogil=True, cache=True)
def decide_wide(P: Any, cell: Any, slope: Any, offset: Any, match: Any, out: Any) -> None:
    """Diagonal rule: vector lanes are the decisions of a row, padded by (0, inf) to a multiple of eight."""
    N, n = P.shape
    k, width = match.size, np.uintp(slope.shape[1])
    flat, x = P.reshape(-1), np.zeros(2 * slope.shape[1], P.dtype)
    # Rows are read in place if decisions are in the order of the classes. Lanes of no class then read what
    # follows the row, times zero; the last rows have nothing behind them.
    in_place = max(0, (P.size - slope.shape[1]) // n + 1) // 2 * 2
    for j in range(k):
        if match[j] != j and match[j] >= 0:
            in_place = 0
    for r in range(0, in_place, 2):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        b = np.uintp(cell[r + 1]) if cell.size else np.uintp(0)
        first = np.uintp(r) * np.uintp(n)
        out[r], out[r + 1] = _argmin_two(flat, (first, first + np.uintp(n)), slope, offset, a, b)
    for r in range(in_place, N, 2):
        s = min(r + 1, N - 1)  # an odd last row is its own partner
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        b = np.uintp(cell[s]) if cell.size else np.uintp(0)
        for j in range(k):
            x[j] = P[r, max(match[j], 0)]
            x[width + np.uintp(j)] = P[s, max(match[j], 0)]
        out[r], out[s] = _argmin_two(x, (np.uintp(0), width), slope, offset, a, b)


@njit(nogil=True, cache=True)
def rows_by_cell(cell: Any, n_rows: Any, n_cells: Any) -> Any:
    """Row numbers sorted by cell, and where each cell starts in them."""
    starts = np.zeros(n_cells + 1, np.int64)
    if cell.size == 0:
        starts[1] = n_rows
        return np.arange(n_rows), starts
    for a in cell:
        starts[a + 1] += 1
    starts = np.cumsum(starts)
    order, free = np.empty(n_rows, np.int64), starts.copy()
    for r in range(n_rows):
        order[free[cell[r]]] = r
        free[cell[r]] += 1
    return order, starts


@njit(forceinline=True)
def _add_products(x: Any, loss: Any, scores: Any) -> None:
    for i in range(0, x.shape[0], 4):
        l0, l1, l2, l3 = loss[i], loss[i + 1], loss[i + 2], loss[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for r in range(BLOCK):
            scores[r] = (((scores[r] + l0 * x0[r]) + l1 * x1[r]) + l2 * x2[r]) + l3 * x3[r]


@njit(nogil=True, cache=True)
def decide_full(P: Any, cell: Any, strips: Any, out: Any) -> None:
    """Rule of a full loss: vector lanes are rows of one cell.

    ``strips`` is the loss as (cells, ceil(n / STRIP), k, STRIP), zero behind the last class.
    """
    n = P.shape[1]
    n_cells, n_strips, k, _ = strips.shape
    x = np.zeros(((n + 3) // 4 * 4, BLOCK), P.dtype)
    scores = np.empty((k, BLOCK), P.dtype)
    state = np.zeros((2, 2, BLOCK), P.dtype)
    one, zero = P.dtype.type(1), P.dtype.type(0)
    order, starts = rows_by_cell(cell, P.shape[0], n_cells)
    for a in range(n_cells):
        for start in range(starts[a], starts[a + 1], BLOCK):
            rows = order[start : min(start + BLOCK, starts[a + 1])]
            for r in range(rows.size):
                row = P[rows[r]]
                for i in range(n):
                    x[i, r] = row[i]
            scores[:] = 0
            for strip in range(n_strips):
                for j in range(k):
                    _add_products(x[strip * STRIP : (strip + 1) * STRIP], strips[a, strip, j], scores[j])
            state[0, 0] = np.inf
            for j in range(k):
                _keep(scores[j], one, zero, P.dtype.type(j), state[j & 1], state[1 - (j & 1)])
            for r in range(rows.size):
                out[rows[r]] = np.int32(state[k & 1, 1, r])


@njit(nogil=True, cache=True)
def tally_hits(y: Any, cell: Any, weight: Any, decisions: Any, match: Any, out: Any) -> None:
    """Add the weights of wrong and of right decisions to ``out``, (BANKS, cells, k, 2)."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        j = np.uintp(decisions[r])
        # As the last index, being right or wrong costs no branch to mispredict.
        out[r % BANKS, a, j, np.uintp(y[r] == match[j])] += w


@njit(nogil=True, cache=True)
def tally_soft_hits(P: Any, cell: Any, weight: Any, decisions: Any, match: Any, out: Any) -> None:
    """Add the expected weights of right decisions, and those of all, to ``out``, (BANKS, cells, k, 2)."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        j = np.uintp(decisions[r])
        i = match[j]
        out[r % BANKS, a, j, 0] += w * (P[r, i] if i >= 0 else 0.0)
        out[r % BANKS, a, j, 1] += w


@njit(nogil=True, cache=True)
def tally_labels(y: Any, cell: Any, weight: Any, decisions: Any, out: Any) -> None:
    """Add the confusion tensor of labels to ``out``, (cells, n, k)."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        out[a, np.uintp(y[r]), np.uintp(decisions[r])] += w


@njit(nogil=True, cache=True)
def tally_soft(P: Any, cell: Any, weight: Any, decisions: Any, out: Any) -> None:
    """Add the confusion tensor of soft labels to ``out``, (cells, k, n): a row of P lies along its memory."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        total = out[a, np.uintp(decisions[r])]
        for i in range(P.shape[1]):
            total[i] += w * P[r, i]
