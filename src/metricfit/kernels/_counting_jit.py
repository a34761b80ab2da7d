"""Numba kernels behind :mod:`metricfit.kernels.counting`, imported when the first of them runs.

Every function works on one chunk of rows and releases the GIL. An empty ``cell`` or ``weight`` stands
for None, so that there is one compiled version for each dtype of the probabilities.

Nothing is compiled with fast-math: the order of additions, and with it every tie, is that of the NumPy
twins. Scores are never ``-0.0`` (a sum is -0.0 only if both terms are, and each sum here starts or ends
with a term that is not), so equal scores have equal bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

# Rows that are decided together. Not a power of two: the columns of a block would share few cache sets.
BLOCK = 80

# Up to NARROW decisions vector lanes are rows; beyond, lanes are decisions, as many as LLVM takes at once.
NARROW = 20
PAD = 32

# Entries of P that are decided before they are counted; few enough to be still in the second-level cache.
SPAN = 2**16

# Classes whose products are added up while the scores of a block stay in the first-level cache.
STRIP = 32

# Accumulators of the diagonal tally: rows in sequence often take the same decision, and with only one
# accumulator each addition would wait for the one before.
BANKS = 4


def _kernel(function: Any) -> Any:
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder to keep the compiled code in: each process compiles for itself
        return njit(nogil=True)(function)


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


@njit
def _decide_narrow(P: Any, cell: Any, slope: Any, offset: Any, match: Any, out: Any) -> None:
    k = match.size
    x = np.empty(BLOCK, P.dtype)
    state = np.zeros((2, 2, BLOCK), P.dtype)
    one, zero = P.dtype.type(1), P.dtype.type(0)
    for begin in range(0, out.size, BLOCK):
        start = min(begin, out.size - BLOCK)  # the last block is full too: it decides some rows again
        stop = start + BLOCK
        block, codes, decisions = P[start:stop], cell[start:stop], out[start:stop]
        state[0, 0] = np.inf
        for j in range(k):
            i = max(match[j], 0)
            if codes.size:
                for r in range(BLOCK):
                    a = np.uintp(codes[r])
                    x[r] = slope[a, j] * block[r, i] + offset[a, j]
                _keep(x, one, zero, P.dtype.type(j), state[j & 1], state[1 - (j & 1)])
            else:
                for r in range(BLOCK):
                    x[r] = block[r, i]
                _keep(x, slope[0, j], offset[0, j], P.dtype.type(j), state[j & 1], state[1 - (j & 1)])
        for r in range(BLOCK):
            decisions[r] = np.int32(state[k & 1, 1, r])


def _key(score: Any) -> Any:
    """Integer as wide as the score and in the same order; scores are never -0.0."""


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


@njit(forceinline=True)
def _last_argmin(x: Any, first: Any, slope: Any, offset: Any, a: Any, keys: Any) -> Any:
    # Without fast-math LLVM vectorises the minimum of integers, but not of floats; and never an argmin.
    least = _key(x.dtype.type(np.inf))
    for j in range(np.uintp(keys.size)):
        key = _key(slope[a, j] * x[first + j] + offset[a, j])
        keys[j] = key
        least = key if key < least else least
    decision = np.int32(0)
    for j in range(keys.size):
        here = np.int32(j) if keys[j] == least else np.int32(0)
        decision = here if here > decision else decision
    return decision


@njit
def _decide_wide(P: Any, cell: Any, slope: Any, offset: Any, match: Any, out: Any) -> None:
    n, width, last = P.shape[1], slope.shape[1], np.int32(match.size - 1)
    flat, x = P.reshape(-1), np.zeros(width, P.dtype)
    keys = np.full(width, _key(P.dtype.type(0)))
    # Rows are read in place if decisions are in the order of the classes. Lanes of no class then read what
    # follows the row, times zero; the last rows have nothing behind them.
    in_place = min(out.size, max(0, (P.size - width) // n + 1))
    for j in range(match.size):
        if match[j] != j and match[j] >= 0:
            in_place = 0
    for r in range(in_place):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        # Clipped, because rows of NaN would choose a lane of the padding and be counted outside the statistic.
        out[r] = min(last, _last_argmin(flat, np.uintp(r) * np.uintp(n), slope, offset, a, keys))
    for r in range(in_place, out.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        for j in range(match.size):
            x[j] = P[r, max(match[j], 0)]
        out[r] = min(last, _last_argmin(x, np.uintp(0), slope, offset, a, keys))


@_kernel
def decide_diagonal(P: Any, cell: Any, slope: Any, offset: Any, match: Any, out: Any) -> None:
    """Rule of a diagonal loss for the first rows of P: vector lanes are rows, or decisions if these are many.

    ``slope`` and ``offset`` are (cells, k), padded by (0, inf) to a multiple of PAD decisions.
    """
    if match.size <= NARROW and out.size >= BLOCK:
        _decide_narrow(P, cell, slope, offset, match, out)
    else:
        _decide_wide(P, cell, slope, offset, match, out)


@njit
def _rows_by_cell(cell: Any, n_rows: Any, n_cells: Any) -> Any:
    """Row numbers sorted by cell, and where in them each cell starts."""
    order, starts = np.empty(n_rows, np.int64), np.zeros(n_cells + 2, np.int64)
    for r in range(n_rows):
        starts[(cell[r] if cell.size else 0) + 2] += 1
    for a in range(n_cells):
        starts[a + 2] += starts[a + 1]
    for r in range(n_rows):
        a = (cell[r] if cell.size else 0) + 1
        order[starts[a]] = r
        starts[a] += 1
    return order, starts


@njit(forceinline=True)
def _add_products(x: Any, loss: Any, scores: Any) -> None:
    for i in range(0, x.shape[0], 4):
        l0, l1, l2, l3 = loss[i], loss[i + 1], loss[i + 2], loss[i + 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for r in range(BLOCK):
            scores[r] = (((scores[r] + l0 * x0[r]) + l1 * x1[r]) + l2 * x2[r]) + l3 * x3[r]


@_kernel
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
    order, starts = _rows_by_cell(cell, P.shape[0], n_cells)
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


@njit
def _tally_hits(y: Any, cell: Any, weight: Any, decisions: Any, match: Any, out: Any) -> None:
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        j = np.uintp(decisions[r])
        # As the last index, being right or wrong costs no branch to mispredict.
        out[r % BANKS, a, j, np.uintp(y[r] == match[j])] += w


@njit
def _tally_soft_hits(P: Any, cell: Any, weight: Any, decisions: Any, match: Any, out: Any) -> None:
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        j = np.uintp(decisions[r])
        i = match[j]
        out[r % BANKS, a, j, 0] += w * (P[r, i] if i >= 0 else 0.0)
        out[r % BANKS, a, j, 1] += w


@_kernel
def count_hits(P: Any, y: Any, cell: Any, weight: Any, slope: Any, offset: Any, match: Any, out: Any) -> None:
    """Add the weights of wrong and of right decisions to ``out``, (BANKS, cells, k, 2)."""
    span = max(BLOCK, SPAN // P.shape[1])
    scratch = np.empty(span, np.int32)
    for start in range(0, P.shape[0], span):
        decisions = scratch[: P.shape[0] - start]
        decide_diagonal(P[start:], cell[start:], slope, offset, match, decisions)
        _tally_hits(y[start:], cell[start:], weight[start:], decisions, match, out)


@_kernel
def count_soft_hits(P: Any, cell: Any, weight: Any, slope: Any, offset: Any, match: Any, out: Any) -> None:
    """Add the expected weights of right decisions, and those of all, to ``out``, (BANKS, cells, k, 2)."""
    span = max(BLOCK, SPAN // P.shape[1])
    scratch = np.empty(span, np.int32)
    for start in range(0, P.shape[0], span):
        decisions = scratch[: P.shape[0] - start]
        decide_diagonal(P[start:], cell[start:], slope, offset, match, decisions)
        _tally_soft_hits(P[start:], cell[start:], weight[start:], decisions, match, out)


@_kernel
def tally_labels(y: Any, cell: Any, weight: Any, decisions: Any, out: Any) -> None:
    """Add the confusion tensor of labels to ``out``, (cells, n, k)."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        out[a, np.uintp(y[r]), np.uintp(decisions[r])] += w


