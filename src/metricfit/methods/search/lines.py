"""Mixtures on counted labels, whose rules are improved one weight at a time, by exact scans along lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metricfit.data.rows import Rows
from metricfit.kernels.scan import Scan
from metricfit.kernels.scan_line import Line
from metricfit.kernels.sums_along_line import prefix
from metricfit.methods.base import Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.generation import best_mixture
from metricfit.methods.master.master import Master
from metricfit.methods.search.settings import SETTINGS, Settings
from metricfit.problem import Program
from metricfit.types import FloatArray, IntArray

# Costs that differ by less (for prices of size one) count as equal: prices are only as exact as the master's solver.
EQUAL = 1e-7


def trust_in(rows: Rows, settings: Settings) -> float:
    """Return the share of each row that scans count by its calibrated probabilities; its label counts for the rest."""
    return settings.trust if len(rows) >= settings.trusted_rows and rows.axes.k > 2 else 0.0


def improved_mixtures(
    program: Program,
    walk: Walk,
    master: Master,
    columns: Columns,
    alpha: FloatArray,
    settings: Settings = SETTINGS,
    pricings: int = 0,
) -> Iterator[Iterate]:
    """Yield the best mixture of the columns, again and again while rules are added to them, starting from ``alpha``.

    On counted labels the oracle's answer to the multipliers of a mixture need not be the cheapest rule. So the
    multipliers are priced up to ``pricings`` times, as long as that brings new rules; then `Lines` make rules cheaper.
    """
    lines, solution = Lines(walk, settings), None
    while True:
        solution = best_mixture(master, columns, alpha, solution)
        weights = columns.weights(solution.alpha, len(walk.vertices))
        yield Iterate(weights, solution.u, multipliers=solution.prices)
        slope, _ = program.tangent(solution.u, solution.multipliers, solution.theta)
        place = (
            walk.call(slope)
            if pricings
            else lines.next(columns, solution.alpha, program.loss(slope), program.value(solution.u))
        )
        if place is None:
            return
        added = columns.add(place, walk.vertices[place])
        pricings = pricings - 1 if pricings and added else 0
        alpha = np.append(solution.alpha, np.zeros(added))


class Lines:
    """Makes the rules of a mixture cheaper, at the prices of its tangent plane, one decision's weights at a time.

    In each cell an exact scan changes the weight of one decision in the heaviest rule. At the best mixture all rules
    in use cost the same and no other rule costs less, so a scan that finds a cheaper rule improves the mixture. The
    scan reads a sample of the rows (all of them if they are few) and, where `trust_in` says so, counts each partly
    by its probabilities, so that it overfits single labels less. The oracle then counts the new rule, so that all
    reported numbers come from the labels of all rows.

    Parameters
    ----------
    walk : Walk
        Counts rules. Not every oracle has a sample to scan; without one there are no lines.
    settings : Settings
        How many lines to scan at most, and how.
    """

    def __init__(self, walk: Walk, settings: Settings = SETTINGS) -> None:
        self.walk, self.axes, self.settings = walk, walk.program.axes, settings
        self.rows = walk.oracle.sample()
        self.budget = 0 if self.rows is None else settings.lines
        self.count, self.quiet = 0, 0
        self.value = np.inf
        self.order: IntArray = np.zeros(0, np.int64)
        self.scan: Scan | None = None
        self.scanned: IntArray = np.zeros(0, np.int64)

    @property
    def done(self) -> bool:
        """Whether to stop: the budget is used up, or the lines of all decisions gained less than the tolerance."""
        return self.count >= self.budget or self.quiet >= len(self.order)

    def next(self, columns: Columns, alpha: FloatArray, price: FloatArray, value: float) -> int | None:
        """Scan lines until a weight moves; return the place of the new rule, or None if no line is left.

        ``alpha`` is the mixture of the columns, ``value`` its objective and ``price`` the loss of its tangent plane.
        """
        if self.value - value >= self.walk.tol:
            self.quiet = 0
        self.value = min(self.value, value)
        # The tangent plane lies below the objective, so a move gains at most what it saves at the plane's prices.
        gain = max(self.walk.tol / 10, EQUAL * float(np.abs(price).max())) / len(self.axes.cells)
        if not self.order.size:
            order = np.argsort(-np.abs(price).sum(axis=(0, 1)), kind="stable")
            self.order = order[~self.walk.program.alike[order]]
        scan = self._scan(columns.weights(alpha, len(self.walk.vertices)).argmax(axis=1))
        while not self.done:
            decision = int(self.order[self.count % self.order.size])
            self.count, self.quiet = self.count + 1, self.quiet + 1
            if self._moved(scan, decision, price, gain):
                place = self.walk.ask(scan.loss)
                self.scanned = np.full(len(self.axes.cells), place)
                return place
            self.walk.spend()
        return None

    def _scan(self, places: IntArray) -> Scan:
        """Return a scan of the rule that takes one vertex in each cell; the last scan if it is of this rule."""
        if self.scan is None or not np.array_equal(self.scanned, places):
            assert self.rows is not None
            loss = np.stack([self.walk.vertices[place].loss[a] for a, place in enumerate(places)])
            layout = self.walk.program.layout
            # In the full layout probabilities take several times as long to count as labels.
            trust = 0.0 if layout == "full" else trust_in(self.rows, self.settings)
            self.scan = Scan(self.rows, trust, loss, layout)
            self.scanned = places
        return self.scan

    def _moved(self, scan: Scan, decision: int, price: FloatArray, gain: float) -> bool:
        """Set a decision's weight in each cell to its cheapest value if that gains enough; return whether any moved."""
        moved = False
        for cell in range(len(self.axes.cells)):
            line = scan.line(
                decision, "slope" if self.axes.match[decision] >= 0 else "offset", cell, self.settings.near
            )
            count = 0 if line is None else cheapest(scan, line, price, gain, self.settings.smooth)
            if line is not None and count != line.here:
                scan.move(line, count)
                moved = True
        return moved


