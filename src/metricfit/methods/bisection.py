"""Bisection for ratios of linear functions (Algorithms 4 and 8, Theorems 15 and 19 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.functions.levels import at_most
from metricfit.methods.base import FEASIBLE, Iterate, Walk
from metricfit.methods.dual.pruning import Pruned, mixture
from metricfit.methods.gda import GDA
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.generation import generate
from metricfit.methods.master.ratio_level import level_goal
from metricfit.problem import Program

# A level whose inner problem is known to have a minimum this close to zero counts as not beaten.
UNDECIDED = 1e-9
# Algorithm 8 does not separate levels that are closer than this: GDA is not that accurate in its share of the calls.
HALVED = 1e-3


class Bisection(Pruned):
    r"""Minimise a ratio of linear functions by asking whether a level can be beaten.

    .. math:: \psi(C) = \langle A, C \rangle / \langle B, C \rangle

    Without constraints one oracle call for :math:`A - \gamma B` answers this. With constraints, or for the
    worst of several ratios, the inner problem is to minimise :math:`\max_j \langle A_j - \gamma B_j, C \rangle`
    subject to the constraints; column generation solves it, starting from the rules found for earlier levels.

    The printed Algorithm 8 keeps the rule when :math:`\psi(C) \ge \gamma`, which would maximise the loss.
    Here, as in Algorithm 4, a feasible rule with :math:`\psi(C) \le \gamma` is kept and lowers
    :math:`\beta`, anything else raises :math:`\alpha`.

    Symbols: ``low`` and ``high`` are :math:`\alpha^t` and :math:`\beta^t`, ``level`` is :math:`\gamma^t`.
    Only a level that no rule beats raises the bound: with an exact oracle, a non-negative minimum of the
    inner problem. Where labels are counted, exact scans improve the rules of the last level.

    Parameters
    ----------
    as_published : bool
        Solve the inner problems as Algorithm 8 does, by GDA from scratch with the same number of calls for each
        level, and return the rule of the last level that was beaten. No bound is given then.
    inner : GDA, optional
        The GDA to use; by default ``GDA(as_published=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> few, y = [mf.coverage(1) <= 0.25], [0, 0, 1, 1]
    >>> result = mf.optimize(proba, y, "f_beta(1, 1)", few, method="bisection", counting="model")
    >>> result.status, result.feasible
    ('optimal', True)
    >>> round(mf.optimize(proba, y, "f_beta(1, 1)", few, method="bisection").value, 4)
    0.6667
    """

    name = "bisection"
    reference = "Algorithms 4 and 8"
    accepts = frozenset({Curvature.LINEAR, Curvature.RATIO})
    constrained = True
    default_calls = 1000

    def __init__(self, as_published: bool = False, inner: GDA | None = None) -> None:
        self.as_published = as_published
        self.inner = GDA(as_published=True) if inner is None else inner

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the best rule after each halving, or after each oracle call of the inner problem."""
        if not program.limits and at_most(program.objective, 0.5).size == 1:
            return self._levels(program, walk)
        return self._published(program, walk) if self.as_published else self._constrained(program, walk)

    def _levels(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Algorithm 4: the best rule for each level is deterministic."""
        start = walk.call(program.objective.gradient(program.uniform(walk.oracle.margins)))
        best, high = start, program.value(walk.vectors[start])
        low = program.lowest_value
        while high - low > walk.tol / 2:
            level = _between(low, high)
            test = at_most(program.objective, level)
            place = walk.call(test.slope(walk.vectors[best], np.ones(1)))
            value = program.value(walk.vectors[place])
            if value < high:
                best, high = place, value
            if value > level:
                low = level
            yield replace(walk.single(best), bound=low)

    def _constrained(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Algorithm 8: each level is a constrained problem."""
        yield from self.opened(program, walk)
        columns = Columns(program, walk.vertices)
        best = mixture(program, walk)
        low, high, bound = program.lowest_value, program.value(best.u), program.lowest_value
        yield replace(best, bound=bound)
        while high - low > walk.tol / 2:
            level = _between(low, high)
            inner = replace(program, objective=level_goal(program, level))
            beaten = False
            for iterate in generate(inner, walk, columns):
                value = inner.value(iterate.u)
                beaten = value <= 0 and program.excess(iterate.u) <= FEASIBLE
                if beaten:
                    best, high = iterate, min(high, program.value(iterate.u))
                elif iterate.bound >= 0:
                    bound = max(bound, level)
                yield replace(best, bound=bound)
                decided = iterate.bound >= 0 or value - iterate.bound <= UNDECIDED
                if beaten or (iterate.settled and decided):
                    break
            if not beaten:
                low = level

    def _published(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Algorithm 8 to the letter, except for the corrected test: Algorithm 6 solves the problem of each level."""
        walk.expect(walk.budget.max_calls)
        low, high = program.lowest_value, program.highest_value
        halvings = max(1, int(np.ceil(np.log2((high - low) / max(walk.tol, HALVED)))))
        calls = max(1, walk.budget.max_calls // halvings)
        best: Iterate | None = None
        for _ in range(halvings):
            level = (low + high) / 2
            problem = replace(program, objective=level_goal(program, level))
            *_, answer = self.inner.averages(problem, walk, calls)
            if program.value(answer.u) <= level:
                best, high = answer, level
            else:
                low = level
            yield answer if best is None else best

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return the best mixture of all rules found, with the prices of the constraints."""
        return super().finish(program, walk, best) if program.limits else best


def _between(low: float, high: float) -> float:
    """Return the next level to try: the midpoint, or if the ratio has no lower bound, a point further down."""
    return (low + high) / 2 if np.isfinite(low) else high - max(1.0, abs(high))
