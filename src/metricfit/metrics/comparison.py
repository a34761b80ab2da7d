"""One metric compared over groups of rows: the basis of every fairness metric.

The groups are those of any attribute or intersection of attributes, and any metric can be compared. Lower is better,
except for the worst group (the metric's own direction) and ratios (1 is equality).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

import numpy as np

from metricfit.exceptions import UndefinedError
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import Constant, Node
from metricfit.functions.extremes import Spread, largest, magnitude, smallest
from metricfit.functions.nonlinear import SUM_ERROR, Otherwise, Quotient
from metricfit.functions.sums import Sum, Total
from metricfit.messages import brief
from metricfit.metrics.base import Metric
from metricfit.metrics.recorded import recorded
from metricfit.metrics.text.words import attributes, finite, number
from metricfit.types import Label

Over = str | Sequence[str]
To = Literal["overall", "pairs", "mean"]
#: The text of a rate and the values of a group of which a comparison leaves it out.
LeftOut = frozenset[tuple[str, tuple[Label, ...]]]


@dataclass(frozen=True, repr=False, eq=False)
class Disparity(Metric):
    """How much a metric differs between groups of rows, within each stratum of the rows."""

    metric: Metric
    over: Over
    to: To = "overall"
    as_ratio: bool = False
    given: Over | None = None
    min_share: float = 0.0
    left_out: LeftOut = frozenset()
    smooth = False

    @property
    def direction(self) -> int:
        return 1 if self.as_ratio else -1

    @property
    def curvature(self) -> Curvature:
        linear = self.metric.curvature is Curvature.LINEAR and not self.as_ratio
        return Curvature.CONVEX if linear else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        strata = strata_of(self, binding)
        nodes: list[Node] = []
        # If a group or a stratum lacks a class, only the comparison of that class is left out.
        for part in self.metric.parts(binding):
            for within, stratum in strata.items():
                overall = _bound(part, stratum, required=self.given is None)
                groups = [node for _, _, node in compared(self, part, stratum, within)]
                if overall is not None and groups:
                    groups = [_or_overall(group, overall) for group in groups]
                    nodes += self._ratios(groups, overall) if self.as_ratio else self._apart(groups, overall)
        if not nodes:
            raise UndefinedError(
                f"undefined{binding.where()}, because no group has rows in the denominator of {self.metric}"
            )
        if self.as_ratio:
            return smallest(nodes)
        return largest(nodes) if self.to == "pairs" else magnitude(nodes)

    def _apart(self, groups: list[Node], overall: Node) -> list[Node]:
        if self.to == "pairs":
            # The largest minus the smallest, rate by rate: 2 G rows instead of G squared for all pairs.
            picks = [[Total(row, group) for group in groups] for row in np.eye(groups[0].size)]
            return [Spread.of(p) for p in picks]
        reference = self._reference(groups, overall)
        return [Sum(((1.0, group), (-1.0, reference))) for group in groups]

    def _ratios(self, groups: list[Node], overall: Node) -> list[Node]:
        if min(float(group.reach()[0].min()) for group in groups) < -SUM_ERROR:
            raise ValueError(
                f"{self}: {self.metric} can be negative, which ratios cannot compare; drop as_ratio"
            )
        # Each ratio comes with its inverse, so the smallest is at most 1, and a floor on it bounds all ratios.
        if self.to == "pairs":
            return [Quotient(a, b, 1.0) for a, b in permutations(groups, 2)] or [Constant(np.ones(1))]
        reference = self._reference(groups, overall)
        return [Quotient(a, b, 1.0) for g in groups for a, b in ((g, reference), (reference, g))]

    def _reference(self, groups: list[Node], overall: Node) -> Node:
        return overall if self.to == "overall" else Sum(tuple((1 / len(groups), group) for group in groups))

    @property
    def how(self) -> str:
        """The options as text, without those that are at their default."""
        parts = {
            "to": None if self.to == "overall" else repr(self.to),
            "as_ratio": repr(True) if self.as_ratio else None,
            "given": None if self.given is None else repr(self.given),
            "min_share": number(self.min_share) if self.min_share else None,
        }
        return "".join(f", {name}={text}" for name, text in parts.items() if text is not None)

    def __str__(self) -> str:
        return f"disparity({self.metric}, over={self.over!r}{self.how})"


@dataclass(frozen=True, repr=False, eq=False)
class Worst(Metric):
    """The worst value of a metric over groups of rows."""

    metric: Metric
    over: Over
    min_share: float = 0.0
    left_out: LeftOut = frozenset()
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
        _bound(self.metric, binding, required=True)
        groups = [node for _, _, node in compared(self, self.metric, binding)]
        if not groups:
            raise UndefinedError(
                f"undefined{binding.where()}, because no group has rows in the denominator of {self.metric}"
            )
        return smallest(groups) if self.direction >= 0 else largest(groups)

    def __str__(self) -> str:
        least = f", min_share={number(self.min_share)}" if self.min_share else ""
        return f"worst({self.metric}, over={self.over!r}{least})"


def comparisons_in(metric: Metric) -> Iterator[Disparity | Worst]:
    """Yield the comparisons of groups anywhere in an expression.

    Examples
    --------
    >>> import metricfit as mf
    >>> [str(one) for one in comparisons_in(mf.accuracy() - mf.disparity(mf.recall(1), over="sex"))]
    ["disparity(recall(1), over='sex')"]
    """
    if isinstance(metric, Disparity | Worst):
        yield metric
    for part in metric.operands:
        yield from comparisons_in(part)


def strata_of(metric: Disparity, binding: Binding) -> dict[tuple[Label, ...], Binding]:
    """Return the parts of the rows within which groups are compared, by the values that define them."""
    return {(): binding} if metric.given is None else binding.groups(metric.given)


def groups_of(
    one: Disparity | Worst, part: Metric, binding: Binding, within: tuple[Label, ...] = ()
) -> dict[tuple[Label, ...], Binding]:
    """Return the groups whose rate a comparison looks at, within a stratum of the rows.

    A group with less than ``min_share`` of all rows is left out, and so are rates that were found to be of few rows.
    """
    return {
        values: group
        for values, group in binding.groups(one.over).items()
        if group.mass >= one.min_share and (str(part), (*within, *values)) not in one.left_out
    }


def compared(
    one: Disparity | Worst, part: Metric, binding: Binding, within: tuple[Label, ...] = ()
) -> Iterator[tuple[tuple[Label, ...], Binding, Node]]:
    """Yield values, binding and rate of each group that has a value to compare.

    A group without rows in the denominator of the metric is left out: a rate that does not exist breaks no limit.
    """
    for values, group in groups_of(one, part, binding, within).items():
        node = _bound(part, group)
        if node is not None:
            yield values, group, node


def _or_overall(group: Node, overall: Node) -> Node:
    """Return a group's rate, or the overall rate if the group has no rows in its denominator.

    An example is the precision of a decision that a group never gets. The overall precision lies between those of the
    groups, so it adds nothing to their differences.
    """
    return (
        Otherwise(group, group.under, overall) if isinstance(group, Quotient) and group.size == 1 else group
    )


def _bound(metric: Metric, binding: Binding, required: bool = False) -> Node | None:
    """Return a metric on a slice; None if it has no rows in its denominator, unless it is required."""
    try:
        return metric.bind(binding)
    except UndefinedError:
        if required:
            raise
        return None


@recorded
def disparity(
    metric: Metric,
    over: Over,
    to: To = "overall",
    as_ratio: bool = False,
    given: Over | None = None,
    min_share: float = 0.0,
) -> Metric:
    """Return how much a metric differs between the groups defined by the attributes ``over``.

    Parameters
    ----------
    metric : Metric
        What is compared.
    over : str or list of str
        One attribute, or several for their intersections.
    to : {"overall", "pairs", "mean"}
        Compare each group with all rows (the paper's definition), with each other group (fairlearn's
        differences and ratios), or with the unweighted mean of the groups.
    as_ratio : bool
        The smallest ratio (1 is equality, higher is better) instead of the largest difference.
    given : str or list of str, optional
        Attributes within whose values the groups are compared, for example the groups of a department with all rows of
        that department. The result is the worst of these comparisons.
    min_share : float
        Groups with a smaller share of all rows are left out of the comparison. So are groups without rows of the class
        in question and, for precisions, groups that never get the decision.

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
    return comparison("disparity", metric, over, to, as_ratio, given, min_share)


