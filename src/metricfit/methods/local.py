"""Local search for metrics without usable curvature: good starts, a Frank-Wolfe walk, an exact coordinate polish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np

from metricfit.data.layout import expand, shape_of
from metricfit.exceptions import InfeasibleError
from metricfit.functions.curvature import Curvature
from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk, better
from metricfit.methods.search.coordinate import (
    CLOSING,
    CONSTRAINED,
    FREE,
    QUICK,
    by_share,
    count_of_weights,
    polish,
)
from metricfit.methods.search.corrective import descend, descend_within
from metricfit.methods.search.guard import warn_if_few
from metricfit.methods.search.linearised import mix_within
from metricfit.methods.search.merit import FIRST, by_merit, merit, merits
from metricfit.methods.search.profile import Profile
from metricfit.methods.search.relaxation import bound_of_ratios
from metricfit.methods.search.thresholds import ask_for_thresholds
from metricfit.methods.starts import argmax_loss, balanced_loss, constant_rules, diagonal_loss
from metricfit.metrics.means import h_mean
from metricfit.problem import Problem, Program
from metricfit.types import FloatArray

# Steps towards the best mixture for a surrogate; few, because it is only a start.
SURROGATE_STEPS = 3
# Standard deviations of random changes to the logarithms of weights, used in turn.
KICKS = (0.3, 1.0)
# How many rules are polished on small data and on large data.
TRIES = (6, 1)
# Up to this many rows times classes, data count as small.
FEW_ENTRIES = 50_000


class Local(Method):
    """Search the decision rules that give each decision its own factor and constant, and mixtures of a few of them.

    Starts from plain argmax, the balanced rule, the best rule for the H-mean, and drawn weights. From each,
    Frank-Wolfe with exact line search walks over the vertices of the achievable set; the best rules found are
    then polished: each weight in turn is scanned over all its breakpoints and set to the best. Of two classes under
    constraints, all thresholds that a mixture can need are found in one sort. The answer is the best of everything
    tried, without a proof that nothing is better; a bound is reported only where one is known.

    Parameters
    ----------
    tries : int, optional
        How many rules are polished: the best rule of each start in the order of their values, then randomly
        changed copies of the best of all. By default 6 on small data, where a polish takes little time, and else 1.
    thorough : bool
        Whether weights are scanned until no change of a single one is better; otherwise once near their values and once
        over all breakpoints, which takes half of the time with many classes.
    warn : bool
        Whether to warn when there are few rows for the number of weights tuned on them.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(3, 3000, p=[0.7, 0.2, 0.1])
    >>> proba = rng.dirichlet(np.ones(3), 3000) + 0.5 * np.eye(3)[y]
    >>> proba /= proba.sum(axis=1, keepdims=True)
    >>> plain = mf.Confusion.from_predictions(y, proba.argmax(axis=1))
    >>> result = mf.optimize(proba, y, "macro_f1", method=Local(tries=2))
    >>> result.value > mf.macro_f1()(plain), result.certified
    (True, False)
    """

    name = "local"
    reference = "Frank-Wolfe with exact line search, then exact coordinate scans"
    accepts = frozenset(Curvature)
    constrained = True
    nonconvex = True
    counts = "labels"

    def __init__(self, tries: int | None = None, thorough: bool = True, warn: bool = True) -> None:
        if tries is not None and (isinstance(tries, bool) or int(tries) != tries or tries < 0):
            raise ValueError(f"tries must be a whole number >= 0, got {tries!r}")
        self.tries, self.thorough, self.warn = tries, thorough, warn

    def calls(self, program: Program) -> int:
        """Return the budget of oracle calls; each scan of a weight counts as one."""
        weights = 2 * program.axes.k * len(program.axes.cells)
        return 200 + 12 * weights * max(TRIES[0] if self.tries is None else self.tries, 1)

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield what each start, each walk and each round of the polish reaches."""
        walk.expect(self.calls(program))
        profile, tries = Profile(program), self._tries(walk)
        random = np.random.default_rng(walk.seed if walk.seed is not None else 0)
        within = bool(program.limits) and program.convex_limits
        if self.warn:
            warn_if_few(walk.oracle, count_of_weights(walk))
        starts = [_best(program, walk)] if walk.vertices else []
        for loss in self._losses(program, walk, random):
            starts.append(walk.ask(loss))
            yield walk.single(starts[-1])
        starts = by_merit(walk, dict.fromkeys(starts))
        candidates = starts if within else []
        for start in [] if within else starts[: max(tries, 1)]:
            first = len(walk.vertices)
            yield from descend(program, walk, profile, start)
            candidates.append(by_merit(walk, [start, *range(first, len(walk.vertices))])[0])
        if walk.oracle.exact:
            yield Iterate(np.ones(1), walk.vectors[0], bound_of_ratios(program, walk))
        if program.limits:
            for vertex in constant_rules(program, walk.oracle.margins):
                walk.add(vertex)
            ask_for_thresholds(program, walk)
        # Where cells have rules of their own, an exact oracle finds those of all cells in one call; a polish would scan
        # the weights of every cell in turn. That is done only if no mixture is better than the rules: the tangent plane
        # of a precision does not tell that a class which is never decided keeps the limit.
        if program.limits and not within and program.by_cell and walk.oracle.exact:
            least, gained = float(merits(program, walk.vectors, FIRST).min()), False
            with suppress(InfeasibleError):
                for iterate in mixed_within(program, walk, profile, max(tries, 1)):
                    yield iterate
                    gained = gained or merit(program, iterate.u, FIRST) < least - walk.tol
                if gained:
                    return
        yield from self._polished(program, walk, profile, candidates, random, tries)
        if within:
            yield from descend_within(program, walk, profile)
        elif program.limits and min(map(program.excess, walk.vectors)) > FEASIBLE:
            yield from mixed_within(program, walk, profile, max(tries, 1))
        elif tries:
            yield from descend(program, walk, profile, _best(program, walk))

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return the best of all rules found and the best mixture."""
        return better(program, walk.single(int(merits(program, walk.vectors, FIRST).argmin())), best)

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Prefer a single rule to a mixture that gains less than the tolerance; no proven gap is widened by that."""
        one = walk.single(_best(program, walk))
        kept = program.excess(one.u) <= FEASIBLE
        return one if kept and program.value(one.u) <= program.value(best.u) + walk.tol else best

    def _tries(self, walk: Walk) -> int:
        if self.tries is not None:
            return int(self.tries)
        rows = walk.oracle.n_rows
        few = rows is not None and rows * walk.program.axes.n <= FEW_ENTRIES
        return TRIES[0] if few else TRIES[1]

    def _losses(self, program: Program, walk: Walk, random: np.random.Generator) -> Iterator[FloatArray]:
        margins = walk.oracle.margins
        yield argmax_loss(program)
        yield balanced_loss(program, margins)
        prior = margins.sum(axis=0)
        if np.all(prior > 0) and np.isin(np.arange(program.axes.n), program.axes.match).all():
            yield _surrogate(Problem(h_mean()).bind(program.axes, margins), program, walk)
            kicks = np.empty(prior.size)
            kicks[np.argsort(-prior, kind="stable")] = random.normal(size=prior.size)
            yield diagonal_loss(program, prior**-0.5 * np.exp(KICKS[0] * kicks))

    def _polished(
        self,
        program: Program,
        walk: Walk,
        profile: Profile,
        starts: list[int],
        random: np.random.Generator,
        tries: int,
    ) -> Iterator[Iterate]:
        """Polish the best starts, then randomly changed copies of the best rule; at the end scan its weights fully."""
        starts = by_merit(walk, starts)
        stages = CONSTRAINED if program.limits else FREE if self.thorough else QUICK
        for attempt in range(tries):
            if attempt < len(starts):
                place = starts[attempt]
            else:
                kick = KICKS[(attempt - len(starts)) % len(KICKS)] * _kicks(program, walk, random)
                loss = walk.vertices[_best(program, walk)].loss
                place = walk.ask(program.even(loss * np.exp(kick)))
            yield from polish(program, walk, profile, place, stages)
        if tries and self.thorough:
            yield from polish(program, walk, profile, _best(program, walk), CLOSING)


