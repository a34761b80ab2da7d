"""Lines: the rules of a mixture improved one weight at a time, by what counted labels say of every value of it."""

from __future__ import annotations

import numpy as np

from metricfit.data.rows import Rows
from metricfit.kernels.scan import Scan
from metricfit.kernels.scan_line import Line
from metricfit.kernels.sums_along_line import prefix
from metricfit.methods.base import Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.search.settings import SETTINGS, Settings
from metricfit.types import FloatArray, IntArray

# Costs that differ by less, for prices of size one, are equal: prices are as exact as the solver of the master.
EQUAL = 1e-7


def trust_in(rows: Rows, settings: Settings) -> float:
    """Return the share of each row that scans count by its calibrated probabilities, the rest being its label."""
    return settings.trust if len(rows) >= settings.trusted_rows and rows.axes.k > 2 else 0.0


class Lines:
    """Improves the rules of a mixture for the price of its tangent plane, one decision's weights at a time.

    Each cell's heaviest rule is taken as it is but for the weight of one decision, which an exact scan sets. A
    mixture is best when all its rules cost the same and none costs less, so any line that makes one of them cheaper
    improves the mixture. The scan reads a sample of the rows, which is all of them if they are few, and counts them
    half by their labels and half by their probabilities if these are about right, so that it follows single labels
    less. The rule it ends with is then asked of the oracle, so that all numbers are from all rows and their
    labels.

    Parameters
    ----------
    walk : Walk
        Where rules are asked for. Not every oracle has a sample to scan: then there are no lines.
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
        """Whether there is no more to expect: the budget is used up, or no decision's line gains the tolerance."""
        return self.count >= self.budget or self.quiet >= self.axes.k

    def next(self, columns: Columns, alpha: FloatArray, price: FloatArray, value: float) -> int | None:
        """Scan lines until one moves; return the place of its rule, or None if there are no more.

        ``alpha`` is the mixture of the columns, ``value`` its objective and ``price`` the loss of its tangent plane.
        """
        if self.value - value >= self.walk.tol:
            self.quiet = 0
        self.value = min(self.value, value)
        # A tangent plane lies below the objective, so a move gains at most what it saves by the price.
        gain = max(self.walk.tol / 10, EQUAL * float(np.abs(price).max())) / len(self.axes.cells)
        if not self.order.size:
            self.order = np.argsort(-np.abs(price).sum(axis=(0, 1)), kind="stable")
        scan = self._scan(columns.weights(alpha, len(self.walk.vertices)).argmax(axis=1))
        while not self.done:
            decision = int(self.order[self.count % self.axes.k])
            self.count, self.quiet = self.count + 1, self.quiet + 1
            if self._moved(scan, decision, price, gain):
                place = self.walk.ask(scan.loss)
                self.scanned = np.full(len(self.axes.cells), place)
                return place
            self.walk.spend()
        return None

    def _scan(self, places: IntArray) -> Scan:
        """Return the rules of some vertices, one of each cell, ready to be scanned; often they are so already."""
        if self.scan is None or not np.array_equal(self.scanned, places):
            assert self.rows is not None
            loss = np.stack([self.walk.vertices[place].loss[a] for a, place in enumerate(places)])
            layout = self.walk.program.layout
            # Where scores are products with a whole matrix, probabilities take several times as long to count.
            trust = 0.0 if layout == "full" else trust_in(self.rows, self.settings)
            self.scan = Scan(self.rows, trust, loss, layout)
            self.scanned = places
        return self.scan

    def _moved(self, scan: Scan, decision: int, price: FloatArray, gain: float) -> bool:
        """Set a decision's weight in each cell to its cheapest value if that gains so much; say if it does in any."""
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
    """Return how many rows of a line should be decided so that the rule costs least, smoothed over neighbours.

    As many as now, unless it costs less by more than ``gain``.
    """
    data, places = scan.changes(line)
    cost = prefix((data * price.ravel()[places]).sum(axis=0))
    mass = prefix(line.part(0).weight)
    cost = np.where(line.apart, smoothed(cost, mass, smooth * float(mass[line.here])), np.inf)
    least = cost.min()
    if least + gain >= cost[line.here]:
        return line.here
    # The first of equal ones: at the best mixture several rules cost the same but for the solver's rounding.
    return int(np.argmax(cost <= least + EQUAL * float(np.abs(price).max())))


def smoothed(series: FloatArray, at: FloatArray, reach: float) -> FloatArray:
    """Return means of a series, linear between ascending points, over ``reach`` on either side of each point.

    The ends go on for ever. Means over mass, not over numbers of rows: a row of weight two is two rows.

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
