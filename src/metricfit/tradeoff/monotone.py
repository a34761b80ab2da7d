"""Monotone by construction: a policy that keeps a stricter limit is a candidate for a looser one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metricfit.methods import FEASIBLE
from metricfit.metrics import Constraint
from metricfit.problem import Problem
from metricfit.result import ConstraintRecord, Result
from metricfit.tradeoff.levels import limits_at, looser
from metricfit.tradeoff.points import Point


def point_of(levels: tuple[float, ...], result: Result) -> Point:
    """Return the point of a result."""
    return Point(levels, result, tuple(record.value for record in result.constraints[-len(levels) :]))


def monotone(
    problem: Problem, traded: Sequence[Constraint], points: Sequence[Point], tol: float
) -> tuple[Point, ...]:
    """Give every level the best policy of all that keep it, and the lowest bound of all that hold for it."""
    found = []
    for point in points:
        limits = limits_at(traded, point.levels)
        keeping = [p.result for p in points if p.result is not None and _keeps(p.result, limits)]
        if not keeping:
            found.append(point)
            continue
        best = min(keeping, key=lambda result: problem.sign * result.value)
        own = point.result if point.result is not None else best
        best = own if problem.sign * own.value <= problem.sign * best.value else best
        bounds = [
            problem.sign * p.result.bound
            for p in points
            if p.result is not None and looser(traded, p.levels, point.levels)
        ]
        bound = problem.sign * max(bounds, default=-np.inf)
        found.append(point_of(point.levels, _moved(best, own, limits, bound, tol, problem.sign)))
    return tuple(found)


def _keeps(result: Result, limits: Sequence[Constraint]) -> bool:
    records = result.constraints[-len(limits) :]
    return all(_violation(c, r.value) <= FEASIBLE for c, r in zip(limits, records, strict=True))


def _violation(constraint: Constraint, value: float) -> float:
    excess = constraint.excess(value)
    return 0.0 if np.isnan(excess) else excess  # a rate of no rows, 0 / 0, keeps its limit


def _moved(
    best: Result, own: Result, limits: Sequence[Constraint], bound: float, tol: float, sign: int
) -> Result:
    """Return a result as one of other limits, with the prices and the bound that were found for these."""
    first = len(best.constraints) - len(limits)
    records = tuple(
        ConstraintRecord(str(c), mine.value, c.limit, _violation(c, mine.value), theirs.price)
        for c, mine, theirs in zip(limits, best.constraints[first:], own.constraints[first:], strict=True)
    )
    known = bool(np.isfinite(bound))
    gap = max(sign * (best.value - bound), 0.0) + 0.0 if known else float("inf")
    return replace(
        best,
        constraints=best.constraints[:first] + records,
        bound=bound,
        gap=gap,
        certified=known,
        status="optimal" if gap <= tol else own.status,
        problem=own.problem,
        n_oracle_calls=own.n_oracle_calls,
        seconds=own.seconds,
        history=own.history,
    )
