"""Metrics that compare groups of rows: parity, disparity and the worst group, for any attribute or intersection of attributes.

Every one of them is a comparison of one metric over the groups, so any metric can be compared. Lower is better, except for the worst group
(the metric's own direction) and ratios (1 is equality).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np
import scipy.sparse as sp

from metricfit.metrics.base import Metric, Named, Rates, extreme, magnitude
from metricfit.metrics.binding import Binding, Linear
from metricfit.metrics.curvature import Curvature
from metricfit.metrics.expression import Largest, Node, Quotient, Stack, Sum, Total, negative
from metricfit.metrics.named import COVERAGES, each_class, listed, precision, recall
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
    smooth = False  # type: ignore[assignment]

    @property
    def direction(self) -> int:
        return 1 if self.as_ratio else -1

    @property
    def curvature(self) -> Curvature:
        linear = self.metric.curvature is Curvature.LINEAR and not self.as_ratio
        return Curvature.CONVEX if linear else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        groups = [self.metric.bind(group) for group in binding.groups(self.over).values()]
        if self.to == "pairs":
            return self._between(groups)
        reference = self.metric.bind(binding)
        if self.to == "mean":
            reference = Sum(tuple((1 / len(groups), group) for group in groups))
        if self.as_ratio:
            return extreme(
                "minimum", [Quotient(a, b) for g in groups for a, b in ((g, reference), (reference, g))]
            )
        return magnitude([Sum(((1.0, group), (-1.0, reference))) for group in groups])

    def _between(self, groups: list[Node]) -> Node:
        if self.as_ratio:
            return extreme("minimum", [Quotient(a, b) for a, b in permutations(groups, 2)])
        # The largest minus the smallest, rate by rate: 2 G rows where all pairs would be G squared.
        picks = [[Total(row, group) for group in groups] for row in np.eye(groups[0].size)]
        spans = [
            Sum(((1.0, Largest(Stack(tuple(p)))), (1.0, Largest(Stack(tuple(map(negative, p)))))))
            for p in picks
        ]
        return Largest(Stack(tuple(spans)))

    def __str__(self) -> str:
        extra = ("" if self.to == "overall" else f", to={self.to!r}") + (
            ", as_ratio=True" if self.as_ratio else ""
        )
        return f"disparity({self.metric}, over={self.over!r}{extra})"


@dataclass(frozen=True, repr=False, eq=False)
class Worst(Metric):
    """The worst value of a metric over groups of rows."""

    metric: Metric
    over: Over
    smooth = False  # type: ignore[assignment]

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
        return extreme("minimum" if self.direction >= 0 else "maximum", groups)

    def __str__(self) -> str:
        return f"worst({self.metric}, over={self.over!r})"


@listed
def disparity(metric: Metric, over: Over, to: To = "overall", as_ratio: bool = False) -> Metric:
    """Return how far apart a metric is over the groups that the attributes ``over`` make.

    Parameters
    ----------
    metric : Metric
        What is compared.
    over : str or list of str
        One attribute, or several for their intersections.
    to : {"overall", "pairs", "mean"}
        Compare each group with all rows (the paper's definition), with each other group, or with the unweighted mean of the groups.
    as_ratio : bool
        The smallest ratio (1 is equality, higher is better) in place of the largest difference.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    >>> mf.disparity(mf.recall(1), over="group")(confusion)
    0.25
    >>> mf.disparity(mf.recall(1), over="group", to="pairs", as_ratio=True)(confusion)
    0.5
    """
    if not isinstance(metric, Metric):
        raise ValueError(f"disparity: metric must be a Metric, got {metric!r}")
    if to not in ("overall", "pairs", "mean"):
        raise ValueError(f"disparity: to must be 'overall', 'pairs' or 'mean', got {to!r}")
    return Disparity(metric, over, to, as_ratio)


@listed
def worst(metric: Metric, over: Over) -> Metric:
    """Return the worst value of a metric over the groups that the attributes ``over`` make.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    >>> mf.worst(mf.recall(1), over="group")(confusion)
    0.5
    """
    if not isinstance(metric, Metric):
        raise ValueError(f"worst: metric must be a Metric, got {metric!r}")
    return Worst(metric, over)


def _parity(text: str, rates: Metric, over: Over) -> Metric:
    return Named(f"{text}over={over!r})", Disparity(rates, over), direction=-1)


@listed
def demographic_parity(over: Over) -> Metric:
    r"""Largest distance of a group's share of a decision from the overall share, :math:`\max_{a,j} |q^a_j / \mu_a - q_j|`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 0, 1, 0], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    >>> mf.demographic_parity(over="group")(confusion)
    0.25
    """
    return _parity("demographic_parity(", COVERAGES, over)


@listed
def equal_opportunity(over: Over, c: Label) -> Metric:
    r"""Largest distance of a group's recall of class c from the overall recall, :math:`\max_a |C^a_{cc} / \mu_{ac} - C_{cc} / \pi_c|`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], sensitive_features=["a", "a", "b", "b"])
    >>> mf.equal_opportunity(over="group", c=1)(confusion)
    0.25
    """
    return Named(f"equal_opportunity(over={over!r}, c={c!r})", Disparity(recall(c), over), direction=-1)


def each_cell(b: Binding) -> Linear:
    """For each class and decision, the rows of that class with that decision."""
    n, k, match = b.axes.n, b.axes.k, b.axes.match
    if n != 2 or np.any(match < 0):
        return Linear(full=sp.eye_array(n * k, format="csr"))
    # With two classes, what is not on the diagonal of a column is its sum less the diagonal.
    right = (np.arange(2)[:, None] == match[None, :]).ravel()
    column = sp.vstack([sp.eye_array(k)] * 2, format="csr")
    sign = sp.diags_array(np.where(right, 1.0, -1.0))
    return Linear(
        diagonal=sp.csr_array(sign @ column), column=sp.csr_array(sp.diags_array(1.0 * ~right) @ column)
    )


def class_of_each_cell(b: Binding) -> Linear:
    """For each class and decision, the rows of that class."""
    return Linear(row=sp.csr_array(np.repeat(each_class(b).row.toarray(), b.axes.k, axis=0)))


@listed
def equalized_odds(over: Over) -> Metric:
    r"""Largest distance of a group's decision rates within a class from the overall ones, :math:`\max |C^a_{ij} / \mu_{ai} - C_{ij} / \pi_i|`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions(
    ...     [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0], sensitive_features=["a", "a", "a", "b", "b", "b"])
    >>> mf.equalized_odds(over="group")(confusion)
    0.25
    """
    rates = Rates("decision rates by class", each_cell, class_of_each_cell, ratio=False, direction=0)
    return _parity("equalized_odds(", rates, over)


@listed
def predictive_parity(over: Over, c: Label) -> Metric:
    r"""Largest distance of a group's precision of class c from the overall precision.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 0, 1, 1], [1, 1, 1, 1], sensitive_features=["a", "a", "b", "b"])
    >>> mf.predictive_parity(over="group", c=1)(confusion)
    0.25
    """
    return Named(f"predictive_parity(over={over!r}, c={c!r})", Disparity(precision(c), over), direction=-1)


@dataclass(frozen=True, repr=False, eq=False)
class Churn(Metric):
    """The share of rows whose decision differs from the one an attribute column holds."""

    baseline: str
    direction = -1  # type: ignore[assignment]
    smooth = True  # type: ignore[assignment]
    curvature = Curvature.LINEAR  # type: ignore[assignment]

    def bind(self, binding: Binding) -> Node:
        terms = []
        for (current,), group in binding.groups(self.baseline).items():
            changed = np.full((1, binding.axes.k), 1 / binding.mass)
            changed[0, binding.axes.decision_index(current)] = 0.0
            terms.append((1.0, group.bind(Linear(column=sp.csr_array(changed)))))
        return Sum(tuple(terms))

    def __str__(self) -> str:
        return f"churn({self.baseline!r})"


@listed
def churn(baseline: str) -> Metric:
    """Return the share of rows that get another decision than today's, which an attribute column holds.

    Parameters
    ----------
    baseline : str
        Name of the attribute column with each row's present decision. The policy will read it too.

    Examples
    --------
    >>> import metricfit as mf, pandas as pd
    >>> today = pd.DataFrame({"today": [0, 0, 1, 1]})
    >>> mf.churn("today")(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0], sensitive_features=today))
    0.25
    """
    if not isinstance(baseline, str):
        raise ValueError(
            f"churn: baseline is the name of the attribute column that holds the present decisions, got {type(baseline).__name__}; "
            "add them as a column of sensitive_features"
        )
    return Churn(baseline)
