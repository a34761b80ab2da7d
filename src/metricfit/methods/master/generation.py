"""The steps of column generation: solve the master, price its tangent plane, add the oracle's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from metricfit.exceptions import UnsolvedError
from metricfit.methods.base import Iterate, Walk
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.master import Master
from metricfit.methods.master.proximal import Proximal
from metricfit.methods.master.ratio_level import level_goal
from metricfit.problem import Program
from metricfit.types import FloatArray

# A column that has had no weight for this many rounds is dropped; if it is needed, the oracle finds it again.
PATIENCE = 8
# A sum is known up to this part of the size of its terms: on another processor a difference of 0 may be -1e-19.
ROUNDING = 8 * float(np.finfo(float).eps)

# Multipliers up to this, in units of a level function, may be what a solver leaves at a limit that does not bind.
TRACE = 1e-6


def generate(
    program: Program,
    walk: Walk,
    columns: Columns,
    start: Iterate | None = None,
    tol: float | None = None,
    master: Master | None = None,
) -> Iterator[Iterate]:
    """Generate columns, starting from given ones that must have a feasible mixture: ``start``, if it is known.

    Ends when a round adds no column and value and bound are within ``tol``, by default the walk's, or when no other way
    of solving helps. A master that has solved this program before can be given, and continues from its last solution.
    """
    tol = walk.tol if tol is None else tol
    master = Master(program, walk) if master is None else master
    proves = walk.oracle.exact and tol >= walk.tol
    near = Proximal.of(program, walk) if master.is_linear and proves else None
    pricing, ageing = Pricing(program, walk, columns, near), Ageing(columns)
    alpha = np.ones(len(columns)) if start is None else columns.alpha(start.weights)
    previous, last, stuck = None, np.inf, 0
    while True:
        solution = best_mixture(master, columns, alpha, previous, stuck)
        value, before = program.value(solution.u), len(columns)
        bound = pricing.add(solution)
        yield Iterate(columns.weights(solution.alpha, len(walk.vertices)), solution.u, bound, solution.prices)
        fresh = len(columns) - before
        if not fresh and (value - bound <= tol or (stuck >= master.ways and last - value <= tol / 10)):
            return
        # At the best mixture a round without a new column has no gap, so with a gap this is not the best one yet.
        stuck, last, previous = 0 if fresh else min(stuck + 1, master.ways), value, solution
        alpha = ageing.after(pricing.used(solution.alpha), fresh)


class Ageing:
    """Drops columns that have been without weight for long, once there are many of them."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.idle = np.zeros(len(columns), np.int64)

    def after(self, alpha: FloatArray, fresh: int) -> FloatArray:
        """Return the weights of the columns that are kept, after a round that added some fresh ones."""
        self.idle = np.append(np.where(alpha > 1e-9, 0, self.idle + 1), np.zeros(fresh, np.int64))
        alpha, stale = np.append(alpha, np.zeros(fresh)), self.idle > PATIENCE
        if stale.sum() <= len(self.columns) / 3:
            return alpha
        self.columns.keep(~stale)
        self.idle = self.idle[~stale]
        return alpha[~stale]


def best_mixture(
    master: Master,
    columns: Columns,
    alpha: FloatArray,
    previous: Solution | None = None,
    stuck: int = 0,
) -> Solution:
    """Return the best mixture that a solver finds, or the given one where all solvers fail.

    ``stuck`` is the number of rounds without a new column; each such round tries another way of solving.
    """
    program = master.program
    solvers: list[Callable[[Columns, FloatArray], Solution]] = [master.solve, master.corrected]
    for solve in solvers[stuck:] or [partial(master.widened, stuck - 2)]:
        try:
            return solve(columns, alpha)
        except UnsolvedError:
            continue
    none = tuple(np.zeros(node.size) for node in program.bounds)
    alpha = columns.normalised(alpha)
    return Solution(alpha, columns.u(alpha), none if previous is None else previous.multipliers)


class Plane(NamedTuple):
    """``offset + slope @ u``."""

    slope: FloatArray
    offset: float


