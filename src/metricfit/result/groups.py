"""Metrics of a policy on each group of rows: values, numbers of rows and intervals, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.data.attributes import names_of
from metricfit.data.confusion import Confusion
from metricfit.data.rows import strata
from metricfit.exceptions import UndefinedError
from metricfit.functions.binding import Binding
from metricfit.intervals.estimate import wilson
from metricfit.metrics import Metric
from metricfit.metrics.comparison import Over
from metricfit.metrics.few_rows import rate_of
from metricfit.oracles.in_memory import PluginOracle
from metricfit.problem import Problem
from metricfit.result.compared import rates_compared
from metricfit.result.most_probable import of_most_probable
from metricfit.types import BoolArray, IntArray, Label

# Shares of rows may be outside of 0 to 1 by this much, because of rounding.
SHARE_ERROR = 1e-9


@dataclass(frozen=True)
class GroupValue:
    """A metric on one group: its value, the rows in its denominator, and a 95 % interval; NaN if unknown."""

    group: tuple[Label, ...]
    value: float
    rows: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Groups:
    """What a result knows about groups: decisions of plain argmax, rows by cell and class, and the rates compared."""

    before: Confusion | None
    counts: IntArray
    compared: tuple[tuple[Metric, list[str]], ...]


def group_values(
    metric: Metric, over: Over, confusion: Confusion, counts: IntArray | None = None
) -> list[GroupValue]:
    """Return a metric on each group that attributes define; NaN if its denominator has no rows.

    Parameters
    ----------
    metric : Metric
        What to look at.
    over : str or list of str
        The attributes that define the groups.
    confusion : Confusion
        What was decided.
    counts : int array of shape (cells, classes), optional
        Rows of each cell and class. Without them, numbers of rows and intervals are unknown.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> [(found.group, found.value) for found in group_values(mf.recall(1), "group", confusion)]
    [(('a',), 0.5), (('b',), 1.0)]
    """
    masks = confusion.axes.cells.groups(over)
    return [
        on_group(metric, group, mask, confusion, counts)
        for group, mask in masks.items()
        if confusion.values[mask].sum() > 0
    ]


def on_group(
    metric: Metric, group: tuple[Label, ...], mask: BoolArray, confusion: Confusion, counts: IntArray | None
) -> GroupValue:
    """Return a metric on the rows of the cells in a mask."""
    inside = np.where(mask[:, None, None], confusion.values, 0.0)
    value, under = _value(metric, Confusion(inside / inside.sum(), confusion.axes))
    rows = float("nan") if counts is None else under(counts[mask].sum(axis=0).astype(float))
    share = min(max(value, 0.0), 1.0)
    known = rate_of(metric) is not None and rows > 0 and abs(value - share) <= SHARE_ERROR
    low, high = wilson(share, rows) if known else (float("nan"), float("nan"))
    return GroupValue(group, value, rows, low, high)


def _value(metric: Metric, confusion: Confusion) -> tuple[float, Any]:
    """Return a metric, and a function from the rows of each class to the rows in the metric's denominator."""
    binding, rate = Binding.of(confusion.axes, confusion.margins), rate_of(metric)
    under = None if rate is None else rate.under(binding)
    try:
        node = metric.bind(binding)
    except UndefinedError:
        node = None
    made = None if under is None or under.constant else binding.bind(under)
    u = binding.finish().vector(confusion.values)

    def rows(of_class: Any) -> float:
        if under is not None and under.constant:
            return float(np.max(under.row @ of_class))
        return float(of_class.sum() if made is None else np.round(of_class.sum() * made.value(u).max()))

    return float("nan") if node is None else node.scalar(u), rows


def groups_of(problem: Problem, oracle: PluginOracle) -> Groups:
    """Return what is known about the groups of rows in memory before anything is decided."""
    axes, rows = oracle.axes, oracle.rows
    seen = axes.seen
    counts = strata(rows.labels, rows.cells, None, len(axes.cells), axes.n).reshape(len(seen.cells), seen.n)
    return Groups(of_most_probable(oracle), counts, tuple(rates_compared(problem, seen)))


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
