"""Which rates an objective and constraints compare over groups, found in their expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metricfit.data.attributes import names_of
from metricfit.data.axes import Axes
from metricfit.metrics import Metric, coverage, recall
from metricfit.metrics.comparison import Disparity, comparisons_in
from metricfit.metrics.fairness import DecisionRates
from metricfit.metrics.rates import COVERAGES
from metricfit.problem import Problem


def comparisons(metric: Metric) -> Iterator[tuple[Metric, list[str]]]:
    """Yield what is compared over which attributes, anywhere in an expression."""
    for one in comparisons_in(metric):
        given = one.given if isinstance(one, Disparity) else None
        yield one.metric, [*names_of(given), *names_of(one.over)]


def rates_compared(problem: Problem, axes: Axes) -> list[tuple[Metric, list[str]]]:
    """Return each rate that objective and constraints compare over groups, and over which."""
    found: dict[str, tuple[Metric, list[str]]] = {}
    for metric in (problem.objective, *(c.metric for c in problem.constraints)):
        for compared, over in comparisons(metric):
            for rate in _single(compared, axes):
                found.setdefault(f"{rate} over {over}", (rate, over))
    return list(found.values())


def _single(metric: Metric, axes: Axes) -> Sequence[Metric]:
    """Return the metrics of one number each that tell of a metric of several."""
    if metric is COVERAGES:
        return [coverage(decision) for decision in axes.decisions]
    if isinstance(metric, DecisionRates):
        return [recall(c) for c in axes.classes]
    return [metric]
