"""Numba kernels behind :mod:`metricfit.oracles.lazy`; importing this module imports numba.

Scores are computed as in :mod:`metricfit.oracles._jit`, so that every decision is the same bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from metricfit.oracles._jit import NARROW, _key, _last_argmin, _tally_hits
from metricfit.oracles._jit import BANKS as BANKS
from metricfit.oracles.lazy_bounds import ALLOWANCE


@njit(forceinline=True)
def _two_least(row: Any, slope: Any, offset: Any, a: Any, match: Any) -> Any:
    best, second, decision = np.inf, np.inf, 0
    for j in range(match.size):
        score = slope[a, j] * row[max(match[j], 0)] + offset[a, j]
        if score <= best:
            best, second, decision = score, best, j
        elif score < second:
            second = score
    return best, second, decision


@njit(forceinline=True)
def _lanes(P: Any, r: Any, match: Any, in_order: Any, x: Any) -> None:
    if in_order:
        x[: P.shape[1]] = P[r]
    else:
        for j in range(match.size):
            x[j] = P[r, max(match[j], 0)]


@njit
def _in_order(match: Any, n: Any) -> Any:
    """Say whether decision j names class j or none, so that a row can be copied into the lanes as it is."""
    for j in range(match.size):
        if match[j] >= 0 and match[j] != j:
            return False
    return match.size >= n


@njit(forceinline=True)
def _second(keys: Any, decision: Any, highest: Any) -> Any:
    """Where among the keys the smallest but one is."""
    keys[decision] = highest
    least = keys[0]
    for j in range(keys.size):
        least = keys[j] if keys[j] < least else least
    place = 0
    for j in range(keys.size):
        here = np.int32(j) if keys[j] == least else np.int32(0)
        place = here if here > place else place
    return place


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

    ``terms`` is (cells, 3): shift, span and allowance of :class:`metricfit.oracles.lazy_bounds.Reference`.
    """
    x, keys = np.zeros(slope.shape[1], P.dtype), np.full(slope.shape[1], _key(P.dtype.type(0)))
    in_order, top = _in_order(match, P.shape[1]), np.int64(np.iinfo(np.uint8).max)
    for r in range(P.shape[0]):
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        if match.size <= NARROW:
            best, second, decision = _two_least(P[r], slope, offset, a, match)
        else:
            _lanes(P, r, match, in_order, x)
            j = _last_argmin(x, np.uintp(0), slope, offset, a, keys)
            other = _second(keys, j, _key(P.dtype.type(np.inf)))
            best, decision = np.float64(slope[a, j] * x[j] + offset[a, j]), np.int64(j)
            second = np.float64(slope[a, other] * x[other] + offset[a, other])
        decisions[r] = decision
        size = abs(best - terms[a, 0]) + abs(second - terms[a, 0])
        slack = second - best - ALLOWANCE * size - terms[a, 2]
        if slack <= 0.0:
            bucket[r] = 0
        else:
            # The first bits of a positive float are in the order of the floats: four buckets to a power of two.
            radius = np.float32(slack / (size + terms[a, 1]))
            place = np.int64(radius.view(np.int32) >> 21) - floor
            bucket[r] = max(np.int64(0), min(place, top))


@njit(nogil=True, cache=True)
def list_rows(bucket: Any, cell: Any, starts: Any, order: Any) -> None:
    """Put the rows in the order of cell and bucket; ``starts`` (cells, buckets) moves on to the end of each."""
    n_buckets = starts.shape[1]
    for r in range(bucket.size):
        b = bucket[r]
        if b < n_buckets:
            a = np.uintp(cell[r]) if cell.size else np.uintp(0)
            order[starts[a, b]] = r
            starts[a, b] += 1


@njit(nogil=True, cache=True)
def decide_some(P: Any, cell: Any, slope: Any, offset: Any, match: Any, rows: Any, out: Any) -> None:
    """Decide the rows of a list."""
    x, keys = np.zeros(slope.shape[1], P.dtype), np.full(slope.shape[1], _key(P.dtype.type(0)))
    in_order = _in_order(match, P.shape[1])
    for i in range(rows.size):
        r = rows[i]
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        if match.size <= NARROW:
            out[i] = _two_least(P[r], slope, offset, a, match)[2]
        else:
            _lanes(P, r, match, in_order, x)
            out[i] = _last_argmin(x, np.uintp(0), slope, offset, a, keys)


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
