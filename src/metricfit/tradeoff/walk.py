"""The walk over levels: some are solved, the others are mixed of the rules that these have found."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from metricfit.exceptions import BrokenLimitWarning, InfeasibleError
from metricfit.methods.local import Local
from metricfit.metrics import Constraint
from metricfit.metrics.rates import Named
from metricfit.options import Options
from metricfit.oracles.remembering import Remembering
from metricfit.policy import Policy
from metricfit.problem import Problem
from metricfit.result import Result
from metricfit.solving import judge_of, solve
from metricfit.tradeoff.levels import anchors, limits_at, looser, nearest, problem_at
from metricfit.tradeoff.mixer import Mixer
from metricfit.tradeoff.monotone import point_of
from metricfit.tradeoff.points import Point

# Up to FEW levels are all solved. Of more levels ANCHORS are (of a grid GRID_ANCHORS), and the others are mixed from
# the rules that these have found.
FEW, ANCHORS, GRID_ANCHORS = 8, 3, 5
# Where cells are told apart and labels are counted, limits are kept by labels and probabilities together. Mixtures of
# rules that fit the labels best would keep them by labels only. So this many levels are solved, and the others lie
# between them. If the value falls by more than STEEP (of its unit) from one solved level to the next, mixtures of the
# two may be far below what a level has when it is solved: then more are, up to MOST_BY_CELL. Towards the strictest
# floor on a precision, mixtures had .70 (.66 on new rows) where the solved level has .80 (.74).
SOLVED_BY_CELL, MOST_BY_CELL, STEEP = 4, 8, 0.05
# About how many of the mixed levels ask for more rules (of a grid all do), and for how many at most. By exact counts
# the levels between them are then mixed of these levels' mixtures, which costs ten-thousandths of the value.
# Rules on calibrated and on given probabilities are asked for both, which takes longer: then fewer levels ask.
PRICED, PRICED_TWICE, PRICES = 12, 8, 2
# The strictest of the levels that are chosen here, as a share of the way to what can just be kept: at its very end the
# only policies are extreme ones, and a solver's rounding decides whether there is one.
REACH = 0.995


class Walker:
    """Visits levels: some are solved, the others are mixed of the rules that these have found."""

    def __init__(
        self, problem: Problem, traded: tuple[Constraint, ...], oracle: Remembering, options: Options
    ) -> None:
        self.problem, self.traded, self.oracle, self.options = problem, traded, oracle, options
        self.points: dict[tuple[float, ...], Point] = {}
        self.last: Result | Policy | None = options.start
        self.mixer = Mixer(oracle, traded, options)

    def _at(self, levels: Sequence[float]) -> Problem:
        return problem_at(self.problem, self.traded, levels)

    def walk(self, grid: Sequence[Sequence[float]]) -> list[Point]:
        """Return all points of a grid, in its order."""
        order, single = list(product(*grid)), len(grid) == 1
        program = self._at(order[0]).bind(self.oracle.axes, self.oracle.margins)
        quick = len(order) > FEW and program.mixable
        cautious = quick and single and program.by_cell and not (self.oracle.exact or self.oracle.calibrates)
        solved = anchors(order, ANCHORS if single else GRID_ANCHORS) if quick else order
        for levels in solved:
            self.visit(levels)
        if cautious:
            while len(self.points) < SOLVED_BY_CELL or (
                len(self.points) < MOST_BY_CELL and self._steep(order)
            ):
                self.visit(self._widest(order))
            self._between(order)
        elif quick:
            # Levels that ask for rules come first: those between them then have the rules of both sides. The others go
            # from the strictest to the loosest, because the mixture of a stricter level keeps a looser one: a start for
            # its solver.
            # Labels say something of their own at each level, so that there is more to gain by mixing all rules anew.
            exact = single and bool(self.mixer.shared) and self.mixer.shared[0].counting.exact
            count = PRICED if len(self.mixer.shared) < 2 else PRICED_TWICE
            for levels in solved if single else order:
                self._mix(levels, PRICES)
            while single and len(self.points) < min(count, len(order)):
                self._mix(self._widest(order), PRICES)
            for levels in reversed(order):
                if levels not in self.points and not (exact and self._interpolate(levels)):
                    self._mix(levels, 0)
        return [self.points[levels] for levels in order]

    def _widest(self, order: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        """Return the middle of the two known neighbours with the most between them: levels times the fall in value.

        A curve bends where it falls, and a level that cannot be kept ends it: there levels are worth the most.
        """
        (low, high), _ = max(self._falls(order), key=lambda gap: gap[1] * (gap[0][1] - gap[0][0]))
        return order[(low + high) // 2]

    def _steep(self, order: Sequence[tuple[float, ...]]) -> bool:
        """Whether the value falls far between two known neighbours that have levels between them."""
        known = [point.result for point in self.points.values() if point.result is not None]
        size = max([1.0, *(abs(result.value) for result in known)])
        return any(fall > STEEP * size for _, fall in self._falls(order))

    def _falls(self, order: Sequence[tuple[float, ...]]) -> list[tuple[tuple[int, int], float]]:
        """Return the places of known neighbours that have levels between them, each with the fall in value."""
        known = [place for place, levels in enumerate(order) if levels in self.points]

        def fall(low: int, high: int) -> float:
            ends = [self.points[order[place]].result for place in (low, high)]
            values = [result.value for result in ends if result is not None]
            return abs(values[0] - values[1]) if len(values) == 2 else np.inf if values else -1.0

        return [((low, high), fall(low, high)) for low, high in pairwise(known) if high - low > 1]

    def _between(self, order: Sequence[tuple[float, ...]]) -> None:
        """Mix the solved levels' mixtures for the levels between them; solve where that does not help."""
        for levels in self.points:
            result = self.points[levels].result
            if result is not None:
                self.mixer.settle(levels, result)
        for levels in reversed(order):
            if levels not in self.points and not self._interpolate(levels) and not self._covered(levels):
                self.visit(levels)

    def visit(self, levels: tuple[float, ...]) -> None:
        """Solve one level, unless a looser one could not be kept already."""
        for point in self.points.values():
            if not point.feasible and looser(self.traded, point.levels, levels):
                self.points[levels] = Point(levels, None, point.achievable)
                return
        limits = limits_at(self.traded, levels)
        try:
            result = self.solve(self._at(levels))
        except InfeasibleError as error:
            near = tuple(nearest(c, error.violations[str(c)]) for c in limits)
            self.points[levels] = Point(levels, None, near)
            return
        point = point_of(levels, result)
        # A budget may have ended before the constraints were kept.
        self.points[levels] = point if result.feasible else replace(point, result=None)

    def solve(self, problem: Problem, options: Options | None = None) -> Result:
        """Solve a problem from the rules of the last one, and keep its own."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BrokenLimitWarning)  # a point says it
            result = solve(problem, self.oracle, replace(options or self.options, start=self.last))
        self.last = result
        assert result.origin is not None
        self.mixer.keep(self._at([c.limit for c in self.traded]), result)
        given, counting = result.origin.oracle.inmost(), result.origin.counting.inmost()
        origin = replace(result.origin, oracle=given, counting=counting)
        return replace(result, origin=origin, _judge=judge_of(problem, given, result.policy))

    def _mix(self, levels: tuple[float, ...], prices: int) -> None:
        """Mix the rules there are for one level, and keep that if its own solve has found nothing better."""
        known, result = self.points.get(levels), self.mixer.mix(levels, self._at(levels), prices)
        if result is not None:
            better = (
                known is None or known.result is None or self._gain(result, known.result) > self.options.tol
            )
            self.points[levels] = point_of(levels, result) if better else self.points[levels]
        elif known is None and not self._covered(levels):
            self.visit(levels)

    def _gain(self, result: Result, known: Result) -> float:
        return self.problem.sign * (known.value - result.value)

    def _interpolate(self, levels: tuple[float, ...]) -> bool:
        """Mix the mixtures of the levels beside one; return whether that can be done."""
        result = self.mixer.between(levels, self._at(levels))
        if result is not None:
            self.points[levels] = point_of(levels, result)
        return result is not None

    def _covered(self, levels: tuple[float, ...]) -> bool:
        """Leave a level at which no solver finds a mixture to the policy of a stricter one, if there is one."""
        kept = [p for p in self.points.values() if p.feasible and looser(self.traded, levels, p.levels)]
        if kept:
            self.points[levels] = Point(levels, None, kept[-1].achievable)
        return bool(kept)

    def spread(self, count: int) -> list[list[float]]:
        """Return levels of each traded constraint from where it begins to bind to what can just be kept."""
        if isinstance(count, bool) or count < 2:
            raise ValueError(f"levels must be at least 2, or a list of limits, got {count!r}")
        free, found = self.solve(self.problem).confusion, []
        for constraint in self.traded:
            metric = Named(str(constraint.metric), constraint.metric, constraint.inward)
            loosest, extreme = constraint.metric(free), Problem(metric, self.problem.constraints)
            strictest = self.solve(extreme).value
            if (
                constraint.inward * (strictest - loosest) <= self.options.tol
                and self.options.method == "auto"
            ):
                # On counted labels a rule that may be luck is not preferred, but it does say what can be kept.
                strictest = self.solve(extreme, replace(self.options, method=Local(warn=False))).value
            found.append(np.linspace(loosest, loosest + REACH * (strictest - loosest), count).tolist())
        return found
