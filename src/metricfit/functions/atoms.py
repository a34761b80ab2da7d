"""Smooth functions of a vector of rates: the value, gradient, Hessian and curvature of each.

Each atom is a value, a gradient and a Hessian ``diag(d) + s r r'``. The separable ones can be written
``outer(sum_i inner(v_i))`` with a monotone ``outer``: minimising ``sum inner`` then gives the same rule,
and its Hessian is diagonal, which is what keeps the master problem small with a thousand classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from metricfit.functions.curvature import Curvature
from metricfit.types import FloatArray

# Guards rates that are zero, where means of rates have an infinite slope. Small against the recall that one
# row gives to a class, so it never shows in a value.
TINY = 1e-9
# The product of up to this many rates does not underflow, so that one logarithm is enough for all of them.
FEW_RATES = 16


class Hessian(NamedTuple):
    """The matrix ``diag(diagonal) + scale * outer(ray, ray)``."""

    diagonal: FloatArray
    ray: FloatArray
    scale: float


class Atom(ABC):
    """A smooth function of a vector of rates; ``slope`` is the sign of its slopes, 0 when they vary.

    ``of_rates`` says that the function is meant for values >= 0, and may have no finite slope at 0.
    """

    curvature: ClassVar[Curvature]
    slope: ClassVar[int]
    of_rates: ClassVar[bool] = True

    @abstractmethod
    def value(self, v: FloatArray) -> Any:
        """Return the value at ``v``, or the values at the rows of a matrix of points."""

    @abstractmethod
    def gradient(self, v: FloatArray) -> FloatArray:
        """Return the gradient."""

    @abstractmethod
    def hessian(self, v: FloatArray) -> Hessian:
        """Return the Hessian."""

    def level(self, v: FloatArray) -> float:
        """Return the value at ``v`` of the plane that `gradient` is the slope of."""
        return self.value(v)

    def reach(self, low: FloatArray, high: FloatArray) -> tuple[float, float]:
        """Return bounds of the value for rates between two ends."""
        ends = self.value(low), self.value(high)
        return min(ends), max(ends)

    @abstractmethod
    def cvxpy(self, v: Any) -> Any:
        """Return the function as a CVXPY expression of ``v``."""


class Separable(Atom):
    """An atom ``outer(sum_i inner(v_i))``; ``inner`` is convex, and a smaller sum is a better value."""

    @abstractmethod
    def inner(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``inner`` with its first and second derivative, element by element."""


