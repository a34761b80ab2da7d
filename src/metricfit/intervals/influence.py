"""What each row adds to a metric: the infinitesimal jackknife.

A metric is a function of the confusion tensor. One more row of a pattern moves the tensor a little towards that
pattern; the metric's slope in that direction is the pattern's *influence*. Influences have mean 0, and the variance of
the metric is the sum of their squared shares (the delta method).

A largest of several functions has no slope where two of them meet, so each function gets influences of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.functions.binding import Binding, Functions
from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Sum
from metricfit.intervals.evidence import Evidence
from metricfit.intervals.rates import ends_of, of_groups
from metricfit.metrics.base import Metric
from metricfit.types import FloatArray

# The relative step of the share of a class in a cell, in numerical derivatives of a metric.
STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Pieces:
    """A metric taken apart: ``sign`` times the largest of smooth functions; just one if it is smooth itself.

    ``values`` and ``influences`` (pieces, patterns) are those of the functions.
    """

    sign: int
    values: FloatArray
    influences: FloatArray
    low: float
    high: float

    @property
    def value(self) -> float:
        """The metric's value."""
        return self.sign * float(self.values.max())


def taken_apart(metric: Metric, seen: Evidence) -> Pieces:
    """Return the functions that a metric is the largest of, with the influence of each pattern on each.

    Raises `Undefined` where a rate of the metric has no rows.

    Examples
    --------
    A recall of one half, from four rows of the class: a hit lifts it, a miss lowers it, other rows do nothing.

    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.data.axes import Axes
    >>> decided = np.eye(2)[[0, 1, 1, 0, 0]]
    >>> seen = Evidence.of(Axes((0, 1)), None, np.array([0, 1, 1, 1, 1]), decided)
    >>> (taken_apart(mf.recall(1), seen).influences.round(3) + 0.0).tolist()
    [[0.625, 0.0, -0.625]]
    """
    found = of_groups(metric, seen)
    if found is not None:
        return Pieces(*found, *ends_of(metric, seen))
    confusion, cells, labels = seen.confusion, seen.cells, seen.labels
    here = _On.of(metric, confusion)
    within = np.stack([here.slopes(row) for row in np.eye(here.node.size)])
    inside = np.einsum("lpk,pk->lp", within[:, cells, labels], seen.chances)
    low, high = here.root.reach()
    return Pieces(
        here.sign,
        here.values,
        inside + _of_shares(metric, confusion, here, within)[:, cells, labels],
        float(low[0]),
        float(high[0]),
    )


@dataclass(frozen=True, eq=False)
class _On:
    """A metric on one tensor: ``sign`` times the largest of ``node``, at ``u``."""

    binding: Binding
    root: Node
    sign: int
    node: Node
    functions: Functions
    u: FloatArray

    @classmethod
    def of(cls, metric: Metric, confusion: Confusion) -> _On:
        binding = Binding.of(confusion.axes, confusion.margins)
        root = metric.bind(binding)
        functions = binding.finish()
        return cls(binding, root, *_parts(root), functions, functions.vector(confusion.values))

    @property
    def values(self) -> FloatArray:
        return self.node.value(self.u)

    def slopes(self, weights: FloatArray) -> FloatArray:
        """Return the slopes of a weighted sum of the functions where no class share changes, as a tensor."""
        return self.functions.loss(self.node.slope(self.u, weights))


def _parts(root: Node) -> tuple[int, Node]:
    """Return sign and node such that the root is the sign times the largest value of the node."""
    match root:
        case Largest(part):
            return 1, part
        case Sum(((-1.0, Largest(part)),), 0.0):
            return -1, part
    return 1, root


def _of_shares(metric: Metric, confusion: Confusion, here: _On, within: FloatArray) -> FloatArray:
    """Return what a row adds by its class and cell alone, whatever its decision: (functions, cells, classes).

    More rows of a class in a cell, decided like those already there, change the metric by this and by their decisions.
    Cells that the metric does not distinguish have the same result, so only the one with most rows is evaluated.
    """
    values, margins, alike = confusion.values, confusion.margins, here.binding.alike
    made = np.zeros((len(within), *margins.shape))
    for cells in (np.flatnonzero(alike == number) for number in range(alike.max() + 1)):
        for i in np.flatnonzero(margins[cells].any(axis=0)):
            a = cells[margins[cells, i].argmax()]
            moved = values.copy()
            moved[a, i] *= 1 + STEP
            there = _On.of(metric, Confusion(moved / moved.sum(), confusion.axes))
            by_decisions = within[:, a, i] @ values[a, i]
            change = (there.values - here.values) / STEP - by_decisions
            made[:, cells, i] = (change / margins[a, i])[:, None]
    return made


def covariance(influences: FloatArray, seen: Evidence) -> FloatArray:
    """Return the covariances of functions whose patterns have these influences."""
    return np.asarray((influences * seen.squares) @ influences.T / seen.total**2)


def variances(influences: FloatArray, seen: Evidence) -> FloatArray:
    """Return the variances of functions whose patterns have these influences."""
    return np.asarray(influences**2 @ seen.squares / seen.total**2)
