"""Frank-Wolfe for smooth convex metrics (Algorithm 1, Theorem 12 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import Iterate, Method, Walk
from metricfit.methods.starts import balanced_loss
from metricfit.problem import Program


class FrankWolfe(Method):
    r"""Minimise a smooth convex :math:`\psi(C)` by one linear minimisation per step.

    Symbols: ``u`` is :math:`C^t`, the direction is :math:`L^t = \nabla\psi(C^{t-1})`, the new vertex
    :math:`\tilde C^t`, the step :math:`2 / (t + 1)`. Stops when the Frank-Wolfe gap
    :math:`\langle \nabla\psi(C), C - \tilde C \rangle`, which bounds the distance to the optimum, is at most
    ``tol``.
    """

    name = "frank_wolfe"
    reference = "Algorithm 1"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX})
    needs_smooth = True
    default_calls = 5000

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the averaged confusion vector after each step."""
        walk.expect(walk.budget.max_calls)
        weights = np.zeros(walk.budget.max_calls)
        first = walk.ask(balanced_loss(program, walk.oracle.margins))
        weights[first] = 1.0
        u = walk.vectors[first]
        for t in range(1, walk.budget.max_calls + 1):
            bound, new = walk.lower_bound(u)
            # Counted labels give no proof: a small gap may only mean that the oracle's answer was poor.
            yield Iterate(weights[:new].copy(), u, bound, settled=walk.oracle.exact)
            step = 2 / (t + 1)
            weights *= 1 - step
            weights[new] += step
            u = (1 - step) * u + step * walk.vectors[new]
