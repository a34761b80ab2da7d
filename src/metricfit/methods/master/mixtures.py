"""The mixtures of columns within a polyhedron, as rows of a program for a solver.

Equalized odds over 30 groups of 8 classes are 3,840 rows, of which a few hundred bind. Rows far from their limit are
left out of the program until an answer violates them, and entries of v that depend on a single cell are expressed by
that cell's columns. The program therefore stays small, whatever the number of constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import UnsolvedError
from metricfit.functions.matrices import above, beside, dense, matrix_of, used_columns
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.problem import Limit, Program
from metricfit.types import BoolArray, FloatArray, IntArray

# Constraint rows are kept with this margin where that is possible, so that rounding violates none.
SPARE = 2e-9
# The most that the margin may cost of the objective: where a limit is barely feasible, even a tiny margin is expensive.
DEAR = 1e-6
# The program starts with the FEW_ROWS rows nearest to their limit, and with all rows that are within CLOSE of it.
FEW_ROWS, CLOSE = 200, 1e-4
# At most this many rows enter at a time, the most violated ones. Where limits are barely feasible an answer violates
# thousands of rows, and with all at once the simplex method took ten times as many steps.
MOST_ROWS = 400

# Solves with some more rows; returns the unknowns and the multipliers of all rows that are in the program.
Solve = Callable[[IntArray], tuple[FloatArray, FloatArray]]

# A system of up to this many entries is built as a dense array, which is faster than sparse parts.
DENSE = 1 << 18


class Mixtures:
    """Unknowns are some entries w of v, a t for each maximum, and weights alpha of columns that sum to 1 in every cell.

    All of ``v = columns.matrix @ alpha + constant`` follows from alpha. Entries that several cells share are still
    unknowns of their own, so that the rows that contain them stay sparse.

    Parameters
    ----------
    program : Program
    body : Polyhedron
        Rows over v and t that must be <= 0.
    near : array
        A guess of v: rows that are far from their limit there are left out at first.
    apart : array of bool, optional
        Further entries of v that are to be unknowns.
    """

    def __init__(
        self, program: Program, body: Polyhedron, near: FloatArray, apart: BoolArray | None = None
    ) -> None:
        self.program, self.width, self.cells = program, program.constant.size, len(program.axes.cells)
        self.rows, self.offsets = body.system()
        self.spare, self.none = SPARE * body.belongs_to(Limit), np.zeros(self.offsets.size)
        self.inside = _nearest(body, self.rows, self.offsets, near)
        used = np.zeros(self.rows.shape[1], bool)
        used[used_columns(self.rows)] = True
        apart = (
            program.shared & used[: self.width]
            if apart is None
            else apart | program.shared & used[: self.width]
        )
        self.kept = np.flatnonzero(apart)
        self.head_size = self.kept.size + self.rows.shape[1] - self.width
        self._head = beside([self.rows[:, self.kept], self.rows[:, self.width :]])
        self._local = self._without(apart)
        self._shift = self.offsets + self._local @ program.constant

    def _without(self, apart: BoolArray) -> Any:
        """Return the coefficients of v in all rows, without those of entries that are unknowns of their own."""
        if isinstance(self.rows, np.ndarray):
            return self.rows[:, : self.width] * ~apart
        return self.rows[:, : self.width] @ sp.diags_array((~apart).astype(float))

    @property
    def equations(self) -> FloatArray:
        """The right-hand sides of the equations that define w, and of the sums of weights in each cell."""
        return np.concatenate([self.program.constant[self.kept], np.ones(self.cells)])

    def head(self, chosen: IntArray | None = None) -> Any:
        """Return coefficients of (w, t) in the equations, or in some rows."""
        if chosen is not None:
            return self._head[chosen]
        place = np.arange(self.kept.size)
        shape = self.kept.size + self.cells, self.head_size
        return matrix_of(place, place, np.ones(place.size), shape)

    def tail(self, matrix: Any, cell: IntArray, chosen: IntArray | None = None) -> Any:
        """Return coefficients of columns in the equations, or in some rows."""
        if chosen is not None:
            return self._local[chosen] @ matrix
        if isinstance(matrix, np.ndarray):
            sums = np.zeros((self.cells, cell.size))
            sums[cell, np.arange(cell.size)] = 1.0
            return np.concatenate([-matrix[self.kept], sums])
        ones = np.ones(cell.size), (cell, np.arange(cell.size))
        return sp.vstack(
            [-matrix.tocsr()[self.kept], sp.csr_array(ones, shape=(self.cells, cell.size))], format="csr"
        )

    def system(self, matrix: Any, cell: IntArray, chosen: IntArray) -> Any:
        """Return all coefficients of (w, t, alpha): the equations, some rows, and ``-alpha``."""
        count, first, head = cell.size, self.kept.size + self.cells, self.head_size
        if (first + chosen.size + count) * (head + count) > DENSE:
            equations = beside([self.head(), self.tail(matrix, cell)])
            rows = beside([self.head(chosen), self.tail(matrix, cell, chosen)])
            signs = sp.hstack([sp.csr_array((count, head)), -sp.eye_array(count)])
            return sp.csc_matrix(above([equations, rows, signs]))
        columns, place = dense(matrix), np.arange(self.kept.size)
        whole = np.zeros((first + chosen.size + count, head + count))
        whole[place, place] = 1.0
        whole[place, head:] = -columns[self.kept]
        whole[self.kept.size + cell, head + np.arange(count)] = 1.0
        whole[first : first + chosen.size, :head] = dense(self._head[chosen])
        whole[first : first + chosen.size, head:] = self._local[chosen] @ columns
        whole[first + chosen.size + np.arange(count), head + np.arange(count)] = -1.0
        return whole

    def right(self, chosen: IntArray, slack: FloatArray) -> FloatArray:
        """Return the upper limits of some rows."""
        return -self._shift[chosen] - slack[chosen]

    def cost(self, matrix: Any, cost: FloatArray) -> FloatArray:
        """Return a cost of (v, t), whose missing last entries are 0, as a cost of (w, t, alpha)."""
        whole = np.zeros(self.rows.shape[1])
        whole[: cost.size] = cost
        head = np.concatenate([np.zeros(self.kept.size), whole[self.width :]])
        return np.concatenate([head, whole[: self.width] @ matrix])

    def solve(self, columns: Columns, begin: Callable[[FloatArray], Solve]) -> tuple[FloatArray, FloatArray]:
        """Solve with a margin, or without one if it is infeasible or expensive; add rows until none is violated.

        Returns
        -------
        alpha, multipliers : arrays
            Weights of the columns, not yet normalised to a mixture, and multipliers of all rows.
        """

        def complete(slack: FloatArray) -> tuple[FloatArray, FloatArray]:
            least = begin(slack)
            added: IntArray = np.flatnonzero(self.inside)
            while True:
                x, multipliers = least(added)
                alpha, t = x[self.head_size :], x[self.kept.size : self.head_size]
                excess = self.rows @ np.concatenate([columns.u(alpha), t]) + self.offsets + slack
                added = _worst(excess, ~self.inside & (excess > SPARE / 4))
                if not added.size:
                    whole = np.zeros(self.offsets.size)
                    whole[self.inside] = multipliers
                    return alpha, whole
                self.inside[added] = True

        if self.spare.any():
            with suppress(UnsolvedError):
                alpha, multipliers = complete(self.spare)
                if multipliers @ self.spare <= DEAR:
                    return alpha, multipliers
                self.spare = self.none
        return complete(self.none)


def _worst(excess: FloatArray, broken: BoolArray) -> IntArray:
    """Return the violated rows, or if they are many the most violated ones."""
    rows = np.flatnonzero(broken)
    return rows if rows.size <= MOST_ROWS else np.sort(rows[np.argsort(-excess[rows])[:MOST_ROWS]])


def _nearest(body: Polyhedron, rows: Any, offsets: FloatArray, u: FloatArray) -> BoolArray:
    """Return the rows nearest to their limit at u, and for each maximum at least the row that attains it."""
    if offsets.size <= FEW_ROWS:
        return np.ones(offsets.size, bool)
    point, start, least = u, 0, []
    for part in body.rows:
        if part.owner in body.maxima:  # maxima nested in it come first, so that their values are known
            values = part.matrix[:, : point.size] @ point + part.constant
            point = np.append(point, values.max())
            least.append(start + int(values.argmax()))
        start += part.constant.size
    excess = rows @ point + offsets
    inside = excess >= min(np.partition(excess, -FEW_ROWS)[-FEW_ROWS], -CLOSE)
    inside[least] = True
    return np.asarray(inside)
