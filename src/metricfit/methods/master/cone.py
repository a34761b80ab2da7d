"""The master problem as a cone program, through CVXPY: for constraints that Newton's method cannot take."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import Unsolved
from metricfit.functions.expression import Constant, Entries, Largest, Node, Stack, Sum, Total
from metricfit.functions.nonlinear import Smooth
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.quadratic import SPARE
from metricfit.problem import Program
from metricfit.types import FloatArray


class Translator:
    """Turns nodes into CVXPY expressions; maxima become variables above their parts, to read multipliers."""

    def __init__(self, u: Any) -> None:
        self.u = u
        self.constraints: list[Any] = []
        self.maxima: dict[Largest, Any] = {}

    def of(self, node: Node) -> Any:
        """Return a node as an expression of u."""
        import cvxpy as cp

        match node:
            case Entries(start, stop, _, _):
                return self.u[start:stop]
            case Constant(values):
                return cp.Constant(values)
            case Sum(terms, constant):
                return sum(
                    (c * self.of(part) for c, part in terms), start=cp.Constant(np.full(node.size, constant))
                )
            case Total(weights, part):
                return cp.reshape(weights @ self.of(part), (1,), order="C")
            case Stack(parts):
                return cp.hstack([self.of(part) for part in parts])
            case Smooth(atom, part):
                return cp.reshape(atom.cvxpy(self.of(part)), (1,), order="C")
            case Largest(part):
                above = cp.Variable(1)
                self.maxima[node] = self.of(part) <= above
                self.constraints.append(self.maxima[node])
                return above
        raise TypeError(f"{type(node).__name__} has no cone form")


def solve_cone(program: Program, goal: Node, columns: Columns) -> Solution:
    """Minimise a convex goal over mixtures of the columns; constraints are kept with room if possible."""
    try:
        return _solve(program, goal, columns, SPARE)
    except Unsolved:
        if not program.limits:
            raise
        return _solve(program, goal, columns, 0.0)


def _solve(program: Program, goal: Node, columns: Columns, spare: float) -> Solution:
    import cvxpy as cp

    count, cells = len(columns), len(program.axes.cells)
    alpha, u = cp.Variable(count, nonneg=True), cp.Variable(program.constant.size)
    translate = Translator(u)
    objective = translate.of(goal)
    convexity = sp.csr_array((np.ones(count), (columns.cell, np.arange(count))), shape=(cells, count))
    limits = [translate.of(limit.node) <= -spare for limit in program.limits if limit.node is not None]
    mixture = [u == columns.matrix @ alpha + program.constant, convexity @ alpha == 1]
    problem = cp.Problem(cp.Minimize(cp.sum(objective)), mixture + translate.constraints + limits)
    try:
        # An inaccurate answer only costs further oracle calls: the bound does not depend on it. CVXPY
        # evaluates the objective at the answer, where rates may be a rounding below zero.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    except (cp.SolverError, ValueError) as error:
        raise Unsolved(str(error)) from None
    if alpha.value is None or not np.all(np.isfinite(alpha.value)):
        raise Unsolved(str(problem.status))
    weights = columns.normalised(np.asarray(alpha.value))
    theta: dict[Largest, FloatArray] = {}
    for largest, constraint in translate.maxima.items():
        share = np.maximum(np.ravel(constraint.dual_value), 0.0)
        if share.sum() > 0:
            theta[largest] = share / share.sum()
    multipliers = tuple(np.maximum(np.ravel(limit.dual_value), 0.0) for limit in limits)
    return Solution(weights, columns.u(weights), multipliers, theta)
