"""Scores that are equal up to rounding: which rows have them, and where a threshold is clear of all rows.

A model that gives many rows the same probabilities, such as a tree, often gives them in numbers that differ in the last
bits. Another library, an export, or a file with fewer digits changes such bits, so a rule must not depend on them: rows
whose scores are equal up to rounding are one *atom*, and a deterministic rule decides all rows of an atom alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout
from metricfit.types import BoolArray, FloatArray, IntArray

# Scores that differ by less than this part of their size are equal up to rounding. Probabilities that were rounded to
# 12 digits, or calibrated by another library's logarithms, move scores by less; and among a million rows of continuous
# probabilities there is hardly one so close to a tie.
ROUNDING = 1e-9
# How many scores are computed at a time: so many stay in the processor's cache.
BLOCK = 1 << 17
# In single precision, scores are computed to a few units in the last place.
UNITS = 8
# By how much more rows are looked at than are near ties: two scores in single precision are off by less.
WIDER = 1.5


class Margins(NamedTuple):
    """How far each row of one cell is from a tie, under one rule.

    Attributes
    ----------
    made : int array of shape (rows,)
        The cheapest decision, the larger index of equal ones.
    behind : array of shape (rows, k)
        By how much each decision costs more than the cheapest one.
    slack : array of shape (rows, k)
        Differences up to this are none but for rounding.
    kind : int array of shape (k,)
        Equal for decisions that cost the same, whatever the probabilities; rounding cannot tell them apart.
    """

    made: IntArray
    behind: FloatArray
    slack: FloatArray
    kind: IntArray

    @classmethod
    def of(
        cls, proba: FloatArray, loss: FloatArray, layout: Layout, axes: Axes, kind: IntArray | None = None
    ) -> Margins:
        """Return the margins of rows under the rule of a loss (s, k); ``kind`` if it is known.

        Examples
        --------
        >>> third = np.array([[1 / 3, 2 / 3], [1 - 2 / 3, 2 / 3]])
        >>> margins = Margins.of(third, np.array([[0.0, 2.0], [1.0, 0.0]]), "full", Axes((0, 1)))
        >>> margins.near.any(axis=1)
        array([ True,  True])
        """
        costs = _costs(proba, loss, layout, axes)
        whole = layout == "full"
        sizes = proba @ np.abs(loss) if whole else np.abs(costs - loss[1]) + np.abs(loss[1])
        kind = _kinds(loss, layout, axes) if kind is None else kind
        made, rows = cheapest(costs), np.arange(len(costs))
        slack = _part(proba) * (sizes + sizes[rows, made][:, None])
        return cls(made, costs - costs[rows, made][:, None], slack, kind)

    @property
    def near(self) -> BoolArray:
        """Which decisions (rows, k) are as cheap as the one that is made, up to rounding, and not of its kind."""
        return np.asarray((self.behind <= self.slack) & (self.kind != self.kind[self.made][:, None]))

    def clearing(self) -> list[tuple[BoolArray, float]]:
        """Return moves, each some columns and a step, after which these columns are in no near tie.

        There are none if no row is near a tie. Decisions of one kind move together. One that gets cheaper is taken by
        all rows that are near to taking it, one that gets dearer is left by all that are near to leaving it; steps end
        midway to the next atom.
        """
        near = self.near
        if not near.any():
            return []
        # The scores of the tied decisions are of this size: how far to go where no next atom is in the way.
        beyond = float(self.slack[near].max()) / ROUNDING or 1.0
        mine = self.kind[self.made]
        tied = set(mine[near.any(axis=1)].tolist()) | set(self.kind[near.any(axis=0)].tolist())
        moves = []
        for kind in sorted(tied):
            columns = self.kind == kind
            column = int(np.argmax(columns))
            without, having = np.flatnonzero(mine != kind), np.flatnonzero(mine == kind)
            behind = np.where(columns, np.inf, self.behind[having])
            second = behind.argmin(axis=1)
            sides = (
                (-1, self.behind[without, column], self.slack[without, column]),
                (1, behind[np.arange(having.size), second], self.slack[having, second]),
            )
            moves += [(columns, sign * _first_gap(away, slack, beyond)) for sign, away, slack in sides]
        return moves


def has_near_ties(proba: FloatArray, loss: FloatArray, layout: Layout, axes: Axes) -> bool:
    """Return whether some row is near a tie under the rule of a loss (s, k).

    Rows whose two cheapest decisions are clearly apart, which are nearly all rows, are not looked at any further.

    Examples
    --------
    >>> loss = np.array([[0.0, 2.0], [1.0, 0.0]])
    >>> [has_near_ties(np.array([[1 - p, p]]), loss, "full", Axes((0, 1))) for p in (1 / 3, 2 / 3, 0.5)]
    [False, True, False]
    """
    most = 2 * _part(proba) * float(np.abs(loss).sum(axis=0).max())  # probabilities are at most 1
    most *= WIDER
    step, short, kind = max(1, BLOCK // axes.k), loss.astype(proba.dtype), _kinds(loss, layout, axes)
    for first in range(0, len(proba), step):
        rows = proba[first : first + step]
        costs = _costs(rows, short, layout, axes)
        close = np.count_nonzero(costs <= costs.min(axis=1, keepdims=True) + most, axis=1) > 1
        if close.any() and Margins.of(rows[close], loss, layout, axes, kind).near.any():
            return True
    return False


def _costs(proba: FloatArray, loss: FloatArray, layout: Layout, axes: Axes) -> FloatArray:
    """Return the cost of each decision on each row."""
    if layout == "full":
        return np.asarray(proba @ loss)
    own = proba if np.array_equal(axes.match, np.arange(axes.n)) else proba[:, axes.match]
    return np.asarray(own * np.where(axes.match >= 0, loss[0], loss.dtype.type(0)) + loss[1])


def _kinds(loss: FloatArray, layout: Layout, axes: Axes) -> IntArray:
    """Return a number for each decision, equal for those that cost the same, whatever the probabilities."""
    columns = loss
    if layout == "diagonal":
        slope = np.where(axes.match >= 0, loss[0], 0.0)
        columns = np.stack([slope, loss[1], np.where(slope != 0, axes.match, -1)])
    return np.unique(columns + 0.0, axis=1, return_inverse=True)[1].reshape(-1)


def _part(proba: FloatArray) -> float:
    """Return the part of their size up to which scores of these probabilities are equal but for rounding."""
    return max(ROUNDING, UNITS * float(np.finfo(proba.dtype).eps))


def _first_gap(away: FloatArray, slack: FloatArray, beyond: float) -> float:
    """Return a step that ends midway between the rows near a tie and the next ones, or well beyond the last row."""
    order = np.argsort(away, kind="stable")
    away, slack = np.append(0.0, away[order]), np.append(0.0, slack[order])
    last = int((atoms(away, slack) == 0).sum()) - 1
    return float(away[last] + away[last + 1]) / 2 if last + 1 < away.size else float(away[last]) + beyond


def atoms(ascending: FloatArray, slack: FloatArray) -> IntArray:
    """Return the number, from 0 on, of the atom of each of some distances, along the last axis.

    A threshold midway between two atoms is farther than the slack from all distances.

    Examples
    --------
    >>> atoms(np.array([0.1, 0.1 + 1e-16, 0.2, 0.2 + 3e-9]), np.full(4, 1e-9)).tolist()
    [0, 0, 1, 1]
    """
    # Twice the slack: the step to a threshold, which is added to the scores, makes them up to twice as large.
    until = np.maximum.accumulate(ascending + 2 * slack, axis=-1)
    start = np.minimum.accumulate((ascending - 2 * slack)[..., ::-1], axis=-1)[..., ::-1]
    number: Any = np.zeros(ascending.shape, np.int64)
    np.cumsum(start[..., 1:] > until[..., :-1], axis=-1, out=number[..., 1:])
    return number


def cheapest(costs: FloatArray) -> IntArray:
    """Return the cheapest decision of each row of costs, ties to the larger index."""
    return np.asarray(costs.shape[-1] - 1 - np.argmin(costs[..., ::-1], axis=-1))
