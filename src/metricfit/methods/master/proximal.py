"""Multipliers of the maximum of many functions, near those with the best bound so far.

The smallest of 250 recalls has 250 multipliers. Those of a linear program over few rules are far off: nearly all are 0,
and it takes several rules for each class until they are good. A proximal step asks for the best multipliers of the same
program near the best ones known (bundle methods, with the entropy as the distance). It is a smooth problem like that of
a mean of rates, and as with these a few dozens of rules are enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from metricfit.functions.atoms import SoftMaximum
from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.functions.nonlinear import Smooth
from metricfit.functions.sums import Sum
from metricfit.methods.base import Walk
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.master import Master
from metricfit.problem import Program
from metricfit.types import FloatArray

# A maximum of fewer functions needs no help.
MANY = 32
# How far multipliers may go, as a share of the range of the maximum: where one value is worse than another by this,
# their multipliers change by the factor e. Tuned on the smallest of 250 recalls of 20,000 rows: 0.01, 0.03 and 0.1 need
# about 150, 93 and 150 calls to a gap of 1e-4, where multipliers of the linear program need 855.
WIDTH = 0.03
# The error that Newton's method may leave: any multipliers near the best ones prove a bound.
LEFT = 1e-3
# Multipliers are at least this: one of 0 would stay 0.
LEAST = 1e-12


class Proximal:
    """Proximal steps for the maxima of many affine functions in an objective.

    Parameters
    ----------
    program : Program
    walk : Walk
    maxima : list of Largest
    """

    def __init__(self, program: Program, walk: Walk, maxima: list[Largest]) -> None:
        self.program, self.walk = program, walk
        self.centre = {node: np.full(node.part.size, 1 / node.part.size) for node in maxima}
        self.width = {node: WIDTH * float(np.ptp(node.reach())) for node in maxima}
        self._weights: FloatArray = np.zeros((len(program.axes.cells), 0))

    @classmethod
    def of(cls, program: Program, walk: Walk) -> Proximal | None:
        """Return proximal steps for a program, or None if it has no maximum of many functions."""
        maxima = [node for node in _maxima(program.objective) if 0 < np.ptp(node.reach()) < np.inf]
        return cls(program, walk, maxima) if maxima else None

    def alpha(self, columns: Columns) -> FloatArray:
        """Return the weights of columns in the last step's mixture."""
        return columns.alpha(self._weights)

    def step(self, columns: Columns, u: FloatArray) -> Solution:
        """Return the mixture whose multipliers are best near the centre; raise `UnsolvedError` if no solver finds it.

        ``u`` is the point where the maxima are smallest, whatever their multipliers.
        """
        soft = {
            node: Smooth(SoftMaximum(shares, self.width[node], node.part.value(u)), node.part)
            for node, shares in self.centre.items()
        }
        program = replace(self.program, objective=_replaced(self.program.objective, soft))
        found = Master(program, self.walk, LEFT).solve(columns, self.alpha(columns))
        self._weights = columns.weights(found.alpha, len(self.walk.vertices))
        theta = {node: _positive(new.atom.gradient(node.part.value(found.u))) for node, new in soft.items()}
        return replace(found, theta=found.theta | theta)


def _positive(shares: FloatArray) -> FloatArray:
    shares = np.maximum(shares, LEAST)
    return np.asarray(shares / shares.sum())


def _maxima(node: Node) -> list[Largest]:
    """Return the maxima of many affine functions that a sum consists of."""
    match node:
        case Sum(terms, _):
            return [found for _, part in terms for found in _maxima(part)]
        case Largest(part) if part.size >= MANY and part.affine is not None:
            return [node]
    return []


def _replaced(node: Node, by: Mapping[Largest, Node]) -> Node:
    match node:
        case Sum(terms, constant):
            return Sum(tuple((c, _replaced(part, by)) for c, part in terms), constant)
        case Largest():
            return by.get(node, node)
    return node
