"""Means and extremes: of the recalls of all classes, of F-measures, and of any metrics."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metricfit.data.validation import label
from metricfit.functions.atoms import GeometricMean, HarmonicMean, RootMeanSquareLoss
from metricfit.functions.binding import Binding
from metricfit.functions.functionals import all_hits, decided, hits, rows_not_of
from metricfit.functions.linear import Linear
from metricfit.messages import brief
from metricfit.metrics.base import Metric, as_metric
from metricfit.metrics.rates import RECALLS, Composed, Extreme, Mean, Named, Rates
from metricfit.metrics.recorded import recorded
from metricfit.types import Label


@recorded
def balanced_accuracy() -> Metric:
    r"""Mean of the recalls, :math:`\frac1n \sum_i C_{ii} / \pi_i`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.balanced_accuracy()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    return Mean("balanced_accuracy()", RECALLS)


@recorded
def g_mean() -> Metric:
    r"""Geometric mean of the recalls, :math:`(\prod_i C_{ii} / \pi_i)^{1/n}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.g_mean()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.7071
    """
    return Composed("g_mean()", lambda b: GeometricMean(), GeometricMean, RECALLS)


@recorded
def h_mean() -> Metric:
    r"""Harmonic mean of the recalls, :math:`n / \sum_i (\pi_i / C_{ii})`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.h_mean()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.6667
    """
    return Composed("h_mean()", lambda b: HarmonicMean(), HarmonicMean, RECALLS)


@recorded
def q_mean() -> Metric:
    r"""One minus the paper's Q-mean loss, :math:`1 - \sqrt{\frac1n \sum_i (1 - C_{ii} / \pi_i)^2}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.q_mean()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.6464
    """
    loss = Composed("q_loss", lambda b: RootMeanSquareLoss(), RootMeanSquareLoss, RECALLS, direction=-1)
    return Named("q_mean()", 1 - loss)


@recorded
def min_recall() -> Metric:
    r"""Smallest recall, :math:`\min_i C_{ii} / \pi_i`; one minus the paper's min-max loss.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.min_recall()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    return Named("min_recall()", Extreme("minimum", (RECALLS,)))


@recorded
def micro_f1(default: Label | None = None) -> Metric:
    r"""Micro F1 of all classes but d, :math:`2 \sum_{i \ne d} C_{ii} / \sum_{i \ne d} (\pi_i + q_i)`.

    Here :math:`q_i = \sum_l C_{li}` is the share of decision i. If no default class d is given, it is the most frequent
    class, as in the paper's experiments.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.micro_f1(default=0)(mf.Confusion.from_predictions([0, 0, 1, 2], [0, 1, 1, 2]))
    0.8
    """
    named = None if default is None else label(default, "micro_f1: class default")

    def chosen(b: Binding) -> Label:
        return named if named is not None else b.axes.classes[int(np.argmax(b.prior))]

    def over(b: Binding) -> Linear:
        return Linear(diagonal=2.0 * (all_hits(b).diagonal - hits(chosen(b))(b).diagonal))

    def under(b: Binding) -> Linear:
        others = (b.axes.match >= 0).astype(float)[None] - decided(chosen(b))(b).column
        return Linear(row=rows_not_of(chosen(b))(b).row, column=others)

    return Rates(f"micro_f1({'' if named is None else repr(named)})", over, under, ratio=True)


@recorded
def minimum(*metrics: Metric | float) -> Metric:
    """Return the smallest of several metrics (and numbers).

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.minimum(mf.recall(0), mf.recall(1))(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    return _extreme("minimum", metrics)


@recorded
def maximum(*metrics: Metric | float) -> Metric:
    """Return the largest of several metrics (and numbers).

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.maximum(mf.recall(0), mf.recall(1))(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    1.0
    """
    return _extreme("maximum", metrics)


def _extreme(kind: Literal["minimum", "maximum"], metrics: tuple[Metric | float, ...]) -> Metric:
    if not any(isinstance(m, Metric) for m in metrics):
        raise ValueError(f"{kind} takes one or more metrics, got {brief(metrics)}")
    return Extreme(kind, tuple(map(as_metric, metrics)))
