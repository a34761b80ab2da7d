"""The master problem: the best mixture of the columns found so far, and the multipliers that price the next one.

Smooth parts of the objective are minimised by Newton's method, each step a quadratic program over the weights for Clarabel with all maxima and
constraints as exact rows. Metrics with a curved constraint, or a maximum of curved functions, go to CVXPY. Ratios are minimised by Dinkelbach's
iteration around either. A solver that fails never ends a run: the weights then move by a line search towards the newest vertex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.methods.columns import Columns
from metricfit.methods.polyhedron import Polyhedron, is_polyhedral
from metricfit.metrics.atoms import TINY, Separable
from metricfit.metrics.expression import Largest, Node, Smooth, Stack, Sum, at_most, negative
from metricfit.problem import Limit, Program
from metricfit.types import FloatArray

NEWTON_STEPS = 40
DINKELBACH_STEPS = 30
# Constraint rows are kept with this much to spare where that is possible, so that rounding weights to a mixture breaks none.
SPARE = 2e-9


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture of columns with the multipliers that support it.

    ``multipliers`` (of the rows of each constraint) and ``theta`` (of the parts of each maximum) define the tangent plane that is priced next;
    ``scale`` turns multipliers into units of the objective.
    """

    alpha: FloatArray
    u: FloatArray
    multipliers: tuple[FloatArray, ...]
    theta: dict[Largest, FloatArray] = field(default_factory=dict)
    scale: float = 1.0
    solved: bool = True


class Unsolved(Exception):
    """A solver gave up."""


def solve(program: Program, columns: Columns, alpha: FloatArray) -> Solution:
    """Return the best mixture of the columns, starting from weights ``alpha``; never fails."""
    alpha = columns.normalised(alpha)
    try:
        if program.curvature.is_convex:
            return _solve_convex(program, program.objective, columns, alpha)
        return _dinkelbach(program, columns, alpha)
    except Unsolved:
        none = tuple(np.zeros(0 if limit.node is None else limit.node.size) for limit in program.limits)
        return Solution(alpha, columns.u(alpha), none, solved=False)


def level_goal(program: Program, level: float) -> Largest:
    """Return the convex function that is <= 0 exactly where the objective is at most a level."""
    return Largest(at_most(program.objective, level))


def _dinkelbach(program: Program, columns: Columns, alpha: FloatArray) -> Solution:
    """Minimise a ratio: lower the level to the value reached until no mixture beats it."""
    best: Solution | None = None
    for _ in range(DINKELBACH_STEPS):
        u = columns.u(alpha)
        level = program.value(u)
        goal = level_goal(program, level)
        solution = _solve_convex(program, goal, columns, alpha)
        step = goal.part.value(solution.u) - level_goal(program, level + 1).part.value(solution.u)
        pace = float(solution.theta.get(goal, np.full(step.size, 1 / step.size)) @ step)
        solution = replace(solution, scale=1 / max(pace, TINY))
        gained = level - program.value(solution.u)
        feasible = program.excess(solution.u) <= program.excess(u) + SPARE or not program.limits
        best = (
            solution
            if best is None or (gained > 0 and feasible)
            else replace(best, multipliers=solution.multipliers, scale=solution.scale)
        )
        if gained <= 1e-10 or not feasible:
            break
        alpha = solution.alpha
    assert best is not None
    return best


def _solve_convex(program: Program, goal: Node, columns: Columns, alpha: FloatArray) -> Solution:
    parts = _smooth_parts(goal, 1.0)
    if parts is None or not all(
        limit.node is not None and is_polyhedral(limit.node) for limit in program.limits
    ):
        from metricfit.methods.cone import solve_cone

        return solve_cone(program, goal, columns)
    return _newton(program, goal, parts, columns, alpha)


# Newton's method on the smooth parts


@dataclass(frozen=True)
class _Parts:
    """``sum of weight * smooth + flat``; ``flat`` is a maximum of affine functions, or absent."""

    smooth: tuple[tuple[float, Smooth], ...]
    flat: Node | None

    @property
    def separable(self) -> bool:
        """Whether the objective is one separable atom, which a simpler function can stand in for."""
        return self.flat is None and len(self.smooth) == 1 and isinstance(self.smooth[0][1].atom, Separable)


