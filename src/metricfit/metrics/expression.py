"""Bound metrics: small trees of functions of the generalised confusion vector ``u``.

Section 7 of the paper: a problem only ever sees a few linear functions of the confusion tensor (the recalls, the coverages,
one cost ...). Binding a metric to data lists those functions once, as ``u``, and leaves a tree on top of them. A node has a
vector value; a metric is a node of size one.

The slope of a convex node is a global under-estimator, that of a concave node an over-estimator, also where a maximum is
taken: ``theta`` may name, for each `Largest`, any weights on its parts (the master problem's multipliers). That is what the
certificate is made of, so it does not depend on how exactly a solver has solved anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.metrics.atoms import Atom
from metricfit.metrics.curvature import Curvature, of_composition, of_maximum, of_sum
from metricfit.types import FloatArray

Theta = Mapping["Largest", FloatArray]
NO_THETA: Theta = {}


@dataclass(frozen=True, eq=False)
class Node:
    """A vector-valued function of ``u``."""

    @property
    def size(self) -> int:
        """Number of values."""
        raise NotImplementedError

    @property
    def curvature(self) -> Curvature:
        """Curvature shared by all values."""
        raise NotImplementedError

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the values at ``u``."""
        raise NotImplementedError

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the (super- or sub-) gradient of ``weight @ value`` at ``u``."""
        raise NotImplementedError

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the values over all decision rules, by interval arithmetic."""
        raise NotImplementedError

    def scalar(self, u: FloatArray) -> float:
        """Return the value of a node of size one."""
        return float(self.value(u)[0])

    def gradient(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the gradient of a node of size one."""
        return self.slope(u, np.ones(1), theta)


@dataclass(frozen=True, eq=False)
class Entries(Node):
    """``u[start:stop]``; ``low`` and ``high`` bound what any decision rule can make of it."""

    start: int
    stop: int
    low: FloatArray
    high: FloatArray

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def curvature(self) -> Curvature:
        return Curvature.LINEAR

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return u[self.start : self.stop]

    def reach(self) -> tuple[FloatArray, FloatArray]:
        return self.low, self.high

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        out = np.zeros(u.size)
        out[self.start : self.stop] = weight
        return out


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """Numbers that no decision changes."""

    values: FloatArray

    @property
    def size(self) -> int:
        return self.values.size

    @property
    def curvature(self) -> Curvature:
        return Curvature.LINEAR

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.values

    def reach(self) -> tuple[FloatArray, FloatArray]:
        return self.values, self.values

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.zeros(u.size)


@dataclass(frozen=True, eq=False)
class Sum(Node):
    """``constant + sum_t coefficient_t * part_t``, element by element."""

    terms: tuple[tuple[float, Node], ...]
    constant: float = 0.0

    @property
    def size(self) -> int:
        return max(part.size for _, part in self.terms)

    @property
    def curvature(self) -> Curvature:
        return of_sum((c, part.curvature) for c, part in self.terms if not isinstance(part, Constant))

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        total = np.full(self.size, self.constant)
        for coefficient, part in self.terms:
            total += coefficient * part.value(u, theta)
        return total

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = np.full(self.size, self.constant), np.full(self.size, self.constant)
        for coefficient, part in self.terms:
            ends = np.sort(coefficient * np.stack(part.reach()), axis=0)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        total = np.zeros(u.size)
        for coefficient, part in self.terms:
            shared = weight if part.size == weight.size else np.array([weight.sum()])
            total += part.slope(u, coefficient * shared, theta)
        return total


@dataclass(frozen=True, eq=False)
class Total(Node):
    """``weights @ part``."""

    weights: FloatArray
    part: Node

    @property
    def size(self) -> int:
        return 1

    @property
    def curvature(self) -> Curvature:
        used = self.weights[self.weights != 0]
        return of_sum((w, self.part.curvature) for w in used)

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.array([self.weights @ self.part.value(u, theta)])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        ends = np.sort(self.weights * np.stack(self.part.reach()), axis=0)
        return ends[:1].sum(axis=1), ends[1:].sum(axis=1)

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.part.slope(u, weight[0] * self.weights, theta)


@dataclass(frozen=True, eq=False)
class Stack(Node):
    """Several nodes, one after the other."""

    parts: tuple[Node, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def curvature(self) -> Curvature:
        kinds = {part.curvature for part in self.parts}
        if len(kinds) == 1:
            return kinds.pop()
        if all(kind.is_convex for kind in kinds):
            return Curvature.CONVEX
        return Curvature.CONCAVE if all(kind.is_concave for kind in kinds) else Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.concatenate([part.value(u, theta) for part in self.parts])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        lows, highs = zip(*(part.reach() for part in self.parts), strict=True)
        return np.concatenate(lows), np.concatenate(highs)

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        cuts = np.cumsum([part.size for part in self.parts])[:-1]
        shares = np.split(weight, cuts)
        return np.sum(
            [p.slope(u, w, theta) for p, w in zip(self.parts, shares, strict=True)], axis=0, initial=0.0
        ) + np.zeros(u.size)


@dataclass(frozen=True, eq=False)
class Largest(Node):
    """The largest value of a node; with ``theta``, a weighted mean of them, which is never larger."""

    part: Node

    @property
    def size(self) -> int:
        return 1

    @property
    def curvature(self) -> Curvature:
        return of_maximum([self.part.curvature])

    def weights(self, values: FloatArray, theta: Theta) -> FloatArray:
        """Return the given weights on the parts, or all weight on the (last) largest."""
        if self in theta:
            return theta[self]
        chosen = np.zeros(values.size)
        chosen[values.size - 1 - int(np.argmax(values[::-1]))] = 1.0
        return chosen

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        values = self.part.value(u, theta)
        return np.array([theta[self] @ values if self in theta else values.max()])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = self.part.reach()
        return np.array([low.max()]), np.array([high.max()])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        chosen = self.weights(self.part.value(u, theta), theta)
        return self.part.slope(u, weight[0] * chosen, theta)


@dataclass(frozen=True, eq=False)
class Smooth(Node):
    """A smooth `Atom` of a node."""

    atom: Atom
    part: Node

    @property
    def size(self) -> int:
        return 1

    @property
    def curvature(self) -> Curvature:
        return of_composition(self.atom.curvature, self.atom.slope, self.part.curvature)

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.array([self.atom.value(self.part.value(u, theta))])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        if self.atom.slope == 0:
            return np.array([0.0]), np.array([np.inf])
        ends = np.sort([self.atom.value(end) for end in self.part.reach()])
        return ends[:1], ends[1:]

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.part.slope(u, weight[0] * self.atom.gradient(self.part.value(u, theta)), theta)


@dataclass(frozen=True, eq=False)
class Quotient(Node):
    """``over / under``, element by element; 0 where both vanish, as scikit-learn's ``zero_division=0``.

    ``most`` is a bound that holds by the meaning of the rate (a precision is at most 1), where intervals do not show it.
    """

    over: Node
    under: Node
    most: float = np.inf

    @property
    def size(self) -> int:
        return max(self.over.size, self.under.size)

    @property
    def curvature(self) -> Curvature:
        linear = self.over.curvature is Curvature.LINEAR and self.under.curvature is Curvature.LINEAR
        return Curvature.RATIO if linear else Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        over, under = self.over.value(u), self.under.value(u)
        return np.divide(over, under, out=np.zeros(self.size), where=under != 0)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        (low, high), (least, most) = self.over.reach(), self.under.reach()
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([low / least, low / most, high / least, high / most])
        ends = np.where(np.isnan(ends), 0.0, ends)
        positive = least > 0
        return np.where(positive, ends.min(axis=0), np.where(low >= 0, 0.0, -np.inf)), np.where(
            positive, np.minimum(ends.max(axis=0), self.most), self.most
        )

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        under = self.under.value(u)
        share = np.divide(weight, under, out=np.zeros(self.size), where=under != 0)
        return self.over.slope(u, share) - self.under.slope(u, share * self.value(u))


@dataclass(frozen=True, eq=False)
class Product(Node):
    """``left * right``, both of size one."""

    left: Node
    right: Node

    @property
    def size(self) -> int:
        return 1

    @property
    def curvature(self) -> Curvature:
        return Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.left.value(u) * self.right.value(u)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        (a, b), (c, d) = self.left.reach(), self.right.reach()
        ends = np.stack([a * c, a * d, b * c, b * d])
        return ends.min(axis=0), ends.max(axis=0)

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.left.slope(u, weight * self.right.value(u)) + self.right.slope(
            u, weight * self.left.value(u)
        )


@dataclass(frozen=True, eq=False)
class Blackbox(Node):
    """A user's function of the n x k matrix, with its gradient function."""

    function: Callable[[FloatArray], float]
    derivative: Callable[[FloatArray], FloatArray]
    shape: tuple[int, int]
    part: Entries

    @property
    def size(self) -> int:
        return 1

    @property
    def curvature(self) -> Curvature:
        return Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.array([float(self.function(self.part.value(u).reshape(self.shape)))])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        return np.array([-np.inf]), np.array([np.inf])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        derivative = self.derivative(self.part.value(u).reshape(self.shape))
        return self.part.slope(u, weight[0] * derivative.ravel())


def negative(node: Node) -> Node:
    """Return ``-node``."""
    return Sum(((-1.0, node),))


def shifted(node: Node, by: float) -> Node:
    """Return ``node + by``."""
    return Sum(((1.0, node),), by)


class NotConvex(ValueError):
    """The set where a metric keeps a limit is not convex."""


def at_most(node: Node, limit: float) -> Node:
    """Return convex functions that are all <= 0 exactly where ``node <= limit``.

    A quotient is multiplied out (its denominator is a probability mass, never negative), a maximum is split, a rescaled metric
    is unscaled; what remains must be convex.
    """
    match node:
        case Quotient(over, under, _) if node.curvature is Curvature.RATIO:
            return Sum(((1.0, over), (-limit, under)))
        case Largest(part):
            return at_most(part, limit)
        case Stack(parts):
            return Stack(tuple(at_most(part, limit) for part in parts))
        case Sum(((coefficient, part),), constant) if coefficient != 0:
            level = (limit - constant) / coefficient
            return at_most(part, level) if coefficient > 0 else at_least(part, level)
        case Total(weights, part) if part.size == 1:
            return at_most(Sum(((float(weights[0]), part),)), limit)
    if node.curvature.is_convex:
        return shifted(node, -limit)
    raise NotConvex


def at_least(node: Node, limit: float) -> Node:
    """Return convex functions that are all <= 0 exactly where ``node >= limit``."""
    match node:
        case Quotient(over, under, _) if node.curvature is Curvature.RATIO:
            return Sum(((-1.0, over), (limit, under)))
        case Stack(parts):
            return Stack(tuple(at_least(part, limit) for part in parts))
        case Sum(((coefficient, part),), constant) if coefficient != 0:
            level = (limit - constant) / coefficient
            return at_least(part, level) if coefficient > 0 else at_most(part, level)
    if node.curvature.is_concave:
        return Sum(((-1.0, node),), limit)
    raise NotConvex


def nodes_of(root: Node) -> Sequence[Node]:
    """Return every node of a tree, root first."""
    found: list[Node] = [root]
    for name in root.__dataclass_fields__:
        child: Any = getattr(root, name)
        if isinstance(child, Node):
            found.extend(nodes_of(child))
        elif name == "parts":
            for part in child:
                found.extend(nodes_of(part))
        elif name == "terms":
            for _, part in child:
                found.extend(nodes_of(part))
    return found
