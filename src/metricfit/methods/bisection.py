"""Bisection for ratios of linear functions (Algorithm 4, Theorem 16 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metricfit.methods.base import Iterate, Method, Walk
from metricfit.metrics.curvature import Curvature
from metricfit.metrics.expression import at_most
from metricfit.problem import Program


class Bisection(Method):
    r"""Minimise :math:`\psi(C) = \langle A, C \rangle / \langle B, C \rangle` by asking whether a level can be beaten.

    Symbols: ``low`` and ``high`` are :math:`\alpha^t` and :math:`\beta^t`, ``level`` is :math:`\gamma^t`; the price is
    :math:`A - \gamma^t B`. The level is beaten when the oracle's rule has a ratio of at most :math:`\gamma^t`. Only a
    non-negative minimum of :math:`\langle A - \gamma B, C \rangle` raises the bound.
    """

    name = "bisection"
    reference = "Algorithm 4"
    accepts = frozenset({Curvature.LINEAR, Curvature.RATIO})
    default_calls = 200

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the best deterministic rule after each halving."""
        start = walk.call(program.objective.gradient(program.uniform(walk.oracle.margins)))
        best, high = start, program.value(walk.vectors[start])
        low = program.lowest_value
        while high - low > walk.tol / 2:
            level = (low + high) / 2
            test = at_most(program.objective, level)
            place = walk.call(test.slope(walk.vectors[best], np.ones(1)))
            value = program.value(walk.vectors[place])
            if value < high:
                best, high = place, value
            if value > level:
                low = level
            yield Iterate(np.eye(best + 1)[best], walk.vectors[best], low)
