"""Numba kernels that sort breakpoints, the first of equal ones first.

Import this module only when one of them runs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# If a bucket has more values than this, all are sorted by their bits, so many at a time. Comparisons would take longer
# than either: each is as likely to be true as false, and a processor guesses wrong every other time.
CROWD, DIGIT = 64, 11


@njit
def _spread(x, positive):
    # The bits of a positive number are nearly its logarithm.
    return np.float64(np.float64(x).view(np.int64)) if positive else x


@njit
def _key(x):
    """Return an integer in the order of the numbers; that of -0.0 is that of 0.0."""
    bits = np.float64(x + 0.0).view(np.int64)
    return np.uint64(bits ^ ((bits >> 63) | np.int64(-(2**63))))


@njit
def _sort_by_digits(at, order, other):
    """Write the order of values, digit by digit of their bits, the last digit first."""
    low, most = _key(at.min()), _key(at.max()) - _key(at.min())
    keys, starts = np.empty(at.size, np.uint64), np.empty((1 << DIGIT) + 1, np.int64)
    for i in range(at.size):
        order[i], keys[i] = i, _key(at[i]) - low
    mask, shift = np.uint64((1 << DIGIT) - 1), np.uint64(0)
    while shift < 64 and most >> shift > 0:
        starts[:] = 0
        for i in range(at.size):
            starts[((keys[i] >> shift) & mask) + np.uint64(1)] += 1
        for b in range(1 << DIGIT):
            starts[b + 1] += starts[b]
        for i in range(at.size):
            digit = (keys[order[i]] >> shift) & mask
            other[starts[digit]] = order[i]
            starts[digit] += 1
        order[:] = other[: at.size]
        shift += np.uint64(DIGIT)


@njit
def sort(at, order, bucket, positive):
    """Write the order of values: by buckets first, then within each; positive values are spread by their logarithms."""
    count = at.size
    starts = np.zeros(count + 1, np.int64)
    low, high = _spread(at.min(), positive), _spread(at.max(), positive)
    scale = (count - 1) / (high - low) if high > low and np.isfinite(high - low) else 0.0
    even = 0 < scale < np.inf  # differences near the smallest float make the scale infinite
    for i in range(count):
        bucket[i] = int((_spread(at[i], positive) - low) * scale) if even else 0
        starts[bucket[i] + 1] += 1
    if starts.max() > CROWD:
        _sort_by_digits(at, order, bucket)
        return
    for b in range(count):
        starts[b + 1] += starts[b]
    for i in range(count):
        place = starts[bucket[i]]
        starts[bucket[i]] += 1
        order[place] = i
    for i in range(1, count):
        item, place = order[i], i
        while place > 0 and at[order[place - 1]] > at[item]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = item


@njit(nogil=True, cache=True)
def ascending(values):
    """Return the order of values, the first of equal ones first."""
    order, bucket = np.empty(values.size, np.int64), np.empty(values.size, np.int64)
    sort(values, order, bucket, values.min() > 0)
    return order
