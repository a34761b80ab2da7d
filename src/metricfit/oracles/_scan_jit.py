"""Numba kernels behind :mod:`metricfit.oracles.scan_kernels`; import this module only when one of them runs."""

from __future__ import annotations

import numpy as np
from numba import njit

ROUNDING = 1e-12


@njit(nogil=True, cache=True)
def moving_rows(
    table, column, slope, offset, cell,
    decisions, best, proba, labels, weights, match,
    decision, own, rate, anew, low, high,
    members, at, rows, left, weight, won, lost,
):  # fmt: skip
    """Write the rows that a weight moves and return their number."""
    count, equal = 0, 1.0 / decisions.size
    named = match[decision]
    for i in range(members.size):
        r = members[i]
        a = cell[r] if cell.size else 0
        other, leaves = best[r], np.int64(decisions[r])
        if leaves == decision:
            other = -np.inf
            for j in range(column.size):
                score = slope[a, j] * table[r, column[j]] + offset[a, j]
                if score >= other and j != decision:
                    other, leaves = score, j
        constant = offset[a, decision]
        score = slope[a, decision] * own[r] + constant
        if rate.size == 0:
            point = other - score + (constant if anew else 0.0)
        elif rate[r] > 0:
            point = (other - (constant if anew else score)) / rate[r]
        else:
            point = np.nan
        if not (point > low and point < high):
            continue
        w = weights[r] if weights.size else equal
        at[count], rows[count], left[count], weight[count] = point, r, leaves, w
        if labels.size:
            won[count] = w if labels[r] == named else 0.0
            lost[count] = w if labels[r] == match[leaves] else 0.0
        else:
            won[count] = w * proba[r, named] if named >= 0 else 0.0
            lost[count] = w * proba[r, match[leaves]] if match[leaves] >= 0 else 0.0
        count += 1
    return count


@njit
def _ratio(terms, j, hit, made):
    under = terms[1, 0, j] + terms[1, 1, j] * hit + terms[1, 2, j] * made
    if abs(under) <= ROUNDING:
        return 0.0
    return (terms[0, 0, j] + terms[0, 1, j] * hit + terms[0, 2, j] * made) / under


@njit(nogil=True, cache=True)
def ratio_sums(order, left, weight, won, lost, decision, hit, made, terms, sums):
    """Add up the quotients of all decisions, before and after each row enters one."""
    k = hit.size
    parts = np.empty(k)
    total = 0.0
    for j in range(k):
        parts[j] = _ratio(terms, j, hit[j], made[j])
        total += parts[j]
    sums[0] = total
    for i in range(order.size):
        r = order[i]
        j = left[r]
        hit[j] -= lost[r]
        made[j] -= weight[r]
        hit[decision] += won[r]
        made[decision] += weight[r]
        before = parts[j] + parts[decision]
        parts[j] = _ratio(terms, j, hit[j], made[j])
        parts[decision] = _ratio(terms, decision, hit[decision], made[decision])
        total += parts[j] + parts[decision] - before
        sums[i + 1] = total
