"""Levels between two others: how much of the looser level's mixture a level can keep."""

from __future__ import annotations

import numpy as np

from metricfit.methods import FEASIBLE, Iterate
from metricfit.problem import Program
from metricfit.types import FloatArray

# How often the share of the stricter mixture is halved. The two mixtures are those of levels side by side, so a share
# known to 1/4000 is a value known to about a millionth.
HALVINGS = 12


def between(program: Program, looser: Iterate, stricter: Iterate) -> Iterate | None:
    """Return the mixture of two levels' mixtures that keeps the limits between them with the least of the stricter one.

    Where everything is convex it is the best mixture of the two, because the looser one is the best of all that keep
    its level. None where the stricter mixture does not keep the limits.
    """
    if program.excess(stricter.u) > FEASIBLE:
        return None

    def at(share: float) -> FloatArray:
        return np.asarray((1 - share) * looser.u + share * stricter.u)

    low, share = 0.0, 1.0
    if program.excess(looser.u) <= FEASIBLE:
        share = 0.0
    for _ in range(HALVINGS if share else 0):
        middle = (low + share) / 2
        if program.excess(at(middle)) <= FEASIBLE:
            share = middle
        else:
            low = middle
    weights = np.zeros((stricter.weights.shape[0], max(looser.weights.shape[1], stricter.weights.shape[1])))
    weights[:, : looser.weights.shape[1]] += (1 - share) * looser.weights
    weights[:, : stricter.weights.shape[1]] += share * stricter.weights
    multipliers = None
    if looser.multipliers is not None and stricter.multipliers is not None:
        pairs = zip(looser.multipliers, stricter.multipliers, strict=True)
        multipliers = tuple((1 - share) * one + share * other for one, other in pairs)
    return Iterate(weights, at(share), multipliers=multipliers)
