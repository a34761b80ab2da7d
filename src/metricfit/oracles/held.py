"""What a worker keeps of a Dask collection: checked blocks, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metricfit.columns import factorize
from metricfit.confusion import Axes, Cells, encode_labels
from metricfit.layout import Layout
from metricfit.oracles.blocks import Block
from metricfit.oracles.shortcuts import Shortcut
from metricfit.types import FloatArray, IntArray, Label
from metricfit.validation import check_lengths, check_proba, check_weights


class Facts(NamedTuple):
    """What a block tells the others: its number of rows, its labels and cells, and the weight of its rows."""

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
        return Facts(len(self.proba), self.values, self.cells, total)

    def coded(self, axes: Axes) -> Block:
        """Return the block with the codes that all blocks share."""
        cells = None
        if len(axes.cells) > 1:
            index = {cell: a for a, cell in enumerate(axes.cells.values)}
            cells = np.array([index.get(cell, 0) for cell in self.cells.values], np.int32)[self.codes]
        with within(self.number):
            labels = encode_labels(np.array(self.values, object)[self.labels], axes.classes)
        return Block(self.proba, labels, cells, self.weights)


class HeldBlock:
    """Rows that stay on a worker, with what calls so far have taught, which is not sent along with them."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.shortcuts: dict[bool, Shortcut] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldBlock, (self.block,)

    def counts(self, loss: FloatArray, match: IntArray, layout: Layout, soft: bool) -> FloatArray:
        """Return what `Block.counts` does, by cheaper means where these have paid off."""
        block, quick = self.block, None
        if layout == "diagonal" and len(block):
            if soft not in self.shortcuts:
                labels = None if soft else block.labels
                data = block.proba, labels, block.cells, block.weights
                self.shortcuts[soft] = Shortcut(*data, match, len(loss))
            quick = self.shortcuts[soft].count(loss)
        return block.counts(loss, match, layout, soft) if quick is None else block.summed(quick, soft)


@contextmanager
def within(number: int) -> Iterator[None]:
    """Say in errors in which block they are."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error} (in block {number}, counted from 0)") from error


def joined(blocks: list[RawBlock], axes: Axes) -> HeldBlock:
    """Return blocks of one worker as one, with the codes that all blocks share.

    A call is then one task and one run of the kernels for all of them, however small they are.
    """
    parts = [block.coded(axes) for block in blocks]
    if len(parts) == 1:
        return HeldBlock(parts[0])
    cells = [part.cells for part in parts if part.cells is not None]
    weights = [part.weights for part in parts if part.weights is not None]
    return HeldBlock(
        Block(
            np.concatenate([part.proba for part in parts]),
            np.concatenate([part.labels for part in parts]),
            np.concatenate(cells) if cells else None,
            np.concatenate(weights) if weights else None,
        )
    )


def margins_of(held: HeldBlock, n_cells: int, n: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the number of rows and their weight, by labels and by probabilities, of each class in each cell."""
    block = held.block
    place = block.labels if block.cells is None else block.cells * n + block.labels
    counts = np.bincount(place, minlength=n_cells * n).reshape(n_cells, n)
    totals = np.bincount(place, block.weights, n_cells * n).reshape(n_cells, n).astype(np.float64)
    return counts, totals, block.soft_margins(n_cells)


def counts_of(held: HeldBlock, losses: FloatArray, match: IntArray, layout: Layout, soft: bool) -> FloatArray:
    """Return what the rules of several losses move where."""
    return np.stack([held.counts(loss, match, layout, soft) for loss in losses])


def confusion_of(held: HeldBlock, *arguments: Any) -> FloatArray:
    """Return the full tensor of a mixture of rules."""
    return held.block.confusion(*arguments)


def taken_of(held: HeldBlock, wanted: FloatArray) -> Block:
    """Draw rows of a block."""
    # Seeded by what is the same wherever the block is.
    return held.block.taken(wanted, np.random.default_rng(len(held.block)))
