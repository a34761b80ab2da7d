"""Column generation: fully corrective and certified, the default.

Every iteration solves the master problem (the best mixture, cell by cell, of all rules found so far, with the constraints exact), prices its tangent
plane with one oracle call, and adds the answer. The call is also the certificate: nothing achievable lies below the plane's minimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metricfit.methods import feasibility
from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk
from metricfit.methods.columns import Columns
from metricfit.methods.master import Solution, level_goal, solve
from metricfit.methods.starts import argmax_loss, balanced_loss
from metricfit.metrics.curvature import Curvature
from metricfit.problem import Program
from metricfit.types import FloatArray


class ColumnGeneration(Method):
    """Mix all rules found so far as well as possible, and ask the multipliers for the next one.

    Stops when value minus bound is at most ``tol``. With an exact oracle the bound is a proof; with counted labels the plug-in rule need not be the
    cheapest, and the walk may end ("stalled") when it finds nothing new.
    """

    name = "column_generation"
    reference = "fully corrective Frank-Wolfe with Dantzig-Wolfe columns per cell"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX, Curvature.RATIO})
    constrained = True
    default_calls = 1000

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the master's solution and the bound after each oracle call."""
        columns = Columns(program)
        if not walk.vertices:
            walk.ask(balanced_loss(program, walk.oracle.margins))
            walk.ask(argmax_loss(program))
        for place, vertex in enumerate(walk.vertices):
            columns.add(place, vertex)
        if program.limits:
            yield from feasibility.reach(program, walk, columns)
        yield from generate(program, walk, columns)

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Drop rules that do nothing: the largest threshold on their weights that keeps the value and the constraints."""
        if best.weights.ndim == 1:
            return best
        columns = Columns(program)
        for place in np.flatnonzero(best.weights[:, : len(walk.vertices)].any(axis=0)):
            columns.add(int(place), walk.vertices[place])
        alpha = best.weights[columns.cell, columns.vertex]
        used = alpha > 0
        columns.keep(used)
        alpha = alpha[used]
        value = program.value(best.u)
        heaviest = np.zeros(len(program.axes.cells))
        np.maximum.at(heaviest, columns.cell, alpha)
        for threshold in (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6):
            heavy = (alpha >= threshold) | (alpha == heaviest[columns.cell])
            if heavy.all():
                continue
            fewer = Columns(program)
            fewer.matrix, fewer.vertex, fewer.cell = (
                columns.matrix[:, heavy],
                columns.vertex[heavy],
                columns.cell[heavy],
            )
            found = solve(program, fewer, alpha[heavy])
            if program.excess(found.u) <= FEASIBLE and program.value(found.u) <= value + slack / 2:
                weights = fewer.weights(found.alpha, len(walk.vertices))
                return replace(best, weights=weights, u=found.u)
        return best


def generate(program: Program, walk: Walk, columns: Columns) -> Iterator[Iterate]:
    """Column generation from the given columns, whose mixtures must keep the constraints where there are any."""
    alpha = np.ones(len(columns))
    previous: Solution | None = None
    idle = np.zeros(len(columns), np.int64)
    while True:
        solution = solve(program, columns, alpha)
        if not solution.solved:
            solution = _corrected(program, columns, columns.normalised(alpha), previous)
        idle = np.where(
            solution.alpha > 1e-9, 0, np.append(idle, np.zeros(len(columns) - idle.size, np.int64)) + 1
        )
        bound, place = price(program, walk, columns, solution)
        weights = columns.weights(solution.alpha, len(walk.vertices))
        prices = tuple(mu * solution.scale for mu in solution.multipliers)
        yield Iterate(weights, solution.u, bound, prices)
        before = len(columns)
        columns.add(place, walk.vertices[place])
        if len(columns) == before:
            return
        alpha = np.append(solution.alpha, np.zeros(len(columns) - before))
        idle = np.append(idle, np.zeros(len(columns) - before, np.int64))
        stale = idle > 20
        if stale.sum() > len(columns) / 2:
            columns.keep(~stale)
            alpha, idle = alpha[~stale], idle[~stale]
        previous = solution


def price(program: Program, walk: Walk, columns: Columns, solution: Solution) -> tuple[float, int]:
    """Ask the oracle about the tangent plane; return the bound its answer proves, and its place."""
    if program.curvature.is_convex:
        slope, level = program.tangent(solution.u, solution.multipliers, solution.theta)
        place = walk.call(slope)
        return level + least(walk, columns, slope, place) - float(slope @ solution.u), place
    # A ratio: ask whether any rule beats a level half a tolerance below the value reached.
    value = program.value(solution.u)
    level = value - walk.tol / 2
    goal = level_goal(program, level)
    theta = {goal: weights for weights in list(solution.theta.values())[:1] if weights.size == goal.part.size}
    plane = replace(program, objective=goal)
    slope, height = plane.tangent(solution.u, solution.multipliers, {**solution.theta, **theta})
    place = walk.call(slope)
    beaten_by = height + least(walk, columns, slope, place) - float(slope @ solution.u)
    if beaten_by >= 0:
        return level, place
    if program.lowest_denominator <= 0:
        return program.lowest_value, place
    return max(level + beaten_by / program.lowest_denominator, program.lowest_value), place


def least(walk: Walk, columns: Columns, slope: FloatArray, place: int) -> float:
    """Return the smallest ``slope @ u`` known: the exact oracle's answer, or the cheapest mixture of all rules when labels are counted."""
    answer = float(slope @ walk.vectors[place])
    return answer if walk.oracle.exact else min(answer, columns.least(slope))


def _corrected(program: Program, columns: Columns, alpha: FloatArray, previous: Solution | None) -> Solution:
    """Move the weights towards the newest column of each cell by a line search: needs values only."""
    newest = np.zeros(len(columns))
    latest = np.zeros(len(program.axes.cells), np.int64)
    np.maximum.at(latest, columns.cell, np.arange(len(columns)))
    newest[latest] = 1.0
    start, end = columns.u(alpha), columns.u(newest)
    allowed = max(program.excess(start), FEASIBLE)
    steps = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 60)])
    points = [(1 - s) * start + s * end for s in steps]
    values = [program.value(p) if program.excess(p) <= allowed else np.inf for p in points]
    step = steps[int(np.argmin(values))]
    mixed = (1 - step) * alpha + step * newest
    multipliers = tuple(
        np.zeros(limit.node.size) if previous is None and limit.node is not None else previous.multipliers[i]  # type: ignore[union-attr]
        for i, limit in enumerate(program.limits)
    )
    return Solution(mixed, columns.u(mixed), multipliers, solved=False)
