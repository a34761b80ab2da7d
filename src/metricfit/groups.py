"""What a policy does to each group of rows: values, rows, intervals, before and after; and warnings of small groups."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion
from metricfit.data.layout import Layout, shape_of, statistic
from metricfit.data.rows import strata
from metricfit.exceptions import FewRowsWarning, Undefined
from metricfit.functions.binding import Binding
from metricfit.messages import pairs_text
from metricfit.metrics import Metric, coverage, recall
from metricfit.metrics.base import Absolute, Combination, Divided, Sliced, Times
from metricfit.metrics.comparison import Disparity, Over, Worst
from metricfit.metrics.fairness import DecisionRates
from metricfit.metrics.rates import COVERAGES, Extreme, Named, Rates
from metricfit.oracles.in_memory import PluginOracle
from metricfit.problem import Problem
from metricfit.types import BoolArray, FloatArray, IntArray, Label

# The 95 % interval; and the rows of a rate below which it is so wide (0.17 to either side of a half) that a limit on
# the rate says little about new rows.
Z = 1.959963984540054
FEW_ROWS = 30


@dataclass(frozen=True)
class GroupValue:
    """A metric on one group: its value, the rows it is a rate of, and a 95 % interval; NaN where not known."""

    group: tuple[Label, ...]
    value: float
    rows: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Groups:
    """What a result knows of groups: the decisions of plain argmax, rows by cell and class, and what was compared."""

    before: Confusion
    counts: IntArray
    compared: tuple[tuple[Metric, list[str]], ...]


def wilson(value: float, rows: float) -> tuple[float, float]:
    """Return the 95 % score interval of a share of so many rows.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    >>> [round(end, 3) for end in wilson(0.0, 10)]
    [0.0, 0.278]
    """
    if not rows > 0 or not -1e-9 <= value <= 1 + 1e-9:
        return float("nan"), float("nan")
    shrink = 1 / (1 + Z**2 / rows)
    center = shrink * (value + Z**2 / (2 * rows))
    half = shrink * Z * np.sqrt(max(value * (1 - value), 0.0) / rows + Z**2 / (4 * rows**2))
    return max(0.0, float(center - half)), min(1.0, float(center + half))


def group_values(
    metric: Metric, over: Over, confusion: Confusion, counts: IntArray | None = None
) -> list[GroupValue]:
    """Return a metric on each group that attributes make; NaN where it has no rows to be a rate of.

    Parameters
    ----------
    metric : Metric
        What to look at.
    over : str or list of str
        The attributes that make the groups.
    confusion : Confusion
        What was decided.
    counts : int array of shape (cells, classes), optional
        Rows of each cell and class. Without them there are no numbers of rows and no intervals.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> [(found.group, found.value) for found in group_values(mf.recall(1), "group", confusion)]
    [(('a',), 0.5), (('b',), 1.0)]
    """
    masks = confusion.axes.cells.groups(over)
    return [
        _on_group(metric, group, mask, confusion, counts)
        for group, mask in masks.items()
        if confusion.values[mask].sum() > 0
    ]


def _on_group(
    metric: Metric, group: tuple[Label, ...], mask: BoolArray, confusion: Confusion, counts: IntArray | None
) -> GroupValue:
    inside = np.where(mask[:, None, None], confusion.values, 0.0)
    value, under = _value(metric, Confusion(inside / inside.sum(), confusion.axes))
    rows = float("nan") if counts is None else under(counts[mask].sum(axis=0).astype(float))
    low, high = wilson(value, rows) if _rate(metric) is not None else (float("nan"), float("nan"))
    return GroupValue(group, value, rows, low, high)


def _value(metric: Metric, confusion: Confusion) -> tuple[float, Any]:
    """Return a metric, and a function from the rows of each class to the rows in the metric's denominator."""
    binding, rate = Binding.of(confusion.axes, confusion.margins), _rate(metric)
    under = None if rate is None else rate.under(binding)
    try:
        node = metric.bind(binding)
    except Undefined:
        node = None
    made = None if under is None or under.constant else binding.bind(under)
    functions = binding.finish()
    z = statistic(confusion.values, functions.layout, confusion.axes)
    u = functions.matrix @ z.ravel() + functions.constant

    def rows(of_class: Any) -> float:
        if under is not None and under.constant:
            return float(np.max(under.row @ of_class))
        return float(of_class.sum() if made is None else np.round(of_class.sum() * made.value(u).max()))

    return float("nan") if node is None else node.scalar(u), rows


def _rate(metric: Metric) -> Rates | None:
    """Return the rate that a metric is, or is 1 minus; None for other functions of the matrix."""
    match metric:
        case Rates():
            return metric
        case Named(_, inner):
            return _rate(inner)
        case Combination(((scale, inner),), constant) if (scale, constant) == (-1, 1):
            return _rate(inner)
    return None


