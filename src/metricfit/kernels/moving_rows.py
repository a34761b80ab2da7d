"""Which rows change their decision while one weight of a rule moves, at which value of it, and what each row counts.

Small inputs go to the NumPy twin, which agrees bit for bit, so that a small job does not wait for numba; ``engine``
forces either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from metricfit.kernels.engine import SCANS, Engine
from metricfit.types import BoolArray, FloatArray, IntArray


class RuleScores(NamedTuple):
    """The scores of a rule: ``slope[a, j] * table[r, column[j]] + offset[a, j]``; the largest decides.

    ``cell`` holds the cell of each row, and is empty if there is one.
    """

    table: FloatArray
    column: IntArray
    slope: FloatArray
    offset: FloatArray
    cell: IntArray

    def of(self, rows: IntArray, decisions: Any) -> FloatArray:
        """Return the score of one decision for each of some rows."""
        a = self.cell[rows] if self.cell.size else 0
        # As float64 before they meet a scalar factor: NumPy 1 would turn the factor into a float32 as well.
        x = np.asarray(self.table[rows, self.column[decisions]], float)
        return np.asarray(self.slope[a, decisions] * x + self.offset[a, decisions])

    def second_best(self, rows: IntArray, decision: int) -> tuple[IntArray, FloatArray]:
        """Return the best of the other decisions for each of some rows, the larger of equal ones, and its score."""
        best, highest = np.full(rows.size, -1), np.full(rows.size, -np.inf)
        for j in range(self.column.size):
            if j != decision:
                score = self.of(rows, j)
                np.copyto(best, j, where=score >= highest)
                np.maximum(highest, score, out=highest)
        return best, highest


class State(NamedTuple):
    """Decision and score of every row under a rule, and what the rows count.

    ``weights`` is empty where all rows count alike. A share ``trust`` of each row is counted by its probabilities, the
    rest by its label.
    """

    decisions: IntArray
    best: FloatArray
    proba: FloatArray
    labels: IntArray
    weights: FloatArray
    match: IntArray
    trust: float

    def hits(self, rows: IntArray, decisions: Any) -> FloatArray:
        """Return how much of each row is right under given decisions."""
        named = self.match[decisions]
        counted = (1 - self.trust) * np.asarray(self.labels[rows] == named, float)
        if self.trust:
            counted += self.trust * np.where(named >= 0, np.asarray(self.proba[rows, named], float), 0.0)
        return counted

    def targets(self, rows: IntArray) -> FloatArray:
        """Return how much of each row each class is counted as."""
        counted = self.trust * np.asarray(self.proba[rows], float)
        counted[np.arange(rows.size), self.labels[rows]] += 1 - self.trust
        return counted

    def masses(self, rows: IntArray) -> FloatArray:
        """Return the weight of each row."""
        equal = 1 / self.decisions.size
        return self.weights[rows] if self.weights.size else np.full(rows.size, equal)


class Move(NamedTuple):
    """A weight that moves: that of a decision's score.

    ``rate`` is what a unit of it adds to the score of each row (empty for the constant of the score), ``own``
    the column of the table that the decision reads, ``anew`` whether the weight replaces the one in the score
    or comes on top of it. Only breakpoints between ``low`` and ``high`` are of interest.
    """

    decision: int
    own: FloatArray
    rate: FloatArray
    anew: bool
    low: float
    high: float


class Moving(NamedTuple):
    """The rows that a weight moves: breakpoints, places, the decisions they leave, weights, and hits won and lost."""

    at: FloatArray
    rows: IntArray
    left: IntArray
    weight: FloatArray
    won: FloatArray
    lost: FloatArray

    def some(self, places: IntArray | slice) -> Moving:
        """Return some of the rows."""
        at, rows, left, weight, won, lost = self
        return Moving(at[places], rows[places], left[places], weight[places], won[places], lost[places])


class Entering(NamedTuple):
    """The rows that a weight moves, in the order in which they enter its decision.

    ``here`` of them have the decision now; ``apart`` says whether some weight lets in just 0, 1, 2, ... of them.
    """

    rows: Moving
    here: int
    apart: BoolArray


def entering_rows(
    scores: RuleScores,
    state: State,
    move: Move,
    members: IntArray,
    closest: float,
    size: float,
    engine: Engine = "auto",
) -> Entering:
    """Return the rows among ``members`` that a weight moves, in the order of their breakpoints.

    Where two decisions to leave are equally good, it is the one with the larger index. Breakpoints are told apart if
    they differ by more than ``closest`` times their size, plus ``size``, that of what the weight is added to.

    Examples
    --------
    >>> import numpy as np
    >>> proba, none = np.array([[0.5, 0.2, 0.3], [0.2, 0.8, 0.0]]), np.zeros(0)
    >>> scores = RuleScores(proba, np.arange(3), np.ones((1, 3)), np.zeros((1, 3)), none.astype(int))
    >>> state = State(np.array([0, 1]), np.array([0.5, 0.8]), proba, np.array([2, 1]), none, np.arange(3), 0.0)
    >>> move = Move(0, proba[:, 0], proba[:, 0], True, 0.0, np.inf)
    >>> moved, here, apart = entering_rows(scores, state, move, np.arange(2), 1e-9, 0.0)
    >>> moved.at, moved.left, moved.won, moved.lost, here
    (array([0.6, 4. ]), array([2, 1]), array([0., 0.]), array([0.5, 0.5]), 1)
    """
    if SCANS.in_numpy(engine, members.size):
        return entering_rows_numpy(scores, state, move, members, closest, size)
    from metricfit.kernels import _scan_jit

    rows, left = np.empty((2, members.size), np.int64)
    at, weight, won, lost = np.empty((4, members.size))
    apart = np.empty(members.size + 1, bool)
    count, here = _scan_jit.entering_rows(
        *scores, *state, *move, members, closest, size, at, rows, left, weight, won, lost, apart
    )
    whole = Moving(at, rows, left, weight, won, lost)
    return Entering(whole.some(slice(count)), here, apart[: count + 1])


def entering_rows_numpy(
    scores: RuleScores, state: State, move: Move, members: IntArray, closest: float, size: float
) -> Entering:
    """Return what `entering_rows` does."""
    moving = moving_rows_numpy(scores, state, move, members)
    rows, apart = moving.some(ascending(moving.at)), np.ones(moving.at.size + 1, bool)
    sizes = np.abs(rows.at) + size
    # Probabilities near 0 make breakpoints near the largest float, and sums of two such breakpoints infinite.
    with np.errstate(over="ignore"):
        np.greater(rows.at[1:] - rows.at[:-1], closest * (sizes[1:] + sizes[:-1]), out=apart[1:-1])
    return Entering(rows, int(np.count_nonzero(state.decisions[rows.rows] == move.decision)), apart)


def moving_rows_numpy(scores: RuleScores, state: State, move: Move, members: IntArray) -> Moving:
    """Return the rows that a weight moves, in the order of ``members``."""
    j, whole = move.decision, members.size == state.decisions.size
    some = slice(None) if whole else members  # all rows need not be gathered
    cell = scores.cell[some] if scores.cell.size else 0
    constant = scores.offset[cell, j]
    left, other = state.decisions[some].astype(np.int64), np.array(state.best[some])
    inside = np.flatnonzero(left == j)
    left[inside], other[inside] = scores.second_best(inside if whole else members[inside], j)
    if move.rate.size and move.anew:
        over = other - constant
    else:
        over = other - (scores.slope[cell, j] * np.asarray(move.own[some], float) + constant)
    if move.rate.size:
        with np.errstate(all="ignore"):  # the breakpoint of a row with rate 0 is infinite: no weight moves it
            at = over / np.asarray(move.rate[some], float)
    else:
        at = over + constant if move.anew else over
    taken = np.flatnonzero((at > move.low) & (at < move.high))
    if taken.size < members.size:
        at, rows, left = at[taken], members[taken], left[taken]
    else:
        rows = members
    weight = state.masses(rows)
    return Moving(at, rows, left, weight, weight * state.hits(rows, j), weight * state.hits(rows, left))


def ascending(values: FloatArray) -> IntArray:
    """Return the order of values, the first of equal ones first.

    Examples
    --------
    >>> import numpy as np
    >>> ascending(np.array([0.5, -1.0, 0.25])).tolist()
    [1, 2, 0]
    """
    # Without equal values there is one order, and a sort that need not be stable takes a fifth of the time.
    order: IntArray = np.argsort(values)
    at = values[order]
    return np.argsort(values, kind="stable") if (at[1:] == at[:-1]).any() else order


def fixed(array: Any) -> Any:
    """Return a read-only view, like memory-mapped data: numba compiles separately for read-only and other arrays."""
    view = array.view()
    view.flags.writeable = False
    return view
