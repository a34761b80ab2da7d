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
from metricfit.exceptions import UndefinedError
from metricfit.functions.binding import Binding, Functions
from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Sum
from metricfit.intervals.comparisons import Comparison, Slope, unwrapped
from metricfit.intervals.evidence import Evidence
from metricfit.intervals.pieces import Pieces
from metricfit.intervals.rates import rates_of
from metricfit.metrics.base import Metric
from metricfit.metrics.comparison import Disparity, Worst
from metricfit.metrics.rates import Rates
from metricfit.types import FloatArray

# The relative step of the share of a class in a cell, in numerical derivatives of a metric.
STEP = 1e-5


def taken_apart(metric: Metric, seen: Evidence) -> Pieces:
    """Return the functions that a metric is the largest of, with the influence of each pattern on each.

    Raises `UndefinedError` where a rate of the metric has no rows.

    Examples
    --------
    A recall of one half, from four rows of the class: a hit lifts it, a miss lowers it, other rows do nothing.

    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.data.axes import Axes
    >>> decided = np.eye(2)[[0, 1, 1, 0, 0]]
    >>> seen = Evidence.of(Axes((0, 1)), None, np.array([0, 1, 1, 1, 1]), decided)
    >>> (taken_apart(mf.recall(1), seen).largest.round(3) + 0.0).tolist()
    [0.0, -0.625, 0.625]
    """
    binding = Binding.of(seen.axes, seen.confusion.margins)
    inner, slice_ = unwrapped(metric, binding)
    if isinstance(inner, Rates) and len(rates := rates_of(inner, slice_)) == 1:
        found = rates[0].on(seen)
        if found is None:
            raise UndefinedError(f"undefined{slice_.where()}: no rows to take a share of")
        low, high = (0.0, 1.0) if rates[0].share else _reach(metric, seen)
        return Pieces.of(
            1, found[0], np.array([found[0]]), found[1][None], seen, low=low, high=high, share=rates[0].share
        )
    if isinstance(inner, Disparity | Worst):
        value = metric.bind(here := Binding.of(seen.axes, seen.confusion.margins))
        at = here.finish().vector(seen.confusion.values)
        return Comparison(inner, seen, _slope).pieces(slice_, value.scalar(at), float(value.reach()[1][0]))
    return _by_slopes(metric, seen)


def _reach(metric: Metric, seen: Evidence) -> tuple[float, float]:
    """Return the smallest and the largest value that a metric can have with any decisions about these rows."""
    low, high = metric.bind(Binding.of(seen.axes, seen.confusion.margins)).reach()
    return float(low[0]), float(high[0])


def _slope(metric: Metric, binding: Binding, seen: Evidence) -> Slope | None:
    """Return a metric on the rows of a binding; None where a rate of it has no rows."""
    some = seen.where(binding.mask)
    if some is None:
        return None
    try:
        pieces = taken_apart(metric, some)
    except UndefinedError:
        return None
    influence = np.zeros(len(seen.mass))
    influence[binding.mask[seen.cells] & (seen.mass > 0)] = pieces.largest * (seen.total / some.total)
    share = pieces.low >= -1e-9 and pieces.high <= 1 + 1e-9
    return Slope(pieces.value, influence, some.total, some.effective_rows, share)


def _by_slopes(metric: Metric, seen: Evidence) -> Pieces:
    """Return the pieces of any metric, by its slopes in the confusion tensor."""
    confusion, cells, labels = seen.confusion, seen.cells, seen.labels
    here = _On.of(metric, confusion)
    within = np.stack([here.slopes(row) for row in np.eye(here.node.size)])
    inside = np.einsum("lpk,pk->lp", within[:, cells, labels], seen.chances)
    low, high = here.root.reach()
    values = here.values
    return Pieces.of(
        here.sign,
        here.root.scalar(here.u),
        values,
        inside + _of_shares(metric, confusion, here, within)[:, cells, labels],
        seen,
        low=float(low[0]),
        high=float(high[0]),
        share=metric.smooth and low[0] >= -1e-9 and high[0] <= 1 + 1e-9,
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
