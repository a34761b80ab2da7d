"""From linear functions of the confusion tensor to the generalised confusion vector ``u = M z + c``.

A metric speaks of diagonals, columns, rows and single entries of one n x k matrix, in one slice of the
cells. `Binding` collects those functions while a metric is bound; `Binding.finish` picks the smallest
layout of statistics that serves all of them (the paper's succinct representations: a metric of diagonal and
columns never pays for n * k entries) and returns ``M`` and ``c``. Row sums are the class priors, which no
decision changes, so they are constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout, expand, shape_of, statistic
from metricfit.exceptions import UndefinedError
from metricfit.functions.expression import Constant, Entries, Node
from metricfit.functions.linear import Linear, Triplets, entries_of
from metricfit.functions.reach import ends
from metricfit.messages import pairs_text
from metricfit.types import BoolArray, FloatArray, IntArray, Label

# Larger batches of functions (all entries of a large matrix) are added without a search for equal ones.
SHARED = 4096


@dataclass(frozen=True)
class Functions:
    """``u = matrix @ z + constant`` for statistics ``z`` of one layout, with the reach of each entry."""

    axes: Axes
    layout: Layout
    matrix: Any
    constant: FloatArray
    low: FloatArray
    high: FloatArray

    def vector(self, tensor: FloatArray) -> FloatArray:
        """Return u of a confusion tensor."""
        return np.asarray(self.matrix @ statistic(tensor, self.layout, self.axes).ravel() + self.constant)

    def loss(self, direction: FloatArray) -> FloatArray:
        """Return the tensor whose product with a confusion tensor is ``direction @ u``, up to a constant."""
        table = (self.matrix.T @ direction).reshape(shape_of(self.layout, self.axes))
        return expand(table, self.layout, self.axes)


@dataclass(frozen=True)
class Binding:
    """Axes and class priors of the data, the slice a metric looks at, and the functions asked for so far."""

    axes: Axes
    margins: FloatArray
    mask: BoolArray
    asked: list[tuple[Linear, BoolArray]] = field(default_factory=list)
    nodes: list[Entries] = field(default_factory=list)
    places: dict[bytes, int] = field(default_factory=dict)
    slices: list[BoolArray] = field(default_factory=list)

    @classmethod
    def of(cls, axes: Axes, margins: FloatArray) -> Binding:
        """Start on all cells."""
        return cls(axes, margins, np.ones(len(axes.cells), bool))

    def at(self, where: Mapping[str, object]) -> Binding:
        """Return the same binding, looking at one slice."""
        inside = self._within(self.axes.cells.mask(**where))
        if not inside.mass > 0:
            text = pairs_text(where, where.values())
            raise ValueError(
                f"the slice at({text}) has no rows{self.where()}; use values that occur together"
            )
        return inside

    def groups(self, over: str | Sequence[str]) -> dict[tuple[Label, ...], Binding]:
        """Return one narrower binding for each group that attributes make among the rows looked at."""
        masks = self.axes.cells.groups(over)
        parts = {values: self._within(mask) for values, mask in masks.items()}
        return {values: part for values, part in parts.items() if part.mass > 0}

    def _within(self, mask: BoolArray) -> Binding:
        self.slices.append(mask)
        return replace(self, mask=self.mask & mask)

    @property
    def alike(self) -> IntArray:
        """A number for each cell; cells in the same slices, which a metric cannot tell apart, have the same one.

        Examples
        --------
        >>> from metricfit.data.cells import Cells
        >>> cells = Cells(("sex", "age"), (("F", "old"), ("F", "young"), ("M", "old")))
        >>> binding = Binding.of(Axes((0, 1), cells=cells), np.full((3, 2), 1 / 6))
        >>> binding.alike.tolist(), binding.at({"sex": "F"}).alike.tolist()
        ([0, 0, 0], [1, 1, 0])
        """
        told = np.stack([np.ones(len(self.mask), bool), *self.slices], axis=1)
        return np.unique(told, axis=0, return_inverse=True)[1].reshape(-1)

    @property
    def prior(self) -> FloatArray:
        """Probability of each class, jointly with the slice."""
        return np.asarray(self.margins[self.mask].sum(axis=0))

    @property
    def mass(self) -> float:
        """Probability of the slice."""
        return float(self.prior.sum())

    def where(self) -> str:
        """Say in words which slice this is."""
        if self.mask.all():
            return ""
        cells = self.axes.cells
        shown = [pairs_text(cells.names, cells.values[a]) for a in np.flatnonzero(self.mask)[:3]]
        return f" where {' or '.join(shown)}{' or ...' if self.mask.sum() > 3 else ''}"

    def take(self, metric: Any) -> Node:
        """Return a metric as a tree; if one of its rates is undefined, the error names the metric."""
        try:
            return metric.bind(self)
        except UndefinedError as error:
            raise ValueError(f"{metric}: {error}") from error

    def bind(self, linear: Linear) -> Node:
        """Return the functions as part of ``u``, or as numbers when no decision changes them."""
        constant = np.zeros(linear.size) if linear.row is None else linear.row @ self.prior
        if linear.constant:
            return Constant(np.asarray(constant))
        low, high = ends(linear, self.axes, self.prior)
        start = end = self.nodes[-1].stop if self.nodes else 0
        if linear.size <= SHARED:
            names = self._names(linear)
            known = [self.places.setdefault(name, place) for place, name in enumerate(names, end)]
            start = known[0] if known == [*range(known[0], known[0] + linear.size)] else end
        node = Entries(start, start + linear.size, low + constant, high + constant)
        if start == end:
            self.asked.append((linear, self.mask))
            self.nodes.append(node)
        return node

    def _names(self, linear: Linear) -> list[bytes]:
        """Return a key that equal functions share, so that metrics which read the same function share an entry of u."""
        names = [[self.mask.tobytes()] for _ in range(linear.size)]
        for part in linear.parts:
            row, place, value = entries_of(part)
            row, place, value = row[value != 0], place[value != 0], value[value != 0]
            ends = np.searchsorted(row, np.arange(linear.size + 1))
            for name, start, stop in zip(names, ends[:-1], ends[1:], strict=True):
                name += [place[start:stop].tobytes(), value[start:stop].tobytes()]
        return [b"|".join(name) for name in names]

    def extremes(self, node: Node) -> tuple[float, float]:
        """Return the ends of a linear node of size one over all tensors with these priors."""
        functions = self.finish()
        loss = functions.loss(node.gradient(functions.constant))
        level = node.scalar(functions.constant)
        low, high = (float((self.margins * end).sum()) for end in (loss.min(axis=2), loss.max(axis=2)))
        return level + low, level + high

    def finish(self, layout: Layout = "diagonal") -> Functions:
        """Stack all functions asked for, in the given layout or in the full one if they need it."""
        layout = "full" if any(linear.full is not None for linear, _ in self.asked) else layout
        cells, height, width = shape_of(layout, self.axes)
        start, rows, columns, data, constants = 0, [], [], [], []
        for linear, mask in self.asked:
            inside = np.flatnonzero(mask)
            for row, place, value in self._places(linear, layout):
                rows.append(np.tile(row + start, inside.size))
                columns.append((inside[:, None] * height * width + place).ravel())
                data.append(np.tile(value, inside.size))
            start += linear.size
            prior = self.margins[mask].sum(axis=0)
            constants.append(np.zeros(linear.size) if linear.row is None else linear.row @ prior)
        shape = start, cells * height * width
        matrix = (
            sp.coo_array((_join(data), (_join(rows), _join(columns))), shape) if data else sp.coo_array(shape)
        )
        low, high = _join([e.low for e in self.nodes]), _join([e.high for e in self.nodes])
        return Functions(self.axes, layout, matrix.tocsr(), _join(constants), low, high)

    def _places(self, linear: Linear, layout: Layout) -> list[Triplets]:
        """Return the coefficients of a batch on the statistic of one cell."""
        n, k, match = self.axes.n, self.axes.k, self.axes.match
        row, j, value = entries_of(linear.diagonal)
        across, column, share = entries_of(linear.column)
        if layout == "diagonal":
            return [(row, j, value), (across, k + column, share)]
        named = match[j] >= 0
        each = np.arange(n)[:, None] * k
        return [
            (row[named], match[j[named]] * k + j[named], value[named]),
            (np.tile(across, n), (each + column).ravel(), np.tile(share, n)),
            entries_of(linear.full),
        ]


def _join(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0)
