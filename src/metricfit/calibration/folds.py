"""The rows that a calibration is fitted on: sampled, weighted by their effective number, sorted by fold."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """Rows sorted by fold.

    Attributes
    ----------
    proba, labels, cells, weights : arrays
        The rows; the weights sum to the effective number of rows.
    folds : list of slice
        The rows of each fold.
    places : int array
        Where the rows stand among those given.
    """

    proba: FloatArray
    labels: IntArray
    cells: IntArray
    weights: FloatArray
    folds: list[slice]
    places: IntArray

    @property
    def effective(self) -> float:
        """The number of equally weighted rows that would carry as much information."""
        return float(self.weights.sum())


def by_content(
    proba: FloatArray, labels: IntArray, weights: FloatArray | None, cells: IntArray | None
) -> IntArray:
    """Return an order of the rows that does not depend on how rows, classes and cells are ordered.

    Rows are sorted by a number that is continuous in all they hold, so that only rows that are alike, up to rounding,
    may change places. Classes and cells enter by their shares, not by their codes.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]])
    >>> by_content(proba, np.array([0, 1, 1]), None, None)
    array([1, 2, 0])
    >>> by_content(proba[::-1, ::-1], np.array([0, 0, 1]), None, None)
    array([1, 0, 2])
    """
    if not len(labels):
        return np.arange(0)
    values = np.asarray(proba, dtype=np.float64)
    share = values.mean(axis=0)
    # The coefficients only have to differ, so that unlike rows get different numbers.
    number = values @ share + np.sqrt(share)[labels]
    if weights is not None:
        number += 0.7 * np.asarray(weights, dtype=np.float64) / np.max(weights)
    if cells is not None:
        number += 0.3 * np.sqrt(np.bincount(cells) / len(cells))[cells]
    return np.argsort(number, kind="stable")


def fold_rows(
    proba: FloatArray,
    labels: IntArray,
    weights: FloatArray | None,
    cells: IntArray | None,
    most_rows: int,
    folds: int = 1,
    seed: int = 0,
) -> FoldedRows:
    """Return some of the rows, in random folds; rows of weight 0 are left out.

    Folds are not stratified: equal class shares in all folds would hide how much class biases overfit the shares
    of these rows, and families with biases would win even on calibrated probabilities. Unless rows are sampled, a row
    is in the same fold whatever the order of rows and classes, because other folds may choose another family.
    """
    rng = np.random.default_rng(seed)
    order = np.arange(len(labels)) if weights is None else np.flatnonzero(np.asarray(weights) > 0)
    if len(order) > most_rows:  # to sample from many rows costs less than to sort or permute all of them
        order = rng.choice(order, most_rows, replace=False)
    elif folds > 1:
        weigh = None if weights is None else np.asarray(weights, float)[order]
        cell = None if cells is None else np.asarray(cells)[order]
        order = rng.permutation(order[by_content(proba[order], np.asarray(labels)[order], weigh, cell)])
    else:
        order = rng.permutation(order)
    some = np.ones(len(order)) if weights is None else np.asarray(weights, float)[order]
    some = some / some.max(initial=1e-300)
    some *= some.sum() / max(some @ some, 1e-300)
    ends = np.linspace(0, len(order), folds + 1).round().astype(int)
    return FoldedRows(
        np.asarray(proba.take(order, axis=0), dtype=np.float64),
        np.asarray(labels)[order].astype(np.intp),
        np.zeros(len(order), np.intp) if cells is None else np.asarray(cells)[order].astype(np.intp),
        some,
        [slice(start, end) for start, end in itertools.pairwise(ends) if end > start],
        order,
    )
