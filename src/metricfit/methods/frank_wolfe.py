"""Frank-Wolfe for smooth convex metrics (Algorithm 1, Theorem 12 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import ClassVar

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import Iterate, Walk
from metricfit.methods.dual.paper_method import Aid, PaperMethod
from metricfit.methods.dual.rules import Merged, stepped
from metricfit.methods.starts import balanced_loss
from metricfit.problem import Program


class FrankWolfe(PaperMethod):
    r"""Minimise a smooth convex :math:`\psi(C)` by one linear minimisation per step.

    Symbols: ``u`` is :math:`C^t`, the direction is :math:`L^t = \nabla\psi(C^{t-1})`, the new vertex
    :math:`\tilde C^t`, the step :math:`2 / (t + 1)`; :math:`L^0` is the balanced loss. The Frank-Wolfe gap
    :math:`\langle \nabla\psi(C), C - \tilde C \rangle` bounds the distance to the optimum.

    Parameters
    ----------
    as_published : bool
        Take T steps, with T + 1 calls of the oracle, and return the last iterate.
    best_seen : bool, optional
        Return the best iterate seen, which is not the last where labels are counted.
    early_stop : bool, optional
        Stop when the gap proves the tolerance. Counted labels give no proof: a small gap may only mean that the
        oracle's answer was poor.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> method = mf.methods.FrankWolfe(as_published=True)
    >>> result = mf.optimize(proba, [0, 0, 1, 1], "h_mean", method=method, counting="labels", max_calls=21)
    >>> result.n_oracle_calls, round(result.value, 2)
    (21, 0.78)
    """

    name = "frank_wolfe"
    reference = "Algorithm 1"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX})
    needs_smooth = True
    default_calls = 5000
    prune = "none"
    aids: ClassVar = {"best_seen": Aid(True, False), "early_stop": Aid(True, False)}

    def __init__(
        self, as_published: bool = False, best_seen: bool | None = None, early_stop: bool | None = None
    ) -> None:
        self.publish(as_published)
        self.best_seen = self.option("best_seen", best_seen)
        self.early_stop: bool = self.option("early_stop", early_stop)

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the averaged confusion vector after each step."""
        walk.expect(walk.budget.max_calls)
        rules, settled = Merged(walk), self.early_stop and walk.oracle.exact
        place = rules.ask(balanced_loss(program, walk.oracle.margins))
        weights, u = stepped(np.zeros(0), place, 1.0), walk.vectors[place].copy()
        yield Iterate(weights, u, settled=settled)
        for t in count(1):
            slope, level = program.tangent(u)
            place = rules.call(slope)
            bound, step = level + walk.least(slope, place) - float(slope @ u), 2 / (t + 1)
            weights, u = stepped(weights, place, step), (1 - step) * u + step * walk.vectors[place]
            yield Iterate(weights, u, bound, settled=settled)
