"""Numba kernels behind :mod:`metricfit.oracles.kernels`; import this module only when one of them runs.

Every function works on one chunk of rows and releases the GIL. An empty ``cell`` or ``weight`` stands
for None, so that there is one compiled version for each dtype of the probabilities.

Scores are never ``-0.0`` (a sum is ``-0.0`` only if all its terms are, and every sum here has the term
``+0.0``), so equal scores have equal bits. Nothing is compiled with fast-math: the order of additions, and
with it every tie, is that of the NumPy twins.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import overload

# Rows of one cell that are decided together. Not a power of two: columns of a block would then fall
# on the same few cache sets.
BLOCK = 80

# Classes whose products are added up while a block of scores stays in the first-level cache.
STRIP = 32

# Independent accumulators of the diagonal tally: consecutive rows often take the same decision, and
# an addition would wait for the one before it.
BANKS = 4


@njit(nogil=True, cache=True)
def runs(cell, n_rows, n_cells):
    """Row numbers sorted by cell (stable; empty if there is one cell), and where each cell starts in them."""
    starts = np.zeros(n_cells + 1, np.int64)
    if cell.size == 0:
        starts[1] = n_rows
        return np.empty(0, np.int64), starts
    for a in cell:
        starts[a + 1] += 1
    starts = np.cumsum(starts)
    order = np.empty(n_rows, np.int64)
    free = starts.copy()
    for r in range(n_rows):
        order[free[cell[r]]] = r
        free[cell[r]] += 1
    return order, starts


@njit(forceinline=True)
def _column(P, block, rows, i, x):
    if rows.size:
        for r in range(rows.size):
            x[r] = P[rows[r], i]
    else:
        for r in range(block.shape[0]):
            x[r] = block[r, i]


@njit(forceinline=True)
def _keep(x, slope, offset, j, old, new):
    # Reads one buffer and writes another: in place, LLVM would turn the store into a slow masked one.
    # The decision is kept as a float of the same width as the score, so both share vector lanes.
    for r in range(x.size):
        score = slope * x[r] + offset
        best, decision = old[0, r], old[1, r]
        better = score <= best
        new[0, r] = score if better else best
        new[1, r] = j if better else decision


@njit(forceinline=True)
def _write(decisions, rows, out, block):
    if rows.size:
        for r in range(rows.size):
            out[rows[r]] = np.int32(decisions[r])
    else:
        for r in range(block.size):
            block[r] = np.int32(decisions[r])


@njit(nogil=True, cache=True)
def decide_narrow(P, order, starts, slope, offset, match, out):
    """Diagonal rule for few decisions: vector lanes run over the rows of a block."""
    n_cells, k = slope.shape[0], match.size
    x = np.zeros(BLOCK, P.dtype)
    state = np.zeros((2, 2, BLOCK), P.dtype)
    for a in range(n_cells):
        for start in range(starts[a], starts[a + 1], BLOCK):
            stop = min(start + BLOCK, starts[a + 1])
            block, rows = P[start:stop], order[start:stop]
            state[0, 0] = np.inf
            for j in range(k):
                _column(P, block, rows, max(match[j], 0), x)
                _keep(x, slope[a, j], offset[a, j], P.dtype.type(j), state[j & 1], state[1 - (j & 1)])
            _write(state[k & 1, 1], rows, out, out[start:stop])


@njit(forceinline=True)
def _add_products(x, weights, total):
    for i in range(0, x.shape[0], 4):
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for r in range(total.size):
            total[r] = (((total[r] + w0 * x0[r]) + w1 * x1[r]) + w2 * x2[r]) + w3 * x3[r]


@njit(nogil=True, cache=True)
def decide_full(P, order, starts, strips, out):
    """Rule of a full loss; ``strips`` is (cells, ceil(n / STRIP), k, STRIP), zero behind the last class."""
    n = P.shape[1]
    n_cells, n_strips, k, _ = strips.shape
    x = np.zeros(((n + 3) // 4 * 4, BLOCK), P.dtype)
    scores = np.empty((k, BLOCK), P.dtype)
    state = np.zeros((2, 2, BLOCK), P.dtype)
    one, zero = P.dtype.type(1), P.dtype.type(0)
    for a in range(n_cells):
        for start in range(starts[a], starts[a + 1], BLOCK):
            stop = min(start + BLOCK, starts[a + 1])
            block, rows = P[start:stop], order[start:stop]
            for i in range(n):
                _column(P, block, rows, i, x[i])
            scores[:] = 0
            for strip in range(n_strips):
                for j in range(k):
                    _add_products(x[strip * STRIP : (strip + 1) * STRIP], strips[a, strip, j], scores[j])
            state[0, 0] = np.inf
            for j in range(k):
                _keep(scores[j], one, zero, P.dtype.type(j), state[j & 1], state[1 - (j & 1)])
            _write(state[k & 1, 1], rows, out, out[start:stop])


def _key(score):
    """Integer of the score's width that is ordered as the score (never -0.0) is."""