class GeometricMean(Separable):
    """``(prod v_i) ** (1 / n)``."""

    curvature, slope = Curvature.CONCAVE, 1

    def value(self, v: FloatArray) -> Any:
        v = np.maximum(v, 0.0)
        with np.errstate(divide="ignore"):  # the mean is 0 where a rate is
            if v.shape[-1] <= FEW_RATES:
                return np.exp(np.log(np.multiply.reduce(v, axis=-1)) / v.shape[-1])
            return np.exp(np.mean(np.log(v), axis=-1))

    def gradient(self, v: FloatArray) -> FloatArray:
        v = np.maximum(v, TINY)
        return np.exp(np.mean(np.log(v))) / (v.size * v)

    def level(self, v: FloatArray) -> float:
        # A zero rate has no tangent plane. That of the guarded rates lies above the mean, and as the mean
        # of c * v is c * mean, it passes through zero.
        return float(self.gradient(v) @ v)

    def hessian(self, v: FloatArray) -> Hessian:
        v = np.maximum(v, TINY)
        mean = np.exp(np.mean(np.log(v)))
        return Hessian(-mean / (v.size * v**2), 1 / v, mean / v.size**2)

    def inner(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = np.maximum(v, TINY)
        return -np.log(v), -1 / v, 1 / v**2

    def cvxpy(self, v: Any) -> Any:
        import cvxpy as cp

        # By second-order cones it is more accurate, but to write that down takes CVXPY a minute with 250 rates.
        return cp.geo_mean(v, approx=v.size <= FEW_RATES)


class HarmonicMean(Separable):
    """``n / sum_i 1 / v_i``."""

    curvature, slope = Curvature.CONCAVE, 1

    def value(self, v: FloatArray) -> Any:
        with np.errstate(divide="ignore"):  # the mean is 0 where a rate is
            return v.shape[-1] / np.sum(1 / np.maximum(v, 0.0), axis=-1)

    def gradient(self, v: FloatArray) -> FloatArray:
        v = np.maximum(v, TINY)
        return (v.size / np.sum(1 / v)) ** 2 / (v.size * v**2)

    def hessian(self, v: FloatArray) -> Hessian:
        v = np.maximum(v, TINY)
        mean = v.size / np.sum(1 / v)
        return Hessian(-2 * mean**2 / (v.size * v**3), 1 / v**2, 2 * mean**3 / v.size**2)

    def inner(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = np.maximum(v, TINY)
        return 1 / v, -1 / v**2, 2 / v**3

    def cvxpy(self, v: Any) -> Any:
        import cvxpy as cp

        return cp.harmonic_mean(v)


class RootMeanSquareLoss(Separable):
    """``sqrt(mean_i (1 - v_i) ** 2)``, the paper's Q-mean loss."""

    curvature, slope = Curvature.CONVEX, -1

    def value(self, v: FloatArray) -> Any:
        return np.sqrt(np.mean((1 - v) ** 2, axis=-1))

    def gradient(self, v: FloatArray) -> FloatArray:
        return (v - 1) / (v.size * max(self.value(v), TINY))

    def hessian(self, v: FloatArray) -> Hessian:
        loss = max(self.value(v), TINY)
        return Hessian(np.full(v.size, 1 / (v.size * loss)), 1 - v, -1 / (v.size**2 * loss**3))

    def inner(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return (1 - v) ** 2, 2 * (v - 1), np.full(v.size, 2.0)

    def cvxpy(self, v: Any) -> Any:
        import cvxpy as cp

        return cp.norm(1 - v, 2) / np.sqrt(v.size)


class CrossEntropyExcess(Separable):
    """``sum_i target_i log(target_i / v_i)``: the Kullback-Leibler divergence of ``v`` from a target."""

    curvature, slope = Curvature.CONVEX, -1

    def __init__(self, target: FloatArray) -> None:
        self.target = target

    def value(self, v: FloatArray) -> Any:
        used = self.target > 0
        target = self.target[used]
        return np.sum(target * np.log(target / np.maximum(v[..., used], TINY)), axis=-1)

    def reach(self, low: FloatArray, high: FloatArray) -> tuple[float, float]:
        least = 0.0 if self.target.sum() >= 1 - TINY else self.value(high)  # shares sum to 1 at most
        return least, self.value(low)

    def gradient(self, v: FloatArray) -> FloatArray:
        return -self.target / np.maximum(v, TINY)

    def hessian(self, v: FloatArray) -> Hessian:
        return Hessian(self.target / np.maximum(v, TINY) ** 2, np.zeros(v.size), 0.0)

    def inner(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = np.maximum(v, TINY)
        return -self.target * np.log(v), -self.target / v, self.target / v**2

    def cvxpy(self, v: Any) -> Any:
        import cvxpy as cp

        used = np.flatnonzero(self.target > 0)
        target = self.target[used]
        return float(target @ np.log(target)) - target @ cp.log(v[used])


class SoftMaximum(Separable):
    """``width * log sum_i share_i exp(v_i / width)``: a smooth function between the mean and the maximum.

    Its slope is ``share_i exp(v_i / width)``, divided by the sum. So with shares that are multipliers of a maximum the
    slope is near them, the nearer the wider: the proximal step of the entropy. Where all values are equal, the slope is
    the shares themselves.

    Parameters
    ----------
    shares : array
        Positive, with sum 1.
    width : float
    near : array
        Values near the minimiser: the inner functions are scaled there.
    """

    curvature, slope, of_rates = Curvature.CONVEX, 1, False

    def __init__(self, shares: FloatArray, width: float, near: FloatArray) -> None:
        self.shares, self.width, self.near = shares, width, 0.0
        self.near = float(self.value(near))

    def value(self, v: FloatArray) -> Any:
        top = v.max(axis=-1, keepdims=True)
        return top[..., 0] + self.width * np.log(np.exp((v - top) / self.width) @ self.shares)

    def gradient(self, v: FloatArray) -> FloatArray:
        parts = self.shares * np.exp((v - v.max()) / self.width)
        return np.asarray(parts / parts.sum())

    def hessian(self, v: FloatArray) -> Hessian:
        slope = self.gradient(v)
        return Hessian(slope / self.width, slope, -1 / self.width)

    def inner(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        with np.errstate(over="ignore"):  # a step that is much too long is worthless, and is cut
            parts = self.shares * np.exp((v - self.near) / self.width)
        return parts, parts / self.width, parts / self.width**2

    def cvxpy(self, v: Any) -> Any:
        import cvxpy as cp

        return self.width * cp.log_sum_exp(v / self.width + np.log(self.shares))


class SpreadRoot(Atom):
    """``sqrt(1 - sum_i v_i ** 2)``, the spread of the decisions that the MCC divides by."""

    curvature, slope = Curvature.CONCAVE, 0

    def reach(self, low: FloatArray, high: FloatArray) -> tuple[float, float]:
        return 0.0, 1.0

    def value(self, v: FloatArray) -> Any:
        return np.sqrt(np.maximum(1 - np.sum(v * v, axis=-1), TINY))

    def gradient(self, v: FloatArray) -> FloatArray:
        return -v / self.value(v)

    def hessian(self, v: FloatArray) -> Hessian:
        root = self.value(v)
        return Hessian(np.full(v.size, -1 / root), v, -1 / root**3)

    def cvxpy(self, v: Any) -> Any:
        import cvxpy as cp

        return cp.sqrt(1 - cp.sum_squares(v))
