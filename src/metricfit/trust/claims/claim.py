"""From a constraint to claims about means of bounded variables, which have tests that are valid for any sample size.

A constraint holds if all its claims hold. The claims:

- `RateClaim`: a rate keeps a limit. ``precision(c) >= t`` becomes ``E[(1{y = c} - t) d_c] >= 0``, without denominator.
- `GapClaim`: the rate of one group exceeds that of another, which shares no rows with it, by at most a limit.
- `SmoothClaim`: anything else; like a gap with weights, tested by the normal approximation, which needs many rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature
from metricfit.intervals.rates import Rate, rates_of
from metricfit.metrics.base import Absolute, Combination, Metric, Sliced
from metricfit.metrics.comparison import Disparity, Worst, compared, strata_of
from metricfit.metrics.constraint import Constraint, Sense
from metricfit.metrics.rates import Distance, Extreme, Named, Rates
from metricfit.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class RateClaim:
    """A rate is at least, or at most, a limit."""

    rate: Rate
    sense: Sense
    limit: float


@dataclass(frozen=True, eq=False)
class GapClaim:
    """The first rate exceeds the second by at most a limit.

    If ``share`` names one of the groups, the difference is multiplied by that group's share of the rows of both: the
    difference between a group and all rows is its difference from the other rows times the share of the other rows.
    """

    first: Rate
    second: Rate
    limit: float
    share: Literal["", "first", "second"] = ""


@dataclass(frozen=True, eq=False)
class SmoothClaim:
    """A metric of the cells in ``mask`` keeps a limit; ``why`` says why its test is only approximate."""

    metric: Metric
    mask: BoolArray
    sense: Sense
    limit: float
    why: str


Claim = RateClaim | GapClaim | SmoothClaim


def claims(constraint: Constraint, axes: Axes, margins: FloatArray) -> list[Claim]:
    """Return the claims that together imply a constraint.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> [type(c).__name__ for c in claims(mf.min_recall() >= 0.5, Axes((0, 1, 2)), np.full((1, 3), 1 / 3))]
    ['RateClaim', 'RateClaim', 'RateClaim']
    """
    return list(_claims(constraint.metric, constraint.sense, constraint.limit, Binding.of(axes, margins)))


def _claims(metric: Metric, sense: Sense, limit: float, binding: Binding) -> Iterator[Claim]:
    match metric:
        case Sliced():
            yield from _claims(metric.metric, sense, limit, binding.at(metric.where))
        case Named():
            yield from _claims(metric.metric, sense, limit, binding)
        case Rates():
            yield from (RateClaim(rate, sense, limit) for rate in rates_of(metric, binding))
        case Combination() if len(metric.terms) == 1:
            (scale, part), level = metric.terms[0], limit - metric.constant
            yield from _claims(part, sense if scale > 0 else _turned(sense), level / scale, binding)
        case Absolute() if sense == "<=":
            yield from _claims(metric.metric, "<=", limit, binding)
            yield from _claims(metric.metric, ">=", -limit, binding)
        case Extreme() if (metric.kind == "minimum") == (sense == ">="):
            for part in metric.metrics:
                yield from _claims(part, sense, limit, binding)
        case Worst() if (metric.direction >= 0) == (sense == ">="):
            for _, group, _ in compared(metric, metric.metric, binding):
                yield from _claims(metric.metric, sense, limit, group)
        case Disparity() if sense == "<=" and _comparable(metric, binding):
            yield from _gaps(metric, limit, binding)
        case Distance() if sense == "<=" and isinstance(metric.rates, Rates):
            yield from _distances(metric, limit, binding)
        case Combination() if not metric.terms:
            return  # a constant, which no decision can change
        case _:
            yield from _linear(metric, sense, limit, binding)


def _turned(sense: Sense) -> Sense:
    return "<=" if sense == ">=" else ">="


def _comparable(metric: Disparity, binding: Binding) -> bool:
    parts = metric.metric.parts(binding)
    return (
        not metric.as_ratio
        and metric.to in ("overall", "pairs")
        and all(isinstance(part, Rates) and all(r.fixed for r in rates_of(part, binding)) for part in parts)
    )


def _gaps(metric: Disparity, limit: float, binding: Binding) -> Iterator[Claim]:
    for within, stratum in strata_of(metric, binding).items():
        for part in metric.metric.parts(binding):
            assert isinstance(part, Rates)
            groups = [group for _, group, _ in compared(metric, part, stratum, within)]
            for group in groups:
                rest = stratum.mask & ~group.mask
                others = [rest] if metric.to == "overall" else [g.mask for g in groups if g is not group]
                for mask in others:
                    if mask.any():
                        yield from _gaps_of(part, group, mask, metric.to, limit)


def _gaps_of(part: Rates, group: Binding, other: BoolArray, to: str, limit: float) -> Iterator[Claim]:
    """Yield claims that each rate of a group is within a limit of that of other rows, or of both together.

    If two rates add up to 1, claims about one are enough: the other differs by as much in the opposite direction.
    """
    rates = rates_of(part, group)
    if len(rates) == 2 and np.array_equal(rates[0].over + rates[1].over, rates[0].under):
        rates = rates[:1]
    for first in rates:
        second = replace(first, mask=other)
        if to == "pairs":
            yield GapClaim(first, second, limit)
        else:
            yield GapClaim(first, second, limit, "second")
            yield GapClaim(second, first, limit, "first")


def _distances(metric: Distance, limit: float, binding: Binding) -> Iterator[Claim]:
    """Yield claims that rates are within a limit of targets: numbers, or class shares, which rows estimate too."""
    assert isinstance(metric.rates, Rates)
    axes = binding.axes
    prior = np.where(axes.match >= 0, np.append(binding.prior, 0.0)[axes.match] / binding.mass, 0.0)
    target = metric.target(binding)
    moved = replace(binding, margins=binding.margins[:, ::-1] ** 2 / (binding.margins**2).sum())
    constant = np.array_equal(target, metric.target(moved))
    for j, rate in enumerate(rates_of(metric.rates, binding)):
        wanted = np.full(rate.over.shape, target[j])
        if not constant:
            if not np.allclose(target, prior):
                yield SmoothClaim(metric, binding.mask, "<=", limit, "its target depends on the rows")
                return
            wanted = np.repeat((np.arange(axes.n) == axes.match[j]).astype(float)[:, None], axes.k, axis=1)
        apart = replace(rate, over=rate.over - wanted)
        yield RateClaim(apart, "<=", limit)
        yield RateClaim(apart, ">=", -limit)


def _linear(metric: Metric, sense: Sense, limit: float, binding: Binding) -> Iterator[Claim]:
    """Yield a claim on a mean over all rows (a cost) if no coefficient depends on class shares, else a smooth one."""
    why = "it is no rate, no comparison of rates by groups and no mean over rows"
    if binding.mask.all() and metric.curvature is Curvature.LINEAR:
        axes = binding.axes
        tables = []
        for weights in (
            np.ones(axes.shape[:2]),
            np.arange(1.0, 1 + np.prod(axes.shape[:2])).reshape(axes.shape[:2]),
        ):
            margins = weights / weights.sum()
            confusion = Confusion(np.repeat(margins[:, :, None] / axes.k, axes.k, axis=2), axes)
            slope = metric.gradient(confusion)
            tables.append(slope + (metric(confusion) - float((slope * confusion.values).sum())))
        if np.allclose(tables[0], tables[1], rtol=1e-9, atol=1e-12):
            yield RateClaim(Rate(tables[0], np.ones(tables[0].shape), binding.mask), sense, limit)
            return
    yield SmoothClaim(metric, binding.mask, sense, limit, why)
