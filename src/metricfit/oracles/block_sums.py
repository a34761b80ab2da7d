"""What a block of rows adds to sums over all rows: weights of decisions, not shares."""

from __future__ import annotations

import numpy as np

from metricfit.data.layout import Layout
from metricfit.data.rows import RowArrays
from metricfit.kernels import counting as kernels
from metricfit.types import FloatArray, IntArray


def decided_weight(
    block: RowArrays, loss: FloatArray, match: IntArray, layout: Layout, threads: int = 1
) -> FloatArray:
    """Return the weight of the rows by class and decision under the rule of a loss, in the layout of the loss.

    Examples
    --------
    >>> import numpy as np
    >>> block = RowArrays(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]), None, None)
    >>> decided_weight(block, np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.array([0, 1]), "full")
    array([[[1., 0.],
            [0., 1.]]])
    """
    if not len(block):
        return np.zeros(loss.shape)
    shares = kernels.count(block, loss, match, layout=layout, threads=threads)
    sums = _weights(block, shares)
    # Whole numbers come back whole, so that sums over blocks are equal to the bit to those over all rows.
    return np.rint(sums) if block.weights is None and block.labels is not None else sums


def mixture_weight(
    block: RowArrays,
    losses: FloatArray,
    shares: FloatArray,
    match: IntArray,
    layout: Layout,
    threads: int = 1,
) -> FloatArray:
    """Return the weight in each entry of the full tensor of a mixture of rules."""
    if not len(block):
        return np.zeros((shares.shape[0], block.proba.shape[1], losses.shape[-1]))
    tensor = kernels.mixture_confusion(block, losses, shares, match, layout=layout, threads=threads)
    return _weights(block, tensor)


def class_weight(block: RowArrays, n_cells: int, threads: int = 1) -> FloatArray:
    """Return the weighted sum of each class's probabilities in each cell, (cells, classes)."""
    if not len(block):
        return np.zeros((n_cells, block.proba.shape[1]))
    alike = np.zeros(len(block), np.int32)
    return _weights(block, kernels.confusion(block.soft(), alike, n_cells, 1, threads=threads))[:, :, 0]


def _weights(block: RowArrays, shares: FloatArray) -> FloatArray:
    """Undo the division by the number of rows that kernels end with where rows have no weights."""
    return shares * len(block) if block.weights is None else shares
