"""The smallest and largest values that linear functions can have, whatever is decided."""

from __future__ import annotations

import numpy as np

from metricfit.data.axes import Axes
from metricfit.functions.linear import Linear, entries_of
from metricfit.types import FloatArray, IntArray


def ends(linear: Linear, axes: Axes, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest value of each function if the rows of each class may get any decision.

    ``prior`` is the probability of each class, jointly with the slice of the rows that the functions are of. Row sums,
    which no decision changes, are left out.
    """
    if linear.full is not None:
        all_entries = entries_of(linear.full)
        low, high = (_most(linear.size, *all_entries, sign, axes, prior) for sign in (-1.0, 1.0))
    else:
        column = np.zeros((linear.size, axes.k))
        row, place, data = entries_of(linear.column)
        column[row, place] = data
        own = entries_of(linear.diagonal)
        low, high = (_most_of_columns(sign * column, *own, sign, axes, prior) for sign in (-1.0, 1.0))
    return -low, high


def _most_of_columns(
    column: FloatArray,
    row: IntArray,
    place: IntArray,
    value: FloatArray,
    sign: float,
    axes: Axes,
    prior: FloatArray,
) -> FloatArray:
    """Return the largest values of functions of columns and diagonal.

    For a row of a class, every decision has the coefficient of its column; the right one has the diagonal's
    too.
    """
    best = column.max(axis=1)
    second = np.partition(column, -2, axis=1)[:, -2] if axes.k > 1 else np.full(best.size, -np.inf)
    there = column[row, place]
    others = np.where(there == best[row], second[row], best[row])
    gain = np.maximum(others, there + sign * value) - best[row]
    share = np.append(prior, 0.0)[axes.match[place]]  # none where a decision names no class
    return best * float(prior.sum()) + np.bincount(row, share * gain, minlength=best.size)


def _most(
    size: int, row: IntArray, place: IntArray, value: FloatArray, sign: float, axes: Axes, prior: FloatArray
) -> FloatArray:
    """Return the largest values of functions of all entries: each class gets its largest coefficient."""
    # Only classes that a function mentions: n * k functions of n * k entries must not cost n ** 3.
    pairs = row * axes.n + place // axes.k
    groups, index, stored = np.unique(pairs, return_inverse=True, return_counts=True)
    most = np.where(stored < axes.k, 0.0, -np.inf)
    np.maximum.at(most, index, sign * value)
    return np.asarray(np.bincount(groups // axes.n, prior[groups % axes.n] * most, minlength=size), float)
