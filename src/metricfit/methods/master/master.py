"""The master problem: the best mixture of the columns so far, and the multipliers that price the next one.

Smooth parts of the objective are minimised by Newton's method, each step a quadratic program over the weights
(Clarabel) in which all maxima and constraints are exact rows. A curved constraint, or a maximum of curved
functions, goes to CVXPY. Ratios are minimised by Dinkelbach's iteration around either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Stack, negative
from metricfit.methods.base import NEVER, Deadline, Walk
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.cone import ConeMaster
from metricfit.methods.master.corners import Corners
from metricfit.methods.master.curve import Curve, CurvedAndLinear, smooth_parts
from metricfit.methods.master.face import Face
from metricfit.methods.master.linear import corrected
from metricfit.methods.master.mixtures import SPARE
from metricfit.methods.master.polyhedron import Polyhedron, is_polyhedral
from metricfit.methods.master.quadratic import QuadraticProgram
from metricfit.methods.master.ratio_level import even_goal, priced_level
from metricfit.problem import Program
from metricfit.types import FloatArray

# The most Newton steps, and the error of the merit that they may leave.
NEWTON_STEPS, NEWTON_LEFT = 40, 1e-9
DINKELBACH_STEPS = 30
# By how much limits are widened, in turn; the objective changes by about the square root of that.
WIDENED = (1e-6, 1e-7, 1e-8)

Solver = Callable[["Master", Columns, FloatArray], Solution]


class Master:
    """Solves one program over a growing set of columns; what does not depend on the columns is built once."""

    def __init__(self, program: Program, walk: Walk | None = None, left: float = NEWTON_LEFT) -> None:
        self.program, self.walk, self.left = program, walk, left
        self._corners: Corners | None = None
        self._faces: dict[bytes, Master] = {}

    def solve(self, columns: Columns, alpha: FloatArray) -> Solution:
        """Return the best mixture of the columns, starting from ``alpha``; raise `UnsolvedError` when solvers fail."""
        return self._on_face(Master._solve, columns, alpha)

    def corrected(self, columns: Columns, alpha: FloatArray) -> Solution:
        """Return a better mixture, found by a linear program; raise `UnsolvedError` when HiGHS fails."""

        def solve(rest: Master, columns: Columns, alpha: FloatArray) -> Solution:
            return corrected(rest.program, columns, alpha, self._deadline)

        return self._on_face(solve, columns, alpha)

    def _on_face(self, solve: Solver, columns: Columns, alpha: FloatArray) -> Solution:
        """Solve what is left of the limits where those hold that the columns keep only with equality."""
        face = Face.of(self.program, columns, alpha) if self.program.limits else None
        if face is None or face.is_whole:
            return solve(self, columns, columns.normalised(alpha))
        if face.key not in self._faces:
            self._faces[face.key] = Master(face.rest, self.walk, self.left)
        members = face.members
        return face.whole(solve(self._faces[face.key], members, members.normalised(alpha[face.inside])))

    def _solve(self, columns: Columns, alpha: FloatArray) -> Solution:
        if self.program.curvature.is_convex:
            return self._convex(self.program.objective, columns, alpha)
        return self._dinkelbach(columns, alpha)

    @cached_property
    def is_linear(self) -> bool:
        """Whether the problem is a linear program, so that its solutions are corners."""
        convex = self.program.curvature.is_convex
        return convex and self._flat_limits and self._parts is not None and not self._parts.smooth

    @property
    def ways(self) -> int:
        """How many other ways of solving can be tried when the multipliers bring no new column."""
        return 1 if self._flat_limits or not self.program.curvature.is_convex else 1 + len(WIDENED)

    def widened(self, turn: int, columns: Columns, alpha: FloatArray) -> Solution:
        """Return the given mixture with the multipliers of the problem whose limits are slightly wider.

        A curved limit without interior points (a divergence of at most 0) has no multipliers of its own.
        """

        def solve(rest: Master, columns: Columns, alpha: FloatArray) -> Solution:
            found = rest._cone.with_room(columns, -WIDENED[turn])
            return replace(found, alpha=alpha, u=columns.u(alpha), touched=found.u)

        return self._on_face(solve, columns, alpha)

    def _dinkelbach(self, columns: Columns, alpha: FloatArray) -> Solution:
        """Minimise a ratio: lower the level to the value reached until no mixture beats it."""
        program, best = self.program, None
        for _ in range(DINKELBACH_STEPS):
            u = columns.u(alpha)
            level = program.value(u)
            goal, under = even_goal(program, level, u)
            found = self._convex(goal, columns, alpha)
            found = priced_level(program, found, goal, under, level)
            kept = not program.limits or program.excess(found.u) <= max(program.excess(u), 0.0) + SPARE
            gained = level - program.value(found.u) if kept else 0.0
            # If the mixture is no better, keep the old one, but with these multipliers, which belong to its level.
            best = found if best is None or gained > 0 else replace(found, alpha=best.alpha, u=best.u)
            if gained <= 1e-10 or self._late:
                break
            alpha = found.alpha
        assert best is not None
        return best

    def _convex(self, goal: Node, columns: Columns, alpha: FloatArray) -> Solution:
        if not self.program.limits and is_affine(goal):
            return self._cheapest(goal, columns, alpha)
        parts = self._parts if goal is self.program.objective else smooth_parts(goal)
        if parts is None or not self._flat_limits:
            cone = (
                self._cone
                if goal is self.program.objective
                else ConeMaster(self.program, goal, self._deadline)
            )
            return cone.solve(columns)
        return self._newton(parts, columns, alpha) if parts.smooth else self._corner(parts, columns, alpha)

    def _cheapest(self, goal: Node, columns: Columns, alpha: FloatArray) -> Solution:
        """Minimise an affine function: each cell takes its cheapest column, and no solver is needed."""
        alpha = columns.cheapest(goal.gradient(columns.u(alpha)))
        theta: dict[Largest, FloatArray] = {goal: np.ones(1)} if isinstance(goal, Largest) else {}
        return Solution(alpha, columns.u(alpha), (), theta)

    @property
    def _late(self) -> bool:
        return self._deadline.passed

    @property
    def _deadline(self) -> Deadline:
        return NEVER if self.walk is None else self.walk.budget.deadline

    @cached_property
    def _parts(self) -> CurvedAndLinear | None:
        return smooth_parts(self.program.objective)

    @cached_property
    def _cone(self) -> ConeMaster:
        return ConeMaster(self.program, self.program.objective, self._deadline)

    @cached_property
    def _curve(self) -> Curve:
        assert self._parts is not None
        return Curve(self._parts, self.program.constant.size)

    @cached_property
    def _flat_limits(self) -> bool:
        return all(limit.always or is_polyhedral(limit.convex) for limit in self.program.limits)

    @cached_property
    def _limits(self) -> Polyhedron:
        body = Polyhedron(self.program.constant.size)
        for limit in self.program.limits:
            body.limit(limit, limit.convex)
        return body

    def _corner(self, parts: CurvedAndLinear, columns: Columns, alpha: FloatArray) -> Solution:
        """Minimise a maximum of affine functions: a linear program."""
        corners = self._corners if parts is self._parts else None
        if corners is None:
            assert parts.flat is not None
            body = self._limits.copy()
            corners = Corners(self.program, body, body.row(parts.flat), columns.u(alpha), self._deadline)
        if parts is self._parts:
            self._corners = corners
        target, duals = corners.minimise(columns)
        return self._solution(parts, corners.body, columns, columns.normalised(target), duals)

    def _newton(self, parts: CurvedAndLinear, columns: Columns, alpha: FloatArray) -> Solution:
        """Minimise smooth parts plus maxima of affine functions."""
        body = self._limits.copy()
        cost = body.row(parts.flat) if parts.flat is not None else np.zeros(0)
        curve = self._curve if parts is self._parts else Curve(parts, self.program.constant.size)
        inner, u = self._interior(parts, columns, alpha), columns.u(alpha)
        start_kept, before = self.program.excess(u) <= SPARE, curve.merit(u)
        # In a divergence a share of nearly zero may be optimal; the start is then better than the interior point.
        if inner is not alpha and (not start_kept or curve.merit(columns.u(inner)) < before):
            alpha, u = inner, columns.u(inner)
            start_kept, before = self.program.excess(u) <= SPARE, curve.merit(u)
        local = QuadraticProgram(columns, body, u, self._deadline)
        for step in range(NEWTON_STEPS):
            gradient, hessian = curve.model(u)
            target, duals = local.minimise(gradient, hessian, u, cost)
            target = columns.normalised(target)
            move = columns.u(target) - u
            whole, enough = curve.merit(u + move), self.left * (1 + abs(before))
            if whole < before or (step == 0 and not start_kept):
                size = 1.0  # if the start is infeasible, the merit need not decrease
            else:
                # A smaller gain is rounding: at the minimum there would be one in every step, to the last of them. No
                # step gains more than the tangent of the smooth parts says.
                sizes = 0.5 ** np.arange(1, 30) if parts.flat is not None or gradient @ move < -enough else ()
                size = next((s for s in sizes if before - curve.merit(u + s * move) > enough), 0.0)
            # A full step's surprise is of third order; the gain of the next one is about its square over this gain.
            told = whole - before, u, move, gradient, hessian
            left = 3 * curve.surprise(*told) ** 2 if size == 1.0 else np.inf
            alpha = columns.normalised((1 - size) * alpha + size * target)
            u = columns.u(alpha)
            after = curve.merit(u)
            gained, before = before - after, after
            if self._late or (gained <= enough and size in (0.0, 1.0)) or left <= enough * gained:
                break
        return self._solution(parts, body, columns, alpha, duals)

    def _solution(
        self, parts: CurvedAndLinear, body: Polyhedron, columns: Columns, alpha: FloatArray, duals: FloatArray
    ) -> Solution:
        u = columns.u(alpha)
        split = body.split(np.maximum(duals, 0.0))
        scale = parts.stand_in_scale(u)
        prices = tuple(split[limit] * scale for limit in self.program.limits)
        return Solution(alpha, u, prices, body.theta(split))

    def _interior(self, parts: CurvedAndLinear, columns: Columns, alpha: FloatArray) -> FloatArray:
        """Return weights at which no rate is zero, if possible: at zero, means of rates have no finite slope."""
        u = columns.u(alpha)
        rates = [smooth.part for _, smooth in parts.smooth if smooth.atom.of_rates]
        low = [part for part in rates if part.value(u).min() < 1e-6]
        if not low:
            return alpha
        body = self._limits.copy()
        cost = body.row(Largest(Stack(tuple(negative(part) for part in low))))
        target, _ = Corners(self.program, body, cost, u, self._deadline).minimise(columns)
        return columns.normalised(target)


def is_affine(goal: Node) -> bool:
    """Whether a function of size one is affine, or a maximum over a single affine function."""
    if isinstance(goal, Largest):
        return goal.part.size == 1 and is_affine(goal.part)
    return is_polyhedral(goal, 1) and is_polyhedral(goal, -1)
