"""The two inner loops of a scan, each with its NumPy twin.

Small inputs are handed to the twins, so that a small job does not wait for numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.oracles.kernels import Engine
from metricfit.types import FloatArray, IntArray

# Scores up to which NumPy is fast enough.
NUMPY_SCORES = 20_000


def runner_up(
    table: FloatArray,
    rows: IntArray,
    codes: Any,
    column: IntArray,
    slope: FloatArray,
    offset: FloatArray,
    decision: int,
    engine: Engine = "auto",
) -> tuple[FloatArray, IntArray]:
    """Return score and number of each row's best decision but one; of equal scores the larger number.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 3))
    >>> runner_up(np.array([[0.5, 0.2, 0.3]]), np.array([0]), 0, np.arange(3), one, 0 * one, 0)
    (array([0.3]), array([2]))
    """
    if engine == "numpy" or (engine == "auto" and rows.size * column.size <= NUMPY_SCORES):
        return runner_up_numpy(table, rows, codes, column, slope, offset, decision)
    from metricfit.oracles import _scan_jit

    score, number = np.empty(rows.size), np.empty(rows.size, np.int64)
    cell = np.ascontiguousarray(np.broadcast_to(np.asarray(codes, np.int64), rows.size))
    _scan_jit.runner_up(table, rows, cell, column, slope, offset, decision, score, number)
    return score, number


def runner_up_numpy(
    table: FloatArray,
    rows: IntArray,
    codes: Any,
    column: IntArray,
    slope: FloatArray,
    offset: FloatArray,
    decision: int,
) -> tuple[FloatArray, IntArray]:
    """Return what `runner_up` does."""
    scores = slope[codes] * np.asarray(table[np.ix_(rows, column)], float) + offset[codes]
    scores[:, decision] = -np.inf
    number = scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
    return scores[np.arange(rows.size), number], number


def ratio_sums(
    left: IntArray,
    weight: FloatArray,
    won: FloatArray,
    lost: FloatArray,
    decision: int,
    hit: FloatArray,
    made: FloatArray,
    terms: FloatArray,
    engine: Engine = "auto",
) -> FloatArray:
    r"""Return :math:`\sum_j r_j` before and after each row enters a decision.

    Parameters
    ----------
    left, weight, won, lost, decision
        The rows in order, see `metricfit.oracles.scan.Line`.
    hit, made : arrays of shape (k,)
        Rows decided right, and all rows, of each decision before any row has entered.
    terms : array of shape (2, 3, k)
        Coefficients (of 1, hit and made) of numerators and denominators: :math:`r_j` is their quotient, 0 where the
        denominator is.

    Returns
    -------
    array of shape (rows + 1,)

    Examples
    --------
    >>> import numpy as np
    >>> precision = np.zeros((2, 3, 2))
    >>> precision[0, 1] = precision[1, 2] = 1.0
    >>> ratio_sums(np.array([0]), np.array([0.5]), np.array([0.5]), np.array([0.0]), 1,
    ...            np.array([0.5, 0.0]), np.array([1.0, 0.0]), precision)
    array([0.5, 2. ])
    """
    if engine == "numpy" or (engine == "auto" and left.size <= NUMPY_SCORES // 10):
        return ratio_sums_numpy(left, weight, won, lost, decision, hit, made, terms)
    from metricfit.oracles import _scan_jit

    sums = np.empty(left.size + 1)
    _scan_jit.ratio_sums(left, weight, won, lost, decision, hit.copy(), made.copy(), terms, sums)
    return sums


def ratio_sums_numpy(
    left: IntArray,
    weight: FloatArray,
    won: FloatArray,
    lost: FloatArray,
    decision: int,
    hit: FloatArray,
    made: FloatArray,
    terms: FloatArray,
) -> FloatArray:
    """Return what `ratio_sums` does."""
    entering = ratio(terms, decision, hit[decision] + _sums(won), made[decision] + _sums(weight))
    sums = np.zeros(left.size + 1)
    for j in np.flatnonzero(np.arange(hit.size) != decision):
        rows = np.flatnonzero(left == j)
        series = ratio(terms, j, hit[j] - _sums(lost[rows]), made[j] - _sums(weight[rows]))
        sums[0] += series[0]
        sums[rows + 1] = np.diff(series)
    return np.cumsum(sums) + entering


def ratio(terms: FloatArray, j: Any, hit: Any, made: Any) -> Any:
    """Return the quotient of decision j."""
    over = terms[0, 0, j] + terms[0, 1, j] * hit + terms[0, 2, j] * made
    under = terms[1, 0, j] + terms[1, 1, j] * hit + terms[1, 2, j] * made
    zero = np.abs(under) <= ROUNDING
    return np.where(zero, 0.0, over / np.where(zero, 1.0, under))


def _sums(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(values)])


# A sum of weights this small is zero: it is known no better.
ROUNDING = 1e-12
