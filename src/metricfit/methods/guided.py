"""Guided search, the default on counted labels: solve the calibrated problem, then search the labels from there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.functions.curvature import Curvature
from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk
from metricfit.methods.column_generation import ColumnGeneration
from metricfit.methods.guide import Guide
from metricfit.methods.local import Local, mixed_within
from metricfit.methods.master import feasibility
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.fewer_rules import fewer_rules
from metricfit.methods.master.master import Master
from metricfit.methods.search.coordinate import NEAR, Stage, count_of_weights, polish
from metricfit.methods.search.corrective import descend_within
from metricfit.methods.search.lines import improved_mixtures, trust_in
from metricfit.methods.search.merit import FIRST, by_merit
from metricfit.methods.search.profile import Profile
from metricfit.methods.search.settings import SETTINGS, Settings
from metricfit.methods.starts import plain_losses
from metricfit.problem import Program

# Stages of the polish: violations cost little at first, so that a rule can leave the feasible set and return elsewhere.
BROAD = (Stage(1, None, 1.0), Stage(2, None, 10.0))
CLOSE = (Stage(2, NEAR, FIRST),)
# Towards limits that no mixture of the rules found keeps: how far lines reach, and how many are scanned at most.
ANYWHERE, LINES_TO_LIMITS = 1e9, 100


class Guided(Method):
    """Solve the calibrated problem exactly, then search the labels from there.

    The plug-in rule of a loss is the cheapest rule by calibrated probabilities, not by counted labels. The search
    therefore solves the calibrated problem first and corrects its counts by those of its mixture on the labels.
    Constraints must hold on the labels, so the limits of the calibrated problem are moved where labels and
    probabilities disagree. The best rules are then polished weight by weight, and mixed by a master problem on the
    labels. Where the objective or a constraint distinguishes cells, the search ends once the moved limits are right and
    polishes no weights: a cell has few rows of each class, and weights tuned on them would overfit. No bound is
    claimed; ``result.calibrated`` has that of the calibrated problem.

    Parameters
    ----------
    settings : Settings
        The tuned numbers of the search.
    """

    name = "guided"
    reference = "calibrated column generation, then exact scans and the best mixture on labels"
    accepts = frozenset(Curvature)
    constrained = True
    nonconvex = True
    calibrates = True

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.settings = settings

    def calls(self, program: Program) -> int:
        """Return the budget of oracle calls, including those of a direct search to compare with."""
        weights = 2 * program.axes.k * len(program.axes.cells)
        return (
            2 * ColumnGeneration.default_calls + 4 * weights * self.settings.polished + Local().calls(program)
        )

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the guide's mixtures, counted by labels, then the iterates of the search."""
        soft = walk.oracle.soft()
        if soft is None:
            raise ValueError(
                f"{self.name} needs an oracle that can count rows by their probabilities; use another method"
            )
        guide, last = Guide(program, walk, soft, self.settings), None
        plain = plain_losses(program, walk.oracle.margins)
        for loss in plain:  # counted first, so that even a small budget ends with the better of them
            guide.ask(loss)
        # Solved before the limits are looked at, so the same for all of them. If it were solved with the rules of the
        # rounds, this start of the polish would hang on the last bits of a limit.
        free = guide.without_limits() if program.limits and not program.by_cell else None
        for last in guide.rounds():
            if program.limits:
                yield last
        # Where labels and probabilities give the constraints equal values, a search on labels has nothing to add. The
        # answer is the last round's mixture: to choose the round that is best by labels would overfit.
        kept = last is not None and program.excess(last.u) <= FEASIBLE
        if last is not None and kept and guide.agreed:
            yield last
            return
        for last in guide.moved():
            yield last
            kept = kept or program.excess(last.u) <= FEASIBLE
        if kept and (guide.agreed or program.by_cell):
            return
        for loss in plain:
            yield walk.single(guide.ask(loss))
        if free is not None:
            yield walk.single(free)
        if not program.by_cell and count_of_weights(walk) <= self.settings.most_weights:
            yield from self._polished(program, walk)
        yield from self._mixed(program, walk)

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Drop superfluous rules, but none of the guide's mixtures: to choose among those by labels would overfit."""
        mixed = best.weights.ndim == 2 and not best.final
        return fewer_rules(program, walk, best, slack) if program.mixable and mixed else best

    def _polished(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Improve the best single rules weight by weight: by labels and probabilities, at the end by labels alone."""
        profile, rows = Profile(program), walk.oracle.sample()
        trust = 0.0 if rows is None else trust_in(rows, self.settings)
        for place in by_merit(walk, range(len(walk.vertices)), 1.0)[: self.settings.polished]:
            yield from polish(program, walk, profile, place, BROAD, trust)
        best = by_merit(walk, range(len(walk.vertices)), FIRST)[0]
        yield from polish(program, walk, profile, best, CLOSE)

    def _mixed(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield mixtures of the rules found that are ever better by labels."""
        columns = Columns(program, walk.vertices)
        if program.mixable:
            start, master = None, Master(program, walk)
            reached = feasibility.reach(program, walk, columns, master) if program.limits else iter(())
            for start in self._or_along_lines(reached, program, walk, columns):
                yield start
            alpha = np.ones(len(columns)) if start is None else columns.alpha(start.weights)
            yield from improved_mixtures(
                program, walk, master, columns, alpha, self.settings, self.settings.pricings
            )
        elif program.convex_limits:
            within = descend_within(program, walk, Profile(program))
            yield from self._or_along_lines(within, program, walk, columns)
        elif min(map(program.excess, walk.vectors)) > FEASIBLE:
            yield from mixed_within(program, walk, Profile(program), self.settings.polished)

    def _or_along_lines(
        self, reached: Iterator[Iterate], program: Program, walk: Walk, columns: Columns
    ) -> Iterator[Iterate]:
        """Yield iterates; where they end because no mixture keeps the constraints, look for one along lines.

        Pricing finds the cheapest rule by probabilities. With counted labels another one may be cheaper, even of two
        classes, where a scan of one weight looks at every threshold. So here lines are not smoothed. Weights of single
        cells are left to a direct search.
        """
        try:
            yield from reached
        except InfeasibleError:
            if program.by_cell:
                raise
            first = feasibility.phase_one(program, program.limits)
            exact = replace(self.settings, smooth=0.0, trust=0.0, near=ANYWHERE, lines=LINES_TO_LIMITS)
            nearer = improved_mixtures(
                first, walk, Master(first, walk), columns, np.ones(len(columns)), exact
            )
            found = next((each for each in nearer if program.excess(each.u) <= FEASIBLE), None)
            if found is None:
                raise
            yield Iterate(found.weights, found.u)
