"""A constraint on given data: its value, its violation, and the convex functions that say where it holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metricfit.exceptions import NotConvexError
from metricfit.functions.expression import Node, nodes_of
from metricfit.functions.levels import at_least, at_most, defined
from metricfit.functions.nonlinear import Quotient
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.metrics import Constraint
from metricfit.types import BoolArray, FloatArray

# A limit is out of reach if it is further than this beyond all values of its metric: rounding errors are smaller.
OUT_OF_REACH = 1e-9
# A constraint function that no rule brings further from zero than this is rescaled.
SMALL_FUNCTION = 1e-4


@dataclass(frozen=True, eq=False)
class Limit:
    """A bound constraint."""

    constraint: Constraint
    metric: Node

    def functions(self, limit: float) -> Node:
        """Return functions that are all <= 0 exactly where the constraint holds with the given limit."""
        node = self._turned(limit)
        return node if self._scale == 1 else Sum(((self._scale, node),))

    def _turned(self, limit: float) -> Node:
        return at_most(self.metric, limit) if self.constraint.sense == "<=" else at_least(self.metric, limit)

    @cached_property
    def _scale(self) -> float:
        """The factor that gives a function that is small for all rules the usual size.

        A precision of light rows among heavy ones, multiplied out, would be smaller than the allowed rounding error.
        """
        node = self._turned(self.constraint.limit)
        size = max(map(abs, (float(end[0]) for end in node.reach()))) if node.size == 1 else 1.0
        return 1 / size if 0 < size < SMALL_FUNCTION else 1.0

    @cached_property
    def convex(self) -> Node:
        """The functions for the constraint's own limit; NotConvexError where there are none."""
        return self.functions(self.constraint.limit)

    @cached_property
    def node(self) -> Node | None:
        """The functions for the constraint's own limit; None when they are not convex."""
        try:
            return self.convex
        except NotConvexError:
            return None

    def value(self, u: FloatArray) -> float:
        """Return the metric's value; NaN for a rate of no rows (a precision of a class that no row is decided as).

        The worst of several rates leaves out rates of no rows. Where the feasible set is not convex, rates of
        no rows inside the metric count as 0, as they do in the metric itself.
        """
        return float(defined(self.metric, u)[0]) if self._may_be_undefined else self.metric.scalar(u)

    @cached_property
    def _may_be_undefined(self) -> bool:
        known = nodes_of(self.metric) if self.node is not None else [self.metric]
        return any(isinstance(node, Quotient) for node in known)

    def violation(self, u: FloatArray) -> float:
        """Return by how much the limit is missed, in units of the metric; 0 for a rate of no rows."""
        excess = self.constraint.excess(self.value(u))
        return 0.0 if np.isnan(excess) else excess

    def violations(self, points: FloatArray) -> FloatArray:
        """Return the violations at many u, the rows of a matrix."""
        value = (defined(self.metric, points) if self._may_be_undefined else self.metric.value(points))[:, 0]
        excess = self.constraint.excess(value)
        return np.where(np.isnan(excess), 0.0, excess)

    @cached_property
    def always(self) -> bool:
        """Whether every rule keeps the limit, as ``g_mean() >= 0``, whose slope at rates of 0 is infinite."""
        return self.node is not None and bool((self.convex.reach()[1] <= 0).all())

    def part(self, rows: BoolArray) -> Limit:
        """Return the limit with some of its functions only."""
        return PartOfLimit(self.constraint, self.metric, rows)

    @property
    def out_of_reach(self) -> float:
        """By how much the limit lies beyond all values that the metric can have; at most 0 where it does not."""
        low, high = (float(end[0]) for end in self.metric.reach())
        return self.constraint.excess(low if self.constraint.sense == "<=" else high)

    @property
    def is_empty(self) -> bool:
        """Whether the limit holds only where its rate has no rows."""
        return self._may_be_undefined and self.out_of_reach > OUT_OF_REACH

    def unit(self, u: FloatArray) -> FloatArray:
        """Return what one unit of slack in the limit adds to the functions (they are affine in the limit)."""
        limit = self.constraint.limit
        return self.functions(limit).value(u) - self.functions(limit - self.constraint.inward).value(u)


@dataclass(frozen=True, eq=False)
class PartOfLimit(Limit):
    """A bound constraint of which only some functions are asked for, as the precisions of some of the groups."""

    rows: BoolArray

    def functions(self, limit: float) -> Node:
        """Return those functions of the whole limit."""
        whole = super().functions(limit)
        return Stack(tuple(Total(row, whole) for row in np.eye(whole.size)[self.rows]))
