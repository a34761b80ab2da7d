"""The master problem as a cone program, through CVXPY: for constraints that Newton's method cannot take."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.mixtures import SPARE
from metricfit.problem import Program
from metricfit.solvers import cone
from metricfit.solvers.attempts import first_solved
from metricfit.types import FloatArray


def solve_cone(program: Program, goal: Node, columns: Columns) -> Solution:
    """Minimise a convex goal over mixtures of the columns; constraints are kept with room if possible."""
    room = (SPARE, 0.0) if program.limits else (0.0,)
    return first_solved(lambda spare: _solve(program, goal, columns, spare), room)


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
