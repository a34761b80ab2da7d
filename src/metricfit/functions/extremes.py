"""Nodes for the largest of several values, the smallest, and the largest absolute value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metricfit.functions.curvature import Curvature, of_maximum
from metricfit.functions.expression import NO_THETA, Node, Theta
from metricfit.functions.sums import Stack, Sum, negative
from metricfit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Largest(Node):
    """The largest value of a node; with ``theta``, a weighted mean of them, which is never larger."""

    part: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.part,)

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

    @cached_property
    def within(self) -> Node | None:
        """The node of which this is the largest absolute value, if it is one: half as much to compute."""
        match self.part:
            case Stack((one, Sum(((-1.0, other),), 0.0))) if other is one:
                return one
        return None

    @property
    def of_differences(self) -> bool:
        """Whether the values are absolute values or spreads, so that the largest is never negative."""
        parts = self.part.parts if isinstance(self.part, Stack) else ()
        return self.within is not None or (bool(parts) and all(isinstance(p, Spread) for p in parts))

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if self.within is not None and self not in theta:
            return np.asarray(np.abs(self.within.value(u, theta)).max(axis=-1))[..., None]
        values = self.part.value(u, theta)
        return np.asarray(values @ theta[self] if self in theta else values.max(axis=-1))[..., None]

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.array([self.weights(self.part.value(u, theta), theta) @ self.part.level(u, theta)])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = self.part.reach()
        least = max(low.max(), 0.0) if self.of_differences else low.max()
        return np.array([least]), np.array([high.max()])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        chosen = self.weights(self.part.value(u, theta), theta)
        return self.part.slope(u, weight[0] * chosen, theta)


class Spread(Sum):
    """The largest of several values minus the smallest, which is never negative."""

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> Spread:
        """Return the spread of nodes of size one."""
        return cls(((1.0, largest(nodes)), (1.0, largest([negative(node) for node in nodes]))))


def largest(nodes: Sequence[Node]) -> Node:
    """Return the largest value of all given nodes."""
    return Largest(Stack(tuple(nodes)))


def smallest(nodes: Sequence[Node]) -> Node:
    """Return the smallest value of all given nodes."""
    return negative(Largest(Stack(tuple(negative(node) for node in nodes))))


def magnitude(nodes: Sequence[Node]) -> Node:
    """Return the largest absolute value of all given nodes."""
    every = nodes[0] if len(nodes) == 1 else Stack(tuple(nodes))
    return Largest(Stack((every, negative(every))))
