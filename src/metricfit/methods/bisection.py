"""Bisection for ratios of linear functions (Algorithms 4 and 8, Theorems 15 and 19 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.functions.levels import at_most
from metricfit.methods.base import FEASIBLE, Iterate, Walk
from metricfit.methods.dual.paper_method import Aid, PaperMethod
from metricfit.methods.dual.pruning import mixture
from metricfit.methods.dual.rules import check_policy, classifier, run_within
from metricfit.methods.ellipsoid import Ellipsoid
from metricfit.methods.gda import GDA
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.generation import generate
from metricfit.methods.master.ratio_level import level_goal
from metricfit.methods.split_frank_wolfe import SplitFrankWolfe
from metricfit.methods.starts import constant_rules
from metricfit.policy import Policy
from metricfit.problem import Program
from metricfit.types import FloatArray

# A level whose inner problem is known to have a minimum this close to zero counts as not beaten.
UNDECIDED = 1e-9
# Algorithm 8 does not separate levels that are closer than this: GDA is not that accurate in its share of the calls.
HALVED = 1e-3

Inner = GDA | SplitFrankWolfe | Ellipsoid


class Bisection(PaperMethod):
    r"""Minimise a ratio of linear functions by asking whether a level can be beaten.

    .. math:: \psi(C) = \langle A, C \rangle / \langle B, C \rangle

    Without constraints one oracle call for :math:`A - \gamma B` answers this. With constraints, or for the
    worst of several ratios, the inner problem is to minimise :math:`\max_j \langle A_j - \gamma B_j, C \rangle`
    subject to the constraints; column generation solves it, starting from the rules found for earlier levels.

    The printed Algorithm 8 keeps the rule when :math:`\psi(C) \ge \gamma`, which would maximise the loss.
    Here, as in Algorithm 4, a rule with :math:`\psi(C) \le \gamma` is kept and lowers :math:`\beta`, any other
    raises :math:`\alpha`.

    Symbols: ``low`` and ``high`` are :math:`\alpha^t` and :math:`\beta^t`, ``level`` is :math:`\gamma^t`.
    Only a level that no rule beats raises the bound: with an exact oracle, a non-negative minimum of the
    inner problem.

    Parameters
    ----------
    as_published : bool
        Begin with the whole range of the ratio and no rule, halve it at every level, and return the classifier of
        the last level that was beaten. With constraints each level is solved from scratch by ``inner``, with the
        same number of calls, until levels differ by less than the tolerance, at least 0.001.
    inner : GDA, SplitFrankWolfe or Ellipsoid, optional
        What solves the levels as published; by default ``GDA(as_published=True)``. It needs ``as_published``.
    h0 : Policy, optional
        The classifier to return, as published, if no level is beaten; by default the same decision for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> few, y = [mf.coverage(1) <= 0.25], [0, 0, 1, 1]
    >>> result = mf.optimize(proba, y, "f_beta(1, 1)", few, method="bisection", counting="model")
    >>> result.status, result.feasible
    ('optimal', True)
    >>> round(result.value, 4), result.bound - result.value <= 1e-4
    (0.4, True)
    """

    name = "bisection"
    reference = "Algorithms 4 and 8"
    accepts = frozenset({Curvature.LINEAR, Curvature.RATIO})
    constrained = True
    default_calls = 1000
    aids: ClassVar = {"inner": Aid("column generation", "GDA")}

    def __init__(
        self, as_published: bool = False, inner: Inner | None = None, h0: Policy | None = None
    ) -> None:
        if inner is not None and not isinstance(inner, Inner):
            raise ValueError(f"inner must be a GDA, SplitFrankWolfe or Ellipsoid, got {inner!r}")
        for name, given in (("inner", inner), ("h0", h0)):
            if given is not None and not as_published:
                raise ValueError(f"{name} is a part of Algorithm 8; give as_published=True, too")
        self.publish(as_published)
        self.prune = "none" if as_published else "objective"
        self.inner = GDA(as_published=True) if inner is None else inner
        self.h0 = None if h0 is None else check_policy("h0", h0)

    def refusal(self, program: Program) -> str | None:
        """Refuse the worst of several ratios if what solves the levels needs a gradient."""
        asked = self.as_published and self.inner.needs_smooth and program.quasiconvex
        if asked and at_most(program.objective, 0.5).size > 1:
            return f"the worst of several ratios is not smooth; {self.inner.name} as inner needs a gradient"
        return super().refusal(program)

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the best rule after each halving, or after each oracle call of the inner problem."""
        single = not program.limits and at_most(program.objective, 0.5).size == 1
        if self.as_published:
            return self._halved(program, walk) if single else self._halved_within(program, walk)
        return self._levels(program, walk) if single else self._constrained(program, walk)

    def _halved(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Algorithm 4."""
        best, (low, high) = self._h0(program, walk), _range(program)
        yield best
        while low < (level := (low + high) / 2) < high:
            place = walk.call(_slope(program, level))
            if program.value(walk.vectors[place]) <= level:
                high, best = level, walk.single(place)
            else:
                low = level
            yield best

    def _halved_within(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Algorithm 8, except for the corrected test."""
        best, (low, high) = self._h0(program, walk), _range(program)
        yield best
        halvings = max(1, int(np.ceil(np.log2((high - low) / max(walk.tol, HALVED)))))
        for left in range(halvings, 0, -1):
            level = (low + high) / 2
            problem = replace(program, objective=level_goal(program, level))
            answer = run_within(self.inner, problem, walk, walk.budget.left // left)
            if answer is not None and program.value(answer.u) <= level:
                high, best = level, answer
            else:
                low = level
            yield best

    def _h0(self, program: Program, walk: Walk) -> Iterate:
        """Return the arbitrary classifier of line 3: the one given, or the last decision for all rows."""
        if self.h0 is not None:
            return classifier(self.h0, program, walk)
        return walk.single(walk.add(constant_rules(program, walk.oracle.margins)[-1]))

    def _levels(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Algorithm 4 from a first rule on, whose value, like that of every better one, is the upper end."""
        start = walk.call(program.objective.gradient(program.uniform(walk.oracle.margins)))
        best, high = start, program.value(walk.vectors[start])
        low = program.lowest_value
        while high - low > walk.tol / 2:
            level = _between(low, high)
            place = walk.call(_slope(program, level))
            value = program.value(walk.vectors[place])
            if value < high:
                best, high = place, value
            if value > level:
                low = level
            yield replace(walk.single(best), bound=low)

    def _constrained(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Algorithm 8 by column generation: each level begins with the rules found for the earlier ones."""
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

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return the best mixture of all rules found, with the prices of the constraints."""
        return super().finish(program, walk, best) if program.limits else best


def _slope(program: Program, level: float) -> FloatArray:
    """Return A - gamma B, whose product with C is <= 0 exactly where a ratio reaches the level."""
    return at_most(program.objective, level).slope(program.constant, np.ones(1))


def _range(program: Program) -> tuple[float, float]:
    """Return the ends of the ratio's range, alpha and beta at the beginning; finite, for they are to be halved."""
    low, high = program.lowest_value, program.highest_value
    if not np.isfinite(low) or not np.isfinite(high):
        raise ValueError(
            f"as_published: {program.problem.objective} has no finite range to halve; leave as_published out"
        )
    return low, high


def _between(low: float, high: float) -> float:
    """Return the next level to try: the midpoint, or if the ratio has no lower bound, a point further down."""
    return (low + high) / 2 if np.isfinite(low) else high - max(1.0, abs(high))
