"""The master problem as a cone program, through CVXPY: for constraints that Newton's method cannot take."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import Unsolved
from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.methods.base import FEASIBLE
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.mixtures import SPARE
from metricfit.problem import Program
from metricfit.solvers import cone
from metricfit.types import FloatArray

# Margins to every limit, tried in turn until the answer keeps the constraints.
ROOMS = (SPARE, 5 * SPARE, 25 * SPARE, 0.0)


def solve_cone(program: Program, goal: Node, columns: Columns) -> Solution:
    """Minimise a convex goal over mixtures of the columns; constraints are kept with a margin if possible.

    Where the solver is not accurate enough to keep them, a larger margin makes up for it.
    """
    found: list[Solution] = []
    for spare in ROOMS if program.limits else (0.0,):
        with suppress(Unsolved):
            found.append(_solve(program, goal, columns, spare))
            if program.excess(found[-1].u) <= FEASIBLE:
                return found[-1]
    if not found:
        raise Unsolved("no cone program was solved")
    return min(found, key=lambda solution: program.excess(solution.u))


def widened_cone(program: Program, goal: Node, columns: Columns, room: float) -> Solution:
    """Minimise a convex goal over mixtures that may break every limit by ``room``."""
    return _solve(program, goal, columns, -room)


def _solve(program: Program, goal: Node, columns: Columns, spare: float) -> Solution:
    import cvxpy as cp

    count, cells = len(columns), len(program.axes.cells)
    alpha, u = cp.Variable(count, nonneg=True), cp.Variable(program.constant.size)
    translate = cone.Translator(u)
    objective = translate.of(goal)
    convexity = sp.csr_array((np.ones(count), (columns.cell, np.arange(count))), shape=(cells, count))
    limits = [translate.of(node) <= -spare for node in program.bounds]
    mixture = [u == columns.matrix @ alpha + program.constant, convexity @ alpha == 1]
    problem = cp.Problem(cp.Minimize(cp.sum(objective)), mixture + translate.constraints + limits)
    cone.solve(problem, alpha)
    weights = columns.normalised(np.asarray(alpha.value))
    theta: dict[Largest, FloatArray] = {}
    for largest, constraint in translate.maxima.items():
        share = np.maximum(np.ravel(constraint.dual_value), 0.0)
        if share.sum() > 0:
            theta[largest] = share / share.sum()
    multipliers = tuple(np.maximum(np.ravel(limit.dual_value), 0.0) for limit in limits)
    return Solution(weights, columns.u(weights), multipliers, theta)
