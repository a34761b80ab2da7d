"""The guide of a search on counted labels: the calibrated problem, corrected by what the labels say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from metricfit.data.layout import shape_of
from metricfit.exceptions import InfeasibleError
from metricfit.methods.base import FEASIBLE, Iterate, Method, Outcome, Walk, run
from metricfit.methods.column_generation import ColumnGeneration
from metricfit.methods.local import Local
from metricfit.methods.search.room import sampling_error, stricter
from metricfit.methods.search.settings import Settings
from metricfit.oracles.base import OracleBase, Vertex, mixed
from metricfit.oracles.corrected import CorrectedOracle, label_factor
from metricfit.problem import Program
from metricfit.types import FloatArray

# Rules of less weight in a mixture are not counted.
LIGHT = 1e-9
# A limit that labels miss is moved by so much more: rows come one by one.
PUSH = 1e-4
# Shares of the same decisions differ by less: probabilities in single precision sum to 1 only so nearly.
ROUNDING = 1e-6


class Judged(NamedTuple):
    """What is said of a mixture of the guiding problem, which had its counts multiplied by ``factor``.

    ``made`` is its statistic by labels, ``u`` what metrics read of it, ``expected`` what they read by probabilities.
    """

    made: FloatArray
    u: FloatArray
    expected: FloatArray
    factor: FloatArray


class Guide:
    """Solves the calibrated problem exactly, counts its mixture by labels, corrects the problem, and solves it again.

    Parameters
    ----------
    program : Program
        The problem by counted labels.
    walk : Walk
        Where rules are counted by labels.
    soft : OracleBase
        Counts the same rows by their probabilities.
    settings : Settings
        How often, and how well.
    """

    def __init__(self, program: Program, walk: Walk, soft: OracleBase, settings: Settings) -> None:
        self.labels, self.walk, self.soft, self.settings = program, walk, soft, settings
        self.program = program.problem.bind(program.axes, soft.margins)
        generates = ColumnGeneration().refusal(self.program) is None
        self.method: Method = ColumnGeneration() if generates else Local(tries=1)
        self.agreed = False
        self.last: Judged | None = None
        # Rules to start from, such as those of a neighbouring problem, are most of what the guiding problem needs.
        given = walk.beside(self.program, soft)
        given.ask_all([vertex.loss for vertex in walk.vertices])
        self.known: list[Vertex] = given.vertices
        self.places: dict[bytes, int] = {}

    def rounds(self) -> Iterator[Iterate]:
        """Yield the mixture of each round, counted by labels; the first outcome is left in ``walk.guide``."""
        factor: FloatArray = np.ones(shape_of(self.program.layout, self.program.axes))
        rounds = self.settings.rounds if isinstance(self.method, ColumnGeneration) else 1
        for attempt in range(rounds):
            try:
                outcome, weights = self._solved(self.program, factor, attempt)
            except InfeasibleError:  # labels may still keep what calibrated probabilities do not
                return
            if not attempt:
                self.walk.guide = outcome
            mixture = self._counted(weights)
            self.last = self._judged(mixture, outcome, factor)
            self.agreed = self._agree(self.last)
            yield Iterate(mixture, self.last.u, multipliers=self._prices(outcome.best), final=True)
            following = label_factor(
                self.last.made,
                mixed(self.known, weights),
                self.program.layout,
                self.walk.oracle.effective_rows,
            )
            if np.abs(following / factor - 1).max() <= self.settings.factor_change:
                return
            factor = following

    def moved(self) -> Iterator[Iterate]:
        """Yield mixtures of the guiding problem with its limits moved, until those asked for are kept, and not by much.

        Each limit is moved by as much as it is missed, or left (see `_missed`); once it was kept and was not, half of
        the way between. Of mixtures that labels alone keep within their limits none is yielded: one of them would be
        the best by labels, and is kept by chance.
        """
        moves = np.zeros(len(self.labels.limits))
        broken, kept = np.full(moves.size, -np.inf), np.full(moves.size, np.inf)
        now = self.last
        for _ in range(self.settings.moves):
            if now is None or any(np.isnan(limit.value(now.u)) for limit in self.labels.limits):
                return  # no mixture to move from, or one that gives up what a limit is about
            missed, left = self._missed(now, moves)
            over = missed > FEASIBLE
            broken, kept = np.where(over, moves, broken), np.where(over, kept, moves)
            between = np.isfinite(kept - broken) & (kept > broken)
            near = between & (kept - broken <= self.settings.missed)
            further = np.where(between, np.where(near, kept, (broken + kept) / 2), moves + left)
            further = np.where(over & ~between, moves + missed + PUSH, further)
            if np.array_equal(further, moves):
                return
            moves = further
            try:
                outcome, weights = self._solved(stricter(self.program, moves), now.factor, 1)
            except InfeasibleError:
                return
            mixture = self._counted(weights)
            now = self._judged(mixture, outcome, now.factor)
            if self._missed(now, moves)[0].max() <= FEASIBLE or self.labels.excess(now.u) > FEASIBLE:
                yield Iterate(mixture, now.u, final=True)

    def _judged(self, mixture: FloatArray, outcome: Outcome, factor: FloatArray) -> Judged:
        """Return what labels, and what probabilities, say of a mixture."""
        made = mixed(self.walk.vertices, mixture)
        return Judged(made, self.labels.vector(made), outcome.best.u, factor)

    def _missed(self, now: Judged, moves: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much each limit is missed, and by how much those that bind may be loosened (all below 0).

        Missed is what labels miss, or what labels and probabilities together do: their mean, in which labels weigh the
        more the smaller their sampling error is beside the error of calibrated probabilities, ``settings.off``.
        """
        rows = self.walk.oracle.effective_rows
        pairs = zip(self.labels.limits, self.program.limits, strict=True)
        missed, left = [], []
        for (one, other), move in zip(pairs, moves, strict=True):
            by_labels, by_proba = one.violation(now.u), other.violation(now.expected)
            error = sampling_error(self.labels, one.metric, now.made, rows)
            share = self.settings.off**2 / (self.settings.off**2 + error**2)
            missed.append(max(by_labels, share * by_labels + (1 - share) * by_proba))
            left.append(min(missed[-1], 0.0) if by_proba + move >= -self.settings.missed else 0.0)
        return np.array(missed), np.array(left)

    def _agree(self, last: Judged) -> bool:
        """Return whether labels and probabilities say the same of every constraint, as they do of shares of decisions.

        Of a rate of nothing, such as the precision of a class that is given up, neither says anything. Rates that are
        close by chance do not count: the next limit would be answered in another way.
        """
        return all(
            abs(one.value(last.u) - other.value(last.expected)) <= ROUNDING
            for one, other in zip(self.labels.limits, self.program.limits, strict=True)
        )

    def _prices(self, best: Iterate) -> tuple[FloatArray, ...] | None:
        """Return the multipliers of the calibrated problem, unless it compares groups without labels of a class."""
        pairs = zip(self.labels.limits, self.program.limits, strict=True)
        alike = all(
            one.node is not None and other.node is not None and one.node.size == other.node.size
            for one, other in pairs
        )
        return best.multipliers if alike else None

    def without_limits(self) -> int:
        """Return the place of the heaviest rule of the calibrated problem without its constraints."""
        free = replace(self.program, limits=())
        _, weights = self._solved(free, np.ones(shape_of(free.layout, free.axes)), 1)
        places = [int(row.argmax()) for row in weights]
        return self.ask(np.stack([self.known[t].loss[a] for a, t in enumerate(places)]))

    def ask(self, loss: FloatArray) -> int:
        """Count a rule by labels, unless it was counted already; return its place."""
        key = loss.tobytes()
        if key not in self.places:
            self.places[key] = self.walk.ask(loss)
        return self.places[key]

    def _solved(self, program: Program, factor: FloatArray, attempt: int) -> tuple[Outcome, FloatArray]:
        """Solve with corrected counts; return the outcome and its mixture of the rules known then."""
        self.walk.check()
        oracle = self.soft if np.all(factor == 1) else CorrectedOracle(self.soft, factor)
        trial = self.walk.beside(program, oracle, self.settings.guide_tol if attempt else None)
        for vertex in self.known:  # their rules stay as they are, only their counts change
            trial.add(replace(vertex, statistic=vertex.statistic * factor))
        outcome = run(self.method, program, trial, warn=False)
        if outcome.status == "stopped":  # nobody but the user stops it
            raise KeyboardInterrupt
        self.known = [replace(vertex, statistic=vertex.statistic / factor) for vertex in trial.vertices]
        weights = np.zeros((len(program.axes.cells), len(self.known)))
        weights[:, : outcome.best.weights.shape[-1]] = np.atleast_2d(outcome.best.weights)
        weights[weights < LIGHT] = 0.0
        return outcome, weights / weights.sum(axis=1, keepdims=True)

    def _counted(self, weights: FloatArray) -> FloatArray:
        """Count the rules of a mixture by labels; return the mixture over the walk's vertices."""
        used = np.flatnonzero(weights.any(axis=0))
        fresh = [t for t in used if self.known[t].loss.tobytes() not in self.places]
        for t, place in zip(fresh, self.walk.ask_all([self.known[t].loss for t in fresh]), strict=False):
            self.places[self.known[t].loss.tobytes()] = place
        mixture = np.zeros((len(weights), len(self.walk.vertices)))
        for t in used:
            mixture[:, self.ask(self.known[t].loss)] += weights[:, t]
        return mixture
