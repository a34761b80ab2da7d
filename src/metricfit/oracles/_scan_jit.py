"""Numba kernels behind :mod:`metricfit.oracles.scan_kernels`; import this module only when one of them runs."""

from __future__ import annotations

import numpy as np
from numba import njit

ROUNDING = 1e-12


@njit(nogil=True, cache=True)
def runner_up(table, rows, cell, column, slope, offset, decision, score, number):
    """Find the best decision but one for each row; of equal scores the one with the larger number."""
    k = column.size
    for r in range(rows.size):
        row, a = table[rows[r]], cell[r]
        best, found = -np.inf, 0
        for j in range(k):
            value = slope[a, j] * row[column[j]] + offset[a, j]
            if value >= best and j != decision:
                best, found = value, j
        score[r], number[r] = best, found


@njit
def _ratio(terms, j, hit, made):
    under = terms[1, 0, j] + terms[1, 1, j] * hit + terms[1, 2, j] * made
    if abs(under) <= ROUNDING:
        return 0.0
    return (terms[0, 0, j] + terms[0, 1, j] * hit + terms[0, 2, j] * made) / under


@njit(nogil=True, cache=True)
def ratio_sums(left, weight, won, lost, decision, hit, made, terms, sums):
    """Add up the quotients of all decisions, before and after each row enters one."""
    k = hit.size
    parts = np.empty(k)
    total = 0.0
    for j in range(k):
        parts[j] = _ratio(terms, j, hit[j], made[j])
        total += parts[j]
    sums[0] = total
    for r in range(left.size):
        j = left[r]
        hit[j] -= lost[r]
        made[j] -= weight[r]
        hit[decision] += won[r]
        made[decision] += weight[r]
        before = parts[j] + parts[decision]
        parts[j] = _ratio(terms, j, hit[j], made[j])
        parts[decision] = _ratio(terms, decision, hit[decision], made[decision])
        total += parts[j] + parts[decision] - before
        sums[r + 1] = total
