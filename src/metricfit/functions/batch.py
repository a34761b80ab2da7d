"""Values of a bound metric at many points at once.

A scan of one weight asks for a metric at every breakpoint. All built-in functions are evaluated for all
points together; those that are known by their value only (a user's function) are asked point by point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metricfit.functions.atoms import (
    TINY,
    Atom,
    CrossEntropyExcess,
    GeometricMean,
    HarmonicMean,
    RootMeanSquareLoss,
    SpreadRoot,
)
from metricfit.functions.expression import Constant, Entries, Largest, Node, Stack, Sum, Total, nodes_of
from metricfit.functions.nonlinear import Product, Quotient, Smooth
from metricfit.types import FloatArray


def values(node: Node, u: FloatArray) -> FloatArray:
    """Return the values (points, size) of a node at points ``u`` (points, entries).

    Examples
    --------
    >>> import numpy as np
    >>> entries = Entries(0, 2, np.zeros(2), np.ones(2))
    >>> values(Total(np.array([0.5, 0.5]), entries), np.array([[0.0, 1.0], [1.0, 1.0]]))
    array([[0.5],
           [1. ]])
    """
    match node:
        case Entries(start, stop):
            return u[:, start:stop]
        case Constant(numbers):
            return np.broadcast_to(numbers, (len(u), node.size))
        case Sum(terms, constant):
            total = np.full((len(u), node.size), constant)
            for coefficient, part in terms:
                total += coefficient * values(part, u)
            return total
        case Total(weights, part):
            return (values(part, u) @ weights)[:, None]
        case Stack(parts):
            return np.concatenate([values(part, u) for part in parts], axis=1)
        case Largest(part):
            return values(part, u).max(axis=1, keepdims=True)
        case Quotient(over, under):
            below = values(under, u)
            return np.divide(values(over, u), below, out=np.zeros((len(u), node.size)), where=below != 0)
        case Product(left, right):
            return values(left, u) * values(right, u)
        case Smooth(atom, part) if type(atom) in ATOMS:
            return ATOMS[type(atom)](atom, values(part, u))[:, None]
        case Smooth(atom, part):
            return np.array([[atom.value(v)] for v in values(part, u)]).reshape(len(u), 1)
    return np.stack([node.value(point) for point in u]) if len(u) else np.zeros((0, node.size))


def vectorised(node: Node) -> bool:
    """Whether `values` takes all points of a node together."""
    return all(
        type(part) in KINDS and (not isinstance(part, Smooth) or type(part.atom) in ATOMS)
        for part in nodes_of(node)
    )


def _geometric(atom: Atom, v: FloatArray) -> FloatArray:
    mean = np.exp(np.mean(np.log(np.maximum(v, TINY)), axis=1))
    return np.where((v > 0).all(axis=1), mean, 0.0)


def _harmonic(atom: Atom, v: FloatArray) -> FloatArray:
    mean = v.shape[1] / np.sum(1 / np.maximum(v, TINY), axis=1)
    return np.where((v > 0).all(axis=1), mean, 0.0)


def _root_mean_square(atom: Atom, v: FloatArray) -> FloatArray:
    return np.sqrt(np.mean((1 - v) ** 2, axis=1))


def _cross_entropy(atom: Atom, v: FloatArray) -> FloatArray:
    assert isinstance(atom, CrossEntropyExcess)
    used = atom.target > 0
    target = atom.target[used]
    return float(target @ np.log(target)) - np.log(np.maximum(v[:, used], TINY)) @ target


def _spread(atom: Atom, v: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(1 - np.einsum("pi,pi->p", v, v), TINY))


KINDS = frozenset({Entries, Constant, Sum, Total, Stack, Largest, Quotient, Product, Smooth})
ATOMS: dict[type[Atom], Callable[[Atom, FloatArray], FloatArray]] = {
    GeometricMean: _geometric,
    HarmonicMean: _harmonic,
    RootMeanSquareLoss: _root_mean_square,
    CrossEntropyExcess: _cross_entropy,
    SpreadRoot: _spread,
}
