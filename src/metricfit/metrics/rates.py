"""The parts that named metrics are built from: rates, and means, extremes and distances of rates.

The classes here and in `metricfit.metrics.comparison` are the only ones that a new metric needs; see the page
"Add a metric" of the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.exceptions import UndefinedError
from metricfit.functions.atoms import Atom
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature, of_composition, of_maximum
from metricfit.functions.expression import Constant, Node
from metricfit.functions.extremes import largest, magnitude, smallest
from metricfit.functions.functionals import Functional, each_class, each_decision, each_hit, everything
from metricfit.functions.nonlinear import Quotient, Smooth
from metricfit.functions.sums import Sum, Total
from metricfit.messages import some
from metricfit.metrics.base import Metric, agreed
from metricfit.types import FloatArray


@dataclass(frozen=True, repr=False, eq=False)
class Written(Metric):
    """A metric that is identified by its text."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False, eq=False)
class Rates(Written):
    """Quotients of linear functions; linear if the denominators do not depend on the decisions.

    ``most`` is the largest value that the rate can have by definition.
    """

    over: Functional
    under: Functional
    ratio: bool
    direction: int = 1
    most: float = 1.0

    @property
    def curvature(self) -> Curvature:
        return Curvature.RATIO if self.ratio else Curvature.LINEAR

    def bind(self, binding: Binding) -> Node:
        over, under = self.over(binding), self.under(binding)
        if not under.constant:
            return Quotient(binding.bind(over), binding.bind(under), self.most)
        denominator = binding.bind(under).value(np.zeros(0))
        if np.any(denominator <= 0):
            raise UndefinedError(_why(binding, int(np.sum(denominator <= 0))))
        return binding.bind(over.scaled(1 / denominator))


def _why(binding: Binding, count: int) -> str:
    missing = [c for c, p in zip(binding.axes.classes, binding.prior, strict=True) if p <= 0]
    classes, have = ("classes", "have") if len(missing) > 1 else ("class", "has")
    where = binding.where()
    # Where probabilities are counted as soft labels, a class that has rows may still have none of the weight.
    none = f"{have} no rows {'there' if where else 'at all'}, or by soft labels no probability"
    return (
        f"undefined{where}, because {classes} {some(missing)} {none}, so that {count} of its denominators "
        f"{'are' if count > 1 else 'is'} zero. Pass rows of every class, merge the classes or the groups, or "
        "leave them out of the metric"
    )


@dataclass(frozen=True, repr=False, eq=False)
class Named(Written):
    """A metric that is an expression of others, under its own name.

    ``undefined`` is its value, by convention, on rows on which no policy could have one; NaN if there is none.
    """

    metric: Metric
    direction: int = 1
    undefined: float = math.nan

    def __call__(self, confusion: Confusion) -> float:
        try:
            return super().__call__(confusion)
        except ValueError as error:
            if math.isnan(self.undefined) or not isinstance(error.__cause__, UndefinedError):
                raise
            return self.undefined

    @property
    def curvature(self) -> Curvature:
        return self.metric.curvature

    @property
    def operands(self) -> tuple[Metric, ...]:
        return (self.metric,)

    def bind(self, binding: Binding) -> Node:
        return self.metric.bind(binding)


@dataclass(frozen=True, repr=False, eq=False)
class Composed(Written):
    """A smooth function of rates, such as a mean of the recalls; the atom may depend on the class priors."""

    atom: Callable[[Binding], Atom]
    kind: type[Atom]
    rates: Metric
    direction: int = 1

    @property
    def curvature(self) -> Curvature:
        return of_composition(self.kind.curvature, self.kind.slope, self.rates.curvature)

    def bind(self, binding: Binding) -> Node:
        return Smooth(self.atom(binding), self.rates.bind(binding))


@dataclass(frozen=True, repr=False, eq=False)
class Mean(Written):
    """The mean of one rate per class: plain ("macro"), or weighted by the classes' priors ("weighted")."""

    rates: Metric
    average: Literal["macro", "weighted"] = "macro"
    direction: int = 1

    @property
    def curvature(self) -> Curvature:
        return Curvature.LINEAR if self.rates.curvature is Curvature.LINEAR else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        n = binding.axes.n
        weights = np.full(n, 1 / n) if self.average == "macro" else binding.prior / binding.mass
        return Total(weights, self.rates.bind(binding))


@dataclass(frozen=True, repr=False, eq=False)
class Distance(Written):
    """The largest distance of rates from their targets."""

    rates: Metric
    target: Callable[[Binding], FloatArray]
    direction = -1
    smooth = False

    @property
    def curvature(self) -> Curvature:
        return Curvature.CONVEX if self.rates.curvature is Curvature.LINEAR else Curvature.UNKNOWN

    def bind(self, binding: Binding) -> Node:
        return magnitude([Sum(((1.0, self.rates.bind(binding)), (-1.0, Constant(self.target(binding)))))])


@dataclass(frozen=True, repr=False, eq=False)
class Extreme(Metric):
    """The largest or the smallest of several metrics."""

    kind: Literal["maximum", "minimum"]
    metrics: tuple[Metric, ...]
    smooth = False

    @property
    def operands(self) -> tuple[Metric, ...]:
        return self.metrics

    @property
    def curvature(self) -> Curvature:
        if self.kind == "maximum":
            return of_maximum(m.curvature for m in self.metrics)
        return of_maximum(m.curvature.negated for m in self.metrics).negated

    @property
    def direction(self) -> int:
        return agreed(m.direction for m in self.metrics)

    def bind(self, binding: Binding) -> Node:
        return (largest if self.kind == "maximum" else smallest)([m.bind(binding) for m in self.metrics])

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.metrics))})"


RECALLS = Rates("recalls", each_hit, each_class, ratio=False)
COVERAGES = Rates("coverages", each_decision, everything, ratio=False, direction=0)
