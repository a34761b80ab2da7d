"""Room to the limits: of all mixtures about as good as the best one, the one that keeps its limits most safely.

The best mixture on labels keeps its limits by luck as much as by merit, the more so the fewer rows a limit rests on.
A little of the objective, less than labels can show, often pays for a good part of a limit's sampling error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metricfit.exceptions import Unsolved
from metricfit.functions.expression import Node
from metricfit.methods.base import FEASIBLE, Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.fewer_rules import fewer_rules
from metricfit.methods.master.master import Master
from metricfit.methods.search.settings import Settings
from metricfit.oracles.base import mixed
from metricfit.problem import Limit, Program
from metricfit.types import FloatArray


def with_room(walk: Walk, best: Iterate, worst: float, settings: Settings) -> Iterate:
    """Return a mixture of few of the walk's rules with as much room to its limits as a value of ``worst`` pays for.

    Room is measured in standard errors of each limit's metric; more than ``settings.room`` of them is not asked for.
    """
    program, columns = walk.program, Columns(walk.program, walk.vertices)
    made, rows = counted(walk, best), walk.oracle.effective_rows
    errors = [sampling_error(program, limit.metric, made, rows) for limit in program.limits]
    kept, found = program, replace(best, weights=_table(walk, best))
    low, high = 0.0, settings.room
    room = high
    for _ in range(settings.halvings):
        tighter = stricter(program, [room * error for error in errors])
        mixture = _best_mixture(tighter, walk, columns, found)
        if mixture is None or program.value(mixture.u) > worst:
            high = room
        else:
            low, kept, found = room, tighter, mixture
        if low == high:
            break
        room = (low + high) / 2
    return fewer_rules(kept, walk, found, walk.tol)


def _best_mixture(program: Program, walk: Walk, columns: Columns, start: Iterate) -> Iterate | None:
    """Return the best mixture of the columns, or None where none is found that keeps the limits."""
    try:
        found = Master(program, walk).solve(columns, columns.alpha(start.weights))
    except Unsolved:
        return None
    if program.excess(found.u) > FEASIBLE:
        return None
    return replace(start, weights=columns.weights(found.alpha, len(walk.vertices)), u=found.u)


def stricter(program: Program, moves: Sequence[float] | FloatArray) -> Program:
    """Return the program with each limit moved, at most half of the way to what its metric can be."""
    limits = []
    for limit, move in zip(program.limits, moves, strict=True):
        low, high = (float(end[0]) for end in limit.metric.reach())
        asked, up = limit.constraint.limit, limit.constraint.sense == ">="
        moved = min(asked + move, (asked + high) / 2) if up else max(asked - move, (asked + low) / 2)
        limits.append(Limit(replace(limit.constraint, limit=moved), limit.metric))
    return replace(program, limits=tuple(limits))


def counted(walk: Walk, mixture: Iterate) -> FloatArray:
    """Return the statistic of a mixture of the walk's rules."""
    return mixed(walk.vertices, _table(walk, mixture))


def _table(walk: Walk, mixture: Iterate) -> FloatArray:
    """Return the weights of a mixture as a table (cells, vertices)."""
    weights = np.atleast_2d(mixture.weights)
    return np.broadcast_to(weights, (len(walk.program.axes.cells), weights.shape[1]))


def sampling_error(program: Program, metric: Node, made: FloatArray, rows: float) -> float:
    """Return the standard error of a metric on so many rows drawn anew, for a mixture with the statistic given.

    A row adds to one entry of the statistic (in the diagonal layout to a decision, and to its hits where it is one), so
    to first order the error is that of a mean over a multinomial draw.
    """
    slope, share = program.loss(metric.gradient(program.vector(made))), made
    if program.layout == "diagonal":
        share = np.stack([made[:, 0], made[:, 1] - made[:, 0]])
        slope = np.stack([slope[:, 0] + slope[:, 1], slope[:, 1]])
    mean = float((share * slope).sum())
    return float(np.sqrt(max(float((share * slope**2).sum()) - mean**2, 0.0) / max(rows, 1.0)))
