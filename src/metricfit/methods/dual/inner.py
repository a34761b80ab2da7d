"""Convex programs over the domain of u, built once and then solved for many prices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import Unsolved
from metricfit.functions.expression import Largest, Node
from metricfit.methods.dual.domain import Domain
from metricfit.methods.master.cone import Translator
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.types import FloatArray

TOLERANCE = 1e-10
NOTHING = np.zeros(0)
# A cone program that fails is tried again with a price moved by this much; the bound pays for the move.
NUDGES = (0.0, 1e-8, 1e-6)


class Answer(NamedTuple):
    """A cheapest point, its cost, and a lower bound of the cost."""

    u: FloatArray
    value: float
    bound: float


class LinearProgram:
    """Minimise ``cost @ (u, t)`` where u is in a domain and the rows of a polyhedron hold.

    Clarabel keeps its factorisation pattern between prices, which makes a call ten times as fast as setting
    up the program anew.
    """

    def __init__(self, domain: Domain, body: Polyhedron) -> None:
        import clarabel

        width, extra = body.width, len(body.maxima)
        self.domain = domain
        self.size = width + extra
        rows, constants = body.system()
        sums, totals = domain.sums()
        # A maximum that costs nothing would have no upper end.
        tops = np.array([float(largest.reach()[1][0]) + 1.0 for largest in body.maxima])
        eye = sp.eye_array(self.size, format="csr")
        system = sp.vstack(
            [
                sp.hstack([sums, sp.csr_array((totals.size, extra))]),
                rows,
                eye[:width],
                -eye[:width],
                eye[width:],
            ],
            format="csc",
        )
        right = np.concatenate([totals, -constants, domain.high, -domain.low, tops])
        cones = [clarabel.ZeroConeT(totals.size), clarabel.NonnegativeConeT(right.size - totals.size)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.presolve_enable = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
        self.solver: Any = clarabel.DefaultSolver(
            sp.csc_matrix((self.size, self.size)),
            np.ones(self.size),
            sp.csc_matrix(system),
            right,
            cones,
            settings,
        )

    def __call__(self, cost: FloatArray) -> Answer:
        """Return the cheapest point; raise `Unsolved` where there is none."""
        size = max(1.0, float(np.abs(cost).max(initial=0.0)))
        self.solver.update(q=cost / size)
        answer = self.solver.solve()
        x = np.array(answer.x)
        if str(answer.status) not in ("Solved", "AlmostSolved") or not np.all(np.isfinite(x)):
            raise Unsolved(str(answer.status))
        u = np.clip(x[: self.domain.low.size], self.domain.low, self.domain.high)
        slack = 10 * TOLERANCE * float(1 + np.abs(cost).sum() / size)
        lowest = min(answer.obj_val, answer.obj_val_dual) - slack
        return Answer(u, size * float(answer.obj_val), size * lowest)


class ConeProgram:
    """Minimise ``goal(u) + price @ u + weights @ priced(u)`` over a domain where ``kept`` is <= 0."""

    def __init__(
        self, domain: Domain, goal: Node | None, priced: Sequence[Largest] = (), kept: Sequence[Node] = ()
    ) -> None:
        import cvxpy as cp

        self.domain = domain
        self.u = cp.Variable(domain.low.size)
        self.price, self.weights = cp.Parameter(domain.low.size), cp.Parameter(len(priced), nonneg=True)
        self.scale = cp.Parameter(nonneg=True)
        translate = Translator(self.u)
        cost = self.price @ self.u
        if goal is not None:
            cost += self.scale * cp.sum(translate.of(goal))
        for k, node in enumerate(priced):
            cost += self.weights[k] * cp.sum(translate.of(node))
        inside = [self.u >= domain.low, self.u <= domain.high, *(translate.of(node) <= 0 for node in kept)]
        matrix, totals = domain.sums()
        if totals.size:
            inside.append(matrix @ self.u == totals)
        self.problem = cp.Problem(cp.Minimize(cost), inside + translate.constraints)

    def __call__(self, price: FloatArray, weights: FloatArray = NOTHING) -> Answer:
        """Return the cheapest point; raise `Unsolved` where there is none."""
        size = max(1.0, float(np.abs(price).max(initial=0.0)), float(weights.max(initial=0.0)))
        reach = np.maximum(np.abs(self.domain.low), np.abs(self.domain.high))
        for nudge in NUDGES:
            moved = size * nudge * np.cos(np.arange(price.size))
            try:
                u, value = self._solve((price + moved) / size, weights / size, 1 / size)
            except Unsolved as error:
                problem = error
                continue
            slack = 100 * TOLERANCE * (1 + float(np.abs(price).sum() + weights.sum()) / size)
            return Answer(u, size * value, size * (value - slack) - float(np.abs(moved) @ reach))
        raise problem

    def _solve(self, price: FloatArray, weights: FloatArray, scale: float) -> tuple[FloatArray, float]:
        import cvxpy as cp

        self.price.value, self.weights.value, self.scale.value = price, weights, scale
        try:
            # Answers are judged by their status; CVXPY warns of inaccurate ones and of rates just below 0.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.problem.solve(solver=cp.CLARABEL)
        except cp.SolverError as error:
            raise Unsolved(str(error)) from None
        if self.u.value is None or self.problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            raise Unsolved(str(self.problem.status))
        u = np.clip(self.u.value, self.domain.low, self.domain.high)
        return u, float(self.problem.solution.opt_val)
