"""Limits over groups bind a rate only as far as the rows can tell: rates of few rows are left out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from metricfit.data.attributes import names_of
from metricfit.data.axes import Axes
from metricfit.functions.binding import Binding
from metricfit.messages import count, pairs_text
from metricfit.metrics.base import Combination, Metric
from metricfit.metrics.comparison import Disparity, Worst, comparisons_in, strata_of
from metricfit.metrics.constraint import Constraint
from metricfit.metrics.rates import Named, Rates
from metricfit.types import FloatArray, IntArray, Label

#: Rates on fewer rows are left out of limits. Chosen among 0, 5, 10, 20 and 30 on new rows of two census data sets with
#: nine and five races (benchmarks/worlds/few_rows.py): with 0 a rate of two rows rules all others, and from 20 on
#: rates of large groups are left out, whose differences then grow.
MIN_ROWS = 10


@dataclass(frozen=True)
class ThinRate:
    """A rate of one group that a limit leaves out, because it rests on few rows."""

    constraint: str
    rate: str
    group: dict[str, Label]
    rows: int

    def __str__(self) -> str:
        """Return for example ``recall(1) where race='Other' (12 rows)``."""
        who = pairs_text(tuple(self.group), tuple(self.group.values()))
        return f"{self.rate} where {who} ({count(self.rows, 'row')})"


def rate_of(metric: Metric) -> Rates | None:
    """Return the rate that a metric is, or is 1 minus; None for other functions of the matrix."""
    match metric:
        case Rates():
            return metric
        case Named(_, inner):
            return rate_of(inner)
        case Combination(((scale, inner),), constant) if (scale, constant) == (-1, 1):
            return rate_of(inner)
    return None


def rows_behind(metric: Metric, binding: Binding, of_class: FloatArray | IntArray) -> float:
    """Return the rows in a rate's denominator, given those of each class: all of them if decisions change it."""
    rate = rate_of(metric)
    under = None if rate is None else rate.under(binding)
    if under is None or not under.constant:
        return float(of_class.sum())
    return float((under.row @ of_class).max())


def limited(
    constraints: Iterable[Constraint], axes: Axes, counts: IntArray, least: int
) -> tuple[tuple[Constraint, ...], tuple[ThinRate, ...]]:
    """Return constraints without the rates that rest on fewer than ``least`` rows, and these rates.

    A comparison of which fewer than two groups would be left stays whole: a limit is never dropped in silence.

    Parameters
    ----------
    counts : int array
        How many rows there are of each class in each cell.
    """
    seen = axes.seen
    made = [_limited(one, seen, counts.reshape(len(seen.cells), seen.n), least) for one in constraints]
    return tuple(one for one, _ in made), tuple(rate for _, thin in made for rate in thin)


def _limited(
    constraint: Constraint, axes: Axes, counts: IntArray, least: int
) -> tuple[Constraint, list[ThinRate]]:
    thin: list[ThinRate] = []

    def changed(one: Disparity | Worst) -> Disparity | Worst:
        rates = list(_rates(one, axes, counts))
        found = [rate for rate in rates if rate.rows < least]
        kept = {rate.group for rate in rates if rate.rows >= least}
        if not found or len(kept) < 2:
            return one
        names = _names(one)
        thin.extend(
            ThinRate(str(constraint), rate.rate, dict(zip(names, rate.group, strict=True)), rate.rows)
            for rate in found
        )
        return _with(one, thin)

    metric = _rebuilt(constraint.metric, changed)
    return (replace(constraint, metric=metric), thin) if thin else (constraint, [])


def without(constraint: Constraint, thin: Iterable[ThinRate]) -> Constraint:
    """Return a constraint without rates that were found to be of few rows, such as those that a policy file lists."""
    mine = [rate for rate in thin if rate.constraint == str(constraint)]
    return (
        replace(constraint, metric=_rebuilt(constraint.metric, lambda one: _with(one, mine)))
        if mine
        else constraint
    )


def _with(one: Disparity | Worst, thin: Iterable[ThinRate]) -> Disparity | Worst:
    names = _names(one)
    left_out = frozenset(
        (rate.rate, tuple(rate.group.values())) for rate in thin if list(rate.group) == names
    )
    return replace(one, left_out=left_out)


def _names(one: Disparity | Worst) -> list[str]:
    """Return the attributes whose values name the groups of a comparison."""
    return [*names_of(one.given if isinstance(one, Disparity) else None), *names_of(one.over)]


@dataclass(frozen=True)
class _Rate:
    rate: str
    group: tuple[Label, ...]
    rows: int


def _rates(one: Disparity | Worst, axes: Axes, counts: IntArray) -> Iterator[_Rate]:
    """Yield each rate that a comparison compares, with the values of its group and its number of rows."""
    binding = Binding.of(axes, counts / max(int(counts.sum()), 1))
    strata = strata_of(one, binding) if isinstance(one, Disparity) else {(): binding}
    parts = one.metric.parts(binding) if isinstance(one, Disparity) else (one.metric,)
    for within, stratum in strata.items():
        for values, group in stratum.groups(one.over).items():
            for part in parts:
                rows = rows_behind(part, group, counts[group.mask].sum(axis=0))
                if group.mass >= one.min_share:
                    yield _Rate(str(part), (*within, *values), int(rows))


def _rebuilt(metric: Metric, change: Callable[[Disparity | Worst], Disparity | Worst]) -> Metric:
    """Return an expression with its comparisons changed; itself where it has none."""
    if isinstance(metric, Disparity | Worst):
        return change(metric)
    if not is_dataclass(metric) or not any(True for _ in comparisons_in(metric)):
        return metric
    parts = {field.name: getattr(metric, field.name) for field in fields(metric)}
    made = {name: _changed(part, change) for name, part in parts.items()}
    moved = {name: part for name, part in made.items() if part is not parts[name]}
    return cast(Metric, replace(metric, **moved)) if moved else metric


def _changed(part: Any, change: Callable[[Disparity | Worst], Disparity | Worst]) -> Any:
    if isinstance(part, Metric):
        return _rebuilt(part, change)
    if isinstance(part, tuple):
        made = tuple(_changed(one, change) for one in part)
        return made if any(a is not b for a, b in zip(made, part, strict=True)) else part
    return part
