"""Numba kernels behind :mod:`~metricfit.kernels.moving_rows` and :mod:`~metricfit.kernels.sums_along_line`.

Import this module only when one of them runs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from metricfit.kernels._sort_jit import sort
from metricfit.kernels.sums_along_line import NO_WEIGHT

# The largest factor tried: under it, a row takes the decision if its probability is above 1e-200.
MOST = 1e200


@njit(nogil=True, cache=True)
def moving_rows(
    table, column, slope, offset, cell,
    decisions, best, proba, labels, weights, match, trust,
    decision, own, rate, anew, low, high,
    members, at, rows, left, weight, won, lost,
):  # fmt: skip
    """Write the rows that a weight moves and return their number."""
    count, equal, sure = np.uintp(0), 1.0 / decisions.size, 1.0 - trust
    named = match[decision]
    # Unsigned places: numba asks of all others whether they count from the end.
    for i in range(members.size):
        r = np.uintp(members[i])
        a = np.uintp(cell[r]) if cell.size else np.uintp(0)
        other, leaves = best[r], np.int64(decisions[r])
        if leaves == decision:
            other = -np.inf
            for j in range(column.size):
                score = slope[a, j] * table[r, column[j]] + offset[a, j]
                better = (score >= other) & (j != decision)
                other, leaves = score if better else other, j if better else leaves
        constant = offset[a, decision]
        score = slope[a, decision] * own[r] + constant
        if rate.size == 0:
            point = other - score + (constant if anew else 0.0)
        elif rate[r] > 0:
            point = (other - (constant if anew else score)) / rate[r]
        else:
            continue
        if not (point > low and point < high):
            continue
        w = weights[r] if weights.size else equal
        at[count], rows[count], left[count], weight[count] = point, r, leaves, w
        # Written out: a function that takes arrays counts references to them, which takes longer than all the rest.
        given = match[leaves]
        right, other_right = sure * (labels[r] == named), sure * (labels[r] == given)
        if trust > 0:
            right += trust * proba[r, named] if named >= 0 else 0.0
            other_right += trust * proba[r, given] if given >= 0 else 0.0
        won[count], lost[count] = w * right, w * other_right
        count += np.uintp(1)
    return np.int64(count)


@njit
def _ratio(terms, j, hit, made):
    under = terms[1, 0, j] + terms[1, 1, j] * hit + terms[1, 2, j] * made
    if abs(under) <= NO_WEIGHT:
        return 0.0
    return (terms[0, 0, j] + terms[0, 1, j] * hit + terms[0, 2, j] * made) / under


@njit(nogil=True, cache=True)
def ratio_sums(order, left, weight, won, lost, decision, hit, made, terms, sums):
    """Add up the quotients of all decisions, before and after each row enters one.

    The sums are made in the order of the NumPy twin, so that both agree bit for bit.
    """
    k = hit.size
    gone, less, parts = np.zeros(k), np.zeros(k), np.empty(k)
    others, entered, mass = 0.0, 0.0, 0.0
    for j in range(k):
        parts[j] = _ratio(terms, j, hit[j], made[j])
        others += 0.0 if j == decision else parts[j]
    sums[0] = others + parts[decision]
    for i in range(order.size):
        r = order[i]
        j = left[r]
        gone[j] += lost[r]
        less[j] += weight[r]
        part = _ratio(terms, j, hit[j] - gone[j], made[j] - less[j])
        others += part - parts[j]
        parts[j] = part
        entered += won[r]
        mass += weight[r]
        sums[i + 1] = others + _ratio(terms, decision, hit[decision] + entered, made[decision] + mass)


@njit(nogil=True, cache=True)
def entering_rows(
    table, column, slope, offset, cell,
    decisions, best, proba, labels, weights, match, trust,
    decision, own, rate, anew, low, high,
    members, closest, size, at, rows, left, weight, won, lost, apart,
):  # fmt: skip
    """Write the rows that a weight moves in order; return their number, and how many have the decision now."""
    most = members.size
    points, masses, gains, losses = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    which, leaves, order = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    count = moving_rows(
        table, column, slope, offset, cell,
        decisions, best, proba, labels, weights, match, trust,
        decision, own, rate, anew, low, high,
        members, points, which, leaves, masses, gains, losses,
    )  # fmt: skip
    here, before = 0, 0.0
    apart[0] = apart[count] = True
    if count:
        sort(points[:count], order[:count], rows, points[:count].min() > 0)
    for i in range(count):
        r = order[i]
        point = points[r]
        if i > 0:
            apart[i] = point - before > closest * ((abs(point) + size) + (abs(before) + size))
        before = point
        at[i], rows[i], left[i] = point, which[r], leaves[r]
        weight[i], won[i], lost[i] = masses[r], gains[r], losses[r]
        here += decisions[which[r]] == decision
    return count, here


@njit(nogil=True, cache=True)
def entered(rows, left, weight, won, lost, cell, decision, k, total):
    """Add to a statistic in the diagonal layout what rows change by entering a decision."""
    for i in range(rows.size):
        first = 2 * k * cell[rows[i]] if cell.size else 0
        total[first + decision] += won[i]
        total[first + k + decision] += weight[i]
        total[first + left[i]] -= lost[i]
        total[first + k + left[i]] -= weight[i]


@njit(nogil=True, cache=True)
def entries_along(rows, left, weight, won, lost, cell, decision, k, matrix, u, points):
    """Write ``u`` plus what ``matrix`` makes of the rows that have entered a decision, before and after each."""
    for e in range(u.size):
        hits, all_rows = False, False
        for a in range(matrix.shape[1] // (2 * k)):
            for j in range(k):
                hits |= matrix[e, 2 * k * a + j] != 0
                all_rows |= matrix[e, 2 * k * a + k + j] != 0
        reads, start, entry, total = matrix[e], u[e], points[e], 0.0
        entry[0] = _nonzero(start)
        if not (all_rows or cell.size):  # most entries are hits in a single cell
            for i in range(rows.size):
                total += reads[decision] * won[i] + reads[left[i]] * -lost[i]
                entry[i + 1] = _nonzero(total + start)
            continue
        for i in range(rows.size):
            first = 2 * k * cell[rows[i]] if cell.size else 0
            step = 0.0
            if hits:
                step += reads[first + decision] * won[i]
            if all_rows:
                step += reads[first + k + decision] * weight[i]
            if hits:
                step += reads[first + left[i]] * -lost[i]
            if all_rows:
                step += reads[first + k + left[i]] * -weight[i]
            total += step
            entry[i + 1] = _nonzero(total + start)


@njit
def _nonzero(value):
    return 0.0 if abs(value) <= NO_WEIGHT else value


@njit
def _best_count(at, order, series, here, closest, size, gain):
    """Return how many rows should enter: the number with the smallest value of the series that some weight can make."""
    count = order.size
    best, least = here, series[here] - gain
    for i in range(count + 1):
        if series[i] >= least:
            continue
        if 0 < i < count:
            below, above = at[order[i - 1]], at[order[i]]
            if above - below <= closest * (size + abs(above) + abs(below)):
                continue
        best, least = i, series[i]
    return best


@njit
def _within(best, own, factor, constant, members):
    """Write the rows whose score under a factor and a constant is above their best, and return their number."""
    count = 0
    for r in range(best.size):
        members[count] = r
        count += best[r] < factor * own[r] + constant
    return count


@njit(nogil=True, cache=True)
def sweep_ratios(
    table, column, slope, offset, cell,
    decisions, best, proba, labels, weights, match, trust,
    columns, sweeps, reach, anywhere, gain, tol, closest, terms, sign, hit, made,
):  # fmt: skip
    """Set factors and constants in turn to their best value nearby; return the numbers of moves and of scans.

    Each sweep but the first goes through the weights that have moved in the last one. With ``anywhere``, factors
    may take any positive value. A sweep that gains at most ``tol`` is the last.
    """
    moves, scans, k, size = 0, 0, column.size, decisions.size
    at, weight, won, lost = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    rows, left, order = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    members = np.empty(size + 1, np.int64)
    series, active = np.empty(size + 1), np.ones(2 * k, np.bool_)
    gained = np.inf
    for line in range(sweeps * 2 * k):
        which = line % (2 * k)
        j, factor = which % k, which < k
        if which == 0:
            if gained <= tol:
                break
            gained = 0.0
        if not active[which] or match[j] < 0 or slope[0, j] <= 0:
            continue
        active[which] = False
        scans += 1
        old = slope[0, j] if factor else offset[0, j]
        width = reach * slope[0, j] / 4
        low, high = (old / (1 + reach), old * (1 + reach)) if factor else (old - width, old + width)
        if factor and anywhere:
            low, high = 0.0, MOST
        own = columns[match[j]]
        # Most rows are far from entering most decisions; one comparison along a column finds those that are near.
        tried = _within(best, own, high if factor else slope[0, j], offset[0, j] if factor else high, members)
        count = moving_rows(
            table, column, slope, offset, cell,
            decisions, best, proba, labels, weights, match, trust,
            j, own, own if factor else own[:0], True, low, high,
            members[:tried], at, rows, left, weight, won, lost,
        )  # fmt: skip
        if count == 0:
            continue
        sort(at[:count], order[:count], members, factor)
        here = 0
        for i in range(count):
            if decisions[rows[i]] == j:
                here += 1
        _enter(order[:here], left, weight, won, lost, j, hit, made, -1.0)
        ratio_sums(order[:count], left, weight, won, lost, j, hit, made, terms, series[: count + 1])
        for i in range(count + 1):
            series[i] *= sign
        # A constant is as exact as the scores that it is added to, which are of size one.
        chosen = _best_count(
            at, order[:count], series[: count + 1], here, closest, 0.0 if factor else 2.0, gain
        )
        _enter(order[:chosen], left, weight, won, lost, j, hit, made, 1.0)
        if chosen == here:
            continue
        moves += 1
        active[which] = True
        gained += series[here] - series[chosen]
        new = (at[order[max(chosen - 1, 0)]] + at[order[min(chosen, count - 1)]]) / 2
        if chosen == 0 or chosen == count:
            new = (new + (low if chosen == 0 else min(high, 3 * new))) / 2
        if factor:
            slope[:, j] = new
        else:
            offset[:, j] = new
        for i in range(chosen, count):
            r = rows[order[i]]
            if decisions[r] == j:
                decisions[r] = left[order[i]]
                best[r] = slope[0, decisions[r]] * table[r, column[decisions[r]]] + offset[0, decisions[r]]
        for i in range(chosen):
            decisions[rows[order[i]]] = j
        for r in range(decisions.size):
            if decisions[r] == j:
                best[r] = slope[0, j] * table[r, column[j]] + offset[0, j]
    return moves, scans


@njit
def _enter(order, left, weight, won, lost, decision, hit, made, sign):
    """Let rows in (or out, with a negative sign) and keep the sums up to date."""
    for i in range(order.size):
        r = order[i]
        hit[left[r]] -= sign * lost[r]
        made[left[r]] -= sign * weight[r]
        hit[decision] += sign * won[r]
        made[decision] += sign * weight[r]
