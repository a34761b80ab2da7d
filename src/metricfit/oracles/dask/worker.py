"""What a Dask worker keeps of a collection (checked blocks of rows), and what it counts on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.columns import factorize
from metricfit.data.labels import place_values
from metricfit.data.layout import Layout
from metricfit.data.row_order import check_row_order
from metricfit.data.rows import RowArrays, joined, strata
from metricfit.data.validation import check_lengths, check_proba, check_weights
from metricfit.oracles.block_sums import class_weight, decided_weight, mixture_weight
from metricfit.oracles.dask.cluster import added
from metricfit.oracles.samples import draw_lots, drawn
from metricfit.types import FloatArray, IntArray, Label


class BlockSummary(NamedTuple):
    """What other blocks must know of a block: its number, rows, labels and cells, and the weight of the rows."""

    number: int
    rows: int
    labels: list[Label]
    cells: Cells
    weight: float


class OwnCodes(NamedTuple):
    """A checked block before other blocks are known: its codes are for its own labels and cells only."""

    number: int
    rows: RowArrays
    labels: list[Label]
    cells: Cells

    @classmethod
    def of(cls, number: int, n: int, proba: Any, y: Any, features: Any, weight: Any) -> OwnCodes:
        """Check the rows of one block; errors name the block."""
        with within(number):
            check_row_order(proba=proba, y=y, sensitive_features=features, sample_weight=weight)
            checked = check_proba(proba, n, allow_empty=True)
            rows = check_lengths(proba=checked, y=y)
            values, labels = factorize(y, "y") if rows else ([], np.zeros(0, np.int64))
            cells, codes = Cells.observe(features if rows else None, rows)
            weights = check_weights(weight, rows, allow_zero=True)
        return cls(number, RowArrays(checked, labels, codes, weights), values, cells)

    def summary(self) -> BlockSummary:
        """Return what other blocks must know."""
        weights = self.rows.weights
        total = len(self.rows) if weights is None else float(weights.sum())
        return BlockSummary(self.number, len(self.rows), self.labels, self.cells, total)

    def shared(self, axes: Axes) -> RowArrays:
        """Return the rows with the codes that all blocks share."""
        rows, cells = self.rows, None
        assert rows.labels is not None
        if len(axes.cells) > 1:
            index = {cell: a for a, cell in enumerate(axes.cells.values)}
            cells = np.array([index.get(cell, 0) for cell in self.cells.values], np.int32)[rows.cells]
        with within(self.number):
            labels = place_values(self.labels, rows.labels, axes.classes)
        return replace(rows, labels=labels, cells=cells)


class KeptBlock(NamedTuple):
    """Rows that stay on a worker, made of some of the collection's blocks.

    ``parts`` says where each of these blocks begins among all rows, and how many rows it has.
    """

    block: RowArrays
    parts: list[tuple[int, int]]


@contextmanager
def within(number: int) -> Iterator[None]:
    """Add the number of the block to errors."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error} (in block {number}, counted from 0)") from error


def summaries_of(raw: list[OwnCodes]) -> list[BlockSummary]:
    """Return the summary of each of some blocks."""
    return [block.summary() for block in raw]


def kept_blocks(raw: list[OwnCodes], axes: Axes, starts: dict[int, int], enough: int) -> list[KeptBlock]:
    """Return blocks of one worker with the codes that all blocks share, small ones joined with their neighbours.

    A call then takes few runs of the kernels, however small the blocks are; large blocks are not copied. ``starts`` are
    the places of the blocks' first rows, by number; blocks of ``enough`` probabilities are not joined with others.
    """
    together: list[list[OwnCodes]] = [[]]
    for block in raw:
        together[-1].append(block)
        if sum(part.rows.proba.size for part in together[-1]) >= enough:
            together.append([])
    return [
        KeptBlock(
            joined([part.shared(axes) for part in parts]),
            [(starts[part.number], len(part.rows)) for part in parts],
        )
        for parts in together
        if parts
    ]


def calibrated_blocks(kept: list[KeptBlock], calibration: Calibration) -> list[KeptBlock]:
    """Return the same rows with calibrated probabilities."""
    return [
        KeptBlock(replace(one.block, proba=calibration(one.block.proba, one.block.cells)), one.parts)
        for one in kept
    ]


def margins_of(kept: list[KeptBlock], n_cells: int, n: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the number of rows and their weight, by labels and by probabilities, of each class in each cell."""
    return added([_margins(one.block, n_cells, n) for one in kept])


def _margins(block: RowArrays, n_cells: int, n: int) -> tuple[IntArray, FloatArray, FloatArray]:
    assert block.labels is not None
    counts, totals = (
        strata(block.labels, block.cells, weights, n_cells, n) for weights in (None, block.weights)
    )
    return counts, totals.astype(np.float64), class_weight(block, n_cells)


def counts_of(
    kept: list[KeptBlock], losses: FloatArray, match: IntArray, layout: Layout, soft: bool
) -> FloatArray:
    """Return the summed statistic of the rule of each loss; ``soft`` counts probabilities instead of labels."""
    blocks = [one.block.soft() if soft else one.block for one in kept]
    totals = [sum(decided_weight(block, loss, match, layout) for block in blocks) for loss in losses]
    return np.stack(totals)


def confusion_of(
    kept: list[KeptBlock],
    losses: FloatArray,
    shares: FloatArray,
    match: IntArray,
    layout: Layout,
    soft: bool,
) -> FloatArray:
    """Return the full tensor of a mixture of rules."""
    blocks = [one.block.soft() if soft else one.block for one in kept]
    return added([mixture_weight(block, losses, shares, match, layout) for block in blocks])


def taken_of(kept: list[KeptBlock], wanted: FloatArray) -> list[tuple[int, RowArrays]]:
    """Draw rows of some blocks; return them with the place of the first row of each block as it was given.

    Joined blocks are taken apart again: which of them share a worker is chance, and must not change the order of rows.
    """
    taken = []
    for one in kept:
        ends = np.cumsum([rows for _, rows in one.parts])
        for (start, rows), end in zip(one.parts, ends.tolist(), strict=True):
            part = one.block[end - rows : end]
            taken.append((start, drawn(part, wanted, draw_lots(start, rows))))
    return taken