@_kernel
def tally_soft_mixture(P: Any, cell: Any, weight: Any, decisions: Any, shares: Any, out: Any) -> None:
    """Add the confusion tensor of soft labels of a mixture to ``out``, (cells, k, n).

    ``decisions`` are (rows, rules) and ``shares`` (cells, rules). Rules mostly agree, so that most rows are
    read and added once, not once for each rule.
    """
    n_rules, whole = shares.shape[1], np.zeros(shares.shape[0])
    for q in range(n_rules):
        whole += shares[:, q]
    for r in range(P.shape[0]):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        agree = True
        for q in range(1, n_rules):
            agree &= decisions[r, q] == decisions[r, 0]
        if agree:
            total = out[a, np.uintp(decisions[r, 0])]
            for i in range(P.shape[1]):
                total[i] += w * whole[a] * P[r, i]
            continue
        for q in range(n_rules):
            decision, share = decisions[r, q], shares[a, q]
            for s in range(q):
                if decisions[r, s] == decision:
                    share = 0.0  # already added there
            for s in range(q + 1, n_rules):
                if decisions[r, s] == decision and share > 0.0:
                    share += shares[a, s]
            if share > 0.0:
                total = out[a, np.uintp(decision)]
                for i in range(P.shape[1]):
                    total[i] += w * share * P[r, i]


@_kernel
def tally_soft(P: Any, cell: Any, weight: Any, decisions: Any, out: Any) -> None:
    """Add the confusion tensor of soft labels to ``out``, (cells, k, n): a row of P lies along its memory."""
    for r in range(decisions.size):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        w = weight[r] if weight.size else 1.0
        total = out[a, np.uintp(decisions[r])]
        for i in range(P.shape[1]):
            total[i] += w * P[r, i]
