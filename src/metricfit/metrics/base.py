"""Metrics as expressions, which users write before they have data.

A `Metric` knows its curvature, smoothness and natural direction by composition, and how to bind itself to
the axes of a confusion tensor. ``str`` gives the text that `metricfit.parse` reads back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, SupportsIndex

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.exceptions import ComparisonError
from metricfit.functions.binding import Binding, Functions
from metricfit.functions.curvature import Curvature, of_sum
from metricfit.functions.expression import Constant, Node
from metricfit.functions.extremes import magnitude
from metricfit.functions.nonlinear import SUM_ERROR, Product, Quotient
from metricfit.functions.sums import Sum
from metricfit.messages import brief
from metricfit.metrics.constraint import Constraint, compare
from metricfit.metrics.text.words import finite, number, plain_slice, slice_text
from metricfit.types import FloatArray


class Metric(ABC):
    """A function of the confusion tensor, in its natural sign.

    Combine metrics with ``+ - * /``, ``abs``, `minimum` and `maximum`, restrict them to a slice of the rows
    with `at`, and compare them with a number to get a `Constraint`.

    Examples
    --------
    >>> import metricfit as mf
    >>> metric = 0.5 * mf.recall("fraud") + 0.5 * mf.g_mean()
    >>> metric
    <Metric 0.5 * recall('fraud') + 0.5 * g_mean() (concave, smooth, higher is better)>
    >>> confusion = mf.Confusion.from_predictions(["ok", "fraud", "fraud"], ["ok", "fraud", "ok"])
    >>> round(metric(confusion), 4)
    0.6036
    """

    # Makes NumPy scalars leave arithmetic and comparisons with a metric to the metric.
    __array_ufunc__: ClassVar[None] = None

    @property
    @abstractmethod
    def curvature(self) -> Curvature:
        """How the metric bends over the achievable confusion tensors."""

    @property
    def operands(self) -> tuple[Metric, ...]:
        """The metrics that this one is an expression of; none by default."""
        return ()

    @property
    def smooth(self) -> bool:
        """Whether the metric has a gradient wherever its rates are positive; by default, if all operands have."""
        return all(metric.smooth for metric in self.operands)

    @property
    @abstractmethod
    def direction(self) -> int:
        """+1 if higher is better, -1 if lower is better, 0 if neither."""

    @abstractmethod
    def bind(self, binding: Binding) -> Node:
        """Return the metric as a tree on the generalised confusion vector."""

    def parts(self, binding: Binding) -> Sequence[Metric]:
        """Return what is compared separately over groups: the metric itself, or each of its rates."""
        return (self,)

    def __call__(self, confusion: Confusion) -> float:
        """Return the value of the metric on a confusion tensor."""
        node, u, _ = self._on(confusion)
        return node.scalar(u)

    def gradient(self, confusion: Confusion) -> FloatArray:
        """Return the gradient, in the shape of the tensor, for changes that keep each cell's class priors."""
        node, u, functions = self._on(confusion)
        return functions.loss(node.gradient(u))

    def _on(self, confusion: Confusion) -> tuple[Node, FloatArray, Functions]:
        if not isinstance(confusion, Confusion):
            raise ValueError(f"{self} is a function of a Confusion, got {type(confusion).__name__}")
        binding = Binding.of(confusion.axes, confusion.margins)
        node = binding.take(self)
        functions = binding.finish()
        return node, functions.vector(confusion.values), functions

    def at(self, /, **where: object) -> Metric:
        """Return the metric on the rows whose attributes have the given value, or one of the given values.

        Examples
        --------
        >>> import metricfit as mf
        >>> print(mf.recall("fraud").at(region=["north", "south"], channel="web"))
        recall('fraud').at(region=['north', 'south'], channel='web')
        """
        return Sliced(self, plain_slice(where))

    def __copy__(self) -> Metric:
        return self

    def __deepcopy__(self, memo: object) -> Metric:
        """Return the metric itself, which is immutable; a copy would duplicate every part of it."""
        return self

    def scorer(self, constraints: Any = (), attributes: str | Sequence[str] | None = None) -> Any:
        """Return a scikit-learn scorer of the metric, for ``cross_val_score``, ``GridSearchCV`` and the like.

        Higher is better, so the sign of a metric of which lower is better is changed. A `MetricClassifier` is scored by
        its decision probabilities, any other classifier (and one with ``randomize="never"``) by its predictions.

        Parameters
        ----------
        constraints : list of Constraint or str
            If one of them is broken, the score is minus the violation (and less than any value of the metric), so a
            search over settings cannot win by breaking limits.
        attributes : str or list of str, optional
            Columns of X that hold the metric's attributes; by default those that the classifier names. Columns that
            X lacks are an error only if the metric needs them. With metadata routing,
            ``scorer.set_score_request(sensitive_features=True)`` passes them separately.

        Returns
        -------
        MetricScorer

        Examples
        --------
        >>> import metricfit as mf
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.model_selection import cross_val_score
        >>> X, y = make_classification(400, random_state=0)
        >>> cross_val_score(LogisticRegression(), X, y, scoring=mf.g_mean().scorer()).shape
        (5,)
        """
        # Imported only when needed: scikit-learn takes longer to import than all metrics.
        from metricfit.metrics.scorer import MetricScorer

        return MetricScorer.of(self, constraints, attributes)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return vars(self).get("_made") or super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        sense = {1: "higher is better", -1: "lower is better", 0: "no direction"}[self.direction]
        smooth = "smooth" if self.smooth else "not smooth"
        return f"<Metric {self} ({self.curvature.value}, {smooth}, {sense})>"

    def __add__(self, other: Metric | float) -> Metric:
        return Combination.of(((1.0, self), (1.0, as_metric(other))))

    def __radd__(self, other: float) -> Metric:
        return Combination.of(((1.0, as_metric(other)), (1.0, self)))

    def __sub__(self, other: Metric | float) -> Metric:
        return Combination.of(((1.0, self), (-1.0, as_metric(other))))

    def __rsub__(self, other: float) -> Metric:
        return Combination.of(((1.0, as_metric(other)), (-1.0, self)))

    def __neg__(self) -> Metric:
        return Combination.of(((-1.0, self),))

    def __mul__(self, other: Metric | float) -> Metric:
        left, right = self, as_metric(other)
        for scale, metric in ((left, right), (right, left)):
            if isinstance(scale, Combination) and not scale.terms:
                return Combination.of(((scale.constant, metric),))
        return Times(left, right)

    __rmul__ = __mul__

    def __truediv__(self, other: Metric | float) -> Metric:
        under = as_metric(other)
        if isinstance(under, Combination) and not under.terms:
            if under.constant == 0:
                raise ValueError(f"{self} / 0: the denominator is zero")
            return Combination.of(((1 / under.constant, self),))
        return Divided(self, under)

    def __rtruediv__(self, other: float) -> Metric:
        return Divided(as_metric(other), self)

    def __abs__(self) -> Metric:
        return Absolute(self)

    def __le__(self, limit: Metric | float) -> Constraint:
        return compare(self - limit, "<=", 0.0) if isinstance(limit, Metric) else compare(self, "<=", limit)

    def __ge__(self, limit: Metric | float) -> Constraint:
        return compare(self - limit, ">=", 0.0) if isinstance(limit, Metric) else compare(self, ">=", limit)

    def __lt__(self, limit: object) -> NoReturn:
        raise ComparisonError(f"constraints use <= or >=; write mf.{self} <= {brief(limit)}")

    def __gt__(self, limit: object) -> NoReturn:
        raise ComparisonError(f"constraints use <= or >=; write mf.{self} >= {brief(limit)}")


