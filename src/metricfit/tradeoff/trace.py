"""A frontier on the rows of an oracle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from metricfit.metrics import Constraint
from metricfit.options import Options
from metricfit.oracles.base import OracleBase
from metricfit.oracles.remembering import Remembering
from metricfit.problem import Problem
from metricfit.tradeoff.levels import grid_of, loosest_first
from metricfit.tradeoff.monotone import monotone
from metricfit.tradeoff.points import Frontier
from metricfit.tradeoff.walk import Walker

DEFAULTS = Options()


def trace(
    problem: Problem,
    traded: Sequence[Constraint],
    levels: int | Iterable[float] | Sequence[Iterable[float]],
    oracle: OracleBase,
    options: Options = DEFAULTS,
) -> Frontier:
    """Return the frontier of traded constraints on the rows of an oracle, with a point for each level as given."""
    walker = Walker(problem, tuple(traded), Remembering(oracle), options)
    grid = walker.spread(levels) if isinstance(levels, int) else grid_of(levels, traded)
    points = monotone(problem, walker.traded, walker.walk(loosest_first(traded, grid)), options.tol)
    found = {point.levels: point for point in points}
    asked = tuple(found[place] for place in product(*grid))
    return Frontier(problem, walker.traded, asked, walker.oracle.all_passes)
