"""Evaluation of a policy on labelled rows, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from metricfit.data.attributes import MISSING, matching_columns
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.columns import is_frame
from metricfit.data.labels import encode_labels
from metricfit.data.row_order import check_row_order
from metricfit.data.validation import check_lengths, check_weights
from metricfit.functions.binding import Binding
from metricfit.intervals import Evidence, estimate
from metricfit.messages import brief
from metricfit.metrics import Constraint, Metric, parse
from metricfit.metrics.comparison import Disparity, comparisons_in
from metricfit.policy.provenance import asked
from metricfit.types import FloatArray


class Judged(Protocol):
    """Anything that decides with known probabilities, such as a `Policy`."""

    @property
    def axes(self) -> Axes:
        """Classes, decisions and cells."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it was fitted for."""
        ...

    def decision_proba(self, proba: Any, sensitive_features: Any = None) -> FloatArray:
        """Return the probability of each decision for each row."""
        ...


def evidence_of(
    policy: Judged, proba: Any, y: Any, sensitive_features: Any = None, sample_weight: Any = None
) -> Evidence:
    """Return labelled rows with the probabilities of a policy's decisions; rows may have further attributes."""
    check_row_order(proba=proba, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
    chances = policy.decision_proba(proba, sensitive_features)
    check_lengths(proba=chances, y=y)
    known = policy.axes.seen  # a blind policy decides by pairs of cell and class, and is judged by classes
    labels = encode_labels(y, known.classes)
    # If missing values formed a cell in the fit, they also do so here.
    kept = any(MISSING in values for values in known.cells.values)
    given = sensitive_features
    if given is not None and not is_frame(given) and len(known.cells.names) == 1:
        # An array without a name is the policy's attribute.
        given = matching_columns(known.cells.names, given)
    cells, codes = Cells.observe(given, len(chances), "cell" if kept else "error")
    axes = Axes(known.classes, known.decisions, cells)
    weights = check_weights(sample_weight, len(chances), allow_zero=True)
    return Evidence.of(axes, codes, labels, chances, weights)


def joined(parts: Sequence[Evidence]) -> Evidence:
    """Return the evidence of several sets of rows, whose cells may differ.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [
    ...     Evidence.of(Axes((0, 1), cells=Cells(("sex",), ((s,),))), None, np.array([0]), np.array([[1.0, 0]]))
    ...     for s in "MF"
    ... ]
    >>> joined(parts).axes.cells.values
    (('F',), ('M',))
    """
    values = {cell for part in parts for cell in part.axes.cells.values}
    ordered = sorted(values, key=lambda cell: [(isinstance(value, str), value) for value in cell])
    place = {cell: a for a, cell in enumerate(ordered)}
    axes = replace(parts[0].axes, cells=Cells(parts[0].axes.cells.names, tuple(ordered)))
    moved = [
        replace(part, axes=axes, cells=np.array([place[cell] for cell in part.axes.cells.values])[part.cells])
        for part in parts
    ]
    return Evidence.joined(moved)


def evaluated(
    policy: Judged,
    proba: Any,
    y: Any,
    metrics: Any,
    sensitive_features: Any,
    sample_weight: Any,
    by: str | Sequence[str] | None,
) -> Any:
    """Return the frame of `Policy.evaluate`."""
    wanted = metrics_of(metrics, policy.provenance)
    check_weights(sample_weight, len(y))
    return tabulated(evidence_of(policy, proba, y, sensitive_features, sample_weight), wanted, by)


def tabulated(seen: Evidence, wanted: Sequence[Metric], by: str | Sequence[str] | None) -> Any:
    """Return a frame of metrics with their intervals, for all rows and for the groups defined by ``by``.

    A metric that compares groups is left out where there is only one of them: nothing can be compared with itself.
    """
    import pandas as pd

    check_names(wanted, seen.axes)
    rows = [_row("all", metric, seen) for metric in wanted]
    if by is not None:
        for values, inside in seen.axes.cells.groups(by).items():
            name = ", ".join(map(str, values))
            part = seen.where(inside)
            rows += [_row(name, metric, part) for metric in wanted if not _compares_one_group(metric, part)]
    columns = ["group", "metric", "value", "low", "high"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame if by is not None else frame.drop(columns="group")


def metrics_of(metrics: Any, provenance: Mapping[str, Any]) -> list[Metric]:
    """Return the metrics asked for, as often as they are; by default those of the policy's objective and constraints.

    Examples
    --------
    >>> [str(metric) for metric in metrics_of(None, {"objective": "g_mean", "constraints": ["recall(1) >= 0.5"]})]
    ['g_mean()', 'recall(1)']
    """
    if metrics is None:
        objective, constraints = asked(provenance)
        asked_for = [*([] if objective is None else [objective]), *(one.metric for one in constraints)]
        metrics = list({str(metric): metric for metric in asked_for}.values())
        if not metrics:
            raise ValueError(
                "metrics is None, and the policy does not know what it was fitted for (it was made by hand, by an "
                "older version, or for a function of your own); pass metrics=[...]"
            )
    several = isinstance(metrics, Iterable) and not isinstance(metrics, str)
    given = list(metrics) if several else [metrics]
    found = [parse(one) if isinstance(one, str) else one for one in given]
    for one in found:
        if not isinstance(one, Metric | Constraint):
            raise ValueError(
                f"metrics must be metrics, constraints or their text; got {brief(one)}. A function of your own is "
                "mf.custom(function)"
            )
    return [one.metric if isinstance(one, Constraint) else one for one in found]


def check_names(metrics: Sequence[Metric], axes: Axes) -> None:
    """Raise if a metric names classes, decisions or attributes that do not exist."""
    even = np.full(axes.shape[:2], 1 / (axes.shape[0] * axes.shape[1]))  # nothing is undefined on it
    for metric in metrics:
        Binding.of(axes, even).take(metric)


def _compares_one_group(metric: Metric, seen: Evidence | None) -> bool:
    """Whether a metric compares groups of which only one has rows."""
    if seen is None:
        return False
    cells = seen.axes.cells
    present = np.zeros(len(cells), bool)
    present[seen.cells] = True
    for one in comparisons_in(metric):
        if isinstance(one, Disparity):
            strata = (
                [present] if one.given is None else [present & s for s in cells.groups(one.given).values()]
            )
            groups = list(cells.groups(one.over).values())
            if all(sum((stratum & group).any() for group in groups) < 2 for stratum in strata):
                return True
    return False


def _row(group: str, metric: Metric, seen: Evidence | None) -> list[Any]:
    found = None if seen is None else estimate(metric, seen)
    return [group, str(metric), *([np.nan] * 3 if found is None else [found.value, found.low, found.high])]
