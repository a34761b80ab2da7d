"""Column generation: fully corrective and certified, the default.

Every iteration solves the master problem (the best mixture, cell by cell, of all rules found so far, with the constraints exact), prices its tangent
plane with one oracle call, and adds the answer. The call is also the certificate: nothing achievable lies below the plane's minimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metricfit.methods import feasibility
from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk
from metricfit.methods.columns import Columns, Unsolved
from metricfit.methods.generation import generate
from metricfit.methods.master import Master
from metricfit.methods.starts import argmax_loss, balanced_loss
from metricfit.metrics.curvature import Curvature
from metricfit.problem import Program


class ColumnGeneration(Method):
    """Mix all rules found so far as well as possible, and ask the multipliers for the next one.

    Stops when value minus bound is at most ``tol``. With an exact oracle the bound is a proof. Where labels are counted the
    plug-in rule need not be the cheapest, so the walk also tries rules near it, and may end "stalled" when it finds nothing new.

    Parameters
    ----------
    probes : int
        Where labels are counted: how many rules in a row, drawn near the priced one, must gain less than ``tol``.
    """

    name = "column_generation"
    reference = "fully corrective Frank-Wolfe with Dantzig-Wolfe columns per cell"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX, Curvature.RATIO})
    constrained = True
    default_calls = 1000

    def __init__(self, probes: int = 8) -> None:
        if probes < 0:
            raise ValueError(f"probes must be >= 0, got {probes!r}")
        self.probes = probes

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the master's solution and the bound after each oracle call."""
        columns = Columns(program)
        if not walk.vertices:
            walk.ask(balanced_loss(program, walk.oracle.margins))
            walk.ask(argmax_loss(program))
        for place, vertex in enumerate(walk.vertices):
            columns.add(place, vertex)
        start = None
        if program.limits:
            for start in feasibility.reach(program, walk, columns):
                yield start
        yield from generate(program, walk, columns, self.probes, start)

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Drop rules that do nothing: the largest threshold on their weights that keeps the value and the constraints."""
        if best.weights.ndim == 1:
            return best
        columns = Columns(program)
        for place in np.flatnonzero(best.weights[:, : len(walk.vertices)].any(axis=0)):
            columns.add(int(place), walk.vertices[place])
        alpha = best.weights[columns.cell, columns.vertex]
        used = alpha > 0
        columns.keep(used)
        alpha = alpha[used]
        value = program.value(best.u)
        heaviest = np.zeros(len(program.axes.cells))
        np.maximum.at(heaviest, columns.cell, alpha)
        for threshold in (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6):
            heavy = (alpha >= threshold) | (alpha == heaviest[columns.cell])
            if heavy.all():
                continue
            fewer = Columns(program)
            fewer.matrix, fewer.vertex, fewer.cell = (
                columns.matrix[:, heavy],
                columns.vertex[heavy],
                columns.cell[heavy],
            )
            try:
                found = Master(program).solve(fewer, alpha[heavy])
            except Unsolved:
                continue
            if program.excess(found.u) <= FEASIBLE and program.value(found.u) <= value + slack / 2:
                weights = fewer.weights(found.alpha, len(walk.vertices))
                return replace(best, weights=weights, u=found.u)
        return best