def mixed_within(program: Program, walk: Walk, profile: Profile, tries: int) -> Iterator[Iterate]:
    """Yield mixtures ever nearer to the constraints, then ever better; raise if neither they nor a rule keep them."""
    nearest = np.argsort(merits(program, walk.vectors, FIRST), kind="stable")
    reached = list(walk.vectors)
    for place in map(int, nearest[:tries]):
        for iterate in mix_within(program, walk, profile, walk.single(place)):
            reached.append(iterate.u)
            yield iterate
    if min(map(program.excess, reached)) > FEASIBLE:
        raise infeasible(program, walk, reached)


def _kicks(program: Program, walk: Walk, random: np.random.Generator) -> FloatArray:
    """Draw a number for each entry of a loss shared by all cells; the order of the classes does not matter."""
    _, height, width = shape_of(program.layout, program.axes)
    rank = np.argsort(by_share(program, walk))
    rows = np.argsort(np.argsort(-walk.oracle.margins.sum(axis=0), kind="stable"))
    drawn = random.normal(size=(height, width))[:, rank]
    return np.asarray(drawn[rows] if program.layout == "full" else drawn)[None]


def _best(program: Program, walk: Walk) -> int:
    """Return the place of the best rule."""
    return int(merits(program, walk.vectors).argmin())


def _surrogate(surrogate: Program, program: Program, walk: Walk) -> FloatArray:
    """Return, as a loss, the gradient of a concave surrogate metric at its (nearly) best mixture."""
    inner = walk.beside(surrogate, walk.oracle)
    place = inner.ask(balanced_loss(surrogate, walk.oracle.margins))
    u = inner.vectors[place]
    for iterate in islice(descend(surrogate, inner, Profile(surrogate), 0), SURROGATE_STEPS):
        u = iterate.u
    loss = surrogate.loss(surrogate.objective.gradient(u))
    loss = expand(loss, surrogate.layout, program.axes) if program.layout == "full" else loss
    return program.even(loss.reshape(shape_of(program.layout, program.axes)))


def infeasible(program: Program, walk: Walk, mixtures: Sequence[FloatArray] = ()) -> InfeasibleError:
    """Return the error that says how near the rules found, and some mixtures of them, come to the constraints."""
    found = [*walk.vectors, *mixtures]
    least = min(found, key=program.violation)
    violations = {str(limit.constraint): limit.violation(least) for limit in program.limits}
    alone = {str(limit.constraint): min(map(limit.violation, found)) for limit in program.limits}
    conflict = tuple(name for name, v in alone.items() if v > 0)[:1]
    return InfeasibleError(violations, alone, conflict or tuple(violations), proven=False)
