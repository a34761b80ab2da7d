"""Labelled rows and the chances of their decisions, reduced to the numbers that metrics need.

A mixture of rules is judged by its decision probabilities, so that drawing adds no noise. Rows of one cell and
class that get the same chances are alike to every metric: they are one *pattern*, with its weight. A policy of a few
rules makes a few patterns in each cell and class, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Evidence:
    """Patterns of rows.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells.
    cells, labels : int ndarray of shape (P,)
        Each pattern's cell and class.
    chances : ndarray of shape (P, k)
        The probability of each decision.
    mass, squares : ndarray of shape (P,)
        The sum of the rows' weights, and of their squares.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.data.axes import Axes
    >>> seen = Evidence.of(Axes((0, 1)), None, np.array([0, 0, 1]), np.array([[1.0, 0], [1, 0], [0.5, 0.5]]))
    >>> sorted(seen.mass.tolist()), seen.confusion.matrix.round(2).tolist()
    ([1.0, 2.0], [[0.67, 0.0], [0.17, 0.17]])
    """

    axes: Axes
    cells: IntArray
    labels: IntArray
    chances: FloatArray
    mass: FloatArray
    squares: FloatArray

    @classmethod
    def of(
        cls,
        axes: Axes,
        cells: IntArray | None,
        labels: IntArray,
        chances: FloatArray,
        weights: FloatArray | None = None,
    ) -> Evidence:
        """Return the patterns of rows; without weights each counts 1."""
        rows = len(labels)
        cells = np.zeros(rows, np.intp) if cells is None else np.asarray(cells, np.intp)
        weights = np.ones(rows) if weights is None else np.asarray(weights, float)
        return _merged(axes, cells, np.asarray(labels, np.intp), chances, weights, weights**2)

    @classmethod
    def joined(cls, parts: Sequence[Evidence]) -> Evidence:
        """Return the evidence of several sets of rows with the same axes."""
        together = [np.concatenate([getattr(part, name) for part in parts]) for name in FIELDS]
        return _merged(parts[0].axes, *together)

    @cached_property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.mass.sum())

    @property
    def effective_rows(self) -> float:
        """The number of rows of equal weight that would carry as much information."""
        return self.total**2 / float(self.squares.sum())

    @cached_property
    def confusion(self) -> Confusion:
        """The expected confusion tensor."""
        return Confusion(self.tensor(self.mass), self.axes)

    def tensor(self, mass: FloatArray) -> FloatArray:
        """Return the tensor that the patterns would have with these weights."""
        tensor = np.zeros(self.axes.shape)
        np.add.at(tensor, (self.cells, self.labels), mass[:, None] * self.chances)
        return tensor / tensor.sum()

    def scaled(self, to: float) -> Evidence:
        """Return evidence with the same shares, as if there were ``to`` times as many rows."""
        return Evidence(self.axes, self.cells, self.labels, self.chances, self.mass * to, self.squares * to)

    def where(self, inside: Any) -> Evidence | None:
        """Return the evidence in some of the cells, a mask; None if no row lies there."""
        kept = np.asarray(inside)[self.cells] & (self.mass > 0)
        if not kept.any():
            return None
        return Evidence(self.axes, *(getattr(self, name)[kept] for name in FIELDS))


FIELDS = ("cells", "labels", "chances", "mass", "squares")


def _merged(
    axes: Axes, cells: IntArray, labels: IntArray, chances: FloatArray, mass: FloatArray, squares: FloatArray
) -> Evidence:
    """Return evidence in which rows that are alike are one pattern."""
    if not len(chances):
        raise ValueError("there are no rows to judge decisions by; give at least one labelled row")
    pattern, distinct = _patterns(np.asarray(chances, dtype=np.float64))
    key = (pattern * axes.shape[0] + cells) * axes.n + labels
    found, place = _codes(key, len(distinct) * axes.shape[0] * axes.n)
    rest, labels = np.divmod(found, axes.n)
    pattern, cells = np.divmod(rest, axes.shape[0])
    sums = (np.asarray(np.bincount(place, each, len(found)), float) for each in (mass, squares))
    return Evidence(axes, cells, labels, distinct[pattern], *sums)


def _patterns(chances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return a code for each row of chances, and the rows that the codes stand for.

    Nearly all rows get one decision for sure. These are told apart by it, and only the others are sorted.
    """
    rows, size = chances.shape
    sure, made = np.divmod(np.flatnonzero(chances == 1), size)
    if len(sure) == rows:
        return made, np.eye(size)
    pattern = np.full(rows, -1)
    pattern[sure] = made
    mixed = np.flatnonzero(pattern < 0)
    wide = np.ascontiguousarray(chances[mixed]) + 0.0  # -0.0 and 0.0 have different bits
    told = wide.view(np.dtype((np.void, wide.itemsize * size))).ravel()
    _, first, place = np.unique(told, return_index=True, return_inverse=True)
    pattern[mixed] = size + place.reshape(-1)
    return pattern, np.concatenate([np.eye(size), wide[first]])


def _codes(key: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the distinct keys, all below ``size``, in order, and where each key stands among them."""
    if size > 4 * len(key):
        found, place = np.unique(key, return_inverse=True)
        return found, place.reshape(-1)
    seen = np.bincount(key, minlength=size) > 0
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[key]
