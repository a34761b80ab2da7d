"""Room to the limits: of all mixtures about as good as the best one, take one that keeps its limits more safely.

The best mixture on the tuning rows keeps its limits partly by chance, the more so the fewer rows a limit rests on.
Giving up a little of the objective, less than labels can show, often buys room as large as a good part of a limit's
sampling error; where it buys little, nothing is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import erfc

from metricfit.exceptions import Unsolved
from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.methods.base import FEASIBLE, Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.fewer_rules import fewer_rules
from metricfit.methods.master.master import Master
from metricfit.methods.search.settings import Settings
from metricfit.problem import Limit, Program
from metricfit.types import FloatArray

# Golden section: a point that divides an interval in this ratio also divides the larger part in this ratio.
GOLDEN = (5**0.5 - 1) / 2


def with_room(walk: Walk, best: Iterate, worst: float, settings: Settings) -> Iterate:
    """Return a mixture of few of the walk's rules that gives up value, up to ``worst``, for room to the limits.

    Room is measured in standard errors of each limit's metric, up to ``settings.room`` of them. It is worth the
    decrease of the expected violation on new rows, times ``settings.price``.
    """
    program, columns = walk.program, Columns(walk.program, walk.vertices)
    made, rows = walk.statistic(best), walk.oracle.effective_rows
    errors = [sampling_error(program, limit.metric, made, rows) for limit in program.limits]
    relative = [e / unit(limit.constraint.limit) for e, limit in zip(errors, program.limits, strict=True)]
    price = (
        settings.price * unit(program.value(best.u)) * max(relative)
    )  # of missing a limit by a standard error
    start = replace(best, weights=best.table(len(program.axes.cells)))
    found: list[tuple[float, Program, Iterate]] = []

    def cost(room: float) -> float:
        """Return the value of the best mixture with this much room, plus the price of its expected violation."""
        tighter = stricter(program, [room * error for error in errors])
        mixture = _best_mixture(tighter, walk, columns, start)
        if mixture is None or program.value(mixture.u) > worst:
            return np.inf
        total = program.value(mixture.u) + price * mean_excess(room)
        found.append((total, tighter, mixture))
        return total

    cost(0.0)
    golden_section(cost, settings.room, settings.looks)
    if not found:
        return best
    _, tighter, mixture = min(found, key=lambda entry: entry[0])
    return fewer_rules(tighter, walk, mixture, walk.tol)


def unit(value: float) -> float:
    """Return the unit of the settings: 1, or the size of a value where that is larger, as costs may be."""
    return max(1.0, abs(value))


def mean_excess(room: float) -> float:
    """Return the mean of ``max(Z - room, 0)`` for a standard normal variable Z.

    Examples
    --------
    >>> [round(mean_excess(room), 3) for room in (0.0, 1.0, 2.0)]
    [0.399, 0.083, 0.008]
    """
    density = np.exp(-(room**2) / 2) / np.sqrt(2 * np.pi)
    return float(density - room * erfc(room / np.sqrt(2)) / 2)


def golden_section(cost: Callable[[float], float], end: float, looks: int) -> None:
    """Evaluate a cost that falls, then rises, perhaps to infinity, at points of [0, end] that close in on its minimum.

    Examples
    --------
    >>> looked = []
    >>> golden_section(lambda x: looked.append(x) or (x - 0.4) ** 2, 2.0, 9)
    >>> len(looked), round(looked[-1], 1)
    (9, 0.4)
    """
    low, high = 0.0, end
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    by_left, by_right = cost(left), cost(right)
    for _ in range(looks - 2):
        if by_left <= by_right:
            high, right, by_right = right, left, by_left
            left = high - GOLDEN * (high - low)
            by_left = cost(left)
        else:
            low, left, by_left = left, right, by_right
            right = low + GOLDEN * (high - low)
            by_right = cost(right)


def _best_mixture(program: Program, walk: Walk, columns: Columns, start: Iterate) -> Iterate | None:
    """Return the best mixture of the columns, or None if the solver finds none that keeps the limits."""
    try:
        found = Master(program, walk).solve(columns, columns.alpha(start.weights))
    except Unsolved:
        return None
    if program.excess(found.u) > FEASIBLE:
        return None
    return replace(start, weights=columns.weights(found.alpha, len(walk.vertices)), u=found.u)


def stricter(program: Program, moves: Sequence[float] | FloatArray) -> Program:
    """Return the program with each limit tightened by its move, at most halfway to the extreme of its metric.

    A limit on differences may come as close to 0 as it must: alike decisions have no differences.
    """
    limits = []
    for limit, move in zip(program.limits, moves, strict=True):
        low, high = (float(end[0]) for end in limit.metric.reach())
        low = -np.inf if isinstance(limit.metric, Largest) and limit.metric.of_differences else low
        asked, up = limit.constraint.limit, limit.constraint.sense == ">="
        moved = min(asked + move, (asked + high) / 2) if up else max(asked - move, (asked + low) / 2)
        limits.append(Limit(replace(limit.constraint, limit=moved), limit.metric))
    return replace(program, limits=tuple(limits))


def sampling_error(program: Program, metric: Node, made: FloatArray, rows: float) -> float:
    """Return the standard error of a metric on ``rows`` new rows, for a mixture with the statistic ``made``.

    A row adds to one entry of the statistic (in the diagonal layout to the count of its decision, and to its hits if it
    is one), so to first order the error is that of a mean over a multinomial draw.
    """
    slope, share = program.loss(metric.gradient(program.vector(made))), made
    if program.layout == "diagonal":
        share = np.stack([made[:, 0], made[:, 1] - made[:, 0]])
        slope = np.stack([slope[:, 0] + slope[:, 1], slope[:, 1]])
    mean = float((share * slope).sum())
    return float(np.sqrt(max(float((share * slope**2).sum()) - mean**2, 0.0) / max(rows, 1.0)))
