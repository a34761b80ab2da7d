"""Exact scans: what happens to every row while one weight of a rule goes through all its values.

A row takes the decision with the highest score. While the weight of one decision grows, a row enters that decision at one
breakpoint and never leaves it again, so one sort of the breakpoints lists every rule that the weight can make, and the
statistics of all of them are prefix sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from metricfit.layout import Layout, shape_of
from metricfit.oracles.kernels import Engine, decide
from metricfit.oracles.rows import Rows
from metricfit.oracles.scan_kernels import runner_up
from metricfit.types import BoolArray, FloatArray, IntArray

Kind = Literal["slope", "offset"]


@dataclass(frozen=True, eq=False)
class Line:
    """The rows that one weight moves, in the order in which they enter its decision.

    Parameters
    ----------
    decision, kind, cell
        Which weight: the factor of the probability ("slope") or the constant ("offset") of a decision's score, in one cell
        or in all (None).
    at : array of shape (rows,)
        The breakpoints, ascending: a row is decided so when the weight is larger.
    rows, left : int arrays of shape (rows,)
        The rows, and the decision of each below its breakpoint.
    here : int
        How many rows are decided so now.
    weight, won, lost : arrays of shape (rows,)
        What a row adds to the column of the decision, and to the right decisions there; what it takes from those it leaves.
    """

    decision: int
    kind: Kind
    cell: int | None
    at: FloatArray
    rows: IntArray
    left: IntArray
    here: int
    weight: FloatArray
    won: FloatArray
    lost: FloatArray

    def __len__(self) -> int:
        return self.at.size

    def apart(self, closest: float) -> BoolArray:
        """Say for each number of rows from 0 to all whether a weight lets just so many in: breakpoints may coincide."""
        # A constant is as exact as the scores that it is added to, which are of size one.
        size = np.abs(self.at) + (self.kind == "offset")
        gaps = self.at[1:] - self.at[:-1] > closest * (size[1:] + size[:-1])
        return np.concatenate([[True], gaps, [True]])

    def weight_for(self, count: int) -> float:
        """Return a weight that lets the first ``count`` rows in."""
        if 0 < count < len(self):
            return float(self.at[count - 1] + self.at[count]) / 2
        end = float(self.at[0 if count == 0 else -1])
        if self.kind == "slope" and end > 0:
            return end / 2 if count == 0 else 2 * end
        return end - 1.0 if count == 0 else end + 1.0


class Scan:
    """A rule on rows in memory, one weight of which is moved at a time.

    Parameters
    ----------
    rows : Rows
        The data.
    soft : bool
        Whether probabilities are counted as soft labels.
    loss : array
        The loss of the rule to begin with.
    layout : {"diagonal", "full"}
        Its layout.
    engine : {"auto", "numpy", "numba"}
        What computes.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), [0, 1, 1])
    >>> scan = Scan(rows, False, np.array([[[-1.0, -1.0], [0.0, 0.0]]]), "diagonal")
    >>> line = scan.line(1, "slope")
    >>> line.at.tolist(), line.here
    ([0.25, 1.4999999999999998, 9.0], 1)
    >>> scan.move(line, 2)
    >>> scan.decisions.tolist()
    [0, 1, 1]
    """

    def __init__(
        self, rows: Rows, soft: bool, loss: FloatArray, layout: Layout, engine: Engine = "auto"
    ) -> None:
        self.rows, self.soft, self.layout, self.engine = rows, soft, layout, engine
        self.match = rows.axes.match
        self.loss = np.array(loss, float)
        # Breakpoints closer than this (relative) are not told apart by scores in the precision of the probabilities.
        self.closest = 32 * float(np.finfo(rows.proba.dtype).eps)
        self.decisions: IntArray = decide(
            rows.proba, rows.cells, self.loss, self.match, layout=layout, engine=engine
        ).astype(np.int64)
        k, cells = rows.axes.k, len(rows.axes.cells)
        if layout == "diagonal":
            self.table: FloatArray = rows.proba
            self.column = np.maximum(self.match, 0).astype(np.int64)
            self.slope = np.where(self.match >= 0, -self.loss[:, 0], 0.0)
            self.offset = -self.loss[:, 1]
        else:
            self.table = self._full_scores()
            self.column = np.arange(k)
            self.slope, self.offset = np.ones((cells, k)), np.zeros((cells, k))
        self.best = self._scores(slice(None), self.decisions)
        self._members: list[IntArray] | None = None

    def _full_scores(self) -> FloatArray:
        proba, cells = self.rows.proba, self.rows.cells
        if cells is None:
            return -(proba @ self.loss[0])
        scores = np.empty((len(proba), self.rows.axes.k))
        for a in range(len(self.loss)):
            scores[cells == a] = -(proba[cells == a] @ self.loss[a])
        return scores

    def _codes(self, rows: Any) -> Any:
        return 0 if self.rows.cells is None else self.rows.cells[rows]

    def _scores(self, rows: Any, decisions: Any) -> FloatArray:
        """Return the score of one decision for each row; larger is better."""
        codes, column = self._codes(rows), self.column[decisions]
        numbers = np.arange(len(self.rows)) if isinstance(rows, slice) else rows
        x = self.table[rows, column] if np.ndim(decisions) == 0 else self.table[numbers, column]
        return np.asarray(self.slope[codes, decisions] * x + self.offset[codes, decisions], float)

    def members(self, cell: int | None) -> Any:
        """Return the rows of a cell, all of them for None."""
        if cell is None or self.rows.cells is None:
            return slice(None)
        if self._members is None:
            order = np.argsort(self.rows.cells, kind="stable")
            ends = np.cumsum(np.bincount(self.rows.cells, minlength=len(self.rows.axes.cells)))
            self._members = np.split(order, ends[:-1])
        return self._members[cell]

    def _pace(self, rows: Any, decision: int, kind: Kind) -> tuple[Any, Any, float]:
        """Return rate and rest: the score is ``rest + weight * rate``; and the largest weight that is of no interest."""
        if kind == "offset":
            return 1.0, self._scores(rows, decision) - self._constant(decision, self._codes(rows)), -np.inf
        rate = np.asarray(self.rows.proba[rows, self.match[decision]], float)
        if self.layout == "full":
            return rate, self._scores(rows, decision), -np.inf
        # A weight that turns negative would decide rows so because they are not likely of the class.
        codes = self._codes(rows)
        positive = bool(np.all(self.slope[codes, decision] > 0))
        rest = self.offset[codes, decision]
        return rate, rest, 0.0 if positive else -np.inf

    def _constant(self, decision: int, codes: Any) -> Any:
        return self.offset[codes, decision] if self.layout == "diagonal" else 0.0

    def line(self, decision: int, kind: Kind, cell: int | None = None) -> Line | None:
        """Return what a weight moves; None if it moves nothing."""
        if (kind == "slope" and self.match[decision] < 0) or self.rows.axes.k < 2:
            return None
        rows = self.members(cell)
        left, other = self.decisions[rows].copy(), self.best[rows].copy()
        inside = np.flatnonzero(left == decision)
        if inside.size:
            numbers = inside if isinstance(rows, slice) else rows[inside]
            other[inside], left[inside] = runner_up(
                self.table, numbers, self._codes(numbers), self.column, self.slope, self.offset, decision, self.engine
            )
        rate, rest, floor = self._pace(rows, decision, kind)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = (other - rest) / rate
        if kind == "slope":
            moving = np.flatnonzero((rate > 0) & (at > floor) & np.isfinite(at))
            order = moving[np.argsort(at[moving])]
        else:
            order = np.argsort(at)
        if not order.size:
            return None
        numbers = order if isinstance(rows, slice) else rows[order]
        left = left[order]
        here = int(np.count_nonzero(self.decisions[numbers] == decision))
        weights = self.rows.weights
        weight = np.full(len(numbers), 1 / len(self.rows)) if weights is None else weights[numbers]
        won, lost = weight * self._hits(numbers, decision), weight * self._hits(numbers, left)
        return Line(decision, kind, cell, at[order], numbers, left, here, weight, won, lost)

    def _hits(self, rows: IntArray, decisions: Any) -> FloatArray:
        named = self.match[decisions]
        if not self.soft:
            return np.asarray(self.rows.labels[rows] == named, float)
        return np.where(named >= 0, self.rows.proba[rows, named], 0.0)

    def changes(self, line: Line, first: int = 0, last: int | None = None) -> Any:
        """Return what rows of a line add to the statistic by entering: a sparse array (rows, entries)."""
        cells, height, k = shape_of(self.layout, self.rows.axes)
        part = slice(first, last)
        rows, left, weight = line.rows[part], line.left[part], line.weight[part]
        entered = np.full(rows.size, line.decision)
        if self.layout == "diagonal":
            data = np.stack([line.won[part], weight, -line.lost[part], -weight], axis=1)
            places = np.stack([entered, k + entered, left, k + left], axis=1)
        elif self.soft:
            half = weight[:, None] * np.asarray(self.rows.proba[rows], float)
            data, rise = np.concatenate([half, -half], axis=1), np.arange(height) * k
            places = np.concatenate([rise + entered[:, None], rise + left[:, None]], axis=1)
        else:
            data = np.stack([weight, -weight], axis=1)
            places = self.rows.labels[rows][:, None] * np.int64(k) + np.stack([entered, left], axis=1)
        places = places + np.broadcast_to(self._codes(rows) * np.int64(height * k), rows.size)[:, None]
        ends = np.arange(rows.size + 1) * data.shape[1]
        return sp.csr_array((data.ravel(), places.ravel(), ends), (rows.size, cells * height * k))

    def likeliest(self, decision: int) -> tuple[FloatArray, FloatArray]:
        """Return the right ones among, and all of, the 0, 1, 2 ... rows that are most likely of a decision's class."""
        rows, named = np.arange(len(self.rows)), self.match[decision]
        if named >= 0:
            rows = np.argsort(-self.rows.proba[:, named])
        weights = self.rows.weights
        weight = np.full(rows.size, 1 / rows.size) if weights is None else weights[rows]
        hits = weight * self._hits(rows, decision)
        return np.concatenate([[0.0], np.cumsum(hits)]), np.concatenate([[0.0], np.cumsum(weight)])

    def move(self, line: Line, count: int) -> None:
        """Give a weight the value that lets ``count`` rows in."""
        weight, decision = line.weight_for(count), line.decision
        entered, out = line.rows[:count], line.rows[count:]
        leaving = self.decisions[out] == decision
        back, left = out[leaving], line.left[count:][leaving]
        a: Any = slice(None) if line.cell is None else line.cell
        if self.layout == "diagonal":
            (self.slope if line.kind == "slope" else self.offset)[a, decision] = weight
            self.loss[a, 0 if line.kind == "slope" else 1, decision] = -weight
        elif line.kind == "slope":
            rows, named = self.members(line.cell), self.match[decision]
            self.table[rows, decision] += weight * self.rows.proba[rows, named]
            self.loss[a, named, decision] -= weight
        else:
            self.table[self.members(line.cell), decision] += weight
            self.loss[a, :, decision] -= weight
        self.decisions[entered] = decision
        self.decisions[back] = left
        self.best[entered] = self._scores(entered, decision)
        self.best[back] = self._scores(back, left)