def as_metric(value: Metric | float) -> Metric:
    """Return a metric as it is and a number as a constant metric."""
    if isinstance(value, Metric):
        return value
    constant = finite(value)
    if constant is None:
        raise ValueError(f"metrics combine with metrics and finite numbers, got {brief(value)}")
    return Combination((), constant)


def agreed(directions: Iterable[int]) -> int:
    """Return the direction of an expression: that of its parts, 0 if they disagree."""
    found = set(directions) - {0}
    return found.pop() if len(found) == 1 else 0


def grouped(metric: Metric) -> str:
    """Return the text of a metric, in brackets if it is a sum, a product or a quotient."""
    return f"({metric})" if isinstance(metric, Combination | Times | Divided) else str(metric)


@dataclass(frozen=True, repr=False, eq=False)
class Combination(Metric):
    """``constant + sum of coefficient * metric``."""

    terms: tuple[tuple[float, Metric], ...]
    constant: float = 0.0

    @classmethod
    def of(cls, terms: Sequence[tuple[float, Metric]]) -> Metric:
        """Combine, folding constants and nested combinations; 1 times a metric is the metric itself."""
        flat: list[tuple[float, Metric]] = []
        constant = 0.0
        for c, metric in terms:
            if isinstance(metric, Combination):
                constant += c * metric.constant
                flat.extend((c * inner, part) for inner, part in metric.terms)
            else:
                flat.append((c, metric))
        if not np.isfinite([constant, *(c for c, _ in flat)]).all():
            raise ValueError(
                "a metric is multiplied or divided by a number so large, or so small, that it overflows"
            )
        return (
            flat[0][1] if constant == 0 and len(flat) == 1 and flat[0][0] == 1 else cls(tuple(flat), constant)
        )

    @property
    def curvature(self) -> Curvature:
        return of_sum((c, m.curvature) for c, m in self.terms)

    @property
    def operands(self) -> tuple[Metric, ...]:
        return tuple(m for _, m in self.terms)

    @property
    def direction(self) -> int:
        return agreed(int(np.sign(c)) * m.direction for c, m in self.terms)

    def bind(self, binding: Binding) -> Node:
        if not self.terms:
            return Constant(np.array([self.constant]))
        return Sum(tuple((c, m.bind(binding)) for c, m in self.terms), self.constant)

    def __str__(self) -> str:
        text = "" if self.constant == 0 and self.terms else number(self.constant)
        for c, metric in self.terms:
            size = "" if abs(c) == 1 else f"{number(abs(c))} * "
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += f"{sign}{size}{metric if c == 1 else grouped(metric)}"
        return text


