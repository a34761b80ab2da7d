"""What metrics read while rows enter a decision one by one: sums of ratios, and entries of u, after each row.

Small inputs go to the NumPy twins, which agree bit for bit, so that a small job does not wait for numba; ``engine``
forces either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.kernels.engine import SCANS, Engine
from metricfit.kernels.moving_rows import Moving
from metricfit.types import FloatArray, IntArray

# Sums of weights this small count as zero: because of rounding, no sum is known more accurately.
NO_WEIGHT = 1e-12


def ratio_sums(
    moving: Moving,
    decision: int,
    hit: FloatArray,
    made: FloatArray,
    terms: FloatArray,
    engine: Engine = "auto",
) -> FloatArray:
    r"""Return :math:`\sum_j r_j` before and after each row enters a decision.

    Parameters
    ----------
    moving : Moving
        The rows, in the order in which they enter.
    decision : int
        The decision that they enter.
    hit, made : arrays of shape (k,)
        Rows decided right, and all rows, of each decision before any row has entered.
    terms : array of shape (2, 3, k)
        Coefficients (of 1, hit and made) of numerators and denominators: :math:`r_j` is their quotient, 0 where the
        denominator is.
    engine : {"auto", "numpy", "numba"}
        The implementation to use.

    Returns
    -------
    array of shape (rows + 1,)

    Examples
    --------
    >>> import numpy as np
    >>> precision = np.zeros((2, 3, 2))
    >>> precision[0, 1] = precision[1, 2] = 1.0
    >>> number = np.array([0])
    >>> moving = Moving(np.array([1.0]), number, number, np.array([0.5]), np.array([0.5]), np.array([0.0]))
    >>> ratio_sums(moving, 1, np.array([0.5, 0.0]), np.array([1.0, 0.0]), precision)
    array([0.5, 2. ])
    """
    if SCANS.in_numpy(engine, moving.at.size):
        return ratio_sums_numpy(moving, decision, hit, made, terms)
    from metricfit.kernels import _scan_jit

    _, _, left, weight, won, lost = moving
    order, sums = np.arange(left.size), np.empty(left.size + 1)
    _scan_jit.ratio_sums(order, left, weight, won, lost, decision, hit, made, terms, sums)
    return sums


def ratio_sums_numpy(
    moving: Moving, decision: int, hit: FloatArray, made: FloatArray, terms: FloatArray
) -> FloatArray:
    """Return what `ratio_sums` does."""
    _, _, left, weight, won, lost = moving
    entering = ratio(terms, decision, hit[decision] + prefix(won), made[decision] + prefix(weight))
    sums = np.zeros(left.size + 1)
    for j in np.flatnonzero(np.arange(hit.size) != decision):
        rows = np.flatnonzero(left == j)
        series = ratio(terms, j, hit[j] - prefix(lost[rows]), made[j] - prefix(weight[rows]))
        sums[0] += series[0]
        sums[rows + 1] = np.diff(series)
    return np.cumsum(sums) + entering


def ratio(terms: FloatArray, j: Any, hit: Any, made: Any) -> Any:
    """Return the quotient of decision j."""
    over = terms[0, 0, j] + terms[0, 1, j] * hit + terms[0, 2, j] * made
    under = terms[1, 0, j] + terms[1, 1, j] * hit + terms[1, 2, j] * made
    zero = np.abs(under) <= NO_WEIGHT
    return np.where(zero, 0.0, over / np.where(zero, 1.0, under))


def prefix(values: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, 2, ... values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def entries_along(
    moving: Moving,
    cell: IntArray,
    decision: int,
    matrix: FloatArray,
    k: int,
    u: FloatArray,
    engine: Engine = "auto",
) -> FloatArray:
    """Return u before and after each row enters a decision, entry by entry: array of shape (entries, rows + 1).

    Parameters
    ----------
    moving : Moving
        The rows, in the order in which they enter.
    cell : int array
        The cell of all rows; empty if there is one.
    decision : int
        The decision that they enter.
    matrix : array of shape (entries, cells * 2 * k)
        What u reads of a statistic in the diagonal layout.
    k : int
        The number of decisions.
    u : array of shape (entries,)
        Its value before any row has entered.
    engine : {"auto", "numpy", "numba"}
        The implementation to use.

    Examples
    --------
    >>> import numpy as np
    >>> number = np.array([0])
    >>> moving = Moving(np.array([1.0]), number, number, np.array([0.5]), np.array([0.5]), np.array([0.0]))
    >>> entries_along(moving, np.zeros(0, int), 1, np.eye(4), 2, np.array([0.5, 0.0, 1.0, 0.0]))
    array([[0.5, 0.5],
           [0. , 0.5],
           [1. , 0.5],
           [0. , 0.5]])
    """
    if SCANS.in_numpy(engine, moving.at.size):
        return entries_along_numpy(moving, cell, decision, matrix, k, u)
    from metricfit.kernels import _scan_jit

    points = np.empty((u.size, moving.at.size + 1))
    _scan_jit.entries_along(*moving[1:], cell, decision, k, matrix, u, points)
    return points


def entries_along_numpy(
    moving: Moving, cell: IntArray, decision: int, matrix: FloatArray, k: int, u: FloatArray
) -> FloatArray:
    """Return what `entries_along` does."""
    _, rows, left, weight, won, lost = moving
    first = 2 * k * cell[rows].astype(np.int64) if cell.size else 0
    places = first + decision, first + k + decision, first + left, first + k + left
    points = np.zeros((u.size, rows.size + 1))
    # Most entries read only the hits of one decision, so most products would be zeros.
    read = (matrix.reshape(u.size, -1, 2, k) != 0).any(axis=1)
    entered, others = read[:, :, decision], np.delete(read, decision, axis=2).any(axis=2)
    reads = np.concatenate([entered, others], axis=1).tolist()
    changes = won, weight, -lost, -weight
    for entry, coefficients, some in zip(points, matrix, reads, strict=True):
        for change, place, needed in zip(changes, places, some, strict=True):
            if needed:
                entry[1:] += coefficients[place] * change
        np.cumsum(entry, out=entry)
    points += u[:, None]
    if (zero := np.abs(points) <= NO_WEIGHT).any():
        points[zero] = 0.0
    return points
