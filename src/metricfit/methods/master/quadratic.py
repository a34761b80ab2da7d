"""The quadratic program over mixtures of columns, for Clarabel: one step of Newton's method."""

from __future__ import annotations

import numpy as np

from metricfit.functions.matrices import ByColumns, by_columns, dense, matrix_of
from metricfit.methods.base import NEVER, Deadline
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.curve import Hessian
from metricfit.methods.master.mixtures import Mixtures, Solve
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.solvers import qp
from metricfit.types import FloatArray, IntArray


class QuadraticProgram:
    """Minimises quadratic functions over the mixtures of some columns within a polyhedron, near a point."""

    def __init__(
        self, columns: Columns, body: Polyhedron, near: FloatArray, deadline: Deadline = NEVER
    ) -> None:
        self.columns, self.body, self.near, self.deadline = columns, body, near, deadline
        self.mixtures: Mixtures | None = None
        self._system: tuple[int, ByColumns] | None = None  # of how many rows, which only grow

    def minimise(
        self, gradient: FloatArray, hessian: Hessian, u: FloatArray, cost: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Minimise ``cost @ (v, t) + gradient @ (v - u) + (v - u) @ hessian @ (v - u) / 2``.

        Returns
        -------
        alpha, multipliers : arrays
            Weights of the columns, in the middle of the set of minimisers, and multipliers of the rows.
        """
        columns, matrix, constant = self.columns, self.columns.matrix, self.columns.program.constant
        count, width = len(columns), constant.size
        bent = np.bincount(hessian.row, minlength=width) > 0
        # Curved entries of u are unknowns of their own, unless they outnumber the columns, as with many classes.
        apart = bent if bent.sum() <= count else np.zeros(width, bool)
        if self.mixtures is None:
            self.mixtures = Mixtures(columns.program, self.body, self.near, apart)
        mixtures = self.mixtures
        slope = gradient - hessian.times(u if apart.any() else u - constant)
        head = mixtures.head_size
        size = head + count
        linear = mixtures.cost(matrix, cost) + np.concatenate([np.zeros(head), slope @ matrix])
        if apart.any() or not bent.any():
            place = np.searchsorted(mixtures.kept, np.arange(width))
            upper = hessian.row <= hessian.column
            places = place[hessian.row[upper]], place[hessian.column[upper]]
            quadratic = matrix_of(*places, hessian.value[upper], (size, size))
        else:
            bend = matrix_of(hessian.row, hessian.column, hessian.value, (width, width))
            quadratic = np.zeros((size, size))
            quadratic[head:, head:] = np.triu(dense(matrix.T @ (bend @ matrix)))

        def begin(slack: FloatArray) -> Solve:
            def least(added: IntArray) -> tuple[FloatArray, FloatArray]:
                chosen = np.flatnonzero(mixtures.inside)
                right = [mixtures.equations, mixtures.right(chosen, slack), np.zeros(count)]
                if self._system is None or self._system[0] != chosen.size:
                    system = mixtures.system(matrix, columns.cell, chosen)
                    self._system = chosen.size, by_columns(system)
                equations = right[0].size
                x, z = qp.minimise(
                    quadratic, linear, self._system[1], np.concatenate(right), equations, self.deadline.left
                )
                return x, z[right[0].size : right[0].size + chosen.size]

            return least

        return mixtures.solve(columns, begin)
