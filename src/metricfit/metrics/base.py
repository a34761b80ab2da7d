"""Metrics as expressions: what users write before any data is there.

A `Metric` knows its curvature, smoothness and natural direction by composition, and how to bind itself to the axes of a
confusion tensor. Comparisons make a `Constraint`. ``str`` gives the text that `metricfit.parse` reads back, ``repr`` adds the
curvature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex

import numpy as np
import scipy.sparse as sp

from metricfit.confusion import Confusion
from metricfit.layout import expand, statistic
from metricfit.metrics.atoms import Atom
from metricfit.metrics.binding import Binding, Linear
from metricfit.metrics.curvature import Curvature, of_composition, of_maximum, of_sum
from metricfit.metrics.expression import (
    Blackbox,
    Constant,
    Entries,
    Largest,
    Node,
    Product,
    Quotient,
    Smooth,
    Stack,
    Sum,
    Total,
    negative,
)
from metricfit.types import FloatArray


class Metric:
    """A function of the confusion tensor, in its natural sign.

    Combine metrics with ``+ - * /``, ``abs``, `minimum` and `maximum`, restrict them to a slice of the rows with `at`, and compare
    them with a number to get a `Constraint`.

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

    @property
    def curvature(self) -> Curvature:
        """How the metric bends over the achievable confusion tensors."""
        raise NotImplementedError

    @property
    def smooth(self) -> bool:
        """Whether the metric has a gradient wherever its rates are positive."""
        raise NotImplementedError

    @property
    def direction(self) -> int:
        """+1 when higher is better, -1 when lower is better, 0 when neither is."""
        raise NotImplementedError

    def bind(self, binding: Binding) -> Node:
        """Return the metric as a tree on the generalised confusion vector."""
        raise NotImplementedError

    def __call__(self, confusion: Confusion) -> float:
        """Return the value of the metric on a confusion tensor."""
        node, u, _ = self._on(confusion)
        return node.scalar(u)

    def gradient(self, confusion: Confusion) -> FloatArray:
        """Return the gradient, of the shape of the tensor, for changes that keep the class priors."""
        node, u, (binding, functions) = self._on(confusion)
        shape = (len(confusion.axes.cells), -1, confusion.axes.k)
        slope = (functions.matrix.T @ node.gradient(u)).reshape(shape)
        return expand(slope, functions.layout, binding.axes)

    def _on(self, confusion: Confusion):  # type: ignore[no-untyped-def]
        binding = Binding.of(confusion.axes, confusion.margins)
        node = self.bind(binding)
        functions = binding.finish()
        z = statistic(confusion.values, functions.layout, confusion.axes)
        return node, functions.matrix @ z.ravel() + functions.constant, (binding, functions)

    def at(self, **where: object) -> Metric:
        """Return the metric on the rows whose attributes have the given value, or one of the given values."""
        return Sliced(self, where)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle by the call that made the metric, if any: its parts hold functions that cannot be pickled."""
        return vars(self).get("_made") or super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        sense = {1: "higher is better", -1: "lower is better", 0: "no direction"}[self.direction]
        return (
            f"<Metric {self} ({self.curvature.value}, {'smooth' if self.smooth else 'not smooth'}, {sense})>"
        )

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
        return _compare(self, "<=", limit)

    def __ge__(self, limit: Metric | float) -> Constraint:
        return _compare(self, ">=", limit)


@dataclass(frozen=True)
class Constraint:
    """``metric <= limit`` or ``metric >= limit``.

    Examples
    --------
    >>> import metricfit as mf
    >>> str(mf.precision("fraud") >= 0.9)
    "precision('fraud') >= 0.9"
    """

    metric: Metric
    sense: Literal["<=", ">="]
    limit: float

    def __str__(self) -> str:
        return f"{self.metric} {self.sense} {self.limit:g}"

    def __bool__(self) -> bool:
        # `a <= m <= b` asks for the truth of its first half, and would silently drop it.
        raise TypeError(
            f"a constraint is neither true nor false, so '{self}' cannot be chained or used in an if; "
            "write two constraints instead of a <= metric <= b"
        )


def grouped(metric: Metric) -> str:
    """Return the text of a metric, in brackets where it is a sum, a product or a quotient."""
    return f"({metric})" if isinstance(metric, Combination | Times | Divided) else str(metric)


def _compare(metric: Metric, sense: Literal["<=", ">="], limit: Metric | float) -> Constraint:
    if isinstance(limit, Metric):
        metric, limit = metric - limit, 0.0
    if not np.isscalar(limit) or not np.isfinite(limit):
        raise ValueError(f"the limit of a constraint on {metric} must be a finite number, got {limit!r}")
    return Constraint(metric, sense, float(limit))


def as_metric(value: Metric | float) -> Metric:
    """Return a metric as it is and a number as a constant metric."""
    if isinstance(value, Metric):
        return value
    if isinstance(value, bool) or not np.isscalar(value) or isinstance(value, str) or not np.isfinite(value):
        raise ValueError(f"metrics combine with metrics and finite numbers, got {value!r}")
    return Combination((), float(value))


@dataclass(frozen=True, repr=False, eq=False)
class Rates(Metric):
    """Quotients of linear functions; linear itself when no decision changes the denominators."""

    text: str
    over: Callable[[Binding], Linear]
    under: Callable[[Binding], Linear]
    ratio: bool
    direction: int = 1  # type: ignore[assignment]
    most: float = 1.0

    curvature = property(lambda self: Curvature.RATIO if self.ratio else Curvature.LINEAR)  # type: ignore[assignment]
    smooth = True  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.text

    def bind(self, binding: Binding) -> Node:
        under = self.under(binding)
        if not under.constant:
            return Quotient(binding.bind(self.over(binding)), binding.bind(under), self.most)
        denominator = binding.bind(under).value(np.zeros(0))
        if np.any(denominator <= 0):
            raise ValueError(undefined(self.text, binding, denominator))
        return binding.bind(self.over(binding).scaled(1 / denominator))


def undefined(text: str, binding: Binding, denominator: FloatArray) -> str:
    """Say which class has no rows, and what to do about it."""
    missing = [c for c, p in zip(binding.axes.classes, binding.prior, strict=True) if p <= 0]
    what = f"class{'es' if len(missing) > 1 else ''} {', '.join(map(repr, missing[:5]))}" if missing else "it"
    return (
        f"{text} is undefined{binding.where()}: {what} {'have' if len(missing) > 1 else 'has'} no rows there, so "
        f"{int(np.sum(denominator <= 0))} of its denominators are zero. Give rows of every class, merge the classes or the "
        "groups, or leave them out of the metric"
    )


@dataclass(frozen=True, repr=False, eq=False)
class Combination(Metric):
    """``constant + sum of coefficient * metric``."""

    terms: tuple[tuple[float, Metric], ...]
    constant: float = 0.0

    @classmethod
    def of(cls, terms: Sequence[tuple[float, Metric]]) -> Combination:
        """Combine, folding constants and nested combinations."""
        flat: list[tuple[float, Metric]] = []
        constant = 0.0
        for c, metric in terms:
            if isinstance(metric, Combination):
                constant += c * metric.constant
                flat.extend((c * inner, part) for inner, part in metric.terms)
            else:
                flat.append((c, metric))
        return cls(tuple(flat), constant)

    @property
    def curvature(self) -> Curvature:
        return of_sum((c, m.curvature) for c, m in self.terms)

    @property
    def smooth(self) -> bool:
        return all(m.smooth for _, m in self.terms)

    @property
    def direction(self) -> int:
        signs = {int(np.sign(c)) * m.direction for c, m in self.terms} - {0}
        return signs.pop() if len(signs) == 1 else 0

    def bind(self, binding: Binding) -> Node:
        if not self.terms:
            return Constant(np.array([self.constant]))
        return Sum(tuple((c, m.bind(binding)) for c, m in self.terms), self.constant)

    def __str__(self) -> str:
        text = "" if self.constant == 0 and self.terms else f"{self.constant:g}"
        for c, metric in self.terms:
            size = "" if abs(c) == 1 else f"{abs(c):g} * "
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += f"{sign}{size}{metric}"
        return text


@dataclass(frozen=True, repr=False, eq=False)
class Extreme(Metric):
    """The largest or the smallest of several metrics."""

    kind: Literal["maximum", "minimum"]
    metrics: tuple[Metric, ...]
    smooth = False  # type: ignore[assignment]

    @property
    def curvature(self) -> Curvature:
        if self.kind == "maximum":
            return of_maximum(m.curvature for m in self.metrics)
        return of_maximum(m.curvature.negated for m in self.metrics).negated

    @property
    def direction(self) -> int:
        directions = {m.direction for m in self.metrics} - {0}
        return directions.pop() if len(directions) == 1 else 0

    def bind(self, binding: Binding) -> Node:
        return extreme(self.kind, [m.bind(binding) for m in self.metrics])

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.metrics))})"


def extreme(kind: str, nodes: Sequence[Node]) -> Node:
    """Return the largest or smallest value of all given nodes."""
    if kind == "maximum":
        return Largest(Stack(tuple(nodes)))
    return negative(Largest(Stack(tuple(negative(node) for node in nodes))))


def magnitude(nodes: Sequence[Node]) -> Node:
    """Return the largest absolute value of all given nodes."""
    return Largest(Stack((*nodes, *(negative(node) for node in nodes))))


@dataclass(frozen=True, repr=False, eq=False)
class Absolute(Metric):
    """The absolute value of a metric; lower is better, as of any deviation."""

    metric: Metric
    direction = -1  # type: ignore[assignment]
    smooth = False  # type: ignore[assignment]

    @property
    def curvature(self) -> Curvature:
        return Curvature.CONVEX if self.metric.curvature is Curvature.LINEAR else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        return magnitude([self.metric.bind(binding)])

    def __str__(self) -> str:
        return f"abs({self.metric})"


@dataclass(frozen=True, repr=False, eq=False)
class Composed(Metric):
    """A smooth function of rates, such as a mean of the recalls; the atom may depend on the class priors."""

    text: str
    atom: Callable[[Binding], Atom]
    kind: type[Atom]
    rates: Metric
    direction: int = 1  # type: ignore[assignment]
    smooth = True  # type: ignore[assignment]

    @property
    def curvature(self) -> Curvature:
        return of_composition(self.kind.curvature, self.kind.slope, self.rates.curvature)

    def bind(self, binding: Binding) -> Node:
        return Smooth(self.atom(binding), self.rates.bind(binding))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False, eq=False)
class Named(Metric):
    """A metric that is an expression of others, under its own name."""

    text: str
    metric: Metric
    direction: int = 1  # type: ignore[assignment]

    curvature = property(lambda self: self.metric.curvature)  # type: ignore[assignment]
    smooth = property(lambda self: self.metric.smooth)  # type: ignore[assignment]

    def bind(self, binding: Binding) -> Node:
        return self.metric.bind(binding)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False, eq=False)
class Times(Metric):
    """The product of two metrics."""

    left: Metric
    right: Metric
    curvature = Curvature.UNKNOWN  # type: ignore[assignment]

    @property
    def smooth(self) -> bool:
        return self.left.smooth and self.right.smooth

    @property
    def direction(self) -> int:
        return self.left.direction if self.left.direction == self.right.direction else 0

    def bind(self, binding: Binding) -> Node:
        return Product(self.left.bind(binding), self.right.bind(binding))

    def __str__(self) -> str:
        return f"{grouped(self.left)} * {grouped(self.right)}"


@dataclass(frozen=True, repr=False, eq=False)
class Divided(Metric):
    """The quotient of two metrics."""

    over: Metric
    under: Metric

    @property
    def curvature(self) -> Curvature:
        linear = {self.over.curvature, self.under.curvature} == {Curvature.LINEAR}
        return Curvature.RATIO if linear else Curvature.UNKNOWN

    @property
    def smooth(self) -> bool:
        return self.over.smooth and self.under.smooth

    @property
    def direction(self) -> int:
        return self.over.direction if self.under.direction in (0, -self.over.direction) else 0

    def bind(self, binding: Binding) -> Node:
        return Quotient(self.over.bind(binding), self.under.bind(binding))

    def __str__(self) -> str:
        return f"{grouped(self.over)} / {grouped(self.under)}"


@dataclass(frozen=True, repr=False, eq=False)
class Sliced(Metric):
    """A metric of the rows of one slice."""

    metric: Metric
    where: Mapping[str, object]

    curvature = property(lambda self: self.metric.curvature)  # type: ignore[assignment]
    smooth = property(lambda self: self.metric.smooth)  # type: ignore[assignment]
    direction = property(lambda self: self.metric.direction)  # type: ignore[assignment]

    def bind(self, binding: Binding) -> Node:
        return self.metric.bind(binding.at(binding.axes.cells.mask(**self.where)))

    def __str__(self) -> str:
        return f"{grouped(self.metric)}.at({', '.join(f'{k}={v!r}' for k, v in self.where.items())})"


@dataclass(frozen=True, repr=False, eq=False)
class Weighted(Metric):
    """The mean of several rates."""

    text: str
    rates: Metric
    direction: int = 1  # type: ignore[assignment]
    smooth = True  # type: ignore[assignment]

    @property
    def curvature(self) -> Curvature:
        return Curvature.LINEAR if self.rates.curvature is Curvature.LINEAR else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        rates = self.rates.bind(binding)
        return Total(np.full(rates.size, 1 / rates.size), rates)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False, eq=False)
class Spread(Metric):
    """The largest distance of rates from their targets."""

    text: str
    rates: Metric
    target: Callable[[Binding], FloatArray]
    direction = -1  # type: ignore[assignment]
    smooth = False  # type: ignore[assignment]

    @property
    def curvature(self) -> Curvature:
        return Curvature.CONVEX if self.rates.curvature is Curvature.LINEAR else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        return magnitude([Sum(((1.0, self.rates.bind(binding)), (-1.0, Constant(self.target(binding)))))])

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False, eq=False)
class Custom(Metric):
    """A user's function of the n x k matrix."""

    text: str
    function: Callable[[FloatArray], float]
    direction: int = 1  # type: ignore[assignment]
    curvature = Curvature.UNKNOWN  # type: ignore[assignment]
    smooth = False  # type: ignore[assignment]

    def bind(self, binding: Binding) -> Node:
        n, k = binding.axes.n, binding.axes.k
        entries = binding.bind(Linear(full=sp.eye_array(n * k, format="csr") / binding.mass))
        assert isinstance(entries, Entries)
        return Blackbox(self.function, lambda matrix: differences(self.function, matrix), (n, k), entries)

    def __str__(self) -> str:
        return self.text


def differences(function: Callable[[FloatArray], float], matrix: FloatArray) -> FloatArray:
    """Return the gradient of a function by central differences (one-sided at the border of the simplex)."""
    gradient = np.empty(matrix.shape)
    step = 1e-6
    for place in np.ndindex(*matrix.shape):
        ahead, behind = matrix.copy(), matrix.copy()
        ahead[place] += step
        behind[place] = max(behind[place] - step, 0.0)
        gradient[place] = (function(ahead) - function(behind)) / (ahead[place] - behind[place])
    return gradient
