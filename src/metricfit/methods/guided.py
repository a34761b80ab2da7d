"""Guided search, the default where labels are counted: calibrated rules first, then labels have the last word."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk
from metricfit.methods.column_generation import ColumnGeneration
from metricfit.methods.guide import Guide
from metricfit.methods.local import Local, mixed_within
from metricfit.methods.master import feasibility
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.fewer_rules import fewer_rules
from metricfit.methods.master.generation import best_mixture
from metricfit.methods.master.master import Master
from metricfit.methods.search.coordinate import FIRST, NEAR, Stage, polish, weights_of
from metricfit.methods.search.corrective import descend_within, merit
from metricfit.methods.search.lines import Lines, trust_in
from metricfit.methods.search.profile import Profile
from metricfit.methods.search.settings import SETTINGS, Settings
from metricfit.methods.starts import argmax_loss, plain_losses
from metricfit.problem import Program

# The polish of a rule: violations cost little at first, so that a rule may leave the constraints for a better way in.
BROAD = (Stage(1, None, 1.0), Stage(2, None, 10.0))
CLOSE = (Stage(2, NEAR, FIRST),)


class Guided(Method):
    """Solve the calibrated problem exactly, then search the labels from there.

    The plug-in rule of a loss is the cheapest one by calibrated probabilities, not by counted labels. So the problem
    is solved on calibrated probabilities first, with its counts corrected by what the labels say of its mixture.
    Where labels and probabilities disagree about a constraint, which must hold on the labels, its limits are moved;
    then the best of its rules are polished weight by weight and mixed as well as the labels' own master problem can.
    Where objective or constraints tell cells apart, limits that labels keep, and labels and probabilities together, are
    enough, and weights are not polished: a cell has few rows of each class, and what they are best at is luck. No
    bound is claimed; ``result.calibrated`` has that of the calibrated problem.

    Parameters
    ----------
    settings : Settings
        What the search was tuned to.
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
        """Return the budget of oracle calls, that of a direct search to compare with included."""
        weights = 2 * program.axes.k * len(program.axes.cells)
        return (
            2 * ColumnGeneration.default_calls + 4 * weights * self.settings.polished + Local().calls(program)
        )

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the guide's mixtures by labels, then what the search reaches."""
        soft = walk.oracle.soft()
        if soft is None:
            raise ValueError(
                f"{self.name} needs an oracle that can count rows by their probabilities; use another method"
            )
        guide, last = Guide(program, walk, soft, self.settings), None
        plain = plain_losses(program, walk.oracle.margins)
        for loss in plain:  # counted first: a small budget ends with the better of them
            guide.ask(loss)
        for last in guide.rounds():
            if program.limits:
                yield last
        # Where labels say no more of the constraints than probabilities do, there is nothing to search for. Of the
        # rounds the last one is the answer: the best one by labels would be the luckiest.
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
        yield walk.single(guide.without_limits())
        weights = weights_of(program, walk, argmax_loss(program))
        if not program.by_cell and len(weights) <= self.settings.most_weights:
            yield from self._polished(program, walk)
        yield from self._mixed(program, walk)

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Drop rules that do nothing, but none of the guide: labels would choose between them by luck."""
        convex = ColumnGeneration().refusal(program) is None
        mixed = best.weights.ndim == 2 and not best.final
        return fewer_rules(program, walk, best, slack) if convex and mixed else best

    def _polished(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Improve the best single rules weight by weight; labels count half, in the end they count alone."""
        profile, rows = Profile(program), walk.oracle.sample()
        trust = 0.0 if rows is None else trust_in(rows, self.settings)

        def best(penalty: float, count: int) -> list[int]:
            return sorted(range(len(walk.vertices)), key=lambda t: merit(program, walk.vectors[t], penalty))[
                :count
            ]

        for place in best(1.0, self.settings.polished):
            yield from polish(program, walk, profile, place, BROAD, trust)
        for place in best(FIRST, 1):
            yield from polish(program, walk, profile, place, CLOSE)

    def _mixed(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the best mixtures by labels, of the rules so far and of some that its multipliers and lines add."""
        if ColumnGeneration().refusal(program) is not None:
            if program.convex_limits:
                yield from descend_within(program, walk, Profile(program))
            elif min(map(program.excess, walk.vectors)) > FEASIBLE:
                yield from mixed_within(program, walk, Profile(program), self.settings.polished)
            return
        columns, start = Columns(program, walk.vertices), None
        for start in feasibility.reach(program, walk, columns):
            yield start
        master, lines, priced = Master(program, walk), Lines(walk, self.settings), 0
        alpha = np.ones(len(columns)) if start is None else columns.alpha(start.weights)
        solution = None
        while True:
            solution = best_mixture(master, columns, alpha, solution)
            prices = tuple(mu * solution.scale for mu in solution.multipliers)
            yield Iterate(columns.weights(solution.alpha, len(walk.vertices)), solution.u, multipliers=prices)
            slope, _ = program.tangent(solution.u, solution.multipliers, solution.theta)
            place, before = None, len(columns)
            if priced < self.settings.pricings:
                place, priced = walk.call(slope), priced + 1
            else:
                place = lines.next(columns, solution.alpha, program.loss(slope), program.value(solution.u))
            if place is None:
                return
            if not columns.add(place, walk.vertices[place]):  # the price has nothing new to offer
                priced = self.settings.pricings
            alpha = np.append(solution.alpha, np.zeros(len(columns) - before))
