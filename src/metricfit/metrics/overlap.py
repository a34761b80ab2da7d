"""Measures of the overlap of decisions and classes: F-measures and Jaccard index, of one class or as a mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from metricfit.data.validation import label
from metricfit.functions.binding import Binding
from metricfit.functions.functionals import (
    Functional,
    decided,
    each_class,
    each_decided,
    each_hit,
    hits,
    rows_of,
)
from metricfit.functions.linear import Linear
from metricfit.messages import brief
from metricfit.metrics.base import Metric
from metricfit.metrics.rates import Mean, Rates
from metricfit.metrics.recorded import recorded
from metricfit.metrics.text.words import finite, number
from metricfit.types import Label

Average = Literal["macro", "weighted"]
# Makes a rate (or one for each class) from a text and the hits, rows and decisions of a class (or of each class).
Measure = Callable[[str, Functional, Functional, Functional], Rates]


# Beyond this, the squares of beta and 1 / beta swamp the terms they are added to.
SMALLEST_BETA = 1e-6


@recorded
def f_beta(beta: float, c: Label | None = None, *, average: Average | None = None) -> Metric:
    r"""F-measure of class c, :math:`(1 + \beta^2) C_{cc} / (\beta^2 \pi_c + \sum_i C_{ic})`, or its mean.

    Parameters
    ----------
    beta : float
        How many times as important recall is as precision; from 1e-6, nearly `precision`, to 1e6, nearly `recall`.
    c : label, optional
        The class.
    average : {"macro", "weighted"}, optional
        Instead of ``c``: the mean over all classes, unweighted or weighted by the class priors.

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
    return _of_class_or_mean("f_beta", f"{number(size)}, ", c, average, _f_measure(size))


@recorded
def f1(c: Label | None = None, *, average: Average | None = None) -> Metric:
    r"""F1-measure of class c, :math:`2 C_{cc} / (\pi_c + \sum_i C_{ic})`, or its mean: `f_beta` with beta 1.

    Parameters
    ----------
    c : label, optional
        The class.
    average : {"macro", "weighted"}, optional
        Instead of ``c``: the mean over all classes, unweighted or weighted by the class priors.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.f1(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.8
    """
    return _of_class_or_mean("f1", "", c, average, _f_measure(1.0))


@recorded
def macro_f1() -> Metric:
    r"""Mean of the F1-measures of all classes, :math:`\frac1n \sum_i 2 C_{ii} / (\pi_i + \sum_j C_{ji})`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.macro_f1()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.7333
    """
    return Mean("macro_f1()", _f_measure(1.0)("F1-measures", each_hit, each_class, each_decided))


@recorded
def jaccard(c: Label | None = None, *, average: Average | None = None) -> Metric:
    r"""Overlap of class and decision c, :math:`C_{cc} / (\pi_c + \sum_i C_{ic} - C_{cc})`, or its mean.

    Parameters
    ----------
    c : label, optional
        The class.
    average : {"macro", "weighted"}, optional
        Instead of ``c``: the mean over all classes, unweighted or weighted by the class priors.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])
    >>> round(mf.jaccard(0)(confusion), 4)
    0.6667
    >>> round(mf.jaccard(average="weighted")(confusion), 4)
    0.5833
    """
    return _of_class_or_mean("jaccard", "", c, average, _overlap)


def _f_measure(beta: float) -> Measure:
    def measure(text: str, hit: Functional, rows: Functional, made: Functional) -> Rates:
        return Rates(
            text,
            lambda b: hit(b).scaled(np.array([1 + beta**2])),
            lambda b: Linear(row=beta**2 * rows(b).row, column=made(b).column),
            ratio=True,
        )

    return measure


def _overlap(text: str, hit: Functional, rows: Functional, made: Functional) -> Rates:
    def union(b: Binding) -> Linear:
        return Linear(row=rows(b).row, column=made(b).column, diagonal=-hit(b).diagonal)

    return Rates(text, hit, union, ratio=True)


def _of_class_or_mean(name: str, first: str, c: object, average: Average | None, measure: Measure) -> Metric:
    """Return a measure of one class, or its mean over all classes; raise unless exactly one of the two is asked for."""
    if (c is None) == (average is None):
        raise ValueError(
            f"{name}: give either a class c or average='macro' or 'weighted', not both or neither"
        )
    if average is None:
        c = label(c, f"{name}: class c")
        return measure(f"{name}({first}{c!r})", hits(c), rows_of(c), decided(c))
    if average not in ("macro", "weighted"):
        raise ValueError(f"{name}: average must be 'macro' or 'weighted', got {brief(average)}")
    each = measure(f"{name} of each class", each_hit, each_class, each_decided)
    return Mean(f"{name}({first}average={average!r})", each, average)
