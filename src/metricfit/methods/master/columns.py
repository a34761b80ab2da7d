"""The columns of the master problem: what each rule found so far adds to ``u``, cell by cell.

The achievable set is a product over cells, since every cell chooses its rules alone. The master therefore
mixes per cell, with one convexity row for each, as in the decomposition of Dantzig and Wolfe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.functions.extremes import Largest
from metricfit.oracles.base import Vertex
from metricfit.problem import Program
from metricfit.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture of columns with the multipliers that support it.

    ``multipliers`` (of the rows of each constraint) and ``theta`` (of the parts of each maximum) define the
    tangent plane that is priced next; for a ratio, ``level_theta`` belongs to the parts of its level
    function, and ``scale`` turns multipliers into units of the objective. ``touched`` is where the plane touches,
    if that is not at the mixture itself.
    """

    alpha: FloatArray
    u: FloatArray
    multipliers: tuple[FloatArray, ...]
    theta: dict[Largest, FloatArray] = field(default_factory=dict)
    scale: float = 1.0
    level_theta: FloatArray | None = None
    touched: FloatArray | None = None

    @property
    def prices(self) -> tuple[FloatArray, ...]:
        """The multipliers in units of the objective."""
        return tuple(mu * self.scale for mu in self.multipliers)

    @property
    def point(self) -> FloatArray:
        """Where the tangent plane touches."""
        return self.u if self.touched is None else self.touched


class Columns:
    """Distinct (vertex, cell) pairs with their share of u.

    ``vertex`` and ``cell`` say where a column comes from; ``matrix`` (entries of u, columns) what it adds.
    """

    def __init__(self, program: Program, vertices: Sequence[Vertex] = ()) -> None:
        self.program = program
        self.vertex: IntArray = np.zeros(0, np.int64)
        self.cell: IntArray = np.zeros(0, np.int64)
        empty = program.constant.size, 0
        self.matrix: Any = np.zeros(empty) if program.narrow else sp.csc_array(empty)
        self._keys: dict[tuple[int, bytes], None] = {}  # a set that keeps the order of the columns
        if vertices:
            self.add_all(range(len(vertices)), vertices)

    def __len__(self) -> int:
        return self.vertex.size

    def add(self, place: int, vertex: Vertex) -> int:
        """Add the cells of a vertex that are new; return how many were."""
        return self.add_all([place], [vertex])

    def add_all(self, places: Sequence[int], vertices: Sequence[Vertex]) -> int:
        """Add the cells of some vertices that are new; return how many were."""
        # Rounded, because the same column may be summed in another order, which changes its last digits.
        rounded = np.round([vertex.statistic for vertex in vertices], 12) + 0.0
        parts, vertex, cell = [self.matrix], [], []
        for place, found, rows in zip(places, vertices, rounded, strict=True):
            keys = [(a, part.tobytes()) for a, part in enumerate(rows)]
            new = [a for a, key in enumerate(keys) if key not in self._keys]
            if new:
                self._keys.update(dict.fromkeys(keys[a] for a in new))
                shares = self.program.shares(found.statistic)
                parts.append(shares if len(new) == len(keys) else shares[:, new])
                vertex += [place] * len(new)
                cell += new
        if cell:
            self.matrix = _beside(parts)
            self.vertex, self.cell = np.append(self.vertex, vertex), np.append(self.cell, cell)
        return len(cell)

    def copy(self) -> Columns:
        """Return a copy to which columns can be added, or in which they can be forgotten."""
        other = Columns(self.program)
        other.vertex, other.cell, other.matrix, other._keys = (
            self.vertex,
            self.cell,
            self.matrix,
            dict(self._keys),
        )
        return other

    def keep(self, used: BoolArray) -> None:
        """Forget all columns but the marked ones; they may come back later."""
        self.matrix = self.matrix[:, np.flatnonzero(used)]
        self._keys = {key: None for key, kept in zip(self._keys, used, strict=True) if kept}
        self.vertex, self.cell = self.vertex[used], self.cell[used]

    def least(self, slope: FloatArray) -> float:
        """Return the smallest ``slope @ u`` over all mixtures of the columns."""
        costs = slope @ self.matrix
        least = np.full(len(self.program.axes.cells), np.inf)
        np.minimum.at(least, self.cell, costs)
        return float(least.sum() + slope @ self.program.constant)

    def cheapest(self, slope: FloatArray) -> FloatArray:
        """Return the mixture with the smallest ``slope @ u``: one column in every cell."""
        order = np.lexsort((slope @ self.matrix, self.cell))
        alpha = np.zeros(len(self))
        alpha[order[np.unique(self.cell[order], return_index=True)[1]]] = 1.0
        return alpha

    def normalised(self, alpha: FloatArray) -> FloatArray:
        """Return weights >= 0 that sum to 1 in every cell; equal ones in a cell where none is positive."""
        alpha = np.maximum(alpha, 0.0)
        empty = np.bincount(self.cell, alpha, minlength=len(self.program.axes.cells)) <= 0
        alpha = np.where(empty[self.cell], 1.0, alpha)
        return alpha / np.bincount(self.cell, alpha)[self.cell]

    def u(self, alpha: FloatArray) -> FloatArray:
        """Return u of a mixture."""
        return np.asarray(self.matrix @ alpha + self.program.constant)

    def alpha(self, weights: FloatArray) -> FloatArray:
        """Return the weights of the columns for a table (cells, vertices) that may lack the last vertices."""
        known = self.vertex < weights.shape[1]
        alpha = np.zeros(len(self))
        alpha[known] = weights[self.cell[known], self.vertex[known]]
        return alpha

    def weights(self, alpha: FloatArray, vertices: int) -> FloatArray:
        """Return the mixture of the first ``len(alpha)`` columns as a table (cells, vertices)."""
        table = np.zeros((len(self.program.axes.cells), vertices))
        table[self.cell[: alpha.size], self.vertex[: alpha.size]] = alpha
        return table


def _beside(parts: list[Any]) -> Any:
    """Return matrices side by side; faster than the general function, which would take most of a round's time."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis=1)
    ends = np.cumsum([part.indptr[-1] for part in parts])
    starts = [parts[0].indptr, *(end + part.indptr[1:] for end, part in zip(ends, parts[1:], strict=False))]
    data, places = ([getattr(part, name) for part in parts] for name in ("data", "indices"))
    shape = parts[0].shape[0], sum(part.shape[1] for part in parts)
    return sp.csc_array((np.concatenate(data), np.concatenate(places), np.concatenate(starts)), shape=shape)
