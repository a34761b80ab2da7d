"""Nodes that are not linear: smooth functions of rates, quotients and products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.functions.atoms import Atom
from metricfit.functions.curvature import Curvature, of_composition
from metricfit.functions.expression import NO_THETA, Node, Theta, shared
from metricfit.types import BoolArray, FloatArray

# A denominator that is below zero by no more than this counts as zero: sums of probabilities are not more accurate.
SUM_ERROR = 1e-12
# A numerator this small counts as zero: it is the rest of hits minus chance where all rows get the same decision, and
# its last bits differ from processor to processor.
NOISE = 1e-15


@dataclass(frozen=True, eq=False)
class Smooth(Node):
    """A smooth `Atom` of a node."""

    atom: Atom
    part: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.part,)

    @property
    def curvature(self) -> Curvature:
        return of_composition(self.atom.curvature, self.atom.slope, self.part.curvature)

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.asarray(self.atom.value(self.part.value(u, theta)))[..., None]

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        v = self.part.value(u, theta)
        return np.array([self.atom.level(v) + self.atom.gradient(v) @ (self.part.level(u, theta) - v)])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = self.atom.reach(*self.part.reach())
        return np.array([low]), np.array([high])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.part.slope(u, weight[0] * self.atom.gradient(self.part.value(u, theta)), theta)


@dataclass(frozen=True, eq=False)
class Quotient(Node):
    """``over / under``, element by element; 0 where ``under`` is, as scikit-learn's ``zero_division=0``.

    ``most`` is a bound that holds by the meaning of the rate (a precision is at most 1), where intervals do
    not show it.
    """

    over: Node
    under: Node
    most: float = np.inf

    @property
    def size(self) -> int:
        return max(self.over.size, self.under.size)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.over, self.under)

    @property
    def curvature(self) -> Curvature:
        linear = self.over.curvature is Curvature.LINEAR and self.under.curvature is Curvature.LINEAR
        return Curvature.RATIO if linear else Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        over, under = self.over.value(u), self.under.value(u)
        some = (under != 0) & (np.abs(over) > NOISE)
        if some.all():  # the usual case, in which a mask would take most of the time
            return np.asarray(over / under)
        return np.divide(over, under, out=np.zeros((*u.shape[:-1], self.size)), where=some)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        (low, high), (least, most) = self.over.reach(), self.under.reach()
        positive, never_negative = least > SUM_ERROR, least >= -SUM_ERROR
        floor = np.where(never_negative & (low >= 0), 0.0, -np.inf)
        ceiling = np.where(never_negative, np.where(high <= 0, 0.0, self.most), np.inf)
        if not positive.any():
            return floor, ceiling
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([low / least, low / most, high / least, high / most])
        return (
            np.where(positive, ends.min(axis=0), floor),
            np.where(positive, np.minimum(ends.max(axis=0), self.most), ceiling),
        )

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        under = self.under.value(u)
        share = np.divide(weight, under, out=np.zeros(self.size), where=under != 0)
        toll = share * self.value(u)
        return self.over.slope(u, shared(share, self.over)) - self.under.slope(u, shared(toll, self.under))


@dataclass(frozen=True, eq=False)
class Otherwise(Node):
    """``rate`` where its denominator ``under`` is positive, else ``instead``; all of size one.

    In a comparison of groups, the precision of a group without such decisions is undefined; ``instead`` is then what it
    is compared with, so that there is no difference.
    """

    rate: Node
    under: Node
    instead: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.rate, self.under, self.instead)

    @property
    def curvature(self) -> Curvature:
        return Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.where(self._some(u), self.rate.value(u), self.instead.value(u))

    def reach(self) -> tuple[FloatArray, FloatArray]:
        (low, high), (least, most) = self.rate.reach(), self.instead.reach()
        return np.minimum(low, least), np.maximum(high, most)

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return (self.rate if self._some(u)[0] else self.instead).slope(u, weight)

    def _some(self, u: FloatArray) -> BoolArray:
        return np.asarray(self.under.value(u) > SUM_ERROR)


@dataclass(frozen=True, eq=False)
class Product(Node):
    """``left * right``, both of size one."""

    left: Node
    right: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def curvature(self) -> Curvature:
        return Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.left.value(u) * self.right.value(u)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        (a, b), (c, d) = self.left.reach(), self.right.reach()
        with np.errstate(invalid="ignore"):  # infinity times zero: the product of a finite value and zero
            ends = np.nan_to_num(np.stack([a * c, a * d, b * c, b * d]), posinf=np.inf, neginf=-np.inf)
        return ends.min(axis=0), ends.max(axis=0)

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        left, right = self.left.value(u), self.right.value(u)
        return self.left.slope(u, weight * right) + self.right.slope(u, weight * left)
