"""Samples of the rows, stratified by class and cell: the same rows however the data is split into blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.rows import RowArrays, Rows, joined, strata
from metricfit.oracles.settings import TUNED, Settings
from metricfit.types import FloatArray, IntArray

# Not 0 or another seed that data may be generated with: if labels were drawn from ``default_rng(0)``, the same random
# numbers would choose the sampled rows, and whole classes would be missing.
SEED = 0x6D6574726963666974


def draw_lots(start: int, rows: int) -> FloatArray:
    """Return numbers between 0 and 1 for rows from ``start`` on: the same for a row however rows are cut into blocks.

    Examples
    --------
    >>> bool(np.all(draw_lots(0, 5)[2:] == draw_lots(2, 3)))
    True
    """
    stream = np.random.PCG64(SEED)
    stream.advance(start)
    return np.random.Generator(stream).random(rows)


def fractions(counts: IntArray, settings: Settings = TUNED) -> FloatArray:
    """Return which fraction of each stratum makes a sample of about the rows wanted, rare strata whole.

    Parameters
    ----------
    counts : int array of shape (cells, classes)
        Number of rows of each class in each cell.
    settings : Settings
        How many rows are wanted.

    Returns
    -------
    float array of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> fractions(np.array([[100, 100_000, 50]]), Settings(sample_rows=1150))
    array([[1.  , 0.01, 1.  ]])
    """
    # As many rows of each stratum as there are, up to a level that makes their sum the size.
    ordered = np.sort(counts, axis=None)
    below = np.concatenate([[0], np.cumsum(ordered)[:-1]])
    levels = (settings.sample_rows - below) / np.arange(ordered.size, 0, -1)
    fits = np.flatnonzero(levels <= ordered)
    level = max(levels[fits[0]] if fits.size else np.inf, settings.stratum_rows)
    return np.minimum(1.0, level / np.maximum(counts, 1))


def drawn(block: RowArrays, wanted: FloatArray, lots: FloatArray) -> RowArrays:
    """Return the rows of a block whose lots fall below the fraction ``wanted`` (cells, classes) of their stratum."""
    assert block.labels is not None
    mine = wanted.take(block.labels) if block.cells is None else wanted[block.cells, block.labels]
    return block[np.flatnonzero(lots < mine)]


def sample_rows(axes: Axes, blocks: Sequence[RowArrays], totals: FloatArray) -> Rows:
    """Return drawn rows as data of its own, weighted so that each class in each cell has its weight of all rows.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells.
    blocks : sequence of RowArrays
        What was drawn of each block.
    totals : array of shape (cells, classes)
        The weight of each class in each cell over all rows.

    Returns
    -------
    Rows
    """
    parts = joined([block for block in blocks if len(block)])
    assert parts.labels is not None
    labels = parts.labels.astype(np.int32, copy=False)
    cells = (
        np.zeros(len(parts), np.int32) if parts.cells is None else parts.cells.astype(np.int32, copy=False)
    )
    weights = np.ones(len(parts)) if parts.weights is None else parts.weights
    sums = np.zeros(totals.shape)
    np.add.at(sums, (cells, labels), weights)
    weights = weights * np.divide(totals, sums, out=np.zeros(totals.shape), where=sums > 0)[cells, labels]
    return Rows(parts.proba, labels, cells if len(axes.cells) > 1 else None, weights / weights.sum(), axes)


def thinned(rows: Rows, most: int, settings: Settings = TUNED) -> Rows:
    """Return the rows, or a sample of about so many if they are more, stratified by class and cell.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.of(np.tile([[0.9, 0.1]], (1000, 1)), np.arange(1000) % 100 == 0, classes=[False, True])
    >>> int(rows.labels.sum()), int(thinned(rows, 100).labels.sum()), thinned(rows, 1000) is rows
    (10, 10, True)
    """
    if len(rows) <= most:
        return rows
    counts = strata(rows.labels, rows.cells, None, len(rows.axes.cells), rows.axes.n)
    taken = drawn(rows, fractions(counts, settings._replace(sample_rows=most)), draw_lots(0, len(rows)))
    totals = counts / counts.sum() if rows.weights is None else rows.margins()
    return sample_rows(rows.axes, [taken], totals)
