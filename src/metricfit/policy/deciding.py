"""How a policy decides rows: each by the rule it gets, in one pass over the probabilities."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.layout import Layout
from metricfit.data.validation import row_blocks
from metricfit.kernels import counting as kernels
from metricfit.kernels.engine import Engine
from metricfit.kernels.settings import TUNED, Settings
from metricfit.policy.mixture import Table
from metricfit.policy.row_hash import UInt64Array, uniform, uniform_of_keys
from metricfit.types import FloatArray, IntArray

# The salt of the numbers by which ties between rows are broken; another one than that of the rules, by default 0.
TIES = 0x7469


@dataclass(frozen=True, eq=False)
class RuleBook:
    """The rules of all cells in one array, with the calibration that comes before them.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells.
    layout : {"diagonal", "full"}
        The layout of the losses.
    losses : array of shape (rules, s, k)
        The rules of all cells, one cell after the other.
    table : Table
        Which rules belong to which cell, and their shares.
    calibration : Calibration or None
        Applied to the model's probabilities first.
    """

    axes: Axes
    layout: Layout
    losses: FloatArray
    table: Table
    calibration: Calibration | None

    def decisions(self, rows: FloatArray, cell: IntArray, rule: IntArray) -> IntArray:
        """Return the decision of each row by its rule, as an index."""
        if self.calibration is None:
            return self._applied(rows, rule)
        made: IntArray = np.empty(len(rows), dtype=np.intp)
        for block in row_blocks(*rows.shape):
            made[block] = self._applied(self.calibration(rows[block], cell[block]), rule[block])
        return made

    def chances(self, rows: FloatArray, cell: IntArray) -> FloatArray:
        """Return the probability of each decision for each row, over the mixture of rules."""
        chances: FloatArray = np.zeros((len(rows), self.axes.k))
        for block in row_blocks(len(rows), self.axes.n):
            part, part_cell, out = rows[block], cell[block], chances[block].reshape(-1)
            part = part if self.calibration is None else self.calibration(part, part_cell)
            for rank, shares in enumerate(self.table.share.T):
                share = shares[part_cell]
                using = np.flatnonzero(share)
                some = part if len(using) == len(part) else part[using]
                made = self._applied(some, self.table.start[part_cell[using]] + rank)
                out[using * self.axes.k + made] += share[using]
        return chances

    def _applied(self, rows: FloatArray, rule: IntArray) -> IntArray:
        """Return the decision of each row under its rule."""
        # The kernel treats rules as cells: it looks up the loss of each row by its code, so that a row is read once.
        codes = rule.astype(np.int32)
        made: IntArray = np.empty(len(rows), dtype=np.int32)
        engine = engine_for(len(rows) * self.losses[0].size)
        # NumPy makes arrays of scores, which should fit into the cache.
        blocks = [slice(None)] if engine == "numba" else row_blocks(len(rows), max(self.axes.n, self.axes.k))
        how: dict[str, Any] = {"layout": self.layout, "engine": engine}
        for block in blocks:
            kernels.decide(rows[block], codes[block], self.losses, self.axes.match, out=made[block], **how)
        return made


@dataclass(frozen=True, eq=False)
class RuledRows:
    """Rows of a batch, each with the rule that it has got; see `Policy.decide`.

    ``places`` says which rows of the batch they are, ``words`` are their keys if they have any.
    """

    book: RuleBook
    places: Any
    rows: FloatArray
    cell: IntArray
    rule: IntArray
    words: UInt64Array | None

    def decisions(self) -> IntArray:
        """Return the decision of each row by its rule, as an index."""
        return self.book.decisions(self.rows, self.cell, self.rule)

    def ties(self) -> FloatArray:
        """Return a number for each row that depends on the row alone, by which ties between rows are broken."""
        if self.words is not None:
            return uniform_of_keys(self.words, TIES)
        return uniform(self.rows, self.cell, self.book.table.keys, TIES)

    def regrets(self, block: slice, some: IntArray, own: IntArray) -> FloatArray:
        """Return by how much each decision costs some rows of a block more than their own, by their rules' losses."""
        book = self.book
        rows, cell = self.rows[block][some], self.cell[block][some]
        rows = rows if book.calibration is None else book.calibration(rows, cell)
        losses = book.losses[self.rule[block][some]]
        costs = np.zeros((len(rows), book.axes.k))
        # Class by class: the sums of a matrix product depend, in the last bit, on the other rows of the block.
        if book.layout == "diagonal":
            named = np.flatnonzero(book.axes.match >= 0)
            costs[:, named] = rows[:, book.axes.match[named]] * losses[:, 0, named]
            costs += losses[:, 1]
        else:
            for i in range(book.axes.n):
                costs += rows[:, i, None] * losses[:, i]
        costs -= np.take_along_axis(costs, own[:, None], axis=1)
        return np.maximum(costs, 0.0)  # the kernel may add in another order


def engine_for(work: int, settings: Settings = TUNED) -> Engine:
    """Return the engine to use: numba if there is enough work for it (more if it is not loaded yet), else NumPy.

    Examples
    --------
    >>> engine_for(1000)
    'numpy'
    """
    least = settings.numpy_work if "numba" in sys.modules else settings.loading_work
    return "numba" if work > least and find_spec("numba") is not None else "numpy"
