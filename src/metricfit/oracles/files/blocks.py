"""A block: consecutive rows of data that is larger than memory or on several machines, and what they add to sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from metricfit.data.confusion import Axes
from metricfit.data.layout import Layout
from metricfit.data.rows import Rows
from metricfit.kernels import counting as kernels
from metricfit.types import FloatArray, IntArray

# Rows of a sample, and those of each class in each cell that it takes at least (all, if there are fewer).
SAMPLE_ROWS = 50_000
STRATUM_ROWS = 20
# Probabilities from which on the rules of a sample save more than it costs, if it is a small part of the rows.
SAMPLE_ENTRIES = 50_000_000
SAMPLE_PART = 0.1


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive checked rows.

    Parameters
    ----------
    proba : array of shape (rows, n)
        Class probabilities.
    labels : int array of shape (rows,)
        Codes of the classes.
    cells : int array of shape (rows,) or None
        Codes of the cells; None when there is one.
    weights : float64 array of shape (rows,) or None
        Weights as they were given, which need not sum to 1; None when every row counts one.

    Examples
    --------
    >>> import numpy as np
    >>> block = Block(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]), None, None)
    >>> block.counts(np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.array([0, 1]), "full")
    array([[[1., 0.],
            [0., 1.]]])
    """

    proba: FloatArray
    labels: IntArray
    cells: IntArray | None
    weights: FloatArray | None

    def __len__(self) -> int:
        return len(self.proba)

    def counts(
        self, loss: FloatArray, match: IntArray, layout: Layout, soft: bool = False, threads: int = 1
    ) -> FloatArray:
        """Return the weight that the rule of a loss moves where; ``soft`` counts probabilities, not labels."""
        if not len(self):
            return np.zeros(loss.shape)
        labels = None if soft else self.labels
        counted = kernels.count(
            self.proba, labels, self.cells, self.weights, loss, match, layout=layout, threads=threads
        )
        return self.summed(counted, soft)

    def confusion(
        self,
        losses: FloatArray,
        shares: FloatArray,
        match: IntArray,
        layout: Layout,
        soft: bool = False,
        threads: int = 1,
    ) -> FloatArray:
        """Return the weight in each entry of the full tensor of a mixture of rules."""
        if not len(self):
            return np.zeros((shares.shape[0], self.proba.shape[1], losses.shape[-1]))
        labels = None if soft else self.labels
        tensor = kernels.mixture_confusion(
            self.proba,
            labels,
            self.cells,
            self.weights,
            losses,
            shares,
            match,
            layout=layout,
            threads=threads,
        )
        return self.summed(tensor, soft=True)

    def soft_margins(self, n_cells: int, threads: int = 1) -> FloatArray:
        """Return the weighted sum of each class's probabilities in each cell."""
        if not len(self):
            return np.zeros((n_cells, self.proba.shape[1]))
        nothing = np.zeros(len(self), np.int32)
        tensor = kernels.confusion(
            self.proba, None, self.cells, self.weights, nothing, n_cells, 1, threads=threads
        )
        return self.summed(tensor, soft=True)[:, :, 0]

    def taken(self, fractions: FloatArray, lots: FloatArray) -> Block:
        """Draw rows by lots: of each class in each cell the fraction that ``fractions`` (cells, classes) says."""
        cells = 0 if self.cells is None else self.cells
        drawn = np.flatnonzero(lots < fractions[cells, self.labels])
        return Block(
            self.proba[drawn],
            self.labels[drawn],
            None if self.cells is None else self.cells[drawn],
            None if self.weights is None else self.weights[drawn],
        )

    def summed(self, shares: FloatArray, soft: bool) -> FloatArray:
        """Undo the division by the number of rows that kernels end with where rows have no weights."""
        # Whole numbers come back whole, so that sums over blocks are equal to the bit to those over all rows.
        if self.weights is not None:
            return shares
        return shares * len(self) if soft else np.rint(shares * len(self))


def worth_a_sample(rows: int, classes: int) -> bool:
    """Return whether passes over all rows cost so much that a sample should be solved first.

    Examples
    --------
    >>> worth_a_sample(1_000_000, 100), worth_a_sample(50_000, 1000), worth_a_sample(1_000_000, 2)
    (True, False, False)
    """
    return rows * classes >= SAMPLE_ENTRIES and SAMPLE_PART * rows >= SAMPLE_ROWS


def draw_lots(start: int, rows: int) -> FloatArray:
    """Return numbers between 0 and 1 for rows from ``start`` on: the same for a row however rows are cut into blocks.

    Examples
    --------
    >>> bool(np.all(draw_lots(0, 5)[2:] == draw_lots(2, 3)))
    True
    """
    stream = np.random.PCG64(0)
    stream.advance(start)
    return np.random.Generator(stream).random(rows)


def fractions(counts: IntArray, size: int = SAMPLE_ROWS) -> FloatArray:
    """Return which fraction of each stratum makes a sample of about ``size`` rows, rare strata whole.

    Parameters
    ----------
    counts : int array of shape (cells, classes)
        Number of rows of each class in each cell.
    size : int
        Number of rows wanted.

    Returns
    -------
    float array of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> fractions(np.array([[100, 100_000, 50]]), 1150)
    array([[1.  , 0.01, 1.  ]])
    """
    # As many rows of each stratum as there are, up to a level that makes their sum the size.
    ordered = np.sort(counts, axis=None)
    below = np.concatenate([[0], np.cumsum(ordered)[:-1]])
    levels = (size - below) / np.arange(ordered.size, 0, -1)
    fits = np.flatnonzero(levels <= ordered)
    level = max(levels[fits[0]] if fits.size else np.inf, STRATUM_ROWS)
    return np.minimum(1.0, level / np.maximum(counts, 1))


def sample_rows(axes: Axes, taken: Iterable[Block], totals: FloatArray) -> Rows:
    """Return drawn rows as data of its own, weighted so that each class in each cell has its weight of all rows.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells.
    taken : iterable of Block
        What was drawn of each block.
    totals : array of shape (cells, classes)
        The weight of each class in each cell over all rows.

    Returns
    -------
    Rows
    """
    parts = [block for block in taken if len(block)]
    labels = np.concatenate([part.labels for part in parts])
    codes = [np.zeros(len(p), np.int32) if p.cells is None else p.cells for p in parts]
    cells = np.concatenate(codes).astype(np.int32, copy=False)
    weights = np.concatenate([np.ones(len(p)) if p.weights is None else p.weights for p in parts])
    drawn = np.zeros(totals.shape)
    np.add.at(drawn, (cells, labels), weights)
    weights *= np.divide(totals, drawn, out=np.zeros(totals.shape), where=drawn > 0)[cells, labels]
    return Rows(
        axes,
        np.concatenate([part.proba for part in parts]),
        labels.astype(np.int32, copy=False),
        cells if len(axes.cells) > 1 else None,
        weights / weights.sum(),
    )
