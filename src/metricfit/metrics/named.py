"""The metrics of one confusion matrix: rates of a class, means of rates, costs and agreement.

Every function returns a `Metric` and is listed in `METRICS`, which the text form, the command line and the tests read.
``c`` is a class label (or, where a decision is meant, a decision label).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import wraps
from typing import Literal, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from metricfit.metrics.atoms import (
    CrossEntropyExcess,
    GeometricMean,
    HarmonicMean,
    RootMeanSquareLoss,
    SpreadRoot,
)
from metricfit.metrics.base import (
    Combination,
    Composed,
    Custom,
    Divided,
    Extreme,
    Metric,
    Named,
    Rates,
    Spread,
    Weighted,
)
from metricfit.metrics.binding import Binding, Linear, of_matrix
from metricfit.types import FloatArray, Label

METRICS: dict[str, Callable[..., Metric]] = {}
F = TypeVar("F", bound=Callable[..., Metric])


def listed(function: F) -> F:
    """Add a metric function to `METRICS`, and let its metrics be pickled as the call that made them."""

    @wraps(function)
    def recorded(*args: object, **kwargs: object) -> Metric:
        metric = function(*args, **kwargs)
        object.__setattr__(metric, "_made", (remake, deepcopy((function.__name__, args, kwargs))))
        return metric

    METRICS[function.__name__] = recorded
    return cast(F, recorded)


def remake(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Metric:
    """Return the metric that a listed function makes of these arguments."""
    return METRICS[name](*args, **kwargs)


# Linear functions of the n x k matrix, as rows of coefficients.


def unit(size: int, *places: int) -> sp.csr_array:
    """Return one row with ones at the given places; a place of -1 (no such class or decision) stays zero."""
    row = np.zeros((1, size))
    row[0, [p for p in places if p >= 0]] = 1.0
    return sp.csr_array(row)


def everything(b: Binding) -> Linear:
    """All rows of the slice."""
    return Linear(row=sp.csr_array(np.ones((1, b.axes.n))))


def rows_of(c: Label) -> Callable[[Binding], Linear]:
    """Rows of class c."""
    return lambda b: Linear(row=unit(b.axes.n, b.axes.class_index(c)))


def rows_not_of(c: Label) -> Callable[[Binding], Linear]:
    """Rows of every other class."""
    return lambda b: Linear(row=sp.csr_array(1 - unit(b.axes.n, b.axes.class_index(c)).toarray()))


def decided(c: Label) -> Callable[[Binding], Linear]:
    """Rows decided as c."""
    return lambda b: Linear(column=unit(b.axes.k, b.axes.decision_index(c)))


def decision_of(b: Binding, c: Label) -> int:
    """Return the decision that names class c, or -1 when none does."""
    named = np.flatnonzero(b.axes.match == b.axes.class_index(c))
    return int(named[0]) if named.size else -1


def hits(c: Label) -> Callable[[Binding], Linear]:
    """Rows of class c decided as c."""
    return lambda b: Linear(diagonal=unit(b.axes.k, decision_of(b, c)))


def false_alarms(c: Label) -> Callable[[Binding], Linear]:
    """Rows of other classes decided as c."""

    def linear(b: Binding) -> Linear:
        column = unit(b.axes.k, b.axes.decision_index(c))
        b.axes.class_index(c)
        return Linear(column=column, diagonal=-column)

    return linear


def all_hits(b: Binding) -> Linear:
    """Rows decided right."""
    return Linear(diagonal=sp.csr_array(np.ones((1, b.axes.k))))


def each_hit(b: Binding) -> Linear:
    """For each class, its rows decided right."""
    named = np.flatnonzero(b.axes.match >= 0)
    shape = (b.axes.n, b.axes.k)
    return Linear(diagonal=sp.csr_array((np.ones(named.size), (b.axes.match[named], named)), shape=shape))


def each_class(b: Binding) -> Linear:
    """For each class, its rows."""
    return Linear(row=sp.eye_array(b.axes.n, format="csr"))


def each_decision(b: Binding) -> Linear:
    """For each decision, the rows that get it."""
    return Linear(column=sp.eye_array(b.axes.k, format="csr"))


RECALLS = Rates("recalls", each_hit, each_class, ratio=False)
COVERAGES = Rates("coverages", each_decision, everything, ratio=False, direction=0)


# Rates


@listed
def accuracy() -> Metric:
    r"""Share of rows decided right, :math:`\sum_i C_{ii}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.accuracy()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    return Rates("accuracy()", all_hits, everything, ratio=False)


@listed
def recall(c: Label) -> Metric:
    r"""Share of the rows of class c decided as c, :math:`C_{cc} / \pi_c`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.recall(1)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    return Rates(f"recall({c!r})", hits(c), rows_of(c), ratio=False)


@listed
def specificity(c: Label) -> Metric:
    r"""Share of the rows of other classes not decided as c, :math:`1 - \sum_{i \ne c} C_{ic} / (1 - \pi_c)`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.specificity(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    return Named(f"specificity({c!r})", 1 - false_positive_rate(c))


@listed
def false_positive_rate(c: Label) -> Metric:
    r"""Share of the rows of other classes decided as c, :math:`\sum_{i \ne c} C_{ic} / (1 - \pi_c)`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.false_positive_rate(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    return Rates(f"false_positive_rate({c!r})", false_alarms(c), rows_not_of(c), ratio=False, direction=-1)


@listed
def coverage(c: Label) -> Metric:
    r"""Share of all rows that get decision c, :math:`\sum_i C_{ic}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.coverage(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    return Rates(f"coverage({c!r})", decided(c), everything, ratio=False, direction=0)


@listed
def precision(c: Label) -> Metric:
    r"""Share of the rows decided as c that are of class c, :math:`C_{cc} / \sum_i C_{ic}`; 0 if none is.

    A floor on it is linear once the denominator is cleared.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.precision(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.6667
    """
    return Rates(f"precision({c!r})", hits(c), decided(c), ratio=True)


@listed
def f_beta(beta: float, c: Label) -> Metric:
    r"""F-measure of class c, :math:`(1 + \beta^2) C_{cc} / (\beta^2 \pi_c + \sum_i C_{ic})`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.f_beta(1, 0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.8
    """
    if not beta > 0 or not np.isfinite(beta):
        raise ValueError(
            f"f_beta: beta must be a positive number, got {beta!r}; 1 weighs precision and recall alike"
        )
    return Rates(
        f"f_beta({beta:g}, {c!r})",
        lambda b: hits(c)(b).scaled(np.array([1 + beta**2])),
        lambda b: Linear(row=beta**2 * rows_of(c)(b).row, column=decided(c)(b).column),
        ratio=True,
    )


@listed
def jaccard(c: Label) -> Metric:
    r"""Overlap of class and decision c, :math:`C_{cc} / (\pi_c + \sum_i C_{ic} - C_{cc})`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.jaccard(0)(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.6667
    """
    return Rates(
        f"jaccard({c!r})",
        hits(c),
        lambda b: Linear(
            row=rows_of(c)(b).row, column=decided(c)(b).column, diagonal=-1 * hits(c)(b).diagonal
        ),
        ratio=True,
    )


@listed
def micro_f1(default: Label | None = None) -> Metric:
    r"""Micro F1 of all classes but the default d, :math:`2 \sum_{i \ne d} C_{ii} / (2 - \pi_d - \sum_i C_{id})`.

    Without a default class given, the most frequent class is taken, as in the paper's experiments.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.micro_f1(default=0)(mf.Confusion.from_predictions([0, 0, 1, 2], [0, 1, 1, 2]))
    0.8
    """

    def chosen(b: Binding) -> Label:
        return default if default is not None else b.axes.classes[int(np.argmax(b.prior))]

    def over(b: Binding) -> Linear:
        return Linear(diagonal=sp.csr_array(2.0 - 2.0 * hits(chosen(b))(b).diagonal.toarray()))

    def under(b: Binding) -> Linear:
        rows = 2.0 - rows_of(chosen(b))(b).row.toarray()
        return Linear(row=sp.csr_array(rows), column=-1 * decided(chosen(b))(b).column)

    return Rates(f"micro_f1({'' if default is None else repr(default)})", over, under, ratio=True)


# Means of the recalls


@listed
def balanced_accuracy() -> Metric:
    r"""Mean of the recalls, :math:`\frac1n \sum_i C_{ii} / \pi_i`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.balanced_accuracy()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    return Weighted("balanced_accuracy()", RECALLS)


@listed
def g_mean() -> Metric:
    r"""Geometric mean of the recalls, :math:`(\prod_i C_{ii} / \pi_i)^{1/n}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.g_mean()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.7071
    """
    return Composed("g_mean()", lambda b: GeometricMean(), GeometricMean, RECALLS)


@listed
def h_mean() -> Metric:
    r"""Harmonic mean of the recalls, :math:`n / \sum_i (\pi_i / C_{ii})`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.h_mean()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.6667
    """
    return Composed("h_mean()", lambda b: HarmonicMean(), HarmonicMean, RECALLS)


@listed
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


@listed
def min_recall() -> Metric:
    r"""The worst recall, :math:`\min_i C_{ii} / \pi_i`; one minus the paper's min-max loss.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.min_recall()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    return Named("min_recall()", Extreme("minimum", (RECALLS,)))


# Costs, agreement and totals


@listed
def cost(matrix: Sequence[Sequence[float]] | FloatArray) -> Metric:
    r"""Mean cost, :math:`\sum_{ij} L_{ij} C_{ij}`: rows are true classes, columns decisions.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.cost([[0, 1], [5, 0]])(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    1.25
    """
    table = np.array(matrix, dtype=float)
    if table.ndim != 2 or not np.all(np.isfinite(table)):
        raise ValueError(
            f"cost: matrix must be a table of finite numbers, classes x decisions, got shape {table.shape}"
        )

    def over(b: Binding) -> Linear:
        if table.shape != (b.axes.n, b.axes.k):
            raise ValueError(
                f"cost: matrix has shape {table.shape}, but there are {b.axes.n} classes (rows) and {b.axes.k} decisions (columns)"
            )
        return of_matrix(table, b.axes.match)

    return Rates(f"cost({table.tolist()})", over, everything, ratio=False, direction=-1)


def distances(b: Binding, power: int, what: str) -> FloatArray:
    """Return ``abs(i - j) ** power`` between classes and the classes that decisions name."""
    if np.any(b.axes.match < 0):
        extra = [d for d, m in zip(b.axes.decisions, b.axes.match, strict=True) if m < 0]
        raise ValueError(
            f"{what} compares classes with classes, but decision {extra[0]!r} is no class; use cost(matrix)"
        )
    return np.abs(np.arange(b.axes.n)[:, None] - b.axes.match[None, :]).astype(float) ** power


@listed
def ordinal_error() -> Metric:
    r"""Mean distance of decision and class in the order of the classes, :math:`\sum_{ij} |i - j| C_{ij}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.ordinal_error()(mf.Confusion.from_predictions([0, 1, 2, 2], [0, 1, 2, 0]))
    0.5
    """
    return Rates(
        "ordinal_error()",
        lambda b: of_matrix(distances(b, 1, "ordinal_error"), b.axes.match),
        everything,
        ratio=False,
        direction=-1,
    )


@listed
def cohen_kappa(weights: Literal["linear", "quadratic"] | None = None) -> Metric:
    r"""Agreement beyond chance, :math:`1 - \sum w_{ij} C_{ij} / \sum w_{ij} \pi_i q_j`, with :math:`q_j = \sum_i C_{ij}`.

    Class priors are known, so this is a ratio of linear functions and is solved exactly.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.cohen_kappa()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"cohen_kappa: weights must be None, 'linear' or 'quadratic', got {weights!r}")

    def table(b: Binding) -> FloatArray:
        distance = distances(b, 2 if weights == "quadratic" else 1, "cohen_kappa")
        return distance if weights else (distance > 0).astype(float)

    def over(b: Binding) -> Linear:
        return of_matrix(table(b), b.axes.match)

    def under(b: Binding) -> Linear:
        return Linear(column=sp.csr_array((b.prior / b.mass @ table(b))[None]))

    text = f"cohen_kappa({'' if weights is None else f'weights={weights!r}'})"
    return Named(text, 1 - Rates("disagreement", over, under, ratio=True, direction=-1, most=np.inf))