def _smooth_parts(goal: Node, weight: float) -> _Parts | None:
    """Split an objective into smooth atoms of entries of u and a polyhedral rest; None where that is not possible."""
    if is_polyhedral(goal, 1 if weight > 0 else -1):
        return _Parts((), Sum(((weight, goal),)))
    match goal:
        case Smooth() if is_polyhedral(goal.part, 1) and is_polyhedral(goal.part, -1):
            return _Parts(((weight, goal),), None)
        case Sum(terms, _):
            found = [_smooth_parts(part, weight * c) for c, part in terms]
            if any(part is None for part in found):
                return None
            smooth = tuple(pair for part in found if part is not None for pair in part.smooth)
            flats = tuple((1.0, part.flat) for part in found if part is not None and part.flat is not None)
            return _Parts(smooth, Sum(flats) if flats else None)
    return None


class _Curve:
    """Value, gradient and Hessian of the smooth parts, as functions of u."""

    def __init__(self, parts: _Parts, width: int) -> None:
        self.parts, self.width = parts, width
        form = Polyhedron(width)
        self.forms = [form.form(smooth.part) for _, smooth in parts.smooth]

    def value(self, u: FloatArray) -> float:
        if self.parts.separable:
            return float(self._inner(u)[0].sum())
        return sum(weight * smooth.scalar(u) for weight, smooth in self.parts.smooth)

    def _inner(self, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        smooth = self.parts.smooth[0][1]
        assert isinstance(smooth.atom, Separable)
        return smooth.atom.inner(smooth.part.value(u))

    def model(self, u: FloatArray) -> tuple[FloatArray, Any]:
        """Return gradient and (sparse) Hessian."""
        gradient, hessian = np.zeros(self.width), sp.csc_array((self.width, self.width))
        for (weight, smooth), (matrix, _) in zip(self.parts.smooth, self.forms, strict=True):
            if self.parts.separable:
                _, slope, bend = self._inner(u)
                middle: Any = sp.diags_array(bend)
            else:
                v = smooth.part.value(u)
                slope = weight * smooth.atom.gradient(v)
                h = smooth.atom.hessian(v)
                middle = weight * (np.diag(h.diagonal) + h.scale * np.outer(h.ray, h.ray))
            gradient += matrix.T @ slope
            hessian = hessian + matrix.T @ sp.csc_array(middle) @ matrix
        return gradient, hessian


def _newton(program: Program, goal: Node, parts: _Parts, columns: Columns, alpha: FloatArray) -> Solution:
    body = Polyhedron(program.constant.size)
    cost = np.zeros(0)
    if parts.flat is not None:
        row, _ = body.form(parts.flat)
        cost = row.toarray().ravel()
    for limit in program.limits:
        assert limit.node is not None
        body.limit(limit, limit.node)
    curve = _Curve(parts, program.constant.size)
    alpha = _interior(program, parts, columns, alpha)
    u = columns.u(alpha)

    def merit(point: FloatArray) -> float:
        return curve.value(point) + (parts.flat.scalar(point) if parts.flat is not None else 0.0)

    for step in range(NEWTON_STEPS):
        gradient, hessian = curve.model(u)
        target, duals = _quadratic(columns, body, gradient, hessian, u, cost, program)
        target = columns.normalised(target)
        if not parts.smooth:
            alpha, u = target, columns.u(target)
            break
        before, move = merit(u), columns.u(target) - u
        if program.excess(u) > SPARE and step == 0:
            size = 1.0  # the start keeps no constraint, so there is no descent to demand
        else:
            size = next((s for s in 0.5 ** np.arange(30) if merit(u + s * move) < before), 0.0)
        alpha = columns.normalised((1 - size) * alpha + size * target)
        u = columns.u(alpha)
        if before - merit(u) <= 1e-9 * (1 + abs(before)) and size in (0.0, 1.0):
            break
    return _solution(program, goal, parts, body, alpha, u, duals)


def _solution(
    program: Program,
    goal: Node,
    parts: _Parts,
    body: Polyhedron,
    alpha: FloatArray,
    u: FloatArray,
    duals: FloatArray,
) -> Solution:
    split = body.split(duals)
    scale = 1.0
    if parts.separable:
        # Multipliers of the stand-in, turned into those of the objective itself by the ratio of their slopes.
        smooth = parts.smooth[0][1]
        assert isinstance(smooth.atom, Separable)
        v = smooth.part.value(u)
        slopes = np.linalg.norm(smooth.atom.inner(v)[1])
        scale = abs(parts.smooth[0][0]) * float(np.linalg.norm(smooth.atom.gradient(v)) / max(slopes, TINY))
    theta = {}
    for largest in body.maxima:
        weights = np.maximum(split[largest], 0.0)
        if weights.sum() > 0:
            theta[largest] = weights / weights.sum()
    multipliers = tuple(np.maximum(split[limit], 0.0) * scale for limit in program.limits)
    return Solution(alpha, u, multipliers, theta)


def _interior(program: Program, parts: _Parts, columns: Columns, alpha: FloatArray) -> FloatArray:
    """Return weights at which no rate is zero, where that is possible: means of rates have no slope there."""
    low = [smooth.part for _, smooth in parts.smooth if smooth.part.value(columns.u(alpha)).min() < 1e-6]
    if not low:
        return alpha
    body = Polyhedron(program.constant.size)
    row, _ = body.form(Largest(Stack(tuple(negative(part) for part in low))))
    for limit in program.limits:
        assert limit.node is not None
        body.limit(limit, limit.node)
    zero = np.zeros(program.constant.size)
    target, _ = _quadratic(columns, body, zero, None, zero, row.toarray().ravel(), program)
    return columns.normalised(target)


def _quadratic(
    columns: Columns,
    body: Polyhedron,
    gradient: FloatArray,
    hessian: Any,
    u: FloatArray,
    cost: FloatArray,
    program: Program,
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``cost @ (u', t) + gradient @ (u' - u) + (u' - u) @ hessian @ (u' - u) / 2`` over mixtures; return weights and multipliers."""
    import clarabel

    count, width, cells = len(columns), program.constant.size, len(program.axes.cells)
    extra = len(body.maxima)
    curved = hessian is not None and hessian.nnz > 0
    middle = sp.csc_array((width, width)) if not curved else hessian
    quadratic = sp.block_diag(
        [sp.csc_array((count, count)), sp.triu(middle), sp.csc_array((extra, extra))], format="csc"
    )
    linear = np.zeros(count + width + extra)
    linear[count : count + width] = gradient - (hessian @ u if curved else 0.0)
    linear[count : count + cost.size] += cost
    convexity = sp.csc_array((np.ones(count), (columns.cell, np.arange(count))), shape=(cells, count))
    rows, constants = body.system()
    system = sp.block_array(
        [
            [-columns.matrix, sp.eye_array(width), sp.csc_array((width, extra)) if extra else None],
            [convexity, None, None],
            [-sp.eye_array(count), None, None],
            [None, rows[:, :width], rows[:, width:] if extra else None],
        ][: 4 if rows.shape[0] else 3],
        format="csc",
    )
    if system.shape[1] < linear.size:
        system.resize((system.shape[0], linear.size))
    spare = np.concatenate(
        [np.full(r.constant.size, SPARE if isinstance(r.owner, Limit) else 0.0) for r in body.rows]
        or [np.zeros(0)]
    )
    cones = [clarabel.ZeroConeT(width + cells), clarabel.NonnegativeConeT(count + rows.shape[0])]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    # Rows with something to spare first; where the constraints leave no room, exactly.
    for slack in (spare, 0 * spare) if spare.any() else (spare,):
        right = np.concatenate([program.constant, np.ones(cells), np.zeros(count), -constants - slack])
        answer = clarabel.DefaultSolver(
            quadratic, linear, sp.csc_matrix(system), right, cones, settings
        ).solve()
        if str(answer.status) in ("Solved", "AlmostSolved"):
            x, z = np.array(answer.x), np.array(answer.z)
            if np.all(np.isfinite(x)) and np.all(np.isfinite(z)):
                return x[:count], z[width + cells + count :]
    raise Unsolved(str(answer.status))


def objective_of(parts: Sequence[Node]) -> Largest:
    """Return the largest of several nodes."""
    return Largest(Stack(tuple(parts)))
