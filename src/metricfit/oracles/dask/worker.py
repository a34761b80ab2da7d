"""What a worker keeps of a Dask collection: checked blocks, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.axes import place_values
from metricfit.data.columns import factorize
from metricfit.data.confusion import Axes, Cells
from metricfit.data.layout import Layout
from metricfit.data.rows import strata
from metricfit.data.validation import check_lengths, check_proba, check_weights
from metricfit.oracles.dask.cluster import added
from metricfit.oracles.files.blocks import Block, draw_lots
from metricfit.types import FloatArray, IntArray, Label

# Entries from which on blocks are not joined with others: a run of the kernels is long beside what a call costs.
LARGE_BLOCK = 2**19


class Facts(NamedTuple):
    """What a block tells the others: its number, rows, labels and cells, and the weight of the rows."""

    number: int
    rows: int
    labels: list[Label]
    cells: Cells
    weight: float


@dataclass(frozen=True, eq=False)
class RawBlock:
    """A checked block whose labels and cells are numbered on their own, before other blocks are known."""

    number: int
    proba: FloatArray
    values: list[Label]
    labels: IntArray
    cells: Cells
    codes: IntArray
    weights: FloatArray | None

    @classmethod
    def of(cls, number: int, n: int, proba: Any, y: Any, features: Any, weight: Any) -> RawBlock:
        """Check the rows of one block; errors say which."""
        with within(number):
            checked = check_proba(proba, n, allow_empty=True)
            rows = check_lengths(proba=checked, y=y)
            values, labels = factorize(y, "y") if rows else ([], np.zeros(0, np.int64))
            cells, codes = Cells.observe(features if rows else None, rows)
            weights = check_weights(weight, rows, allow_zero=True)
        return cls(number, checked, values, labels, cells, codes, weights)

    def facts(self) -> Facts:
        """Return what the other blocks have to know."""
        total = len(self.proba) if self.weights is None else float(self.weights.sum())
        return Facts(self.number, len(self.proba), self.values, self.cells, total)

    def coded(self, axes: Axes) -> Block:
        """Return the block with the codes that all blocks share."""
        cells = None
        if len(axes.cells) > 1:
            index = {cell: a for a, cell in enumerate(axes.cells.values)}
            cells = np.array([index.get(cell, 0) for cell in self.cells.values], np.int32)[self.codes]
        with within(self.number):
            labels = place_values(self.values, self.labels, axes.classes)
        return Block(self.proba, labels, cells, self.weights)


class HeldBlock(NamedTuple):
    """Rows that stay on a worker, made of some of the collection's blocks.

    ``parts`` says where each of these blocks begins among all rows, and how many rows it has.
    """

    block: Block
    parts: list[tuple[int, int]]


@contextmanager
def within(number: int) -> Iterator[None]:
    """Say in errors in which block they are."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error} (in block {number}, counted from 0)") from error


def facts_of(raw: list[RawBlock]) -> list[Facts]:
    """Return what each of some blocks tells the others."""
    return [block.facts() for block in raw]


def held_blocks(raw: list[RawBlock], axes: Axes, starts: dict[int, int]) -> list[HeldBlock]:
    """Return blocks of one worker with the codes that all blocks share, small ones joined with their neighbours.

    However small the blocks are, a call then takes few runs of the kernels; large ones are not copied. ``starts`` are
    the places of the blocks' first rows, by number.
    """
    joined: list[list[RawBlock]] = [[]]
    for block in raw:
        joined[-1].append(block)
        if sum(part.proba.size for part in joined[-1]) >= LARGE_BLOCK:
            joined.append([])
    return [
        HeldBlock(
            _joined([part.coded(axes) for part in parts]),
            [(starts[part.number], len(part.proba)) for part in parts],
        )
        for parts in joined
        if parts
    ]


def calibrated_blocks(held: list[HeldBlock], calibration: Calibration) -> list[HeldBlock]:
    """Return the same rows with calibrated probabilities."""
    return [
        HeldBlock(replace(one.block, proba=calibration(one.block.proba, one.block.cells)), one.parts)
        for one in held
    ]


def _joined(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    cells = [part.cells for part in parts if part.cells is not None]
    weights = [part.weights for part in parts if part.weights is not None]
    return Block(
        np.concatenate([part.proba for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate(cells) if cells else None,
        np.concatenate(weights) if weights else None,
    )


def margins_of(held: list[HeldBlock], n_cells: int, n: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the number of rows and their weight, by labels and by probabilities, of each class in each cell."""
    return added([_margins(one.block, n_cells, n) for one in held])


def _margins(block: Block, n_cells: int, n: int) -> tuple[IntArray, FloatArray, FloatArray]:
    counts, totals = (
        strata(block.labels, block.cells, weights, n_cells, n) for weights in (None, block.weights)
    )
    return counts, totals.astype(np.float64), block.soft_margins(n_cells)


def counts_of(
    held: list[HeldBlock], losses: FloatArray, match: IntArray, layout: Layout, soft: bool
) -> FloatArray:
    """Return what the rules of several losses move where."""
    totals = [sum(one.block.counts(loss, match, layout, soft) for one in held) for loss in losses]
    return np.stack(totals)


def confusion_of(held: list[HeldBlock], *arguments: Any) -> FloatArray:
    """Return the full tensor of a mixture of rules."""
    return added([one.block.confusion(*arguments) for one in held])


def taken_of(held: list[HeldBlock], wanted: FloatArray) -> list[tuple[int, Block]]:
    """Draw rows of some blocks, the same ones wherever the blocks are; return them with the place of the first row."""
    return [
        (one.parts[0][0], one.block.taken(wanted, np.concatenate([draw_lots(*part) for part in one.parts])))
        for one in held
    ]