@listed
def macro_f1() -> Metric:
    r"""Mean of the F1-measures of all classes, :math:`\frac1n \sum_i 2 C_{ii} / (\pi_i + \sum_j C_{ji})`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.macro_f1()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.7333
    """

    def under(b: Binding) -> Linear:
        return Linear(row=sp.eye_array(b.axes.n, format="csr"), column=each_hit(b).diagonal)

    scores = Rates("f1 scores", lambda b: each_hit(b).scaled(np.array([2.0])), under, ratio=True)
    return Weighted("macro_f1()", scores)


@listed
def mcc() -> Metric:
    r"""Matthews correlation, :math:`(\sum_i C_{ii} - \pi_i q_i) / \sqrt{(1 - \sum_i q_i^2)(1 - \sum_i \pi_i^2)}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.mcc()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.5774
    """

    def over(b: Binding) -> Linear:
        prior = b.prior / b.mass
        spread = np.sqrt(1 - prior @ prior)
        if spread == 0:
            raise ValueError(f"mcc is undefined{b.where()}: all rows are of one class")
        chance = np.where(b.axes.match >= 0, prior[b.axes.match], 0.0)
        return Linear(
            diagonal=sp.csr_array(np.full((1, b.axes.k), 1 / spread)),
            column=sp.csr_array(-chance[None] / spread),
        )

    agreement = Rates("agreement", over, everything, ratio=False)
    return Named(
        "mcc()",
        Divided(agreement, Composed("spread", lambda b: SpreadRoot(), SpreadRoot, COVERAGES, direction=0)),
    )


