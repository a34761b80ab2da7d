"""Bound metrics: small trees of functions of the generalised confusion vector ``u``.

Section 7 of the paper: a problem only ever sees a few linear functions of the confusion tensor (the
recalls, the coverages, one cost ...). Binding a metric to data lists those functions once, as ``u``, and
leaves a tree on top of them. A node has a vector value; a metric is a node of size one. Here are sums and
maxima; what bends is in `metricfit.functions.nonlinear`.

The slope of a convex node is a global under-estimator, that of a concave node an over-estimator, also where
a maximum is taken: ``theta`` may name, for each `Largest`, any weights on its parts (the master problem's
multipliers). That is what the certificate is made of, so it does not depend on how exactly a solver has
solved anything.

Values are taken at one ``u`` or at many, which are then the rows of a matrix: a search along a line asks for a
metric at thousands of points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from metricfit.functions.affine import Affine
from metricfit.functions.curvature import Curvature, of_maximum, of_sum
from metricfit.types import FloatArray

Theta = Mapping["Largest", FloatArray]
NO_THETA: Theta = {}

# Sums of more affine terms are evaluated by one matrix; with fewer the matrix takes longer.
FEW_TERMS = 4


@dataclass(frozen=True, eq=False)
class Node:
    """A vector-valued function of ``u``; ``one_by_one`` says that many points take as long as each on its own."""

    one_by_one: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of values."""
        raise NotImplementedError

    @property
    def curvature(self) -> Curvature:
        """Curvature shared by all values."""
        raise NotImplementedError

    @cached_property
    def affine(self) -> Affine | None:
        """The same values by one matrix; None if they are not affine functions of ``u``."""
        return None

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the values at ``u``: of shape (size,), or (points, size) at many points (points, entries)."""
        raise NotImplementedError

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the (super- or sub-) gradient of ``weight @ value`` at ``u``."""
        raise NotImplementedError

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the values at ``u`` of the planes that `slope` gives the steepness of.

        These are `value`, except at points where a function has no slope (a geometric mean with a zero rate):
        the plane then touches the function close by.
        """
        return self.value(u, theta)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the values over all decision rules, by interval arithmetic."""
        raise NotImplementedError

    def scalar(self, u: FloatArray) -> float:
        """Return the value of a node of size one."""
        return float(self.value(u)[0])

    def gradient(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the gradient of a node of size one."""
        return self.slope(u, np.ones(1), theta)


def shared(weight: FloatArray, part: Node) -> FloatArray:
    """Return the weight of each value of a part, whose only value may stand for all."""
    return weight if part.size == weight.size else np.array([weight.sum()])


def scaled_ends(scale: FloatArray | float, part: Node) -> FloatArray:
    """Return the lower and upper ends of ``scale * part``; nothing times anything is nothing."""
    ends = np.stack(part.reach())
    return np.sort(np.multiply(scale, ends, out=np.zeros_like(ends), where=np.not_equal(scale, 0)), axis=0)


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

    @cached_property
    def affine(self) -> Affine | None:
        places = np.arange(self.size)
        return Affine(places, places + self.start, np.ones(self.size), np.zeros(self.size))

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return u[..., self.start : self.stop]

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

    @cached_property
    def affine(self) -> Affine | None:
        none = np.zeros(0, np.int64)
        return Affine(none, none, np.zeros(0), self.values)

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.values if u.ndim == 1 else np.broadcast_to(self.values, (*u.shape[:-1], self.size))

    def reach(self) -> tuple[FloatArray, FloatArray]:
        return self.values, self.values

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.zeros(u.size)


@dataclass(frozen=True, eq=False)
class Sum(Node):
    """``constant + sum_t coefficient_t * part_t``, element by element."""

    terms: tuple[tuple[float, Node], ...]
    constant: float = 0.0

    @cached_property
    def size(self) -> int:
        return max(part.size for _, part in self.terms)

    @property
    def curvature(self) -> Curvature:
        return of_sum((c, part.curvature) for c, part in self.terms if not isinstance(part, Constant))

    @cached_property
    def affine(self) -> Affine | None:
        rows, columns, values, constants = [], [], [], []
        for coefficient, part in self.terms:
            if (form := part.affine) is None:
                return None
            # A part of size one stands in every row.
            times = self.size if form.constant.size < self.size else 1
            rows.append(np.repeat(np.arange(times), form.row.size) if times > 1 else form.row)
            columns.append(np.tile(form.column, times))
            values.append(np.tile(coefficient * form.value, times))
            constants.append(form.constant)
        joined = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
        return Affine(*joined, self.added(constants))

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if len(self.terms) > FEW_TERMS and self.affine is not None:
            return self.affine.at(u)
        return self.added([part.value(u, theta) for _, part in self.terms])

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.added([part.level(u, theta) for _, part in self.terms])

    def added(self, values: list[FloatArray]) -> FloatArray:
        """Return the sum for given values of the parts."""
        total = np.full((*values[0].shape[:-1], self.size), self.constant)
        for (coefficient, _), value in zip(self.terms, values, strict=True):
            total += coefficient * value
        return total

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = np.full(self.size, self.constant), np.full(self.size, self.constant)
        for coefficient, part in self.terms:
            ends = scaled_ends(coefficient, part)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if len(self.terms) > FEW_TERMS and self.affine is not None:
            return self.affine.slope(u, weight)
        total = np.zeros(u.size)
        for coefficient, part in self.terms:
            total += part.slope(u, coefficient * shared(weight, part), theta)
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
        return of_sum((w, self.part.curvature) for w in self.weights)

    @cached_property
    def affine(self) -> Affine | None:
        form = self.part.affine
        if form is None:
            return None
        value, constant = self.weights[form.row] * form.value, np.array([self.weights @ form.constant])
        return Affine(np.zeros_like(form.row), form.column, value, constant)

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.asarray(self.part.value(u, theta) @ self.weights)[..., None]

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.array([self.weights @ self.part.level(u, theta)])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = scaled_ends(self.weights, self.part).sum(axis=1)
        return np.array([low]), np.array([high])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.part.slope(u, weight[0] * self.weights, theta)


@dataclass(frozen=True, eq=False)
class Stack(Node):
    """Several nodes, one after the other."""

    parts: tuple[Node, ...]

    @cached_property
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

    @cached_property
    def affine(self) -> Affine | None:
        forms = [part.affine for part in self.parts]
        known = [form for form in forms if form is not None]
        if len(known) < len(forms):
            return None
        starts = np.cumsum([0, *(form.constant.size for form in known)])
        return Affine(
            np.concatenate([form.row + start for form, start in zip(known, starts, strict=False)]),
            np.concatenate([form.column for form in known]),
            np.concatenate([form.value for form in known]),
            np.concatenate([form.constant for form in known]),
        )

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if self.affine is not None:
            return self.affine.at(u)
        return np.concatenate([part.value(u, theta) for part in self.parts], axis=-1)

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if self.affine is not None:
            return self.affine.at(u)
        return np.concatenate([part.level(u, theta) for part in self.parts])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        lows, highs = zip(*(part.reach() for part in self.parts), strict=True)
        return np.concatenate(lows), np.concatenate(highs)

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if self.affine is not None:
            return self.affine.slope(u, weight)
        total, start = np.zeros(u.size), 0
        for part in self.parts:
            total += part.slope(u, weight[start : start + part.size], theta)
            start += part.size
        return total


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
        return np.asarray(values @ theta[self] if self in theta else values.max(axis=-1))[..., None]

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.array([self.weights(self.part.value(u, theta), theta) @ self.part.level(u, theta)])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = self.part.reach()
        return np.array([low.max()]), np.array([high.max()])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        chosen = self.weights(self.part.value(u, theta), theta)
        return self.part.slope(u, weight[0] * chosen, theta)


def negative(node: Node) -> Node:
    """Return ``-node``."""
    return Sum(((-1.0, node),))


def largest(nodes: Sequence[Node]) -> Node:
    """Return the largest value of all given nodes."""
    return Largest(Stack(tuple(nodes)))


def smallest(nodes: Sequence[Node]) -> Node:
    """Return the smallest value of all given nodes."""
    return negative(Largest(Stack(tuple(negative(node) for node in nodes))))


def magnitude(nodes: Sequence[Node]) -> Node:
    """Return the largest absolute value of all given nodes."""
    return Largest(Stack((*nodes, *(negative(node) for node in nodes))))


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
