"""From linear functions of the confusion tensor to the generalised confusion vector ``u = M z + c``.

A metric speaks of diagonals, columns, rows and single entries of one n x k matrix, in one slice of the cells. `Binding` collects
those functions while a metric is bound; `Binding.finish` picks the smallest layout of statistics that serves all of them
(the paper's succinct representations: a metric of diagonal and columns never pays for n * k entries) and returns ``M`` and ``c``.
Row sums are the class priors, which no decision changes, so they are constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.confusion import Axes
from metricfit.layout import Layout
from metricfit.metrics.expression import Constant, Entries, Node
from metricfit.types import BoolArray, FloatArray, Label


@dataclass(frozen=True)
class Linear:
    """A batch of linear functions of one n x k matrix: ``q`` rows of coefficients on each of its parts.

    ``full`` stands alone; ``diagonal``, ``column`` and ``row`` add up. Missing parts are zero.
    """

    diagonal: Any = None
    column: Any = None
    row: Any = None
    full: Any = None

    @property
    def size(self) -> int:
        """Number of functions."""
        return next(int(part.shape[0]) for part in self.parts if part is not None)

    @property
    def parts(self) -> tuple[Any, Any, Any, Any]:
        """The four parts."""
        return self.diagonal, self.column, self.row, self.full

    @property
    def constant(self) -> bool:
        """Whether only row sums are used, which no decision changes."""
        return self.diagonal is None and self.column is None and self.full is None

    def scaled(self, by: FloatArray) -> Linear:
        """Return the batch with each function multiplied by its own number."""
        scale = sp.diags_array(np.broadcast_to(np.asarray(by, float), self.size))
        return Linear(*(None if part is None else scale @ sp.csr_array(part) for part in self.parts))


def of_matrix(coefficients: FloatArray, match: Any) -> Linear:
    """Return ``sum_ij coefficients[i, j] C[i, j]``, in terms of diagonal and columns when they suffice."""
    n, k = coefficients.shape
    off = np.ones((n, k), bool)
    named = np.flatnonzero(match >= 0)
    off[match[named], named] = False
    first = np.argmax(off, axis=0)
    column = np.where(off.any(axis=0), coefficients[first, np.arange(k)], 0.0)
    if not np.array_equal(coefficients[off], np.broadcast_to(column, (n, k))[off]):
        return Linear(full=sp.csr_array(coefficients.reshape(1, -1)))
    diagonal = np.zeros(k)
    diagonal[named] = coefficients[match[named], named] - column[named]
    return Linear(diagonal=sp.csr_array(diagonal[None]), column=sp.csr_array(column[None]))


@dataclass(frozen=True)
class Functions:
    """``u = matrix @ z + constant`` for statistics ``z`` of one layout, with the reach of every entry of ``u``."""

    layout: Layout
    matrix: Any
    constant: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Binding:
    """Axes and class priors of the data, the slice a metric looks at, and the functions asked for so far."""

    axes: Axes
    margins: FloatArray
    mask: BoolArray
    asked: list[tuple[Linear, BoolArray]] = field(default_factory=list)
    nodes: list[Entries] = field(default_factory=list)

    @classmethod
    def of(cls, axes: Axes, margins: FloatArray) -> Binding:
        """Start on all cells."""
        return cls(axes, margins, np.ones(len(axes.cells), bool))

    def at(self, mask: BoolArray) -> Binding:
        """Return the same binding, looking at fewer cells."""
        return replace(self, mask=self.mask & mask)

    def groups(self, over: str | Sequence[str]) -> dict[tuple[Label, ...], Binding]:
        """Return one narrower binding for each group that attributes make among the cells looked at."""
        parts = {values: self.at(mask) for values, mask in self.axes.cells.groups(over).items()}
        return {values: part for values, part in parts.items() if part.mask.any()}

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
        shown = [
            ", ".join(f"{n}={v!r}" for n, v in zip(cells.names, cells.values[a], strict=True))
            for a in np.flatnonzero(self.mask)[:3]
        ]
        return f" where {' or '.join(shown)}{' or ...' if self.mask.sum() > 3 else ''}"

    def bind(self, linear: Linear) -> Node:
        """Return the functions as part of ``u``, or as numbers when no decision changes them."""
        constant = np.zeros(linear.size) if linear.row is None else sp.csr_array(linear.row) @ self.prior
        if linear.constant:
            return Constant(np.asarray(constant))
        start = self.nodes[-1].stop if self.nodes else 0
        low, high = self._reach(linear)
        node = Entries(start, start + linear.size, low + constant, high + constant)
        self.asked.append((linear, self.mask))
        self.nodes.append(node)
        return node

    def _reach(self, linear: Linear) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and largest value any rule gives, class by class (an outer bound)."""
        n, k, match = self.axes.n, self.axes.k, self.axes.match
        if linear.full is not None:
            least, most = _extremes(sp.csr_array(linear.full).tocoo(), linear.size, n, k)
        else:
            zero = sp.csr_array((linear.size, k))
            column = sp.csr_array(linear.column if linear.column is not None else zero)
            diagonal = sp.csr_array(linear.diagonal if linear.diagonal is not None else zero)
            base_low = column.min(axis=1).toarray().ravel() if k else np.zeros(linear.size)
            base_high = column.max(axis=1).toarray().ravel()
            own = (column + diagonal).tocsc()[:, match >= 0].toarray()
            least = np.repeat(base_low[:, None], n, axis=1)
            most = np.repeat(base_high[:, None], n, axis=1)
            classes = match[match >= 0]
            least[:, classes] = np.minimum(least[:, classes], own)
            most[:, classes] = np.maximum(most[:, classes], own)
        return least @ self.prior, most @ self.prior

    def finish(self) -> Functions:
        """Choose the layout and stack all functions asked for."""
        n, k, match, cells = self.axes.n, self.axes.k, self.axes.match, len(self.axes.cells)
        layout: Layout = "full" if any(linear.full is not None for linear, _ in self.asked) else "diagonal"
        blocks, constants = [], []
        named = np.flatnonzero(match >= 0)
        for linear, mask in self.asked:
            zero = sp.csr_array((linear.size, k))
            diagonal = sp.csr_array(linear.diagonal if linear.diagonal is not None else zero)
            column = sp.csr_array(linear.column if linear.column is not None else zero)
            if layout == "diagonal":
                one_cell = sp.hstack([diagonal, column])
            else:
                place = sp.csr_array(
                    (np.ones(named.size), (named, match[named] * k + named)), shape=(k, n * k)
                )
                spread = sp.hstack([sp.eye_array(k)] * n)
                one_cell = diagonal @ place + column @ spread
                if linear.full is not None:
                    one_cell = one_cell + sp.csr_array(linear.full)
            blocks.append(sp.kron(sp.csr_array(mask[None].astype(float)), one_cell, format="csr"))
            prior = self.margins[mask].sum(axis=0)
            constants.append(
                np.zeros(linear.size) if linear.row is None else sp.csr_array(linear.row) @ prior
            )
        width = cells * (2 * k if layout == "diagonal" else n * k)
        matrix = sp.csr_array(sp.vstack(blocks)) if blocks else sp.csr_array((0, width))
        return Functions(
            layout,
            matrix,
            _join(constants),
            _join([e.low for e in self.nodes]),
            _join([e.high for e in self.nodes]),
        )


def _join(parts: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(parts) if parts else np.zeros(0)


def _extremes(entries: Any, size: int, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    """Return, for each function and class, its least and largest coefficient over the decisions."""
    group = entries.row.astype(np.int64) * n + entries.col // k
    stored = np.bincount(group, minlength=size * n).reshape(size, n)
    least = np.where(stored < k, 0.0, np.inf).ravel()
    most = np.where(stored < k, 0.0, -np.inf).ravel()
    np.minimum.at(least, group, entries.data)
    np.maximum.at(most, group, entries.data)
    return least.reshape(size, n), most.reshape(size, n)