# Coverage as a whole


def wanted(target: str | Sequence[float] | Mapping[Label, float], b: Binding, what: str) -> FloatArray:
    """Return the wanted share of each decision."""
    if isinstance(target, str):
        if target != "prior":
            raise ValueError(
                f"{what}: target must be 'prior', numbers, or a mapping of decisions to numbers, got {target!r}"
            )
        return np.where(b.axes.match >= 0, b.prior[b.axes.match] / b.mass, 0.0)
    if isinstance(target, Mapping):
        shares = np.zeros(b.axes.k)
        for label, share in target.items():
            shares[b.axes.decision_index(label)] = share
    else:
        shares = np.array(target, dtype=float)
    if shares.shape != (b.axes.k,) or not np.all(np.isfinite(shares)) or np.any(shares < 0):
        raise ValueError(
            f"{what}: target needs one share >= 0 for each of the {b.axes.k} decisions, got {target!r}"
        )
    return shares


def target_text(target: object) -> str:
    """Return how a target is written; the default is left out."""
    return "" if isinstance(target, str) and target == "prior" else repr(target)


@listed
def coverage_deviation(target: str | Sequence[float] | Mapping[Label, float] = "prior") -> Metric:
    r"""Largest distance of a decision's share from its target, :math:`\max_j |q_j - \tau_j|`; lower is better.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.coverage_deviation()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.25
    """
    return Spread(
        f"coverage_deviation({target_text(target)})",
        COVERAGES,
        lambda b: wanted(target, b, "coverage_deviation"),
    )