def comparisons(metric: Metric) -> Iterator[tuple[Metric, list[str]]]:
    """Yield what is compared over which attributes, anywhere in an expression."""
    match metric:
        case Disparity():
            given = [] if metric.given is None else names_of(metric.given)
            yield metric.metric, [*given, *names_of(metric.over)]
        case Worst():
            yield metric.metric, names_of(metric.over)
        case Named() | Sliced() | Absolute():
            yield from comparisons(metric.metric)
        case Extreme():
            for part in metric.metrics:
                yield from comparisons(part)
        case Combination():
            for _, part in metric.terms:
                yield from comparisons(part)
        case Times():
            yield from (*comparisons(metric.left), *comparisons(metric.right))
        case Divided():
            yield from (*comparisons(metric.over), *comparisons(metric.under))


def names_of(over: Over) -> list[str]:
    """Return attribute names as a list."""
    return [over] if isinstance(over, str) else list(over)


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


def warn_of_few_rows(groups: Groups, confusion: Confusion, stacklevel: int = 3) -> None:
    """Warn of groups whose rates rest on so few rows that a limit on them says little about new rows."""
    small = []
    for rate, over in groups.compared:
        masks = confusion.axes.cells.groups(over)
        rows = _rows_of_groups(rate, np.array(list(masks.values())), groups.counts, confusion)
        small += [
            (count, rate, over, group) for group, count in zip(masks, rows, strict=True) if count < FEW_ROWS
        ]
    if small:
        small.sort(key=lambda entry: entry[0])
        shown = [_known(*entry[1:], confusion, groups.counts) for entry in small[:4]]
        warnings.warn(
            f"{len(small)} of the rates compared over groups rest on fewer than {FEW_ROWS} rows: "
            f"{'; '.join(shown)}{'; ...' if len(small) > 4 else ''}. New rows may have any value in such an interval: "
            "merge small groups, leave them out with min_share, or give more rows",
            FewRowsWarning,
            stacklevel=stacklevel,
        )


def _rows_of_groups(metric: Metric, masks: BoolArray, counts: IntArray, confusion: Confusion) -> FloatArray:
    """Return the rows of each group that a metric is a rate of, where no decision changes them."""
    of_class = masks.astype(float) @ counts
    rate = _rate(metric)
    under = None if rate is None else rate.under(Binding.of(confusion.axes, confusion.margins))
    if under is None or not under.constant:
        return np.asarray(of_class.sum(axis=1))
    return np.asarray((of_class @ under.row.T.toarray()).max(axis=1))


def _known(
    metric: Metric, over: list[str], group: tuple[Label, ...], confusion: Confusion, counts: IntArray
) -> str:
    found = _on_group(metric, group, confusion.axes.cells.groups(over)[group], confusion, counts)
    who = pairs_text(over, group)
    known = "is left out" if np.isnan(found.value) else f"is {found.value:.2f}"
    ends = "" if np.isnan(found.low) else f" (95 %: {found.low:.2f} to {found.high:.2f})"
    return f"{metric} where {who} {known}{ends}, of {found.rows:.0f} rows"


def groups_of(problem: Problem, oracle: PluginOracle) -> Groups:
    """Return what there is to know of the groups of rows in memory, whatever is decided."""
    axes, rows = oracle.axes, oracle.rows
    seen = axes.seen
    layout: Layout = "diagonal" if seen is axes else "full"
    right = np.zeros(shape_of(layout, axes))
    if seen is axes:
        right[:, 0, axes.match >= 0] = -1.0
    else:
        right[:] = -1.0 * axes.right
    argmax = oracle.confusion(right[None], np.ones((len(axes.cells), 1)), layout).reshape(seen.shape)
    counts = strata(rows.labels, rows.cells, None, len(axes.cells), axes.n).reshape(len(seen.cells), seen.n)
    return Groups(Confusion(argmax / argmax.sum(), seen), counts, tuple(rates_compared(problem, seen)))


def group_frame(
    metrics: Sequence[Metric],
    over: Over,
    after: Confusion,
    before: Confusion | None = None,
    counts: IntArray | None = None,
) -> Any:
    """Return a pandas frame with a row for each group and columns (field, metric), see `Result.by_group`."""
    import pandas as pd

    fields: dict[tuple[str, str], list[float]] = {}
    names, groups = names_of(over), []
    for metric in metrics:
        found = group_values(metric, over, after, counts)
        groups = [record.group for record in found]
        if before is not None:
            fields["before", str(metric)] = [was.value for was in group_values(metric, over, before)]
        for name in ("value", "low", "high", "rows"):
            fields[name, str(metric)] = [getattr(record, name) for record in found]
    order = ["before", "value", "low", "high", "rows"]
    columns = sorted(fields, key=lambda field: order.index(field[0]))
    one = len(names) == 1
    index = (
        pd.Index([group[0] for group in groups], name=names[0])
        if one
        else pd.MultiIndex.from_tuples(groups, names=names)
    )
    frame = pd.DataFrame({column: fields[column] for column in columns}, index=index)
    frame.columns = pd.MultiIndex.from_tuples(columns, names=["field", "metric"])
    return frame
