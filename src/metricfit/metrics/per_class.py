"""Rates of one class, and of all classes together: recall, precision, F-measures, coverage.

``c`` is a class label; for `coverage` it is a decision label, which need not be a class.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from metricfit.data.validation import label
from metricfit.functions.functionals import (
    Functional,
    all_decided,
    all_hits,
    decided,
    each_class,
    each_decided,
    each_hit,
    everything,
    false_alarms,
    given,
    hits,
    rows_decided,
    rows_not_of,
    rows_of,
)
from metricfit.functions.linear import Linear
from metricfit.messages import brief
from metricfit.metrics.base import Metric
from metricfit.metrics.rates import Mean, Named, Rates
from metricfit.metrics.recorded import recorded
from metricfit.metrics.text import finite, number
from metricfit.types import Label

Average = Literal["macro", "weighted"]

# Beyond it the squares of beta and 1 / beta drown what they are added to.
SMALLEST_BETA = 1e-6


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

    The decision may be no class: ``coverage("review") <= 0.05`` bounds a queue.

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

    A floor on it is linear once the denominator is cleared.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.precision(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.6667
    """
    c = label(c, "precision: class c")
    return Rates(f"precision({c!r})", hits(c), given(c), ratio=True)


@recorded
def f_beta(beta: float, c: Label | None = None, *, average: Average | None = None) -> Metric:
    r"""F-measure of class c, :math:`(1 + \beta^2) C_{cc} / (\beta^2 \pi_c + \sum_i C_{ic})`, or its mean.

    Parameters
    ----------
    beta : float
        How many times as much recall matters as precision; from 1e-6, next to `precision`, to 1e6, next to `recall`.
    c : label, optional
        The class.
    average : {"macro", "weighted"}, optional
        In place of ``c``: the mean over all classes, plain or weighted by the classes' shares of the rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])
    >>> mf.f_beta(1, 0)(confusion)
    0.8
    >>> round(mf.f_beta(1, average="macro")(confusion), 4)
    0.7333
    """
    size = finite(beta)
    if size is None or not SMALLEST_BETA <= size <= 1 / SMALLEST_BETA:
        raise ValueError(
            f"f_beta: beta must be a positive number, got {brief(beta)}; 1 weighs precision and recall alike, and "
            f"{SMALLEST_BETA:g} to {1 / SMALLEST_BETA:g} are allowed"
        )
    if average is None:
        c = _one_of("f_beta", c, average)
        return _f_rates(f"f_beta({number(size)}, {c!r})", size, hits(c), rows_of(c), decided(c))
    _one_of("f_beta", c, average)
    scores = _f_rates("F-measures", size, each_hit, each_class, each_decided)
    return Mean(f"f_beta({number(size)}, average={average!r})", scores, average)


@recorded
def f1(c: Label | None = None, *, average: Average | None = None) -> Metric:
    r"""F1-measure of class c, :math:`2 C_{cc} / (\pi_c + \sum_i C_{ic})`, or its mean: `f_beta` with beta 1.

    Parameters
    ----------
    c : label, optional
        The class.
    average : {"macro", "weighted"}, optional
        In place of ``c``: the mean over all classes, plain or weighted by the classes' shares of the rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.f1(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.8
    """
    if average is None:
        c = _one_of("f1", c, average)
        return _f_rates(f"f1({c!r})", 1.0, hits(c), rows_of(c), decided(c))
    _one_of("f1", c, average)
    return Mean(
        f"f1(average={average!r})", _f_rates("F1-measures", 1.0, each_hit, each_class, each_decided), average
    )


@recorded
def macro_f1() -> Metric:
    r"""Mean of the F1-measures of all classes, :math:`\frac1n \sum_i 2 C_{ii} / (\pi_i + \sum_j C_{ji})`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.macro_f1()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.7333
    """
    return Mean("macro_f1()", _f_rates("F1-measures", 1.0, each_hit, each_class, each_decided))


def _f_rates(text: str, beta: float, hit: Functional, rows: Functional, made: Functional) -> Rates:
    return Rates(
        text,
        lambda b: hit(b).scaled(np.array([1 + beta**2])),
        lambda b: Linear(row=beta**2 * rows(b).row, column=made(b).column),
        ratio=True,
    )


@recorded
def jaccard(c: Label | None = None, *, average: Average | None = None) -> Metric:
    r"""Overlap of class and decision c, :math:`C_{cc} / (\pi_c + \sum_i C_{ic} - C_{cc})`, or its mean.

    Parameters
    ----------
    c : label, optional
        The class.
    average : {"macro", "weighted"}, optional
        In place of ``c``: the mean over all classes, plain or weighted by the classes' shares of the rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])
    >>> round(mf.jaccard(0)(confusion), 4)
    0.6667
    >>> round(mf.jaccard(average="weighted")(confusion), 4)
    0.5833
    """
    if average is None:
        c = _one_of("jaccard", c, average)
        return _overlaps(f"jaccard({c!r})", hits(c), rows_of(c), decided(c))
    _one_of("jaccard", c, average)
    overlaps = _overlaps("overlaps", each_hit, each_class, each_decided)
    return Mean(f"jaccard(average={average!r})", overlaps, average)


def _overlaps(text: str, hit: Functional, rows: Functional, made: Functional) -> Rates:
    return Rates(
        text,
        hit,
        lambda b: Linear(row=rows(b).row, column=made(b).column, diagonal=-hit(b).diagonal),
        ratio=True,
    )


def _one_of(what: str, c: object, average: object) -> Label:
    """Return the class as a plain label; raise unless exactly one of class and average is given."""
    if (c is None) == (average is None):
        raise ValueError(
            f"{what}: give either a class c or average='macro' or 'weighted', not both or neither"
        )
    if average is None:
        return label(c, f"{what}: class c")
    if average not in ("macro", "weighted"):
        raise ValueError(f"{what}: average must be 'macro' or 'weighted', got {brief(average)}")
    return ""


@recorded
def selective_accuracy() -> Metric:
    r"""Share of the decided rows that are decided right, :math:`\sum_i C_{ii} / \sum_{i, j \le n} C_{ij}`.

    Rows whose decision is no class (``"review"``) are left out of the count; without such decisions this is
    `accuracy`. Bound what is put off with ``coverage("review") <= 0.05``. The precision among decided rows is
    `precision` itself.

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

    Rows whose decision is no class (``"review"``) are left out of the count; without such decisions this is
    `recall`.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([0, 0, 1, 1], [0, "review", 1, 0])
    >>> mf.selective_recall(0)(confusion), mf.selective_recall(1)(confusion)
    (1.0, 0.5)
    """
    c = label(c, "selective_recall: class c")
    return Rates(f"selective_recall({c!r})", hits(c), rows_decided(c), ratio=True)