@listed
def quantification_kld(target: str | Sequence[float] | Mapping[Label, float] = "prior") -> Metric:
    r"""Divergence of the decisions' shares from a target, :math:`\sum_j \tau_j \log(\tau_j / q_j)`; lower is better.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.quantification_kld()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.1438
    """
    return Composed(
        f"quantification_kld({target_text(target)})",
        lambda b: CrossEntropyExcess(wanted(target, b, "quantification_kld")),
        CrossEntropyExcess,
        COVERAGES,
        direction=-1,
    )


# Expressions of metrics


@listed
def minimum(*metrics: Metric) -> Metric:
    """Return the smallest of several metrics.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.minimum(mf.recall(0), mf.recall(1))(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    return _extreme("minimum", metrics)


@listed
def maximum(*metrics: Metric) -> Metric:
    """Return the largest of several metrics.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.maximum(mf.recall(0), mf.recall(1))(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    1.0
    """
    return _extreme("maximum", metrics)


def _extreme(kind: Literal["minimum", "maximum"], metrics: tuple[Metric, ...]) -> Metric:
    if not metrics or not all(isinstance(m, Metric) for m in metrics):
        raise ValueError(f"{kind} takes one or more metrics, got {metrics!r}")
    return Extreme(kind, metrics)


def custom(
    function: Callable[[FloatArray], float], *, greater_is_better: bool = True, name: str | None = None
) -> Metric:
    """Return any function of the n x k confusion matrix as a metric.

    The matrix sums to 1, rows are true classes, columns are decisions. Only values are needed.

    Examples
    --------
    >>> import metricfit as mf
    >>> trace = mf.custom(lambda matrix: matrix.trace(), name="trace")
    >>> trace(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    if not callable(function):
        raise ValueError(f"custom: function must be callable on an n x k matrix, got {function!r}")
    text = name or getattr(function, "__name__", type(function).__name__)
    return Custom(text, function, 1 if greater_is_better else -1)


__all__ = [*METRICS, "METRICS", "custom", "Combination"]
