"""One composition rule for curvature, used by metrics before they see data and by their bound form."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Curvature(StrEnum):
    """How a metric bends over the convex set of achievable confusion tensors.

    ``RATIO`` is a quotient of two linear functions with a positive denominator: neither convex nor concave,
    but its level sets are half-spaces, which is all that bisection and column generation need.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.g_mean().curvature, mf.precision("fraud").curvature
    (<Curvature.CONCAVE: 'concave'>, <Curvature.RATIO: 'ratio'>)
    """

    LINEAR = "linear"
    CONVEX = "convex"
    CONCAVE = "concave"
    RATIO = "ratio"
    UNKNOWN = "unknown"

    @property
    def negated(self) -> Curvature:
        """The curvature of minus the function."""
        swap = {Curvature.CONVEX: Curvature.CONCAVE, Curvature.CONCAVE: Curvature.CONVEX}
        return swap.get(self, self)

    @property
    def is_convex(self) -> bool:
        """Whether the function is convex (linear counts)."""
        return self in (Curvature.LINEAR, Curvature.CONVEX)

    @property
    def is_concave(self) -> bool:
        """Whether the function is concave (linear counts)."""
        return self in (Curvature.LINEAR, Curvature.CONCAVE)


def of_sum(terms: Iterable[tuple[float, Curvature]]) -> Curvature:
    """Curvature of a sum of ``coefficient * term``; an added constant changes nothing."""
    signed = [curvature if c > 0 else curvature.negated for c, curvature in terms if c != 0]
    if len(signed) == 1 or not signed:
        return signed[0] if signed else Curvature.LINEAR
    if all(c.is_convex for c in signed):
        return Curvature.LINEAR if all(c.is_concave for c in signed) else Curvature.CONVEX
    return Curvature.CONCAVE if all(c.is_concave for c in signed) else Curvature.UNKNOWN


def of_maximum(parts: Iterable[Curvature]) -> Curvature:
    """Curvature of the largest of several functions: convex if each of them is."""
    return Curvature.CONVEX if all(c.is_convex for c in parts) else Curvature.UNKNOWN


def of_composition(outer: Curvature, slope: int, inner: Curvature) -> Curvature:
    """Curvature of ``outer(inner)``; ``slope`` is the sign of the outer slope, 0 when it varies."""
    if inner is Curvature.LINEAR:
        return outer
    moved = inner if slope > 0 else inner.negated
    if slope == 0 or outer not in (Curvature.CONVEX, Curvature.CONCAVE):
        return Curvature.UNKNOWN
    return outer if moved is outer else Curvature.UNKNOWN
