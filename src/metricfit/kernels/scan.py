"""Exact scans: what happens to every row while one weight of a rule goes through all its values.

A row takes the decision with the highest score. While the weight of one decision grows, a row enters that
decision at one breakpoint and never leaves it again, so one sort of the breakpoints lists every rule that the
weight can make, and the statistics of all of them are prefix sums.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from metricfit.data.layout import Layout, shape_of
from metricfit.data.rows import Rows
from metricfit.kernels.counting import decide
from metricfit.kernels.engine import SCANS, Engine
from metricfit.kernels.moving_rows import Move, RuleScores, State, entering_rows, fixed
from metricfit.kernels.scan_line import Kind, Line
from metricfit.kernels.sums_along_line import prefix
from metricfit.types import FloatArray, IntArray


class Sweep(NamedTuple):
    """How many sweeps, how far scans reach (``anywhere``: all factors), and the least gain of a move and of a sweep."""

    sweeps: int
    reach: float
    anywhere: bool
    gain: float
    tol: float = 0.0


class Scan:
    """A rule on rows in memory, of which one weight is moved at a time.

    Parameters
    ----------
    rows : Rows
        The data.
    trust : float
        The share of each row that is counted by its probabilities as soft labels; the rest by its label.
    loss : array
        The loss of the rule to begin with.
    layout : {"diagonal", "full"}
        Its layout.
    engine : {"auto", "numpy", "numba"}
        The implementation to use.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), [0, 1, 1])
    >>> scan = Scan(rows, 0.0, np.array([[[-1.0, -1.0], [0.0, 0.0]]]), "diagonal")
    >>> line = scan.line(1, "slope")
    >>> line.at.round(2).tolist(), line.here
    ([0.25, 1.5, 9.0], 1)
    >>> scan.move(line, 2)
    >>> scan.decisions.tolist()
    [0, 1, 1]
    """

    def __init__(
        self,
        rows: Rows,
        trust: float,
        loss: FloatArray,
        layout: Layout,
        engine: Engine = "auto",
    ) -> None:
        self.rows, self.layout, self.engine = rows, layout, engine
        self.match = rows.axes.match
        self.loss = np.array(loss, float)
        # Breakpoints that are closer, as a part of their size, cannot be told apart by scores in the precision of the
        # probabilities. This is not the rounding of `policy.near_ties`: there scores must be apart for every program
        # that will decide by them; here only `decide` on these rows must count what the scan counted. A breakpoint is
        # a quotient of differences of scores, so it is less exact than a score: 32 units in place of 8.
        self.closest = 32 * float(np.finfo(rows.proba.dtype).eps)
        cells, k = len(rows.axes.cells), rows.axes.k
        self.cell: IntArray = fixed(np.zeros(0, np.int32) if rows.cells is None else rows.cells)
        if layout == "diagonal":
            slope, column = np.where(self.match >= 0, -self.loss[:, 0], 0.0), fixed(np.maximum(self.match, 0))
            self.scores = RuleScores(fixed(rows.proba), column, slope, -self.loss[:, 1], self.cell)
        else:
            ones, column = np.ones((cells, k)), fixed(np.arange(k, dtype=self.match.dtype))
            self.scores = RuleScores(self._products(), column, ones, 0 * ones, self.cell)
        self.decisions = decide(rows.proba, rows.cells, self.loss, self.match, layout=layout, engine=engine)
        self.every = np.arange(len(rows))
        self.best = self.scores.of(self.every, self.decisions)
        weights = np.zeros(0) if rows.weights is None else rows.weights
        proba, labels, weights = map(fixed, (rows.proba, rows.labels, weights))
        self.state = State(self.decisions, self.best, proba, labels, weights, self.match, float(trust))
        self._members: list[IntArray] = []

    def _products(self) -> FloatArray:
        """Return the scores of a full loss."""
        proba = self.rows.proba
        if not self.cell.size:
            return -(proba @ self.loss[0])
        scores = np.empty((len(proba), self.rows.axes.k))
        for a in range(len(self.loss)):
            scores[self.cell == a] = -(proba[self.cell == a] @ self.loss[a])
        return scores

    def members(self, cell: int | None) -> IntArray:
        """Return the rows of a cell, all of them for None."""
        if cell is None or not self.cell.size:
            return self.every
        if not self._members:
            ends = np.cumsum(np.bincount(self.cell, minlength=len(self.rows.axes.cells)))
            self._members = np.split(np.argsort(self.cell, kind="stable"), ends[:-1])
        return self._members[cell]

    @cached_property
    def _columns(self) -> FloatArray:
        """The probabilities class by class."""
        columns: FloatArray = fixed(np.ascontiguousarray(self.rows.proba.T))
        return columns

    def line(
        self, decision: int, kind: Kind, cell: int | None = None, reach: float | None = None
    ) -> Line | None:
        """Return the line of a weight; None if the weight moves no row.

        With ``reach``, only breakpoints near the present weight count: a factor up to ``1 + reach`` times as large or
        small, or a constant that differs by at most ``reach / 4`` times the factor. In the full layout both are
        added to the loss, and are at most ``reach / 4`` times as large as its entries.
        """
        if (kind == "slope" and self.match[decision] < 0) or self.rows.axes.k < 2:
            return None
        move = self._move(decision, kind, cell, reach)
        # A constant is as exact as the scores that it is added to, which are of size one.
        size = 1.0 if kind == "offset" else 0.0
        rows, here, apart = entering_rows(
            self.scores, self.state, move, self.members(cell), self.closest, size, self.engine
        )
        if not rows.at.size:
            return None
        return Line(decision, kind, cell, rows, here, apart, move.low, move.high)

    def _move(self, decision: int, kind: Kind, cell: int | None, reach: float | None) -> Move:
        table, column, *_ = self.scores
        anew = self.layout == "diagonal"
        own = fixed(table[:, column[decision]])
        rate = fixed(self.rows.proba[:, self.match[decision]]) if kind == "slope" else own[:0]
        return Move(decision, own, rate, anew, *self._ends(decision, kind, cell, reach))

    def sweep(self, terms: FloatArray, sign: float, statistic: FloatArray, how: Sweep) -> tuple[int, int]:
        """Scan all factors and constants in one compiled call, for the objective ``sign * ratio_sums``.

        The rule must be the same in all cells, and the layout diagonal. Returns the numbers of moves and of scans.
        """
        from metricfit.kernels import _scan_jit

        moves, scans = _scan_jit.sweep_ratios(
            *self.scores, *self.state, self._columns, *how, self.closest, terms, sign, *statistic.sum(axis=0)
        )
        self.loss[:, 0] = np.where(self.match >= 0, -self.scores.slope, self.loss[:, 0])
        self.loss[:, 1] = -self.scores.offset
        return moves, scans

    def _ends(self, decision: int, kind: Kind, cell: int | None, reach: float | None) -> tuple[float, float]:
        """Return the interval of weights that are of interest."""
        cells = slice(None) if cell is None else slice(cell, cell + 1)
        factors, constants = self.scores.slope[cells, decision], self.scores.offset[cells, decision]
        if self.layout == "full":
            # Weights come on top of the loss, so their size is that of its entries.
            width = (
                np.inf if reach is None else reach * float(np.abs(self.loss[cells, :, decision]).max()) / 4
            )
            return -width, width
        if kind == "offset":
            width = np.inf if reach is None or not factors.all() else reach * float(np.abs(factors).max()) / 4
            return float(constants.min()) - width, float(constants.max()) + width
        # With a negative factor, the rows least likely of a class would be decided as that class.
        if not np.all(factors > 0):
            return -np.inf, np.inf
        if reach is None:
            return 0.0, np.inf
        return float(factors.min()) / (1 + reach), float(factors.max()) * (1 + reach)

    def changes(self, line: Line, first: int = 0, last: int | None = None) -> tuple[FloatArray, IntArray]:
        """Return what rows of a line add to the statistic by entering: numbers and their places, (entries, rows)."""
        _, height, k = shape_of(self.layout, self.rows.axes)
        _, rows, left, weight, won, lost = line.part(first, last)
        if self.layout == "diagonal":
            data, places = np.empty((4, rows.size)), np.empty((4, rows.size), np.int64)
            data[0], data[1], data[2], data[3] = won, weight, -lost, -weight
            places[0], places[1], places[2], places[3] = line.decision, k + line.decision, left, k + left
        elif self.state.trust:
            half, rise = self.state.targets(rows).T * weight, np.arange(height)[:, None] * k
            data = np.concatenate([half, -half])
            places = np.concatenate([np.broadcast_to(rise + line.decision, half.shape), rise + left])
        else:
            data = np.stack([weight, -weight])
            places = self.rows.labels[rows] * np.int64(k) + np.stack(
                [np.broadcast_to(line.decision, left.shape), left]
            )
        if self.cell.size:
            places = places + self.cell[rows].astype(np.int64) * (height * k)
        return data, places

    def change(self, line: Line, count: int) -> FloatArray:
        """Return the change of the statistic if ``count`` rows of a line have its decision, not ``line.here``."""
        low, high = sorted((count, line.here))
        if self.layout == "full" or SCANS.in_numpy(self.engine, high - low):
            data, places = self.changes(line, low, high)
            sums = np.bincount(places.ravel(), data.ravel(), minlength=self.loss.size)
            total = np.asarray(sums, float).reshape(self.loss.shape)
        else:
            from metricfit.kernels import _scan_jit

            total = np.zeros(self.loss.shape)
            _scan_jit.entered(
                *line.part(low, high)[1:], self.cell, line.decision, self.rows.axes.k, total.ravel()
            )
        return total if count > line.here else -total

    def statistic(self, trust: float | None = None) -> FloatArray:
        """Return the statistic of the present rule, counted with the scan's ``trust`` or with another one."""
        cells, _, k = self.loss.shape
        state = self.state if trust is None else self.state._replace(trust=trust)
        weight, at = state.masses(self.every), self.decisions.astype(np.int64)
        if self.cell.size:
            at += self.cell.astype(np.int64) * k
        if self.layout == "diagonal":
            parts = np.stack([weight * state.hits(self.every, self.decisions), weight])
        else:
            parts = (weight[:, None] * state.targets(self.every)).T
        sums = [np.bincount(at, part, minlength=cells * k).reshape(cells, k) for part in parts]
        return np.stack(sums, axis=1)

    def likeliest(self, decision: int) -> tuple[FloatArray, FloatArray]:
        """Return hits and total weight of the 0, 1, 2, ... rows that are most likely to be of a decision's class."""
        rows, named = self.every, self.match[decision]
        if named >= 0:
            rows = np.argsort(-self.rows.proba[:, named])
        weight = self.state.masses(rows)
        return prefix(weight * self.state.hits(rows, decision)), prefix(weight)

    def move(self, line: Line, count: int) -> None:
        """Give a weight the value that lets ``count`` rows in."""
        weight, decision = line.weight_for(count), line.decision
        a: Any = slice(None) if line.cell is None else line.cell
        table, _, slope, offset, _ = self.scores
        if self.layout == "diagonal":
            (slope if line.kind == "slope" else offset)[a, decision] = weight
            self.loss[a, 0 if line.kind == "slope" else 1, decision] = -weight
        elif line.kind == "slope":
            rows, named = self.members(line.cell), self.match[decision]
            table[rows, decision] += weight * self.rows.proba[rows, named]
            self.loss[a, named, decision] -= weight
        else:
            table[self.members(line.cell), decision] += weight
            self.loss[a, :, decision] -= weight
        # The score has changed for every row with this decision, whether it moved or not.
        rows, out = line.entering.rows, line.part(count)
        leaving = np.flatnonzero(self.decisions[out.rows] == decision)
        back, left = out.rows[leaving], out.left[leaving]
        self.decisions[rows[:count]] = decision
        self.decisions[back] = left
        self.best[back] = self.scores.of(back, left)
        mine = np.flatnonzero(self.decisions == decision)
        self.best[mine] = self.scores.of(mine, decision)
