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
    of these rows, and families with biases would win even on calibrated probabilities.
    """
    rng = np.random.default_rng(seed)
    order = np.arange(len(labels)) if weights is None else np.flatnonzero(np.asarray(weights) > 0)
    # To sample from many rows costs less than to permute all of them.
    order = rng.permutation(order) if len(order) <= most_rows else rng.choice(order, most_rows, replace=False)
    some = np.ones(len(order)) if weights is None else np.asarray(weights, float)[order]
    some = some / some.max(initial=1e-300)
    some *= some.sum() / max(some @ some, 1e-300)
    ends = np.linspace(0, len(order), folds + 1).round().astype(int)
    return FoldedRows(
        np.asarray(proba[order], dtype=np.float64),
        np.asarray(labels)[order].astype(np.intp),
        np.zeros(len(order), np.intp) if cells is None else np.asarray(cells)[order].astype(np.intp),
        some,
        [slice(start, end) for start, end in itertools.pairwise(ends) if end > start],
        order,
    )
