"""Metrics that compare groups of rows: parity, disparity and the worst group.

The groups are those of any attribute or intersection of attributes. Every one of these metrics is a
comparison of one metric over the groups, so any metric can be compared. Lower is better, except for the
worst group (the metric's own direction) and ratios (1 is equality).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np

from metricfit.data.validation import label
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import (
    Constant,
    Largest,
    Node,
    Stack,
    Sum,
    Total,
    largest,
    magnitude,
    negative,
    smallest,
)
from metricfit.functions.linear import class_and_decision, class_of_each
from metricfit.functions.nonlinear import SUM_ERROR, Quotient
from metricfit.messages import brief
from metricfit.metrics.base import Metric
from metricfit.metrics.per_class import precision, recall
from metricfit.metrics.rates import COVERAGES, Named, Rates
from metricfit.metrics.recorded import recorded
from metricfit.metrics.text import attributes
from metricfit.types import Label

Over = str | Sequence[str]
To = Literal["overall", "pairs", "mean"]


@dataclass(frozen=True, repr=False, eq=False)
class Disparity(Metric):
    """How far apart a metric is over groups of rows."""

    metric: Metric
    over: Over
    to: To = "overall"
    as_ratio: bool = False
    smooth = False

    @property
    def direction(self) -> int:
        return 1 if self.as_ratio else -1

    @property
    def curvature(self) -> Curvature:
        linear = self.metric.curvature is Curvature.LINEAR and not self.as_ratio
        return Curvature.CONVEX if linear else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        groups = [self.metric.bind(group) for group in binding.groups(self.over).values()]
        if self.as_ratio and min(float(group.reach()[0].min()) for group in groups) < -SUM_ERROR:
            raise ValueError(
                f"{self}: {self.metric} can be negative, which ratios cannot compare; drop as_ratio"
            )
        if self.to == "pairs":
            return self._between(groups)
        reference = (
            Sum(tuple((1 / len(groups), group) for group in groups))
            if self.to == "mean"
            else self.metric.bind(binding)
        )
        if self.as_ratio:
            # Each ratio is there with its inverse: the smallest is at most 1, and what bounds it may bound them all.
            return smallest(
                [Quotient(a, b, 1.0) for g in groups for a, b in ((g, reference), (reference, g))]
            )
        return magnitude([Sum(((1.0, group), (-1.0, reference))) for group in groups])

    def _between(self, groups: list[Node]) -> Node:
        if self.as_ratio:
            pairs = [Quotient(a, b, 1.0) for a, b in permutations(groups, 2)]
            return smallest(pairs) if pairs else Constant(np.ones(1))
        # The largest minus the smallest, rate by rate: 2 G rows where all pairs would be G squared.
        picks = [[Total(row, group) for group in groups] for row in np.eye(groups[0].size)]
        spans = [Sum(((1.0, largest(p)), (1.0, Largest(Stack(tuple(map(negative, p))))))) for p in picks]
        return largest(spans)

    def __str__(self) -> str:
        to = "" if self.to == "overall" else f", to={self.to!r}"
        return f"disparity({self.metric}, over={self.over!r}{to}{', as_ratio=True' if self.as_ratio else ''})"


@dataclass(frozen=True, repr=False, eq=False)
class Worst(Metric):
    """The worst value of a metric over groups of rows."""

    metric: Metric
    over: Over
    smooth = False

    @property
    def direction(self) -> int:
        return self.metric.direction

    @property
    def curvature(self) -> Curvature:
        if self.direction >= 0:
            return Curvature.CONCAVE if self.metric.curvature.is_concave else Curvature.UNKNOWN
        return Curvature.CONVEX if self.metric.curvature.is_convex else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        groups = [self.metric.bind(group) for group in binding.groups(self.over).values()]
        return smallest(groups) if self.direction >= 0 else largest(groups)

    def __str__(self) -> str:
        return f"worst({self.metric}, over={self.over!r})"


@recorded
def disparity(metric: Metric, over: Over, to: To = "overall", as_ratio: bool = False) -> Metric:
    """Return how far apart a metric is over the groups that the attributes ``over`` make.

    Parameters
    ----------
    metric : Metric
        What is compared.
    over : str or list of str
        One attribute, or several for their intersections.
    to : {"overall", "pairs", "mean"}
        Compare each group with all rows (the paper's definition), with each other group, or with the
        unweighted mean of the groups.
    as_ratio : bool
        The smallest ratio (1 is equality, higher is better) in place of the largest difference.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> mf.disparity(mf.recall(1), over="group")(confusion)
    0.25
    >>> mf.disparity(mf.recall(1), over="group", to="pairs", as_ratio=True)(confusion)
    0.5
    """
    if not isinstance(metric, Metric):
        raise ValueError(f"disparity: metric must be a Metric, got {brief(metric)}")
    if to not in ("overall", "pairs", "mean"):
        raise ValueError(f"disparity: to must be 'overall', 'pairs' or 'mean', got {brief(to)}")
    if not isinstance(as_ratio, bool | np.bool_):
        raise ValueError(f"disparity: as_ratio must be True or False, got {brief(as_ratio)}")
    return Disparity(metric, attributes(over, "disparity"), to, bool(as_ratio))


@recorded
def worst(metric: Metric, over: Over) -> Metric:
    """Return the worst value of a metric over the groups that the attributes ``over`` make.

    The worst is the largest where lower is better, and the smallest otherwise.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> mf.worst(mf.recall(1), over="group")(confusion)
    0.5
    """
    if not isinstance(metric, Metric):
        raise ValueError(f"worst: metric must be a Metric, got {brief(metric)}")
    return Worst(metric, attributes(over, "worst"))


def _parity(name: str, rates: Metric, over: Over, c: Label | None = None) -> Metric:
    names = attributes(over, name)
    which = "" if c is None else f", c={c!r}"
    return Named(f"{name}(over={names!r}{which})", Disparity(rates, names), direction=-1)


@recorded
def demographic_parity(over: Over) -> Metric:
    r"""Largest distance of a group's share of a decision from the overall share, :math:`\max |q^a_j - q_j|`.

    Here :math:`q^a_j` is the share of decision j among the rows of group a.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 0, 1, 0], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> mf.demographic_parity(over="group")(confusion)
    0.25
    """
    return _parity("demographic_parity", COVERAGES, over)


@recorded
def equal_opportunity(over: Over, c: Label) -> Metric:
    r"""Largest distance of a group's recall of class c from the overall recall.

    In formulas :math:`\max_a |C^a_{cc} / \pi^a_c - C_{cc} / \pi_c|`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> mf.equal_opportunity(over="group", c=1)(confusion)
    0.25
    """
    c = label(c, "equal_opportunity: class c")
    return _parity("equal_opportunity", recall(c), over, c)


@recorded
def equalized_odds(over: Over) -> Metric:
    r"""Largest distance of a group's decision rates within a class from the overall ones.

    In formulas :math:`\max_{a,i,j} |C^a_{ij} / \pi^a_i - C_{ij} / \pi_i|`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions(
    ...     [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0], sensitive_features=["a", "a", "a", "b", "b", "b"])
    >>> mf.equalized_odds(over="group")(confusion)
    0.25
    """
    rates = Rates("decision rates of each class", class_and_decision, class_of_each, ratio=False, direction=0)
    return _parity("equalized_odds", rates, over)


@recorded
def predictive_parity(over: Over, c: Label) -> Metric:
    r"""Largest distance of a group's precision of class c from the overall precision.

    In formulas :math:`\max_a |C^a_{cc} / \sum_i C^a_{ic} - C_{cc} / \sum_i C_{ic}|`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 0, 1, 1], [1, 1, 1, 1], ["a", "a", "b", "b"])
    >>> mf.predictive_parity(over="group", c=1)(confusion)
    0.25
    """
    c = label(c, "predictive_parity: class c")
    return _parity("predictive_parity", precision(c), over, c)
