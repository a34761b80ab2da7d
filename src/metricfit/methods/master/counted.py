"""What counted labels change: the plug-in rule of a price need not be the cheapest one there is.

Probabilities may be miscalibrated, and labels are noisy. So prices are tilted before they are asked, such that the
mean probability of each class meets its share of the labels. And when that brings nothing more, the rules that the
mixture uses are improved weight by weight: one weight of a rule goes through all its values, and the value with the
smallest counted cost makes a new rule.
"""

from __future__ import annotations

import numpy as np

from metricfit.kernels.scan import Line, Scan
from metricfit.kernels.scan_loops import prefix
from metricfit.methods.base import Walk
from metricfit.methods.master.columns import Columns
from metricfit.types import FloatArray, IntArray

# How many lines are scanned at most: what more of them would gain is far below the noise of the labels.
LINES = 24
# How far lines look, see `Scan.line`: rules in use are near the best ones.
NEAR = 3.0
# A line's costs are averaged over this share of the rows decided so, on either side: the best value of a smoothed
# curve depends less on single rows, so it is nearer to that of unseen rows.
SMOOTH = 0.05
# Costs that differ by less, for prices of size one, are equal: prices are as exact as the solver of the master.
EQUAL = 1e-7


def tilted(walk: Walk, loss: FloatArray) -> FloatArray:
    """Return a loss for probabilities that are scaled, class by class, to the classes' shares of the labels."""
    if walk.oracle.exact or not hasattr(walk.oracle, "prior_shift"):
        return loss
    program, scale = walk.program, np.exp(walk.oracle.prior_shift)
    if program.layout == "full":
        return np.asarray(loss * scale[None, :, None])
    asked = loss.copy()
    named = program.axes.match >= 0
    asked[:, 0, named] *= scale[program.axes.match[named]]
    return asked


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
        Where rules are asked for. An exact oracle's answers cannot be improved, and not every oracle has a sample:
        then there are no lines.
    budget : int
        How many lines to scan at most.
    """

    def __init__(self, walk: Walk, budget: int) -> None:
        self.walk, self.axes = walk, walk.program.axes
        self.sample = getattr(walk.oracle, "sample", None)
        # Where passes are costly, the sample itself is solved first, lines and all.
        costly = getattr(walk.oracle, "costly", False)
        self.budget = 0 if walk.oracle.exact or costly or self.sample is None else budget
        self.count, self.quiet = 0, 0
        self.value = np.inf
        self.order: IntArray = np.zeros(0, np.int64)
        self.scan: Scan | None = None
        self.scanned: IntArray = np.zeros(0, np.int64)

    @property
    def started(self) -> bool:
        """Whether a line has been scanned."""
        return self.count > 0

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
            assert self.sample is not None
            loss = np.stack([self.walk.vertices[place].loss[a] for a, place in enumerate(places)])
            rows, layout = self.sample(), self.walk.program.layout
            # Where scores are products with a whole matrix, probabilities take several times as long to count.
            trust = 0.0 if layout == "full" else rows.trust
            self.scan = Scan(rows, trust, loss, layout, shifted=trust > 0)
            self.scanned = places
        return self.scan

    def _moved(self, scan: Scan, decision: int, price: FloatArray, gain: float) -> bool:
        """Set a decision's weight in each cell to its cheapest value if that gains so much; say if it does in any."""
        moved = False
        for cell in range(len(self.axes.cells)):
            line = scan.line(decision, "slope" if self.axes.match[decision] >= 0 else "offset", cell, NEAR)
            count = 0 if line is None else cheapest(scan, line, price, gain)
            if line is not None and count != line.here:
                scan.move(line, count)
                moved = True
        return moved


def cheapest(scan: Scan, line: Line, price: FloatArray, gain: float = 0.0) -> int:
    """Return how many rows of a line should be decided so that the rule costs least, smoothed over neighbours.

    As many as now, unless it costs less by more than ``gain``.
    """
    data, places = scan.changes(line)
    cost = prefix((data * price.ravel()[places]).sum(axis=1))
    mass = prefix(line.part(0).weight)
    cost = np.where(line.apart, smoothed(cost, mass, SMOOTH * float(mass[line.here])), np.inf)
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