def _score(key):
    """Inverse of `_key`."""


@overload(_key, inline="always")
def _overload_key(score):
    if score == types.float32:

        def key(score):
            bits = np.float32(score).view(np.int32)
            return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))

    else:

        def key(score):
            bits = np.float64(score).view(np.int64)
            return np.int64(bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF)))

    return key


@overload(_score, inline="always")
def _overload_score(key):
    if key == types.int32:

        def score(key):
            return np.int32(key ^ ((key >> np.int32(31)) & np.int32(0x7FFFFFFF))).view(np.float32)

    else:

        def score(key):
            return np.int64(key ^ ((key >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)

    return score


@njit(forceinline=True)
def _last_argmin(x, first, slope, offset, a):
    # Two vectorised reductions: LLVM vectorises the minimum of integers, but not of floats (without
    # fast-math) and not an argmin.
    width = np.uintp(slope.shape[1])
    least = _key(x.dtype.type(np.inf))
    for j in range(width):
        key = _key(slope[a, j] * x[first + j] + offset[a, j])
        least = key if key < least else least
    least = _score(least)
    decision = np.int32(0)
    for j in range(width):
        here = np.int32(j) if slope[a, j] * x[first + j] + offset[a, j] == least else np.int32(0)
        decision = here if here > decision else decision
    return decision


@njit(nogil=True, cache=True)
def decide_wide(P, cell, slope, offset, match, out):
    """Diagonal rule for many decisions: vector lanes run over the decisions of a row.

    ``slope`` and ``offset`` are padded to a multiple of eight decisions by (0, inf).
    """
    N, n = P.shape
    k, width = match.size, slope.shape[1]
    flat = P.reshape(-1)
    # In place, the padding and the decisions that are no class read the start of the next row, times zero.
    in_place = max(0, (P.size - width) // n + 1)
    for j in range(k):
        if match[j] != j and match[j] >= 0:
            in_place = 0
    for r in range(in_place):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        out[r] = _last_argmin(flat, np.uintp(r) * np.uintp(n), slope, offset, a)
    x = np.zeros(width, P.dtype)
    for r in range(in_place, N):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        for j in range(k):
            x[j] = P[r, max(match[j], 0)]
        out[r] = _last_argmin(x, np.uintp(0), slope, offset, a)


@njit(nogil=True, cache=True)
def tally_hits(y, cell, weight, decisions, match, out):
    """Add the weights of wrong and of right decisions to ``out``, (BANKS, cells, k, 2)."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        j = np.uintp(decisions[r])
        # As an index into the last axis, whether the row is right costs no branch to mispredict.
        out[r % BANKS, a, j, np.uintp(y[r] == match[j])] += w


@njit(nogil=True, cache=True)
def tally_soft_hits(P, cell, weight, decisions, match, out):
    """Add the expected weights of right decisions, and of all, to ``out``, (BANKS, cells, k, 2)."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        j = np.uintp(decisions[r])
        i = match[j]
        out[r % BANKS, a, j, 0] += w * (P[r, i] if i >= 0 else 0.0)
        out[r % BANKS, a, j, 1] += w


@njit(nogil=True, cache=True)
def tally_labels(y, cell, weight, decisions, out):
    """Add the confusion tensor of labels to ``out``, (cells, n, k)."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        out[a, np.uintp(y[r]), np.uintp(decisions[r])] += w


@njit(nogil=True, cache=True)
def tally_soft(P, cell, weight, decisions, out):
    """Add the confusion tensor of soft labels to ``out``, (cells, k, n): one row of P at a time."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        total = out[a, np.uintp(decisions[r])]
        for i in range(P.shape[1]):
            total[i] += w * P[r, i]
