"""Numba kernels behind :mod:`metricfit.kernels.lazy`; importing this module imports numba.

Scores are computed as in :mod:`metricfit.kernels._counting_jit`, so that every decision is the same bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from metricfit.kernels._counting_jit import (
    BANKS,
    BLOCK,
    NARROW,
    _key,
    _last_argmin,
    _tally_hits,
    decide_diagonal,
)
from metricfit.kernels.lazy_bounds import ALLOWANCE, TINY

# Listed rows that are copied together and decided together, few enough to stay in the second-level cache.
BATCH = 2**15


@njit(forceinline=True)
def _keep_two(x: Any, slope: Any, offset: Any, j: Any, old: Any, new: Any) -> None:
    # As `_jit._keep`, with the second smallest score.
    for r in range(BLOCK):
        score = slope[r] * x[r] + offset[r]
        best, decision, second = old[0, r], old[1, r], old[2, r]
        better = score <= best
        new[0, r] = score if better else best
        new[1, r] = j if better else decision
        other = best if better else score
        new[2, r] = other if other < second else second


@njit(forceinline=True)
def _place(best: Any, second: Any, terms: Any, a: Any, floor: Any) -> Any:
    """Bucket of a row: the first bits of its radius, which are in the order of positive floats."""
    best, second = np.float64(best), np.float64(second)
    size = abs(best - terms[a, 0]) + abs(second - terms[a, 0])
    slack = max(second - best - ALLOWANCE * size - terms[a, 2], 0.0)
    bits = np.float32(slack / (size + terms[a, 1] + TINY)).view(np.int32)
    return min(max(np.int64(bits >> 21) - floor, 0), 255)


@njit
def _remember_narrow(
    P: Any,
    cell: Any,
    slope: Any,
    offset: Any,
    match: Any,
    terms: Any,
    floor: Any,
    decisions: Any,
    bucket: Any,
) -> None:
    k = match.size
    x, D, W = np.empty(BLOCK, P.dtype), np.empty(BLOCK, P.dtype), np.empty(BLOCK, P.dtype)
    state = np.zeros((2, 3, BLOCK), P.dtype)
    for begin in range(0, P.shape[0], BLOCK):
        start = min(begin, P.shape[0] - BLOCK)
        block, codes = P[start : start + BLOCK], cell[start : start + BLOCK]
        state[0] = np.inf
        for j in range(k):
            i = max(match[j], 0)
            for r in range(BLOCK):
                x[r] = block[r, i]
            for r in range(BLOCK):
                a = np.uintp(codes[r]) if codes.size else np.uintp(0)
                D[r], W[r] = slope[a, j], offset[a, j]
            _keep_two(x, D, W, P.dtype.type(j), state[j & 1], state[1 - (j & 1)])
        last = state[k & 1]
        for r in range(BLOCK):
            a = np.uintp(codes[r]) if codes.size else np.uintp(0)
            decisions[start + r] = np.int32(last[1, r])
            bucket[start + r] = _place(last[0, r], last[2, r], terms, a, floor)


@njit(forceinline=True)
def _second(keys: Any, decision: Any, highest: Any) -> Any:
    keys[decision] = highest
    least = highest
    for j in range(np.uintp(keys.size)):
        least = keys[j] if keys[j] < least else least
    return least


@njit
def _remember_wide(
    P: Any,
    cell: Any,
    slope: Any,
    offset: Any,
    match: Any,
    terms: Any,
    floor: Any,
    decisions: Any,
    bucket: Any,
) -> None:
    x, highest = np.zeros(slope.shape[1], P.dtype), _key(P.dtype.type(np.inf))
    keys = np.full(slope.shape[1], highest)
    scores = keys.view(P.dtype)
    in_order = match.size >= P.shape[1]
    for j in range(match.size):
        if match[j] >= 0 and match[j] != j:
            in_order = False
    for r in range(P.shape[0]):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        if in_order:
            for i in range(np.uintp(P.shape[1])):
                x[i] = P[r, i]
        else:
            for j in range(match.size):
                x[j] = P[r, max(match[j], 0)]
        j = _last_argmin(x, np.uintp(0), slope, offset, a, keys)
        keys[0] = _second(keys, j, highest)
        keys[0] = _key(scores[0])  # the map from bits to keys is its own inverse
        decisions[r] = j
        bucket[r] = _place(slope[a, j] * x[j] + offset[a, j], scores[0], terms, a, floor)


@njit(nogil=True, cache=True)
def remember(
    P: Any,
    cell: Any,
    slope: Any,
    offset: Any,
    match: Any,
    terms: Any,
    floor: Any,
    decisions: Any,
    bucket: Any,
) -> None:
    """Decide the rows, and sort them into buckets by the change of the loss that their decision withstands.

    ``terms`` are those of :class:`metricfit.kernels.lazy_bounds.Reference`, ``floor`` is the bucket 0.
    """
    if match.size <= NARROW and P.shape[0] >= BLOCK:
        _remember_narrow(P, cell, slope, offset, match, terms, floor, decisions, bucket)
    else:
        _remember_wide(P, cell, slope, offset, match, terms, floor, decisions, bucket)


@njit(nogil=True, cache=True)
def list_rows(bucket: Any, cell: Any, starts: Any, order: Any) -> None:
    """Put the rows in the order of cell and bucket; ``starts`` (cells, buckets) moves on to the ends."""
    n_buckets = starts.shape[1]
    for r in range(bucket.size):
        b = bucket[r]
        if b < n_buckets:
            a = np.uintp(cell[r]) if cell.size else np.uintp(0)
            order[starts[a, b]] = r
            starts[a, b] += 1


@njit(nogil=True, cache=True)
def decide_some(P: Any, cell: Any, slope: Any, offset: Any, match: Any, rows: Any, out: Any) -> None:
    """Decide the rows of a list: they are copied, some at a time, and decided by the plain kernel."""
    n, size = P.shape[1], max(BLOCK, BATCH // P.shape[1])
    x, codes, decisions = np.empty((size, n), P.dtype), np.empty(size, np.int32), np.empty(size, np.int32)
    for start in range(0, rows.size, size):
        stop = min(start + size, rows.size)
        m = stop - start
        for i in range(m):
            r = rows[start + i]
            for c in range(np.uintp(n)):
                x[i, c] = P[r, c]
            if cell.size:
                codes[i] = cell[r]
        decide_diagonal(x[:m], codes[: m if cell.size else 0], slope, offset, match, decisions[:m])
        for i in range(m):
            out[start + i] = decisions[i]


@njit(nogil=True, cache=True)
def tally(y: Any, cell: Any, weight: Any, decisions: Any, match: Any, span: Any, out: Any) -> None:
    """Add up wrong and right decisions as ``_jit.count_hits`` does, in the same order."""
    for start in range(0, decisions.size, span):
        part = slice(start, min(start + span, decisions.size))
        _tally_hits(y[part], cell[part], weight[part], decisions[part], match, out)


@njit(nogil=True, cache=True)
def tally_own(own: Any, cell: Any, weight: Any, decisions: Any, span: Any, out: Any) -> None:
    """Add up right decisions and all as ``_jit.count_soft_hits`` does, in the same order."""
    for start in range(0, decisions.size, span):
        for r in range(start, min(start + span, decisions.size)):
            a = np.uintp(cell[r]) if cell.size else np.uintp(0)
            w = weight[r] if weight.size else 1.0
            j = np.uintp(decisions[r])
            out[(r - start) % BANKS, a, j, 0] += w * own[r]
            out[(r - start) % BANKS, a, j, 1] += w