@recorded
def worst(metric: Metric, over: Over, min_share: float = 0.0) -> Metric:
    """Return the worst value of a metric over the groups defined by the attributes ``over``.

    The worst value is the largest if lower is better, and the smallest otherwise.

    Parameters
    ----------
    metric : Metric
        The metric of each group.
    over : str or list of str
        One attribute, or several for their intersections.
    min_share : float
        Groups with a smaller share of all rows are left out. So are groups without rows of the class in question.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> mf.worst(mf.recall(1), over="group")(confusion)
    0.5
    """
    if not isinstance(metric, Metric):
        raise ValueError(f"worst: metric must be a Metric, got {brief(metric)}")
    return Worst(metric, attributes(over, "worst"), _share(min_share, "worst"))


def comparison(
    name: str, metric: Metric, over: Over, to: To, as_ratio: bool, given: Over | None, min_share: float
) -> Disparity:
    """Return the disparity for a function of this name, with its options checked."""
    if to not in ("overall", "pairs", "mean"):
        raise ValueError(f"{name}: to must be 'overall', 'pairs' or 'mean', got {brief(to)}")
    if not isinstance(as_ratio, bool | np.bool_):
        raise ValueError(f"{name}: as_ratio must be True or False, got {brief(as_ratio)}")
    within = None if given is None else attributes(given, name, "given")
    return Disparity(metric, attributes(over, name), to, bool(as_ratio), within, _share(min_share, name))


def _share(min_share: float, name: str) -> float:
    share = finite(min_share)
    if share is None or not 0 <= share < 1:
        raise ValueError(
            f"{name}: min_share must be a share of the rows from 0 to below 1, got {brief(min_share)}"
        )
    return share
