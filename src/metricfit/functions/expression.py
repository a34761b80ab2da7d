"""Bound metrics: small trees of functions of the generalised confusion vector ``u``.

Section 7 of the paper: a problem only ever sees a few linear functions of the confusion tensor (the
recalls, the coverages, one cost ...). Binding a metric to data lists those functions once, as ``u``, and
leaves a tree on top of them. A node has a vector value; a metric is a node of size one. Here are the node and the
leaves of trees; sums, extremes and curved functions are in `metricfit.functions.sums`, `extremes` and `nonlinear`.

The slope of a convex node is a global under-estimator, that of a concave node an over-estimator, also where
a maximum is taken: ``theta`` may name, for each `Largest`, any weights on its parts (the master problem's
multipliers). The certificate is made of such slopes, so it does not depend on how exactly a solver has
solved anything.

Values are taken at one ``u`` or at many, which are then the rows of a matrix: a search along a line asks for a
metric at thousands of points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metricfit.functions.affine import Affine
from metricfit.functions.curvature import Curvature
from metricfit.types import FloatArray

if TYPE_CHECKING:
    from metricfit.functions.extremes import Largest

Theta = Mapping["Largest", FloatArray]
NO_THETA: Theta = {}


@dataclass(frozen=True, eq=False)
class Node(ABC):
    """A vector-valued function of ``u``; ``one_by_one`` says that many points at once take as long as one by one."""

    one_by_one: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of values; one, unless a node says otherwise."""
        return 1

    @property
    @abstractmethod
    def curvature(self) -> Curvature:
        """Curvature shared by all values."""

    @property
    @abstractmethod
    def children(self) -> tuple[Node, ...]:
        """The nodes that this one is a function of."""

    @cached_property
    def affine(self) -> Affine | None:
        """The same values by one matrix; None if they are not affine functions of ``u``."""
        return None

    @abstractmethod
    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the values at ``u``: of shape (size,), or (points, size) at many points (points, entries)."""

    @abstractmethod
    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the (super- or sub-) gradient of ``weight @ value`` at ``u``."""

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the values at ``u`` of the planes whose slopes are those of `slope`.

        These are `value`, except at points where a function has no slope (a geometric mean with a zero rate):
        the plane then touches the function close by.
        """
        return self.value(u, theta)

    @abstractmethod
    def reach(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the values over all decision rules, by interval arithmetic."""

    def scalar(self, u: FloatArray) -> float:
        """Return the value of a node of size one."""
        return float(self.value(u)[0])

    def gradient(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        """Return the gradient of a node of size one."""
        return self.slope(u, np.ones(1), theta)


def shared(weight: FloatArray, part: Node) -> FloatArray:
    """Return the weight of each value of a part; the single value of a part of size one gets the sum of all weights."""
    return weight if part.size == weight.size else np.array([weight.sum()])


def scaled_ends(scale: FloatArray | float, part: Node) -> FloatArray:
    """Return the lower and upper ends of ``scale * part``; 0 times an infinite end is 0."""
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
    def children(self) -> tuple[Node, ...]:
        return ()

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
    def children(self) -> tuple[Node, ...]:
        return ()

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


def nodes_of(root: Node) -> Sequence[Node]:
    """Return every node of a tree, root first."""
    return [root, *(node for child in root.children for node in nodes_of(child))]