class Pricing:
    """Asks the oracle about a plane below the objective, and proves a bound by its answer.

    Multipliers of a linear program jump from corner to corner. Any mean of planes that lie below the objective
    lies below it too, so the plane that is priced is a mean of the master's plane and the one with the best
    bound so far (smoothing in the sense of Wentges). The master's share grows while the answers say that more
    of it would raise the bound. Where a maximum has many parts, the plane of a proximal step is priced instead, and the
    mean only if that brings no new column.
    """

    def __init__(self, program: Program, walk: Walk, columns: Columns, near: Proximal | None = None) -> None:
        self.program, self.walk, self.columns, self.near = program, walk, columns, near
        self.share = 0.5
        self.anchor: Plane | None = None
        self.best, self.bound = -np.inf, program.lowest_value

    def add(self, solution: Solution) -> float:
        """Price the plane of a solution, add the answer to the columns, and return the bound."""
        if not self.program.curvature.is_convex:
            return self._level(solution)
        if self.near is not None and self._price_near(self.near, solution):
            return self.bound
        plane = self._plane(solution)
        anchor, share = self.anchor, self.share
        if anchor is None or not (solution.theta or any(mu.any() for mu in solution.multipliers)):
            anchor, share = plane, 1.0
        mean = Plane(
            share * plane.slope + (1 - share) * anchor.slope,
            share * plane.offset + (1 - share) * anchor.offset,
        )
        before = len(self.columns)
        u = self._price(mean)
        if share < 1:
            gains = plane.offset - anchor.offset + float((plane.slope - anchor.slope) @ u)
            self.share = min(1.0, self.share + 0.1) if gains > 0 else max(0.05, 0.7 * self.share)
            if (
                len(self.columns) == before or float(plane.slope @ (u - solution.u)) >= 0
            ):  # no help to the master
                self._price(plane)
        return self.bound

    def used(self, alpha: FloatArray) -> FloatArray:
        """Return the weights of columns in the master's mixture, or in that of the last proximal step if larger."""
        return alpha if self.near is None else np.maximum(alpha, self.near.alpha(self.columns)[: alpha.size])

    def _plane(self, solution: Solution) -> Plane:
        slope, level = self.program.tangent(solution.point, solution.multipliers, solution.theta)
        return Plane(slope, level - float(slope @ solution.point))

    def _price_near(self, near: Proximal, solution: Solution) -> bool:
        """Price the plane of a proximal step; return whether that brought a new column."""
        before, best = len(self.columns), self.best
        with suppress(UnsolvedError):
            found = near.step(self.columns, solution.u)
            self._price(self._plane(found))
            if self.best > best:
                near.centre = {node: found.theta[node] for node in near.centre}
        return len(self.columns) > before

    def _price(self, plane: Plane) -> FloatArray:
        place = self.walk.call(plane.slope)
        bound = plane.offset + least(self.walk, self.columns, plane.slope, place)
        if bound >= self.best:
            self.best, self.anchor = bound, plane
        self._tell(bound)
        self.columns.add(place, self.walk.vertices[place])
        return self.walk.vectors[place]

    def _tell(self, bound: float) -> None:
        """Keep the best bound, or if the oracle is not exact the newest, which is the best estimate."""
        if self.walk.oracle.exact:
            bound = max(self.bound, bound)
        self.bound = max(bound, self.program.lowest_value)

    def _level(self, solution: Solution) -> float:
        """Ask whether any rule beats a level half a tolerance below the ratio reached.

        Where a rate may have no rows, nothing less than a plane that is nowhere below 0 proves the level, and traces
        of multipliers, which solvers leave at limits that do not bind, lower it by their size. So if that is all there
        is to be won, the plane without them is asked for.
        """
        before, known = len(self.columns), self.bound
        self._price_level(solution)
        if len(self.columns) == before and self.bound == known and self.program.lowest_denominator <= 0:
            clean = tuple(np.where(mu > TRACE, mu, 0.0) for mu in solution.multipliers)
            if any(mu.any() for mu in solution.multipliers):
                self._price_level(replace(solution, multipliers=clean))
        return self.bound

    def _price_level(self, solution: Solution) -> None:
        program = self.program
        level = program.value(solution.u) - self.walk.tol / 2
        goal = level_goal(program, level)
        theta = (
            solution.theta if solution.level_theta is None else {**solution.theta, goal: solution.level_theta}
        )
        slope, height = replace(program, objective=goal).tangent(solution.point, solution.multipliers, theta)
        place = self.walk.call(slope)
        beaten_by = height + least(self.walk, self.columns, slope, place) - float(slope @ solution.point)
        self.columns.add(place, self.walk.vertices[place])
        size = abs(height) + float(
            np.abs(slope) @ (np.abs(self.walk.vectors[place]) + np.abs(solution.point))
        )
        if beaten_by >= -ROUNDING * size:
            self._tell(level)
        elif program.lowest_denominator > 0:
            self._tell(level + beaten_by / program.lowest_denominator)


def least(walk: Walk, columns: Columns, slope: FloatArray, place: int) -> float:
    """Return the smallest ``slope @ u`` known: the exact oracle's answer, else the cheapest mixture of all rules."""
    answer = float(slope @ walk.vectors[place])
    return answer if walk.oracle.exact else min(answer, columns.least(slope))
