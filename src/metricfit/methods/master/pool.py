"""A pool of rules shared by similar problems: the best mixture of rules in the pool needs no pass over the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.exceptions import Unsolved
from metricfit.methods.base import FEASIBLE, Iterate
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.master import Master
from metricfit.methods.starts import constant_rules
from metricfit.methods.walk.walk import of_unit_size
from metricfit.oracles.base import OracleBase, Vertex
from metricfit.problem import Program
from metricfit.types import FloatArray

# Weights of a mixture below this are left out.
CRUMB = 1e-7


class Pool:
    """Rules found for some problems, mixed for others that differ in their limits only.

    Parameters
    ----------
    program : Program
        One of the problems.
    oracle : OracleBase
        Counts rules.
    """

    def __init__(self, program: Program, oracle: OracleBase) -> None:
        self.oracle = oracle
        self.vertices: list[Vertex] = []
        self._columns = Columns(program)
        self._alpha: FloatArray = np.zeros(0)
        for vertex in constant_rules(program, oracle.margins):
            self.add(vertex)

    def add(self, vertex: Vertex) -> None:
        """Keep a rule."""
        self._columns.add(len(self.vertices), vertex)
        self.vertices.append(vertex)
        self._alpha = np.append(self._alpha, np.zeros(len(self._columns) - self._alpha.size))

    def mix(self, program: Program, prices: int = 0, tol: float = 0.0) -> Iterate | None:
        """Return the best mixture of the rules, or None if no mixture keeps the constraints.

        Up to ``prices`` oracle calls, until value and bound are within ``tol``, look for the rule that improves the
        mixture most: each answer proves a bound, and its rule joins the pool.
        """
        solution = self._solved(program)
        if solution is None:
            return None
        bound = -np.inf
        for _ in range(prices if program.curvature.is_convex else 0):
            bound = max(bound, self._price(program, solution))
            solution = self._solved(program) or solution
            if program.value(solution.u) - bound <= tol:
                break
        if not self.oracle.exact:
            bound = -np.inf
        # If no solver succeeded with the last rules, the solution is a mixture of the rules before them.
        self._alpha = np.append(solution.alpha, np.zeros(len(self._columns) - solution.alpha.size))
        weights = self._columns.weights(solution.alpha, len(self.vertices))
        return Iterate(weights, solution.u, bound, solution.prices)

    def _solved(self, program: Program) -> Solution | None:
        alpha: FloatArray = self._alpha if self._alpha.any() else np.ones(len(self._columns))
        try:
            found = Master(program).solve(self._columns, alpha)
        except Unsolved:
            return None
        # Interior-point solvers leave a tiny weight on every rule; drop them unless that breaks a constraint.
        alpha = self._columns.normalised(np.where(found.alpha > CRUMB, found.alpha, 0.0))
        clean = replace(found, alpha=alpha, u=self._columns.u(alpha))
        for solution in (clean, found):
            if program.excess(solution.u) <= FEASIBLE:
                return solution
        return None

    def _price(self, program: Program, solution: Solution) -> float:
        """Ask for the best rule for the tangent plane at a solution; return the bound that its answer proves."""
        slope, level = program.tangent(solution.point, solution.multipliers, solution.theta)
        vertex = self.oracle(of_unit_size(program.loss(slope)), program.layout)
        self.add(vertex)
        return level + float(slope @ (program.vector(vertex.statistic) - solution.point))
