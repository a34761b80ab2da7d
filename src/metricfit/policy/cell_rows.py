"""The rows of one cell: what rules decide on them, what that adds to u, and how a rule is moved clear of ties."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout
from metricfit.data.rows import Rows
from metricfit.kernels.counting import decide
from metricfit.policy.near_ties import Margins, has_near_ties
from metricfit.problem import Program
from metricfit.types import FloatArray, IntArray

# How many probabilities are decided in one call; in a cell of few rows the call takes longer than the work.
BLOCK = 1 << 18

# By how much limits are missed, then the value.
Rank = tuple[float, float]


class Members:
    """Some rows of one cell: what decisions on them cost, and what they add to a statistic.

    ``chances`` (rows, n) says which part of each row is counted as each class; where rows count by their probabilities
    these are ``proba`` itself, so that no table is as large again. ``weights`` says how much each row counts.
    """

    def __init__(
        self, proba: FloatArray, chances: FloatArray, weights: FloatArray, layout: Layout, axes: Axes
    ) -> None:
        self.proba, self.chances, self.weights, self.layout, self.axes = proba, chances, weights, layout, axes

    def some(self, places: Any) -> Members:
        """Return some of the rows."""
        proba = self.proba[places]
        chances = proba if self.chances is self.proba else self.chances[places]
        return Members(proba, chances, self.weights[places], self.layout, self.axes)

    def decided(self, losses: FloatArray) -> IntArray:
        """Return the decisions of the rule of each of some losses, one rule in each row."""
        most = max(1, BLOCK // max(self.proba.size, 1))
        parts = (losses[first : first + most] for first in range(0, len(losses), most))
        return np.concatenate([self._decided(part) for part in parts])

    def _decided(self, losses: FloatArray) -> IntArray:
        """Decide by several rules in one call, in which each rule stands for a cell with a copy of the rows."""
        rules, rows = len(losses), len(self.proba)
        proba = self.proba if rules == 1 else np.tile(self.proba, (rules, 1))
        rule = np.repeat(np.arange(rules, dtype=np.int32), rows)
        return decide(proba, rule, losses, self.axes.match, layout=self.layout).reshape(rules, rows)

    def margins(self, loss: FloatArray) -> Margins:
        """Return how far the rows are from ties under the rule of a loss."""
        return Margins.of(self.proba, loss, self.layout, self.axes)

    def counted(self, made: IntArray, rows: IntArray | None = None) -> FloatArray:
        """Return a statistic for each row of ``made``: its decisions counted on all of the rows, or on some."""
        rows = np.arange(len(self.weights)) if rows is None else rows
        made, tables, k = made[:, rows], len(made), self.axes.k
        parts = self.parts(np.broadcast_to(rows, made.shape).ravel(), made.ravel())
        sums = _summed((made + k * np.arange(tables)[:, None]).ravel(), parts, tables * k)
        return sums.reshape(tables, k, -1).swapaxes(1, 2).reshape(tables, -1)

    def parts(self, rows: IntArray, decisions: IntArray) -> FloatArray:
        """Return what each of some rows adds to the column of its decision: its classes, or its hit and itself."""
        if self.layout == "full":
            return np.asarray(self.chances[rows] * self.weights[rows, None])
        named = self.axes.match[decisions]
        hit = np.where(named >= 0, self.chances[rows, np.maximum(named, 0)] * self.weights[rows], 0.0)
        return np.stack([hit, self._whole[rows]], axis=1)

    @cached_property
    def _whole(self) -> FloatArray:
        """How much each row counts as any class; probabilities sum to 1 only nearly."""
        step = max(1, BLOCK // self.axes.n)
        starts = range(0, len(self.weights), step)
        parts = (self.chances[i : i + step] * self.weights[i : i + step, None] for i in starts)
        return np.concatenate([np.zeros(0), *(part.sum(axis=1) for part in parts)])


class Cell:
    """The rows of one cell, those among them on which its rules differ, and what decisions on them add to u."""

    def __init__(self, program: Program, rows: Rows, soft: bool, cell: int, losses: FloatArray) -> None:
        inside: Any = slice(None) if rows.cells is None else np.flatnonzero(rows.cells == cell)
        proba = rows.proba[inside]
        weights = np.full(len(rows), 1 / len(rows)) if rows.weights is None else rows.weights
        chances = proba if soft else np.eye(program.axes.n)[rows.labels[inside]]
        # Axes without attributes: the statistic of a cell has the shape of one cell.
        self.axes, self.layout = Axes(program.axes.classes, program.axes.decisions), program.layout
        self.every = Members(proba, chances, weights[inside], self.layout, self.axes)
        self.height = 2 if self.layout == "diagonal" else self.axes.n
        size = self.height * self.axes.k
        self.table = program.matrix[:, cell * size : (cell + 1) * size]
        made = self.every.decided(losses)
        differ = (made != made[0]).any(axis=0)
        self.differing = self.every.some(differ)
        self.agreed = self.every.counted(made[:1], np.flatnonzero(~differ))
        self.pure = self._share(self.differing.counted(made[:, differ]) + self.agreed)

    def share(self, loss: FloatArray) -> FloatArray:
        """Return what the cell adds to u under the rule of a loss between those of the cell."""
        return self.shares(loss[None])[0]

    def added(self, loss: FloatArray) -> FloatArray:
        """Return what the cell adds to u under the rule of any loss."""
        return self._share(self.every.counted(self.every.decided(loss[None])))[0]

    def shares(self, losses: FloatArray) -> FloatArray:
        """Return what the cell adds to u under each of some rules, one in each row."""
        return self._share(self.differing.counted(self.differing.decided(losses)) + self.agreed)

    def _share(self, counted: FloatArray) -> FloatArray:
        return np.asarray((self.table @ counted.T).T)

    def moved(self, loss: FloatArray, column: Any, step: float) -> tuple[FloatArray, FloatArray]:
        """Return a loss with a column (or several) moved, and what the cell then adds to u."""
        loss = loss.copy()
        loss[1 if self.layout == "diagonal" else slice(None), column] += step
        made = self.every.decided(loss[None])
        return loss, self._share(self.every.counted(made))[0]

    def cleared(
        self, loss: FloatArray, rest: FloatArray, ranks: Callable[[FloatArray], list[Rank]]
    ) -> tuple[FloatArray, FloatArray]:
        """Return a loss under which no row is near a tie, and what the cell then adds to u.

        A loss that has near ties is moved to the side of them that ranks best, together with what the other cells add
        (``rest``); of equally good sides to the one that changes the fewest rows.
        """
        made = self.every.decided(loss[None])
        share = self._share(self.every.counted(made))[0]
        # Each move clears the ties of one decision, or of decisions that cost the same.
        for _ in range(self.axes.k):
            if not has_near_ties(self.every.proba, loss, self.layout, self.axes):
                break
            moves = self.every.margins(loss).clearing()
            tried = [self.moved(loss, *move) for move in moves]
            after = self.every.decided(np.stack([moved for moved, _ in tried]))
            changed = (after != made).sum(axis=1).tolist()
            ranked = list(zip(ranks(rest + np.stack([there for _, there in tried])), changed, strict=True))
            best = ranked.index(min(ranked))
            (loss, share), made = tried[best], after[best]
        return loss, share


def _summed(place: IntArray, parts: FloatArray, size: int) -> FloatArray:
    """Return the sum of the rows of ``parts`` at each of ``size`` places."""
    return np.stack([np.bincount(place, column, size) for column in parts.T], axis=1, dtype=float)
