"""The traded constraints and their levels, read from the arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metricfit.metrics import Constraint, Metric, parse
from metricfit.metrics.constraint import compare
from metricfit.problem import Problem

TradedLike = Metric | Constraint | str


def traded_constraints(constraint: TradedLike | Sequence[TradedLike]) -> tuple[Constraint, ...]:
    """Read the traded constraints; their own limits are ignored."""
    if isinstance(constraint, Metric | Constraint | str) or not isinstance(constraint, Iterable):
        return (_one(constraint),)
    given = list(constraint)
    if not given:
        raise ValueError("constraint is empty; name a metric to trade, such as mf.precision('fraud')")
    return tuple(_one(c) for c in given)


def _one(given: TradedLike) -> Constraint:
    read = parse(given) if isinstance(given, str) else given
    if isinstance(read, Constraint):
        return read
    if not isinstance(read, Metric):
        raise ValueError(f"constraint must be a metric or a comparison, got {given!r}")
    if not read.direction:
        raise ValueError(
            f"constraint: {read} has no direction, so its limit could be a floor or a ceiling; give a comparison "
            f"such as {read} <= 0.1, whose number is ignored"
        )
    return compare(read, ">=" if read.direction > 0 else "<=", 0.0)


def grid_of(levels: Any, traded: Sequence[Constraint]) -> list[list[float]]:
    """Return the levels of each traded constraint, as they are given."""
    given = [levels] if len(traded) == 1 else list(levels)
    if len(given) != len(traded):
        raise ValueError(f"levels must have a list for each of {len(traded)} constraints, got {len(given)}")
    found = []
    for constraint, some in zip(traded, given, strict=True):
        if not isinstance(some, Iterable) or isinstance(some, str):
            raise ValueError(
                f"levels of {constraint.metric} must be a list of limits, got {some!r}; one limit is [{some}]"
            )
        limits = [compare(constraint.metric, constraint.sense, level).limit for level in some]
        if not limits:
            raise ValueError(f"levels of {constraint.metric} is empty; give at least one limit")
        found.append(limits)
    return found


def loosest_first(traded: Sequence[Constraint], grid: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the distinct levels of each traded constraint, the loosest first.

    Examples
    --------
    >>> import metricfit as mf
    >>> loosest_first([mf.recall(1) >= 0, mf.coverage(1) <= 0], [[0.7, 0.5, 0.7], [0.1, 0.2]])
    [[0.5, 0.7], [0.2, 0.1]]
    """
    return [sorted(set(some), reverse=c.sense == "<=") for c, some in zip(traded, grid, strict=True)]


def spaced(order: Sequence[tuple[float, ...]], count: int) -> list[tuple[float, ...]]:
    """Return the loosest levels, the strictest, and some at equal distances between them.

    Examples
    --------
    >>> spaced([(0.1,), (0.2,), (0.3,), (0.4,), (0.5,)], 3)
    [(0.1,), (0.3,), (0.5,)]
    """
    places = np.linspace(0, len(order) - 1, min(count, len(order)))
    return [order[i] for i in dict.fromkeys(np.round(places).astype(int).tolist())]


def limits_at(traded: Sequence[Constraint], levels: Sequence[float]) -> tuple[Constraint, ...]:
    """Return traded constraints with the given limits."""
    return tuple(replace(c, limit=level) for c, level in zip(traded, levels, strict=True))


def problem_at(problem: Problem, traded: Sequence[Constraint], levels: Sequence[float]) -> Problem:
    """Return a problem with traded constraints added, at the given limits."""
    return replace(problem, constraints=(*problem.constraints, *limits_at(traded, levels)))


def nearest(constraint: Constraint, violation: float) -> float:
    """Return the value of a metric that misses its limit by so much."""
    return constraint.limit - constraint.inward * violation


def rounded(limit: float, inward: int, digits: int) -> float:
    """Return a limit with ``digits`` decimals, rounded to the side that is easier to keep; NaN stays NaN.

    Examples
    --------
    >>> rounded(0.93457, 1, 4), rounded(0.05001, -1, 4)
    (0.9345, 0.0501)
    """
    if math.isnan(limit):
        return limit
    scale = 10.0**digits
    return (math.floor(limit * scale) if inward > 0 else math.ceil(limit * scale)) / scale


def looser(traded: Sequence[Constraint], some: Sequence[float], others: Sequence[float]) -> bool:
    """Return whether some levels are nowhere stricter than others."""
    return all(c.inward * a <= c.inward * b for c, a, b in zip(traded, some, others, strict=True))
