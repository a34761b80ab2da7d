"""Rates of one class, and of all classes together: recall, precision, coverage.

``c`` is a class label; for `coverage` it is a decision label, which need not be a class.
"""

from __future__ import annotations

from metricfit.data.validation import label
from metricfit.functions.functionals import (
    all_decided,
    all_hits,
    everything,
    false_alarms,
    given,
    hits,
    rows_decided,
    rows_not_of,
    rows_of,
)
from metricfit.metrics.base import Metric
from metricfit.metrics.rates import Named, Rates
from metricfit.metrics.recorded import recorded
from metricfit.types import Label


@recorded
def accuracy() -> Metric:
    r"""Share of rows decided right, :math:`\sum_i C_{ii}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.accuracy()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    return Rates("accuracy()", all_hits, everything, ratio=False)


@recorded
def recall(c: Label) -> Metric:
    r"""Share of the rows of class c decided as c, :math:`C_{cc} / \pi_c`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.recall(1)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    c = label(c, "recall: class c")
    return Rates(f"recall({c!r})", hits(c), rows_of(c), ratio=False)


@recorded
def specificity(c: Label) -> Metric:
    r"""Share of the rows of other classes not decided as c, :math:`1 - \sum_{i \ne c} C_{ic} / (1 - \pi_c)`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.specificity(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    c = label(c, "specificity: class c")
    return Named(f"specificity({c!r})", 1 - false_positive_rate(c))


@recorded
def false_positive_rate(c: Label) -> Metric:
    r"""Share of the rows of other classes decided as c, :math:`\sum_{i \ne c} C_{ic} / (1 - \pi_c)`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.false_positive_rate(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    c = label(c, "false_positive_rate: class c")
    return Rates(f"false_positive_rate({c!r})", false_alarms(c), rows_not_of(c), ratio=False, direction=-1)


@recorded
def coverage(c: Label) -> Metric:
    r"""Share of all rows that get decision c, :math:`\sum_i C_{ic}`.

    The decision need not be a class: ``coverage("review") <= 0.05`` limits a review queue.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.coverage(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    c = label(c, "coverage: decision c")
    return Rates(f"coverage({c!r})", given(c), everything, ratio=False, direction=0)


@recorded
def precision(c: Label) -> Metric:
    r"""Share of the rows decided as c that are of class c, :math:`C_{cc} / \sum_i C_{ic}`; 0 if none is.

    A floor on it becomes linear after multiplication by the denominator.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.precision(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.6667
    """
    c = label(c, "precision: class c")
    return Rates(f"precision({c!r})", hits(c), given(c), ratio=True)


@recorded
def selective_accuracy() -> Metric:
    r"""Share of the decided rows that are decided right, :math:`\sum_i C_{ii} / \sum_{i, j \le n} C_{ij}`.

    Rows whose decision is not a class (``"review"``) are left out; without such decisions this is `accuracy`. Limit
    their share with ``coverage("review") <= 0.05``. The precision among decided rows is `precision` itself.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([0, 0, 1, 1], [0, "review", 1, 0])
    >>> round(mf.selective_accuracy()(confusion), 4)
    0.6667
    """
    return Rates("selective_accuracy()", all_hits, all_decided, ratio=True)


@recorded
def selective_recall(c: Label) -> Metric:
    r"""Share of the decided rows of class c that are decided as c, :math:`C_{cc} / \sum_{j \le n} C_{cj}`.

    Rows whose decision is not a class (``"review"``) are left out; without such decisions this is `recall`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([0, 0, 1, 1], [0, "review", 1, 0])
    >>> mf.selective_recall(0)(confusion), mf.selective_recall(1)(confusion)
    (1.0, 0.5)
    """
    c = label(c, "selective_recall: class c")
    return Rates(f"selective_recall({c!r})", hits(c), rows_decided(c), ratio=True)
