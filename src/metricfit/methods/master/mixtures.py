"""Programs over the mixtures of columns: a quadratic or linear function is least, and rows of a polyhedron hold.

Equalized odds over 30 groups of 8 classes are 3,840 rows, of which a few hundred bind. Rows far from their limit are
left out of the program until an answer breaks them, and entries of v that a single cell makes are written as that
cell's columns; what is left is small, whatever the number of constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.methods.master.columns import Columns
from metricfit.methods.master.curve import FLAT, Triplets
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.problem import Limit
from metricfit.solvers import qp
from metricfit.solvers.attempts import first_solved
from metricfit.solvers.lp import LinearProgram
from metricfit.types import BoolArray, FloatArray

# Constraint rows are kept with this much to spare where that is possible, so that rounding breaks none.
SPARE = 2e-9
# So many rows are always in the program, those nearest to their limit first.
FEW_ROWS = 200

Answer = tuple[FloatArray, FloatArray]


class Mixtures:
    """The mixtures of some columns within a polyhedron.

    Parameters
    ----------
    columns : Columns
        What may be mixed: ``v = columns.matrix @ alpha + constant`` with weights that sum to 1 in every cell.
    body : Polyhedron
        Rows over v, and over a t for each maximum, that must be <= 0.
    near : array
        Where v is expected: rows that are far from their limit there are left out at first.
    """

    def __init__(self, columns: Columns, body: Polyhedron, near: FloatArray) -> None:
        self.columns, self.body = columns, body
        self.constant = columns.program.constant
        self.rows, self.offsets = body.system()
        self.spare = SPARE * body.belongs_to(Limit)
        self.inside = self._nearest(near)

    def minimise(
        self, gradient: FloatArray, hessian: Triplets, u: FloatArray, cost: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Minimise ``cost @ (v, t) + gradient @ (v - u) + (v - u) @ hessian @ (v - u) / 2``.

        The cost may be shorter than (v, t).

        Returns
        -------
        alpha, multipliers : arrays
            Weights of the columns, in the middle of the best ones and not yet rounded to a mixture, and multipliers
            of the rows of ``body``.
        """
        count, width, matrix = len(self.columns), self.constant.size, self.columns.matrix
        bent = np.bincount(hessian.row, minlength=width) > 0
        # With many classes the columns are fewer than the entries that bend: then these are no unknowns.
        apart = bent if bent.sum() <= count else np.zeros(width, bool)
        form = Form(self, apart)
        slope = gradient - hessian.times(u if apart.any() else u - self.constant)
        slope[: cost.size] += cost[:width]
        linear = np.concatenate([slope @ matrix, np.zeros(form.kept.size), self._on_maxima(cost)])
        quadratic: Any = sp.csc_matrix((linear.size, linear.size))
        if apart.any():
            upper = hessian.row <= hessian.column
            places = count + form.place[hessian.row[upper]], count + form.place[hessian.column[upper]]
            quadratic = sp.csc_matrix((hessian.value[upper], places), shape=quadratic.shape)
        elif bent.any():
            bend = sp.csr_array((hessian.value, (hessian.row, hessian.column)), shape=(width, width))
            whole = np.zeros(quadratic.shape)
            whole[:count, :count] = np.triu((matrix.T @ (bend @ matrix)).toarray())
            quadratic = sp.csc_matrix(whole)
        signs = -sp.eye_array(count, linear.size, format="csr")

        def solve(slack: FloatArray) -> Callable[[BoolArray], Answer]:
            def least(added: BoolArray) -> Answer:
                rows, right = form.rows(self.inside, slack)
                system = sp.vstack([form.equations, signs, rows])
                right = np.concatenate([form.right, np.zeros(count), right])
                x, z = qp.minimise(quadratic, linear, system, right, form.right.size)
                return x, z[form.right.size + count :]

            return least

        return self._with_room(form, solve)

    def corner(self, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Minimise ``cost @ (v, t)``, as `minimise` does, in a corner, so that few weights are positive."""
        count, width = len(self.columns), self.constant.size
        form = Form(self, np.zeros(width, bool))
        slope = np.zeros(width)
        slope[: cost.size] = cost[:width]
        linear = np.concatenate(
            [slope @ self.columns.matrix, np.zeros(form.kept.size), self._on_maxima(cost)]
        )
        low = np.where(np.arange(linear.size) < count, 0.0, -np.inf)

        def solve(slack: FloatArray) -> Callable[[BoolArray], Answer]:
            program = LinearProgram(low, np.full(linear.size, np.inf))
            program.add(form.equations, form.right, form.right)
            order: list[int] = []

            def least(added: BoolArray) -> Answer:
                order.extend(np.flatnonzero(added))
                rows, right = form.rows(added, slack)
                program.add(rows, np.full(right.size, -np.inf), right)
                x, found = program.minimise(linear)
                multipliers = np.zeros(self.offsets.size)
                multipliers[order] = -found[form.right.size :]
                return x, multipliers[self.inside]

            return least

        return self._with_room(form, solve)

    def _with_room(self, form: Form, solve: Callable[[FloatArray], Callable[[BoolArray], Answer]]) -> Answer:
        """Solve with constraints kept with something to spare, or if that is impossible as they are."""
        return first_solved(
            lambda slack: self._complete(form, slack, solve(slack)),
            (self.spare, 0 * self.spare) if self.spare.any() else (self.spare,),
        )

    def _complete(self, form: Form, slack: FloatArray, solve: Callable[[BoolArray], Answer]) -> Answer:
        """Solve, and take in the rows that the answer breaks, until it breaks none."""
        added = self.inside
        while True:
            x, multipliers = solve(added)
            alpha, extra = x[: len(self.columns)], x[len(self.columns) + form.kept.size :]
            excess = self.rows @ np.concatenate([self.columns.u(alpha), extra]) + self.offsets + slack
            added = ~self.inside & (excess > SPARE / 4)
            if not added.any():
                break
            self.inside = self.inside | added
        whole = np.zeros(self.offsets.size)
        whole[self.inside] = multipliers
        return alpha, whole

    def _on_maxima(self, cost: FloatArray) -> FloatArray:
        found = np.zeros(len(self.body.maxima))
        found[: max(cost.size - self.constant.size, 0)] = cost[self.constant.size :]
        return found

    def _nearest(self, u: FloatArray) -> BoolArray:
        """Return the rows nearest to their limit at u, and of each maximum at least one, which holds it up."""
        inside = np.ones(self.offsets.size, bool)
        if inside.size <= FEW_ROWS:
            return inside
        point, start, least = u, 0, []
        for rows in self.body.rows:
            if rows.owner in self.body.maxima:  # the maxima inside of it come before it, and have their value
                values = rows.matrix[:, : point.size] @ point + rows.constant
                point = np.append(point, values.max())
                least.append(start + int(values.argmax()))
            start += rows.constant.size
        excess = self.rows @ point + self.offsets
        inside = excess >= np.partition(excess, -FEW_ROWS)[-FEW_ROWS]
        inside[least] = True
        return inside


class Form:
    """The unknowns (alpha, kept entries of v, t), and the rows over them.

    Entries of v that several cells share, and those that ``apart`` names, are unknowns of their own, so that the rows
    that speak of them stay sparse.
    """

    def __init__(self, mixtures: Mixtures, apart: BoolArray) -> None:
        self.mixtures, columns = mixtures, mixtures.columns
        width, count = mixtures.constant.size, len(columns)
        used = np.zeros(width + len(mixtures.body.maxima), bool)
        used[mixtures.rows.indices] = True
        self.kept = np.flatnonzero((columns.program.shared & used[:width]) | apart)
        self.place = np.full(width, -1)
        self.place[self.kept] = np.arange(self.kept.size)
        size = count + self.kept.size + len(mixtures.body.maxima)
        cells = len(columns.program.axes.cells)
        own = sp.hstack([-columns.matrix.tocsr()[self.kept], sp.eye_array(self.kept.size)]).tocoo()
        places = np.concatenate([own.row, self.kept.size + columns.cell])
        across = np.concatenate([own.col, np.arange(count)])
        values = np.concatenate([own.data, np.ones(count)])
        self.equations = sp.csr_array((values, (places, across)), shape=(self.kept.size + cells, size))
        self.right = np.concatenate([mixtures.constant[self.kept], np.ones(cells)])

    @cached_property
    def _local(self) -> Any:
        """The rows, over entries of v that are no unknowns."""
        width = self.mixtures.constant.size
        return self.mixtures.rows[:, :width] @ sp.diags_array((self.place < 0).astype(float))

    def rows(self, chosen: BoolArray, slack: FloatArray) -> tuple[Any, FloatArray]:
        """Return some rows of the polyhedron as ``rows @ unknowns <= right``."""
        mixtures, places = self.mixtures, np.flatnonzero(chosen)
        local, rest = self._local[places], mixtures.rows[places]
        right = -mixtures.offsets[places] - slack[places] - local @ mixtures.constant
        width = mixtures.constant.size
        parts = [local @ mixtures.columns.matrix, rest[:, self.kept], rest[:, width:]]
        return sp.hstack(parts, format="csr"), right


__all__ = ["FLAT", "SPARE", "Mixtures"]
