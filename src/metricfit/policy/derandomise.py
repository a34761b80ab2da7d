"""One deterministic rule for each cell, as close to the cell's mixture as possible: ``randomize="never"``.

A deterministic rule is a plug-in rule like any other: a loss L and the decision ``argmin_j sum_i p_i(x) L[i, j]``, ties
to the larger index, on the calibrated probabilities if the policy has a calibration. The policy stores it as a rule of
weight 0, which `Policy.single` names. It is searched for between rules of the mixture: ``L = (1 - t) L_r + t L_s``. As
t goes from 0 to 1 each row on which the two rules differ passes from one decision to the other, sometimes through a
third: the ratio of its costs under the two losses is a second score, and t is a threshold on it. Where probabilities
are continuous, the counts change without jumps, and t is set so that constraints hold as exactly as under the mixture.

Rows on which all rules of a cell agree get the same decision for every t, so only the other rows are looked at.

On counted labels the best t may miss the mixture's value, because no rule between two others is optimal for these very
labels. So the rules that the search has met are candidates, too, and who calls says how a rule can be improved. Under a
floor on a precision, and where many rows have equal probabilities, there may be no single rule as good as the mixture.

Rows whose scores are equal up to rounding are decided alike, and no row is nearer to a tie than that: what a rule keeps
here, its exports keep too. See `metricfit.policy.near_ties`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, islice, permutations

import numpy as np

from metricfit.data.rows import Rows
from metricfit.policy.cell_rows import Cell, Rank
from metricfit.policy.near_ties import has_near_ties
from metricfit.problem import Program
from metricfit.types import FloatArray

# The search between two rules: how many values of t are tried at a time, how often the interval around the best one is
# searched more finely, and how often each cell is visited.
POINTS, ZOOMS, SWEEPS = 13, 2, 2
# How many pairs of rules are searched between, in a cell of many rules, and how many of these more finely.
WAYS, ZOOMED = 12, 3


def deterministic(
    program: Program,
    rows: Rows,
    soft: bool,
    mixtures: list[tuple[FloatArray, FloatArray]],
    seen: Sequence[FloatArray] = (),
    improved: Callable[[FloatArray], FloatArray] | None = None,
) -> tuple[list[FloatArray | None], FloatArray | None]:
    """Return the loss of one rule for each cell, and their u; constraints come first, then the objective.

    A cell whose only rule is clear of ties needs no other.

    Parameters
    ----------
    program : Program
        Objective and constraints, bound.
    rows : Rows
        The rows, or a sample of them.
    soft : bool
        Whether rows count by their probabilities and not by their labels.
    mixtures : list of (weights, losses)
        For each cell the weights (R,) and the losses (R, s, k) of its rules.
    seen : sequence of arrays (cells, s, k)
        Rules of all cells that the answer must not fall behind, such as the best one that a search has met.
    improved : function, optional
        Returns, for the rules of all cells, better ones or the same.

    Returns
    -------
    losses : list of ndarrays of shape (s, k) or None
        None where the cell's only rule decides alone as it is.
    u : ndarray or None
        The generalised confusion vector of these rules on the rows; None if all cells keep their only rules.
    """
    if not _needed(program, rows, mixtures):
        return [None] * len(mixtures), None
    choice = Choice(program, rows, soft, mixtures)
    first = list(choice.losses)
    choice.between_rules()
    starts = [np.stack(choice.losses), *seen]
    choice.clear_of_ties()
    for start in starts:
        choice.prefer(start)
        if improved is not None:
            choice.prefer(improved(start))
    # What a cell with one rule chose is that rule itself, unless near ties had to be cleared.
    alone = [
        None if len(weights) == 1 and np.array_equal(loss, only) else loss
        for loss, only, (weights, _) in zip(choice.losses, first, mixtures, strict=True)
    ]
    return alone, choice.u


class Choice:
    """One rule for each cell, at first the heaviest of its mixture, and what each cell adds to u.

    All cells start with what their mixtures add, so that each rule is chosen while the cells after it are still mixed.
    """

    def __init__(
        self, program: Program, rows: Rows, soft: bool, mixtures: list[tuple[FloatArray, FloatArray]]
    ) -> None:
        self.program, self.mixtures = program, mixtures
        self.cells = [Cell(program, rows, soft, a, losses) for a, (_, losses) in enumerate(mixtures)]
        self.losses = [losses[int(np.argmax(weights))] for weights, losses in mixtures]
        self.shares = [
            sum(w * share for w, share in zip(weights, cell.pure, strict=True))
            for (weights, _), cell in zip(mixtures, self.cells, strict=True)
        ]
        self.u = program.constant + sum(self.shares)
        self.mixed = [a for a, (weights, _) in enumerate(mixtures) if len(weights) > 1]

    def between_rules(self) -> None:
        """Choose the best rule of each cell on the lines between the rules of its mixture, then once more."""
        sweeps = SWEEPS if len(self.mixed) > 1 else 1  # a single cell would be searched the same way again
        for sweep in range(sweeps):
            before = self.rank
            for a in self.mixed:
                weights, losses = self.mixtures[a]
                ranked = partial(self._ranked, a)
                known = (ranked(self.losses[a][None])[0], self.losses[a]) if sweep else None
                loss = _best(losses, weights, ranked, known)
                self._take(a, loss, self.cells[a].share(loss))
            if sweep and not self.rank < before:
                break

    def clear_of_ties(self) -> None:
        """Move each rule until no row is near a tie under it."""
        for a, cell in enumerate(self.cells):
            self._take(a, *cell.cleared(self.losses[a], self._without(a), self._ranks))

    def prefer(self, losses: FloatArray) -> None:
        """Take the rules of a loss (cells, s, k), clear of ties, if they are better than those chosen so far."""
        kept = self.losses, self.shares, self.u
        rank, self.losses, self.shares = self.rank, list(self.losses), list(self.shares)
        for a, (cell, loss) in enumerate(zip(self.cells, losses, strict=True)):
            self._take(a, loss, cell.added(loss))
        if self.rank < rank:
            self.clear_of_ties()
        if not self.rank < rank:
            self.losses, self.shares, self.u = kept

    @property
    def rank(self) -> Rank:
        """How good all cells together are."""
        return self._ranks(self.u[None])[0]

    def _without(self, a: int) -> FloatArray:
        return self.u - self.shares[a]

    def _take(self, a: int, loss: FloatArray, share: FloatArray) -> None:
        self.u = self._without(a) + share
        self.losses[a], self.shares[a] = loss, share

    def _ranked(self, a: int, losses: FloatArray) -> list[Rank]:
        """Return how good all cells together are with each of some rules in one cell."""
        return self._ranks(self._without(a) + self.cells[a].shares(losses))

    def _ranks(self, points: FloatArray) -> list[Rank]:
        missed, value = self.program.violations(points), self.program.objective.value(points)[:, 0]
        return list(zip(np.where(missed > 1e-9, missed, 0.0).tolist(), value.tolist(), strict=True))


def _needed(program: Program, rows: Rows, mixtures: list[tuple[FloatArray, FloatArray]]) -> bool:
    """Return whether some cell has several rules, or one under which some of its rows are near a tie."""
    if any(len(weights) > 1 for weights, _ in mixtures):
        return True
    places = [slice(None)] if rows.cells is None else [rows.cells == a for a in range(len(mixtures))]
    return any(
        has_near_ties(rows.proba[some], losses[0], program.layout, program.axes)
        for some, (_, losses) in zip(places, mixtures, strict=True)
    )


def _best(
    losses: FloatArray,
    weights: FloatArray,
    ranked: Callable[[FloatArray], list[Rank]],
    known: tuple[Rank, FloatArray] | None,
) -> FloatArray:
    """Return the best loss on the lines between the rules of a cell."""
    size = np.linalg.norm(losses.reshape(len(losses), -1), axis=1)
    scaled = losses / np.where(size > 0, size, 1.0)[:, None, None]
    order = np.argsort(-weights, kind="stable")
    pairs = ((scaled[r], scaled[s]) for r, s in permutations(order, 2) if r < s)
    others = (
        (scaled[r], np.average(np.delete(scaled, r, 0), 0, np.delete(weights, r) + 1e-12))
        for r in (order if len(losses) > 2 else ())
    )
    # Only as many as are wanted are made: a mixture of thousands of rules has millions of pairs.
    ends = islice(chain(pairs, others), WAYS)
    first, second = (np.stack(side)[:, None] for side in zip(*ends, strict=True))
    low, high = np.zeros(len(first)), np.ones(len(first))
    seen: list[tuple[Rank, FloatArray]] = [] if known is None else [known]
    for _ in range(1 + ZOOMS):
        points = np.linspace(low, high, POINTS, axis=1)
        share = points[:, :, None, None]
        tried = (1 - share) * first + share * second
        ranks = ranked(
            tried.reshape(-1, *losses.shape[1:])
        )  # all lines in one call: constraints of many groups have many rows
        mine = [ranks[start : start + POINTS] for start in range(0, len(ranks), POINTS)]
        place = np.array([some.index(min(some)) for some in mine])
        seen += [(some[at], tried[way, at]) for way, (some, at) in enumerate(zip(mine, place, strict=True))]
        # Python's sort is stable: of equally good lines the first ones are kept, which are those of the heaviest rules.
        kept = sorted(range(len(mine)), key=lambda way: mine[way][place[way]])[:ZOOMED]
        first, second, place = first[kept], second[kept], place[kept]
        low, high = (points[kept, (place + step).clip(0, POINTS - 1)] for step in (-1, 1))
    return min(seen, key=_rank)[1]  # the first of equally good ones


def _rank(found: tuple[Rank, FloatArray]) -> Rank:
    return found[0]
