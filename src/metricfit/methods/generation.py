"""The steps of column generation: solve the master, price its tangent plane, add the oracle's answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from metricfit.methods.base import FEASIBLE, Iterate, Walk
from metricfit.methods.columns import Columns, Solution, Unsolved
from metricfit.methods.master import Master, level_goal
from metricfit.problem import Program
from metricfit.types import FloatArray

# A column that has had no weight for this many rounds is dropped; if it is needed, the oracle finds it again.
PATIENCE = 8


def generate(
    program: Program, walk: Walk, columns: Columns, probes: int = 0, start: Iterate | None = None
) -> Iterator[Iterate]:
    """Generate columns from the given ones, of which some mixture must keep the constraints: ``start``, if it is known.

    ``probes`` matters only where labels are counted: the plug-in rule is then not quite the cheapest one, so the walk is
    settled when that many random rules around the priced one have not gained ``tol`` either.
    """
    master = Master(program)
    alpha = np.ones(len(columns)) if start is None else columns.alpha(start.weights)
    previous = None
    idle = np.zeros(len(columns), np.int64)
    probe = Probe(0 if walk.oracle.exact else probes, walk)
    pricing = Pricing(program, walk, columns)
    bound, priced = -np.inf, np.inf
    while True:
        try:
            solution = master.solve(columns, alpha)
        except Unsolved:
            solution = corrected(program, columns, alpha, previous)
        before, value = len(columns), program.value(solution.u)
        # While probing, the plane is priced again only where the mixture has moved.
        if not probe.started or priced - value >= walk.tol:
            bound, priced = pricing.add(solution), value
        if probe.patience and (probe.started or value - bound <= walk.tol or len(columns) == before):
            probe.add(program, columns, solution, value)
        prices = tuple(mu * solution.scale for mu in solution.multipliers)
        weights = columns.weights(solution.alpha, len(walk.vertices))
        yield Iterate(weights, solution.u, bound, prices, probe.done)
        fresh = len(columns) - before
        if not fresh and probe.done:
            return
        alpha = np.append(solution.alpha, np.zeros(fresh))
        idle = np.append(np.where(solution.alpha > 1e-9, 0, idle + 1), np.zeros(fresh, np.int64))
        stale = idle > PATIENCE
        if stale.sum() > len(columns) / 3:
            columns.keep(~stale)
            alpha, idle = alpha[~stale], idle[~stale]
        previous = solution


class Probe:
    """Tries random rules around the priced one until several in a row have gained nothing."""

    spread = 0.1

    def __init__(self, patience: int, walk: Walk) -> None:
        self.patience, self.walk = patience, walk
        self.random = np.random.default_rng(walk.seed if walk.seed is not None else 0)
        self.value, self.misses, self.started = np.inf, 0, False

    @property
    def done(self) -> bool:
        """Whether there is no more to expect."""
        return self.misses >= self.patience

    def add(self, program: Program, columns: Columns, solution: Solution, value: float) -> None:
        """Add one rule near the priced one, unless the last ones have gained nothing."""
        if self.started:
            self.misses = self.misses + 1 if self.value - value < self.walk.tol else 0
        self.value, self.started = min(self.value, value), True
        if self.done:
            return
        slope, _ = program.tangent(solution.u, solution.multipliers, solution.theta)
        loss = program.loss(slope)
        place = self.walk.ask(loss * np.exp(self.spread * self.random.normal(size=loss.shape)))
        columns.add(place, self.walk.vertices[place])


class Pricing:
    """Asks the oracle about a plane below the objective, and proves a bound by its answer.

    Multipliers of a linear program jump from corner to corner. Any mean of planes that lie below the objective lies below
    it too, so the plane that is priced is a mean of the master's plane and the one with the best bound so far (smoothing in
    the sense of Wentges). The master's share grows while the answers say that more of it would raise the bound.
    """

    def __init__(self, program: Program, walk: Walk, columns: Columns) -> None:
        self.program, self.walk, self.columns = program, walk, columns
        self.share = 0.5
        self.anchor: Plane | None = None
        self.bound = -np.inf

    def add(self, solution: Solution) -> float:
        """Price the plane of a solution, add the answer to the columns, and return the bound."""
        if not self.program.curvature.is_convex:
            return self._level(solution)
        slope, level = self.program.tangent(solution.u, solution.multipliers, solution.theta)
        plane = Plane(slope, level - float(slope @ solution.u))
        anchor, share = self.anchor, self.share
        if anchor is None or not (solution.theta or any(mu.any() for mu in solution.multipliers)):
            anchor, share = plane, 1.0
        mean = Plane(
            share * plane.slope + (1 - share) * anchor.slope, share * plane.offset + (1 - share) * anchor.offset
        )
        before = len(self.columns)
        u = self._price(mean)
        if share < 1:
            gains = plane.offset - anchor.offset + float((plane.slope - anchor.slope) @ u)
            self.share = min(1.0, self.share + 0.1) if gains > 0 else max(0.05, 0.7 * self.share)
            if len(self.columns) == before or float(slope @ (u - solution.u)) >= 0:  # no use to the master
                self._price(plane)
        return self.bound

    def _price(self, plane: Plane) -> FloatArray:
        place = self.walk.call(plane.slope)
        bound = plane.offset + least(self.walk, self.columns, plane.slope, place)
        if bound >= self.bound or self.anchor is None:
            self.bound, self.anchor = bound, plane
        self.columns.add(place, self.walk.vertices[place])
        return self.walk.vectors[place]

    def _level(self, solution: Solution) -> float:
        """Ask whether any rule beats a level half a tolerance below the ratio reached."""
        program = self.program
        level = program.value(solution.u) - self.walk.tol / 2
        goal = level_goal(program, level)
        theta = solution.theta if solution.level_theta is None else {**solution.theta, goal: solution.level_theta}
        slope, height = replace(program, objective=goal).tangent(solution.u, solution.multipliers, theta)
        place = self.walk.call(slope)
        beaten_by = height + least(self.walk, self.columns, slope, place) - float(slope @ solution.u)
        self.columns.add(place, self.walk.vertices[place])
        if beaten_by >= 0:
            self.bound = max(self.bound, level)
        elif program.lowest_denominator > 0:
            self.bound = max(self.bound, level + beaten_by / program.lowest_denominator)
        self.bound = max(self.bound, program.lowest_value)
        return self.bound


class Plane(NamedTuple):
    """``offset + slope @ u``."""

    slope: FloatArray
    offset: float


def least(walk: Walk, columns: Columns, slope: FloatArray, place: int) -> float:
    """Return the smallest ``slope @ u`` known: the exact oracle's answer, else the cheapest mixture of all rules."""
    answer = float(slope @ walk.vectors[place])
    return answer if walk.oracle.exact else min(answer, columns.least(slope))


def corrected(program: Program, columns: Columns, alpha: FloatArray, previous: Solution | None) -> Solution:
    """Move the weights towards the newest column of each cell by a line search, which needs no solver."""
    alpha = columns.normalised(alpha)
    latest = np.zeros(len(program.axes.cells), np.int64)
    np.maximum.at(latest, columns.cell, np.arange(len(columns)))
    newest = np.zeros(len(columns))
    newest[latest] = 1.0
    start, end = columns.u(alpha), columns.u(newest)
    allowed = max(program.excess(start), FEASIBLE)
    steps = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 60)])
    points = [(1 - s) * start + s * end for s in steps]
    values = [program.value(p) if program.excess(p) <= allowed else np.inf for p in points]
    step = steps[int(np.argmin(values))]
    mixed = (1 - step) * alpha + step * newest
    none = tuple(np.zeros(limit.node.size) for limit in program.limits if limit.node is not None)
    return Solution(mixed, columns.u(mixed), none if previous is None else previous.multipliers)
