"""The master problem as a cone program, through CVXPY: for constraints that Newton's method cannot take."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import UnsolvedError
from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.methods.base import FEASIBLE, NEVER, Deadline
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.mixtures import SPARE
from metricfit.problem import Program
from metricfit.solvers.cone import ConeProgram
from metricfit.types import FloatArray

# Margins to every limit, tried in turn until the answer keeps the constraints.
ROOMS = (SPARE, 5 * SPARE, 25 * SPARE, 0.0)


class ConeMaster:
    """Minimises a convex goal over mixtures of columns within the limits of a program."""

    def __init__(self, program: Program, goal: Node, deadline: Deadline = NEVER) -> None:
        self.program, self.deadline = program, deadline
        self.form = ConeProgram(goal, program.bounds, program.constant.size)
        self.rooms: tuple[float, ...] = ROOMS if program.limits else (0.0,)

    def solve(self, columns: Columns) -> Solution:
        """Return the best mixture; constraints are kept with a margin if possible.

        Where the solver is not accurate enough to keep them, a larger margin makes up for it. Margins that failed are
        not tried again: a limit without interior points (a divergence of at most 0) can never be kept with one.
        """
        found: list[Solution] = []
        for place, room in enumerate(self.rooms):
            with suppress(UnsolvedError):
                found.append(self.with_room(columns, room))
                if self.program.excess(found[-1].u) <= FEASIBLE:
                    self.rooms = self.rooms[place:]
                    return found[-1]
        if not found:
            raise UnsolvedError("no cone program was solved")
        return min(found, key=lambda solution: self.program.excess(solution.u))

    def with_room(self, columns: Columns, room: float) -> Solution:
        """Return the best mixture that keeps every limit with some room; negative room is by how much it may break."""
        count, cells = len(columns), len(self.program.axes.cells)
        sums = sp.csr_array((np.ones(count), (columns.cell, np.arange(count))), shape=(cells, count))
        weights = columns.normalised(
            self.form.minimise(room, columns.matrix, self.program.constant, sums, self.deadline.left)
        )
        theta: dict[Largest, FloatArray] = {}
        for largest, constraint in self.form.maxima.items():
            share = np.maximum(np.ravel(constraint.dual_value), 0.0)
            if share.sum() > 0:
                theta[largest] = share / share.sum()
        multipliers = tuple(np.maximum(np.ravel(limit.dual_value), 0.0) for limit in self.form.limits)
        return Solution(weights, columns.u(weights), multipliers, theta)
