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

# Smaller weights in a mixture are set to 0, and their rules are not counted by labels.
LIGHT = 1e-9
# A missed limit is moved by this much more than it was missed by: counted rates change in jumps of one row.
PUSH = 1e-4
# Labels and probabilities agree on shares of decisions up to this: single-precision probabilities sum to 1 only nearly.
ROUNDING = 1e-6


class Judged(NamedTuple):
    """A mixture of the guiding problem, seen by labels and by probabilities.

    ``mixture`` are its weights (cells, vertices of the walk), ``made`` and ``u`` its statistic and confusion vector by
    labels; ``expected`` is its vector in the guiding problem, whose counts were multiplied by ``factor``.
    """

    mixture: FloatArray
    made: FloatArray
    u: FloatArray
    expected: FloatArray
    factor: FloatArray


class Guide:
    """Solves the calibrated problem exactly, counts its mixture by labels, corrects its counts, and solves it again.

    Parameters
    ----------
    program : Program
        The problem on counted labels.
    walk : Walk
        Counts rules by labels.
    soft : OracleBase
        Counts the same rows by their probabilities.
    settings : Settings
        How many rounds and moves to make, and with which tolerance.
    """

    def __init__(self, program: Program, walk: Walk, soft: OracleBase, settings: Settings) -> None:
        self.labels, self.walk, self.soft, self.settings = program, walk, soft, settings
        self.program = program.problem.bind(program.axes, soft.margins)
        self.method: Method = ColumnGeneration() if self.program.mixable else Local(tries=1)
        self.last: Judged | None = None
        # If the walk has rules, such as those of a neighbouring problem, the guiding problem needs few others.
        given = walk.beside(self.program, soft)
        given.ask_all([vertex.loss for vertex in walk.vertices])
        self.known: list[Vertex] = given.vertices
        self.places: dict[bytes, int] = {}

    def rounds(self) -> Iterator[Iterate]:
        """Yield the mixture of each round, counted by labels; store the outcome of the first in ``walk.guide``."""
        factor: FloatArray = np.ones(shape_of(self.program.layout, self.program.axes))
        rounds = self.settings.rounds if isinstance(self.method, ColumnGeneration) else 1
        for attempt in range(rounds):
            try:
                outcome, weights = self._solved(self.program, factor, attempt)
            except InfeasibleError:  # the constraints may still be feasible on the labels
                return
            if not attempt:
                self.walk.guide = outcome
            if self.program.value(outcome.best.u) >= self.program.highest_value - self.walk.tol:
                return  # with these limits every mixture is worst, and which of them is returned means nothing
            now = self.last = self._judged(outcome, weights, factor)
            yield Iterate(now.mixture, now.u, multipliers=self._prices(outcome.best), final=True)
            rows, by_proba = self.walk.oracle.effective_rows, mixed(self.known, weights)
            following = label_factor(now.made, by_proba, self.program.layout, rows)
            if np.abs(following / factor - 1).max() <= self.settings.factor_change:
                return
            factor = following

    def moved(self) -> Iterator[Iterate]:
        """Yield mixtures of the guiding problem with moved limits, until the original limits are just kept.

        A limit moves by as much as it is missed, or by as much as it may be loosened (see `_missed`); once one move
        kept it and another did not, halfway between these. A mixture that keeps all limits by labels alone, but not by
        labels and probabilities together, is not yielded: it might win by labels, but keeps its limits by chance.
        """
        moves = np.zeros(len(self.labels.limits))
        broken, kept = np.full(moves.size, -np.inf), np.full(moves.size, np.inf)
        now = self.last
        for _ in range(self.settings.moves):
            if now is None or any(np.isnan(limit.value(now.u)) for limit in self.labels.limits):
                return  # there is no mixture to start from, or a limit's metric is undefined for it
            missed, left = self._missed(now, moves)
            over = missed > FEASIBLE
            broken, kept = np.where(over, moves, broken), np.where(over, kept, moves)
            between = np.isfinite(kept - broken) & (kept > broken)
            further = np.select(
                [between & (kept - broken <= self.settings.missed), between, over],
                [kept, (broken + kept) / 2, moves + missed + PUSH],
                moves + left,
            )
            if np.array_equal(further, moves):
                return
            moves = further
            harder = stricter(self.program, moves)
            if any(limit.out_of_reach > 0 for limit in harder.limits):
                return  # groups would have to differ by less than nothing; a solver needs long to find that out
            try:
                outcome, weights = self._solved(harder, now.factor, 1)
            except InfeasibleError:
                return
            now = self._judged(outcome, weights, now.factor)
            if self._missed(now, moves)[0].max() <= FEASIBLE or self.labels.excess(now.u) > FEASIBLE:
                yield Iterate(now.mixture, now.u, final=True)

    def _judged(self, outcome: Outcome, weights: FloatArray, factor: FloatArray) -> Judged:
        """Return a mixture of the known rules as seen by labels and by probabilities."""
        mixture = self._counted(weights)
        made = mixed(self.walk.vertices, mixture)
        return Judged(mixture, made, self.labels.vector(made), outcome.best.u, factor)

    def _missed(self, now: Judged, moves: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much each limit is missed, and the move (<= 0) that loosens it where it binds but has room.

        A limit is missed by the larger of its violation by labels and a mean of its violations by labels and by
        probabilities. In the mean, labels weigh the more the smaller their sampling error is beside ``settings.off``.
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

    @property
    def agreed(self) -> bool:
        """Whether labels and probabilities give every constraint the same value, as they do shares of decisions.

        An undefined rate, such as the precision of a class that is never decided, is no agreement. Neither are rates
        that are close by chance: then a slightly different limit would be answered in another way.
        """
        last = self.last
        return last is not None and all(
            abs(one.value(last.u) - other.value(last.expected)) <= ROUNDING
            for one, other in zip(self.labels.limits, self.program.limits, strict=True)
        )

    def _prices(self, best: Iterate) -> tuple[FloatArray, ...] | None:
        """Return the calibrated problem's multipliers, or None if it compares groups that lack labels of a class."""
        pairs = zip(self.labels.limits, self.program.limits, strict=True)
        alike = all(
            one.node is not None and other.node is not None and one.node.size == other.node.size
            for one, other in pairs
        )
        return best.multipliers if alike else None

    def without_limits(self) -> int:
        """Solve the calibrated problem without constraints; return the place of its rule, in each cell the heaviest."""
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
        """Solve with corrected counts; return the outcome and its mixture as weights (cells, known rules)."""
        self.walk.check()
        oracle = self.soft if np.all(factor == 1) else CorrectedOracle(self.soft, factor)
        trial = self.walk.beside(program, oracle, self.settings.guide_tol if attempt else None)
        for vertex in self.known:  # the rules stay as they are, only their counts change
            trial.add(replace(vertex, statistic=vertex.statistic * factor))
        outcome = run(self.method, program, trial, warn=False)
        if outcome.status == "stopped":  # only the user can have stopped it
            raise KeyboardInterrupt
        self.known = [replace(vertex, statistic=vertex.statistic / factor) for vertex in trial.vertices]
        weights = outcome.best.table(len(program.axes.cells), len(self.known))
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
