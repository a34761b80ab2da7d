"""The thresholds of a policy of two classes: from which probability on each of its rules makes which decision.

Of two classes one probability says all, and a rule cuts its range from 0 to 1 into an interval for each decision. The
ends are found by asking the rules themselves: first on a grid, then by bisection over floating-point numbers, down to
two neighbours. So a threshold reproduces the decisions exactly, ties and calibration included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from metricfit.data.axes import Axes
from metricfit.policy.deciding import RuleBook
from metricfit.types import FloatArray, IntArray, Label

#: Points of the grid on a straight scale, and on that of the logarithm of the odds. Between neighbours a decision is
#: made in one interval at most, unless a calibration turns back within less than that.
POINTS = 1025
LOG_ODDS = np.linspace(-36.0, 36.0, POINTS)

# For some probabilities of the second class and the place of a rule for each, the decisions that are made.
Ask = Callable[[FloatArray, IntArray], IntArray]


class Changes(NamedTuple):
    """Where rules change their decisions: for each change the rule, the smallest probability, and the decision."""

    rule: IntArray
    at: FloatArray
    decision: IntArray


def changes(ask: Ask, rules: int) -> Changes:
    """Return the decision of each rule at probability 0, then its changes from there on, in ascending order.

    Examples
    --------
    >>> found = changes(lambda p, rule: (p >= np.array([0.25, 1.5])[rule]).astype(int), 2)
    >>> found.rule.tolist(), found.at.tolist(), found.decision.tolist()
    ([0, 0, 1], [0.0, 0.25, 0.0], [0, 1, 0])
    """
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, POINTS), 1 / (1 + np.exp(-LOG_ODDS))]))
    place = np.arange(rules)
    made = np.stack([ask(grid, np.full(grid.size, rule)) for rule in place])
    rule, step = np.nonzero(made[:, 1:] != made[:, :-1])
    low, high = grid[step], grid[step + 1]
    found: list[tuple[Any, ...]] = [(place, np.zeros(rules), made[:, 0])]
    while rule.size:
        at, decision = _first(ask, rule, low, high)
        found.append((rule, at, decision))
        further = decision != ask(high, rule)
        rule, low, high = rule[further], at[further], high[further]
    every = [np.concatenate(part) for part in zip(*found, strict=True)]
    order = np.lexsort((every[1], every[0]))
    return Changes(*(part[order] for part in every))


def _first(ask: Ask, rule: IntArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the smallest probability after ``low``, at most ``high``, with another decision, and this decision."""
    was = ask(low, rule)
    # The bits of non-negative floating-point numbers, read as whole numbers, are in the order of the numbers.
    below, above = low.view(np.int64).copy(), high.view(np.int64).copy()
    while (above - below > 1).any():
        middle = below + (above - below) // 2
        same = ask(middle.view(np.float64), rule) == was
        below, above = np.where(same, middle, below), np.where(same, above, middle)
    at = above.view(np.float64)
    return at, ask(at, rule)


class Threshold(NamedTuple):
    """From which probability of the second class on a rule makes a decision.

    Attributes
    ----------
    cell : tuple of labels
        The attribute values of the rule's cell.
    decision : label
        What is decided from the threshold on, up to the next threshold of the same rule if there is one.
    share : float
        The share of the cell's rows that get the rule.
    at, calibrated : float
        The threshold on the model's probability and on the calibrated one. 0 means always, infinity never.
    """

    cell: tuple[Label, ...]
    decision: Label
    share: float
    at: float
    calibrated: float


def thresholds_of(axes: Axes, book: RuleBook, randomize: str) -> list[Threshold]:
    """Return the thresholds of each cell's rules: of all with a share, or with "never" of the one that decides alone.

    A rule of two decisions has one threshold. A rule of more decisions has one for each that it makes, but for the
    first, which is made from probability 0 on.
    """
    if axes.n != 2:
        raise ValueError(
            f"thresholds are for two classes; this policy decides by {axes.n} probabilities, by weights that "
            "print(result) tells and metricfit.WeightsDisplay draws"
        )
    table = book.table
    alone = np.arange(table.share.shape[1]) == table.single[:, None]
    cell, rank = np.nonzero(alone if randomize == "never" else table.share)
    share = np.ones(cell.size) if randomize == "never" else table.share[cell, rank]
    place = table.start[cell] + rank

    def ask(p: FloatArray, rule: IntArray) -> IntArray:
        return book.decisions(np.stack([1 - p, p], axis=1), cell[rule], place[rule])

    found = changes(ask, cell.size)
    named = np.flatnonzero(axes.match == 1)
    positive = int(named[0]) if named.size else axes.k - 1
    changing = np.bincount(found.rule, minlength=cell.size) > 1
    told = []
    for rule, at, decision in zip(*(part.tolist() for part in found), strict=True):
        if changing[rule] and at == 0:
            continue  # what is decided below the first threshold
        if not changing[rule] and axes.k == 2 and decision != positive:
            at, decision = np.inf, positive
        calibrated = at
        if book.calibration is not None and 0 < at < np.inf:
            calibrated = float(book.calibration(np.array([[1 - at, at]]), cell[[rule]])[0, 1])
        values = axes.cells.values[cell[rule]]
        told.append(Threshold(values, axes.decisions[decision], float(share[rule]), at, calibrated))
    return told
