"""A frontier on the rows of an oracle: every level is solved, and a policy that keeps a stricter one is a candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.metrics import Constraint
from metricfit.metrics.rates import Named
from metricfit.options import Options
from metricfit.oracles.base import OracleBase
from metricfit.oracles.remembering import Remembering
from metricfit.problem import Problem
from metricfit.tradeoff.levels import (
    grid_of,
    limits_at,
    looser,
    loosest_first,
    nearest,
    problem_at,
    spaced,
)
from metricfit.tradeoff.monotone import monotone, point_of
from metricfit.tradeoff.points import Frontier, Point
from metricfit.tradeoff.repeated import Chosen, choose_counting, solved, told_once

DEFAULTS = Options()
# At how many levels, spread over all, the default chooses what to count by; most of them decide for the whole curve.
JUDGED = 5
# The strictest of the levels that are chosen here, as a share of the way to what can just be kept: at its very end the
# only policies are extreme ones, and a solver's rounding decides whether there is one.
REACH = 0.995

Place = tuple[float, ...]


def trace(
    problem: Problem,
    traded: Sequence[Constraint],
    levels: int | Iterable[float] | Sequence[Iterable[float]],
    oracle: OracleBase,
    options: Options = DEFAULTS,
    chosen: Chosen | None = None,
) -> Frontier:
    """Return the frontier of traded constraints on the rows of an oracle, with a point for each level as given.

    What all levels count by is the oracle's way of counting; if it leaves that open, what is ``chosen`` already, or the
    default's choice.
    """
    if isinstance(levels, int) and (isinstance(levels, bool) or levels < 2):
        raise ValueError(f"levels must be at least 2, or a list of limits, got {levels!r}")
    tracer = Tracer(problem, tuple(traded), Remembering(oracle), options)
    with told_once():
        if isinstance(levels, int):
            chosen, grid = tracer.spread_and_chosen(levels, chosen)
        else:
            grid = grid_of(levels, tracer.traded)
            chosen = chosen or tracer.chosen(grid)
        points: dict[Place, Point] = {}
        for place in tracer.order(grid):
            points[place] = tracer.visit(place, chosen, points)
    best = monotone(problem, tracer.traded, list(points.values()), options.tol)
    found = {point.levels: point for point in best}
    asked = tuple(found[place] for place in product(*grid))
    return Frontier(problem, tracer.traded, asked, tracer.rows.all_passes, chosen.counting, chosen.why)


@dataclass(frozen=True, eq=False)
class Tracer:
    """Solves a problem at levels of its traded constraints, on rows that remember what they were asked."""

    problem: Problem
    traded: tuple[Constraint, ...]
    rows: Remembering
    options: Options

    def order(self, grid: Sequence[Sequence[float]]) -> list[Place]:
        """Return the distinct places of a grid, each after all that are nowhere stricter."""
        return list(product(*loosest_first(self.traded, grid)))

    def chosen(self, grid: Sequence[Sequence[float]]) -> Chosen:
        """Return what all levels are to count by."""
        if self.rows.counting != "auto":
            return Chosen(self.rows.counting)
        places = spaced(self.order(grid), JUDGED)
        problems = [problem_at(self.problem, self.traded, place) for place in places]
        return choose_counting(problems, self.rows, self.options) or Chosen("calibrated")

    def visit(self, levels: Place, chosen: Chosen, known: Mapping[Place, Point]) -> Point:
        """Solve one level, unless a looser one could not be kept already."""
        for point in known.values():
            if not point.feasible and looser(self.traded, point.levels, levels):
                return Point(levels, None, point.achievable)
        try:
            result = solved(problem_at(self.problem, self.traded, levels), self.rows, chosen, self.options)
        except InfeasibleError as error:
            near = (nearest(c, error.violations[str(c)]) for c in limits_at(self.traded, levels))
            return Point(levels, None, tuple(near))
        point = point_of(levels, result)
        # A budget may have ended before the constraints were kept.
        return point if result.feasible else replace(point, result=None)

    def spread_and_chosen(self, count: int, chosen: Chosen | None) -> tuple[Chosen, list[list[float]]]:
        """Return what all levels are to count by, and ``count`` levels of each traded constraint."""
        if chosen is not None:
            return chosen, self.spread(count, chosen)
        if self.rows.counting != "auto":
            chosen = Chosen(self.rows.counting)
            return chosen, self.spread(count, chosen)
        first = Chosen("calibrated", "only for the range of the levels")
        try:
            grid = self.spread(count, first)
        except InfeasibleError:  # by calibrated probabilities; labels may allow what all levels keep
            first = Chosen("labels", "no policy keeps the limits by calibrated probabilities")
            return first, self.spread(count, first)
        chosen = self.chosen(grid)
        return chosen, grid if chosen.counting == first.counting else self.spread(count, chosen)

    def spread(self, count: int, chosen: Chosen) -> list[list[float]]:
        """Return levels of each traded constraint from where it begins to bind to what can just be kept."""
        free, found = solved(self.problem, self.rows, chosen, self.options).confusion, []
        for constraint in self.traded:
            metric = Named(str(constraint.metric), constraint.metric, constraint.inward)
            loosest, extreme = constraint.metric(free), Problem(metric, self.problem.constraints)
            strictest = solved(extreme, self.rows, chosen, self.options).value
            found.append(np.linspace(loosest, loosest + REACH * (strictest - loosest), count).tolist())
        return found
