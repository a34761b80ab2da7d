"""Convex programs over the domain of u, built once and then solved for many directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.methods.dual.domain import Domain
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.solvers import cone
from metricfit.solvers.attempts import TOLERANCE, first_solved
from metricfit.solvers.lp import LinearProgram
from metricfit.types import FloatArray

NO_WEIGHTS = np.zeros(0)
# A cone program that fails is tried again with its direction moved by this much; the bound is lowered by what the
# move can change.
NUDGES = (0.0, 1e-8, 1e-6)


class CheapestPoint(NamedTuple):
    """A cheapest point, its cost, and a lower bound of the cost."""

    u: FloatArray
    value: float
    bound: float


class LinearStep:
    """Minimise ``cost @ (u, t)`` where u is in a domain and the rows of a polyhedron hold."""

    def __init__(self, domain: Domain, body: Polyhedron) -> None:
        rows, constants = body.system()
        sums, totals = domain.sums()
        # The upper ends keep a maximum that costs nothing bounded.
        tops = np.array([float(largest.reach()[1][0]) + 1.0 for largest in body.maxima])
        self.domain, self.size = domain, rows.shape[1]
        self.program = LinearProgram(
            np.concatenate([domain.low, np.full(tops.size, -np.inf)]), np.concatenate([domain.high, tops])
        )
        widened = sp.hstack([sums, sp.csr_array((totals.size, tops.size))])
        self.program.add_rows(widened, totals, totals)
        self.program.add_rows(rows, np.full(constants.size, -np.inf), -constants)

    def __call__(self, cost: FloatArray) -> CheapestPoint:
        """Return the cheapest point; raise `UnsolvedError` where there is none."""
        size = max(1.0, float(np.abs(cost).max(initial=0.0)))
        x, _ = self.program.minimise(cost / size)
        value = float(cost @ x)
        u = np.clip(x[: self.domain.low.size], self.domain.low, self.domain.high)
        return CheapestPoint(u, value, value - 10 * TOLERANCE * (size + float(np.abs(cost).sum())))


class ConeProgram:
    """Minimise ``goal(u) + direction @ u + weights @ weighted(u)`` over a domain where ``kept`` is <= 0."""

    def __init__(
        self, domain: Domain, goal: Node | None, weighted: Sequence[Largest] = (), kept: Sequence[Node] = ()
    ) -> None:
        import cvxpy as cp

        self.domain = domain
        self.u = cp.Variable(domain.low.size)
        self.direction, self.scale = cp.Parameter(domain.low.size), cp.Parameter(nonneg=True)
        self.weights = [cp.Parameter(nonneg=True) for _ in weighted]
        translate = cone.Translator(self.u)
        cost = self.direction @ self.u
        if goal is not None:
            cost += self.scale * cp.sum(translate.of(goal))
        for weight, node in zip(self.weights, weighted, strict=True):
            cost += weight * cp.sum(translate.of(node))
        inside = [self.u >= domain.low, self.u <= domain.high, *(translate.of(node) <= 0 for node in kept)]
        matrix, totals = domain.sums()
        if totals.size:
            inside.append(matrix @ self.u == totals)
        self.problem = cp.Problem(cp.Minimize(cost), inside + translate.constraints)

    def __call__(self, direction: FloatArray, weights: FloatArray = NO_WEIGHTS) -> CheapestPoint:
        """Return the cheapest point; raise `UnsolvedError` where there is none."""
        size = max(1.0, float(np.abs(direction).max(initial=0.0)), float(weights.max(initial=0.0)))
        reach = np.maximum(np.abs(self.domain.low), np.abs(self.domain.high))
        inside = 1 + float(np.abs(direction).sum() + weights.sum()) / size

        def solve(nudge: float) -> CheapestPoint:
            moved = size * nudge * np.cos(np.arange(direction.size))
            self.direction.value, self.scale.value = (direction + moved) / size, 1 / size
            for parameter, weight in zip(self.weights, weights / size, strict=True):
                parameter.value = weight
            value = cone.solve(self.problem, self.u)
            u = np.clip(self.u.value, self.domain.low, self.domain.high)
            bound = size * (value - 100 * TOLERANCE * inside) - float(np.abs(moved) @ reach)
            return CheapestPoint(u, size * value, bound)

        return first_solved(solve, NUDGES)