@dataclass(frozen=True, repr=False, eq=False)
class Absolute(Metric):
    """The absolute value of a metric; lower is better, as for any deviation."""

    metric: Metric
    direction = -1
    smooth = False

    @property
    def operands(self) -> tuple[Metric, ...]:
        return (self.metric,)

    @property
    def curvature(self) -> Curvature:
        return Curvature.CONVEX if self.metric.curvature is Curvature.LINEAR else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        return magnitude([self.metric.bind(binding)])

    def __str__(self) -> str:
        return f"abs({self.metric})"


@dataclass(frozen=True, repr=False, eq=False)
class Times(Metric):
    """The product of two metrics."""

    left: Metric
    right: Metric
    curvature = Curvature.UNKNOWN

    @property
    def operands(self) -> tuple[Metric, ...]:
        return self.left, self.right

    @property
    def direction(self) -> int:
        return agreed((self.left.direction, self.right.direction))

    def bind(self, binding: Binding) -> Node:
        return Product(self.left.bind(binding), self.right.bind(binding))

    def __str__(self) -> str:
        return f"{grouped(self.left)} * {grouped(self.right)}"


@dataclass(frozen=True, repr=False, eq=False)
class Divided(Metric):
    """The quotient of two metrics, the second of which is never negative."""

    over: Metric
    under: Metric

    @property
    def curvature(self) -> Curvature:
        linear = {self.over.curvature, self.under.curvature} == {Curvature.LINEAR}
        return Curvature.RATIO if linear else Curvature.UNKNOWN

    @property
    def operands(self) -> tuple[Metric, ...]:
        return self.over, self.under

    @property
    def direction(self) -> int:
        return agreed((self.over.direction, -self.under.direction))

    def bind(self, binding: Binding) -> Node:
        over, under = self.over.bind(binding), self.under.bind(binding)
        if under.curvature is Curvature.LINEAR:
            # The range is exact: multiplying by a negative denominator would reverse a comparison.
            low, high = binding.extremes(under)
        else:
            low, high = 0.0, float(under.reach()[1][0])
        if low < -SUM_ERROR or high <= SUM_ERROR:
            range_ = f"it can be {low:.4g}" if low < -SUM_ERROR else "it is never positive"
            raise ValueError(
                f"{self}: the denominator {self.under} must not be negative{binding.where()}, but {range_}; "
                "add a constant that keeps it positive, or divide by a rate"
            )
        return Quotient(over, under)

    def __str__(self) -> str:
        return f"{grouped(self.over)} / {grouped(self.under)}"


@dataclass(frozen=True, repr=False, eq=False)
class Sliced(Metric):
    """A metric on the rows of one slice."""

    metric: Metric
    where: Mapping[str, object]

    @property
    def curvature(self) -> Curvature:
        return self.metric.curvature

    @property
    def operands(self) -> tuple[Metric, ...]:
        return (self.metric,)

    @property
    def direction(self) -> int:
        return self.metric.direction

    def bind(self, binding: Binding) -> Node:
        return self.metric.bind(binding.at(self.where))

    def __str__(self) -> str:
        return f"{grouped(self.metric)}.at({slice_text(self.where)})"