def cheapest(
    scan: Scan, line: Line, price: FloatArray, gain: float = 0.0, smooth: float = SETTINGS.smooth
) -> int:
    """Return how many rows of a line should get its decision for the rule to cost least, smoothed over neighbours.

    The number stays as it is unless another costs less by more than ``gain``.
    """
    data, places = scan.changes(line)
    cost = prefix((data * price.ravel()[places]).sum(axis=0))
    mass = prefix(line.part(0).weight)
    cost = np.where(line.apart, smoothed(cost, mass, smooth * float(mass[line.here])), np.inf)
    least = cost.min()
    if least + gain >= cost[line.here]:
        return line.here
    # The first of equal costs: at the best mixture several rules cost the same up to the solver's rounding.
    return int(np.argmax(cost <= least + EQUAL * float(np.abs(price).max())))


def smoothed(series: FloatArray, at: FloatArray, reach: float) -> FloatArray:
    """Return means of a series, linear between ascending points, over ``reach`` on either side of each point.

    Beyond its ends the series is constant. Points are masses, not numbers of rows: a row of weight two is two rows.

    Examples
    --------
    >>> import numpy as np
    >>> smoothed(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 2.0]), 1.0)
    array([0.   , 0.25, 0.75])
    """
    width = np.diff(at)
    if reach <= 0 or not width.any():
        return series
    slope = np.divide(np.diff(series), width, out=np.zeros(width.size), where=width > 0)
    area = prefix(width * (series[1:] + series[:-1]) / 2)

    def below(x: FloatArray) -> FloatArray:
        """Return the area under the series up to x."""
        left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, at.size - 1)
        over = x - at[left]
        bend = np.where((x >= at[0]) & (left < slope.size), slope[np.minimum(left, slope.size - 1)], 0.0)
        return np.asarray(area[left] + over * (series[left] + bend * over / 2))

    return (below(at + reach) - below(at - reach)) / (2 * reach)
