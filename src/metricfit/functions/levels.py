"""Level sets: the convex functions that are all <= 0 exactly where a bound metric keeps a limit."""

from __future__ import annotations

import numpy as np

from metricfit.exceptions import NotConvexError
from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import Constant, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.nonlinear import Quotient
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.types import FloatArray

# Denominators up to this count as zero: it is the rounding error of a sum of shares, each known to 1e-16. One light row
# among heavy ones is more than that, and its rate is defined.
ZERO_DENOMINATOR = 1e-13


def at_most(node: Node, limit: float) -> Node:
    """Return convex functions that are all <= 0 exactly where ``node <= limit``.

    A quotient is multiplied out (its denominator is never negative), a maximum is split, a rescaled metric is
    unscaled; what remains must be convex. Where its denominator is zero, a rate has no rows and keeps every
    limit.
    """
    match node:
        case Quotient(over, under, _) if node.curvature is Curvature.RATIO:
            return Sum(((1.0, over), (-limit, under)))
        case Largest(part):
            return at_most(part, limit)
        case Stack(parts) if node.affine is None:  # an affine one stays whole, as one matrix
            return Stack(tuple(at_most(part, limit) for part in parts))
    scale, part, level = _unscaled(node, limit)
    if part is not node:
        return at_most(part, level) if scale > 0 else at_least(part, level)
    if node.curvature.is_convex:
        return Sum(((1.0, node),), -limit)
    raise NotConvexError


def at_least(node: Node, limit: float) -> Node:
    """Return convex functions that are all <= 0 exactly where ``node >= limit``."""
    match node:
        case Quotient(over, under, _) if node.curvature is Curvature.RATIO:
            return Sum(((-1.0, over), (limit, under)))
        case Largest(part) if part.size == 1:
            return at_least(part, limit)
        case Stack(parts) if node.affine is None:
            return Stack(tuple(at_least(part, limit) for part in parts))
    scale, part, level = _unscaled(node, limit)
    if part is not node:
        return at_least(part, level) if scale > 0 else at_most(part, level)
    if node.curvature.is_concave:
        return Sum(((-1.0, node),), limit)
    raise NotConvexError


def defined(node: Node, u: FloatArray) -> FloatArray:
    """Return the values of a node at one or many points; rates of no rows are NaN, and a maximum leaves them out.

    `at_most` and `at_least` treat rates in this way: the precision of a class that is never decided keeps every limit,
    and the worst of several precisions leaves it out.
    """
    match node:
        case Quotient(_, under, _):
            return np.where(under.value(u) < ZERO_DENOMINATOR, np.nan, node.value(u))
        case Largest(part):
            return np.fmax.reduce(defined(part, u), axis=-1, keepdims=True)
        case Stack(parts):
            return np.concatenate([defined(part, u) for part in parts], axis=-1)
        case Sum():
            return node.added([defined(part, u) for _, part in node.terms])
        case Total(weights, part):
            return np.asarray(defined(part, u) @ weights)[..., None]
    return node.value(u)


def _unscaled(node: Node, limit: float) -> tuple[float, Node, float]:
    """Return scale, part and level: comparing part with level is comparing node with limit.

    Only where the node is a number times one part plus a number; otherwise the part is the node itself.
    """
    match node:
        case Total(weights, part) if part.size == 1 and weights[0] != 0:
            return float(weights[0]), part, limit / float(weights[0])
        case Sum(terms, constant):
            added = [(c, p) for c, p in terms if isinstance(p, Constant) and p.size == 1]
            rest = [(c, p) for c, p in terms if not (isinstance(p, Constant) and p.size == 1) and c != 0]
            if len(rest) == 1 and rest[0][1].size == node.size:
                shift = constant + sum(c * float(p.values[0]) for c, p in added)
                return rest[0][0], rest[0][1], (limit - shift) / rest[0][0]
    return 1.0, node, limit
