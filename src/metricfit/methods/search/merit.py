"""The merit of a mixture: the objective plus the price of its largest violation. A search minimises it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from metricfit.methods.base import Walk
from metricfit.problem import Program
from metricfit.types import FloatArray

# The price of a unit of violation where a search may leave the constraints for a while.
PENALTY = 10.0
# Feasibility comes before everything else: a price that no objective outweighs.
FIRST = 1e6


def merit(program: Program, u: FloatArray, penalty: float = PENALTY) -> float:
    """Return the objective plus a penalty on the largest violation."""
    return program.value(u) + penalty * max(program.violation(u), 0.0)


def merits(program: Program, points: FloatArray, penalty: float = PENALTY) -> FloatArray:
    """Return the merit at each of many u, the rows of a matrix."""
    broken = np.maximum(program.violations(points), 0.0)
    return np.asarray(program.objective.value(points)[:, 0] + penalty * broken)


def by_merit(walk: Walk, places: Iterable[int], penalty: float = PENALTY) -> list[int]:
    """Return places of the walk's rules, the best rule first."""
    return sorted(places, key=lambda place: merit(walk.program, walk.vectors[place], penalty))


def merit_slope(program: Program, u: FloatArray) -> FloatArray:
    """Return the slope of the merit."""
    slope = program.objective.gradient(u)
    worst = max(program.limits, key=lambda limit: limit.violation(u), default=None)
    if worst is not None and worst.violation(u) > 0:
        slope = slope - PENALTY * worst.constraint.inward * worst.metric.gradient(u)
    return slope
