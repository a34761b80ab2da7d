"""The linear program over mixtures of columns, for HiGHS: columns and rows may come and go between solves."""

from __future__ import annotations

import numpy as np

from metricfit.functions.matrices import above, beside
from metricfit.methods.base import NEVER, Deadline
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.mixtures import FEW_ROWS, Mixtures, Solve
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.problem import Program
from metricfit.solvers.lp import LinearProgram
from metricfit.types import BoolArray, FloatArray, IntArray

# Rows that did not bind in more than this many solves in a row are idle. They are taken out once they are more than
# this share of all rows: under equalized odds of 30 groups x 8 classes, where 1,600 rows come in and a third binds,
# linear programs then take 30 % less time. Where limits are barely feasible (12 groups x 5 classes, limits moved by the
# labels) most rows bind now and then, and to take idle ones out at once doubled the steps of the simplex method.
ROW_PATIENCE, MOSTLY_IDLE = 1, 2 / 3


class Corners:
    """Minimises ``cost @ (v, t)`` over mixtures of columns within a polyhedron, starting from the last corner found.

    Parameters
    ----------
    program : Program
    body : Polyhedron
        Rows over v and t that must be <= 0.
    cost : array
        Cost of (v, t); missing last entries are 0.
    near : array
        A guess of v.
    deadline : Deadline
        When to give up.
    """

    def __init__(
        self,
        program: Program,
        body: Polyhedron,
        cost: FloatArray,
        near: FloatArray,
        deadline: Deadline = NEVER,
    ) -> None:
        self.deadline = deadline
        self.mixtures, self.body, self.cost = Mixtures(program, body, near), body, cost
        self.linear: LinearProgram | None = None
        self.slack = self.mixtures.spare
        self.order: IntArray = np.zeros(0, np.int64)
        self.idle: IntArray = np.zeros(0, np.int64)
        self.known: IntArray = np.zeros((2, 0), np.int64)

    def minimise(self, columns: Columns) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the columns at a corner, where few are positive, and multipliers of the rows."""
        mixtures = self.mixtures
        cost = mixtures.cost(columns.matrix, self.cost)

        def begin(slack: FloatArray) -> Solve:
            if self.linear is not None and slack is self.slack and self._renewed(self.linear, columns):
                self._without_idle_rows(self.linear)
            else:
                self._build(slack, columns)

            def least(added: IntArray) -> tuple[FloatArray, FloatArray]:
                assert self.linear is not None
                new = np.setdiff1d(added, self.order)
                if new.size:
                    tail = mixtures.tail(columns.matrix, columns.cell, new)
                    right = mixtures.right(new, slack)
                    self.linear.add_rows(
                        beside([mixtures.head(new), tail]), np.full(new.size, -np.inf), right
                    )
                    self.order = np.append(self.order, new)
                    self.idle = np.append(self.idle, np.zeros(new.size, np.int64))
                x, found = self.linear.minimise(cost, self.deadline.left)
                multipliers = np.zeros(mixtures.offsets.size)
                multipliers[self.order] = -found[mixtures.equations.size :]
                return x, multipliers[mixtures.inside]

            return least

        return mixtures.solve(columns, begin)

    def _build(self, slack: FloatArray, columns: Columns) -> None:
        """Make the program anew, with equations but no rows."""
        free, right = np.full(self.mixtures.head_size, np.inf), self.mixtures.equations
        self.linear = LinearProgram(-free, free)
        self.linear.add_rows(self.mixtures.head(), right, right)
        self.slack, self.known = slack, np.zeros((2, 0), np.int64)
        self.order = self.idle = np.zeros(0, np.int64)
        self._renewed(self.linear, columns)

    def _without_idle_rows(self, linear: LinearProgram) -> None:
        """Take out idle rows if they are most of all; an answer that violates one brings it back."""
        if self.mixtures.offsets.size <= FEW_ROWS:
            return
        first = self.mixtures.equations.size
        self.idle = np.where(linear.loose_rows()[first:], self.idle + 1, 0)
        stale = self.idle > ROW_PATIENCE
        if stale.sum() <= MOSTLY_IDLE * stale.size:
            return
        linear.remove_rows(first + np.flatnonzero(stale))
        self.mixtures.inside[self.order[stale]] = False
        self.order, self.idle = self.order[~stale], self.idle[~stale]

    def _renewed(self, linear: LinearProgram, columns: Columns) -> bool:
        """Take out the columns that are gone and put in the new ones; False if their order has changed."""
        asked = np.stack([columns.vertex, columns.cell])
        there = _among(self.known, asked)
        linear.remove_columns(self.mixtures.head_size + np.flatnonzero(~there))
        self.known = self.known[:, there]
        old = self.known.shape[1]
        if not np.array_equal(self.known, asked[:, :old]):
            return False
        matrix, cell = columns.matrix[:, old:], columns.cell[old:]
        parts = [
            self.mixtures.tail(matrix, cell),
            self.mixtures.tail(matrix, cell, self.order),
        ]
        linear.add_columns(above(parts), np.zeros(cell.size), np.full(cell.size, np.inf))
        self.known = asked
        return True


def _among(pairs: IntArray, others: IntArray) -> BoolArray:
    """Return which pairs are among some others."""
    step = max(pairs[1].max(initial=0), others[1].max(initial=0)) + 1
    return np.isin(pairs[0] * step + pairs[1], others[0] * step + others[1])
