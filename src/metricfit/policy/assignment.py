"""Rows and decisions of which several are limited: the cheapest assignment, by linear programs in HiGHS.

Prices of the decisions settle the choice of almost all rows: each takes what is cheapest for it, price included. Only
the rows whose choice is least clear are assigned by a linear program, which may move the prices as long as no other row
would change its choice. If nothing holds the prices back, the assignment is the cheapest one of all rows; else the rows
that are least clear by the new prices are assigned. Samples of the rows give prices to begin with.
"""

from __future__ import annotations

import numpy as np

from metricfit.types import FloatArray, IntArray

# Rows that a linear program assigns, and rows of the smallest sample; how much larger each sample is than the last.
OPEN, GROWTH = 2000, 4
# Costs that differ by less, as a part of the largest, are equal: a rounding error could hold prices back for ever.
EQUAL = 1e-9


def cheapest(costs: FloatArray, most: IntArray) -> IntArray:
    """Return the column of each row, such that the sum of costs is smallest and no column has too many rows.

    Parameters
    ----------
    costs : array of shape (N, m)
        The cost of each column for each row, >= 0. Of rows with equal costs the first ones get what is cheapest.
    most : array of shape (m,)
        The largest number of rows of each column; together at least N.

    Examples
    --------
    >>> cheapest(np.array([[0, 3, 5.0], [0, 1, 5], [2, 0, 1]]), np.array([1, 1, 3]))
    array([0, 1, 2])
    """
    costs = costs / (float(costs.max(initial=0.0)) or 1.0)
    size: int = OPEN
    prices: FloatArray = np.zeros(most.size)
    while size < len(costs):
        some = np.linspace(0, len(costs) - 1, size).astype(np.intp)
        prices = _assigned(costs[some], np.ceil(most * (size / len(costs))).astype(np.intp), prices)[1]
        size *= GROWTH
    return _assigned(costs, most, prices)[0]


def _assigned(costs: FloatArray, most: IntArray, prices: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the cheapest columns and their prices, beginning with some prices."""
    while True:
        priced = costs + prices
        choice = priced.argmin(axis=1)
        gap = np.diff(np.partition(priced, 1, axis=1)[:, :2], axis=1)[:, 0]
        last = min(OPEN, gap.size) - 1
        clear = gap > max(float(np.partition(gap, last)[last]), EQUAL)
        left, room = most.copy(), np.full((most.size, most.size), np.inf)
        for column in range(most.size):
            rows = costs[clear & (choice == column)]
            left[column] -= len(rows)
            if len(rows):
                room[column] = (rows - rows[:, [column]]).min(axis=0)
        alike, kind, number = np.unique(costs[~clear], axis=0, return_inverse=True, return_counts=True)
        amounts, prices, held_back = _solved(alike, number, left, room)
        if not held_back:
            choice[~clear] = _dealt(alike, kind.reshape(-1), amounts)
            return choice, prices


def _solved(
    costs: FloatArray, rows: IntArray, most: IntArray, room: FloatArray
) -> tuple[IntArray, FloatArray, bool]:
    """Return how many rows of each kind get each column, the prices, and whether other rows hold these back.

    The program asks for prices: the largest sum of what rows pay, less the price of each column for all it may have,
    where the price of column f may exceed that of j by ``room[f, j]``. That takes a tenth of the time of asking for the
    assignment, which its multipliers are.
    """
    import scipy.sparse as sp

    from metricfit.solvers.lp import LinearProgram

    kinds, columns = costs.shape
    program = LinearProgram(np.repeat([0.0, -np.inf], [columns, kinds]), np.full(columns + kinds, np.inf))
    paid = sp.kron(sp.eye_array(kinds), np.ones((columns, 1)))
    prices = sp.kron(np.ones((kinds, 1)), sp.eye_array(columns))
    program.add_rows(sp.hstack([-prices, paid]), np.full(costs.size, -np.inf), costs.ravel())
    one, other = np.nonzero(np.isfinite(room) & ~np.eye(columns, dtype=bool))
    apart = sp.eye_array(columns + kinds, format="csr")
    program.add_rows(apart[one] - apart[other], np.full(one.size, -np.inf), room[one, other])
    x, multipliers = program.minimise(np.concatenate([most, -rows]).astype(float))
    amounts, moved = np.split(np.rint(-multipliers).astype(np.intp), [costs.size])
    return amounts.reshape(costs.shape), x[:columns], bool(moved.any())


def _dealt(costs: FloatArray, kind: IntArray, amounts: IntArray) -> IntArray:
    """Return the column of each row by its kind: of rows that are alike the first ones get the cheapest column."""
    if not np.array_equal(amounts.sum(axis=1), np.bincount(kind)):
        raise AssertionError("a corner of an assignment problem has whole numbers of rows")
    ranked = np.argsort(costs, axis=1, kind="stable")
    choice = np.empty(kind.size, dtype=np.intp)
    choice[np.argsort(kind, kind="stable")] = np.repeat(
        ranked.ravel(), np.take_along_axis(amounts, ranked, axis=1).ravel()
    )
    return choice
