"""The problem on given data: minimise a function of ``u = M z + c`` where convex functions of ``u`` are <= 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout, shape_of, statistic
from metricfit.exceptions import NotConvexError
from metricfit.functions.expression import NO_THETA, Entries, Node, Theta, nodes_of
from metricfit.functions.levels import at_most
from metricfit.functions.matrices import quick
from metricfit.functions.nonlinear import Quotient
from metricfit.metrics import Curvature
from metricfit.problem.limit import Limit
from metricfit.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from metricfit.problem.statement import Problem

# Up to this many entries of u, what cells and columns add to it is stored in dense arrays.
NARROW = 64
# Points at which constraints are evaluated together have about this many entries: larger temporary arrays cost more in
# new memory than in arithmetic (for 30 groups x 8 classes, three times as much).
BLOCK = 1 << 17
# Coefficients of a loss that differ by less than this share of its size are equal up to rounding.
EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise ``objective(u)`` where all `limits` hold; ``u = matrix @ z + constant`` for achievable z."""

    problem: Problem
    axes: Axes
    layout: Layout
    matrix: Any
    constant: FloatArray
    low: FloatArray
    high: FloatArray
    objective: Node
    limits: tuple[Limit, ...]

    @property
    def sign(self) -> int:
        """What natural values of the objective are multiplied by."""
        return self.problem.sign

    @property
    def curvature(self) -> Curvature:
        """Curvature of the objective that is minimised."""
        return self.objective.curvature

    @cached_property
    def quasiconvex(self) -> bool:
        """Whether the objective has convex level sets (a ratio, or the worst of several ratios)."""
        try:
            at_most(self.objective, 0.5)
        except NotConvexError:
            return False
        return True

    @property
    def convex_limits(self) -> bool:
        """Whether the feasible set of every constraint is convex."""
        return all(limit.node is not None for limit in self.limits)

    @property
    def entries(self) -> Entries:
        """All entries of u, as a function of it."""
        return Entries(0, self.low.size, self.low, self.high)

    @property
    def mixable(self) -> bool:
        """Whether the best mixture of rules can be computed: objective and constraints have convex level sets."""
        return self.convex_limits and (self.curvature.is_convex or self.quasiconvex)

    @property
    def bounds(self) -> tuple[Node, ...]:
        """The convex functions g of all constraints ``g(u) <= 0``, for methods that need them."""
        return tuple(limit.convex for limit in self.limits)

    @cached_property
    def lowest_denominator(self) -> float:
        """A lower bound of every denominator in the objective, over all decision rules; 1 without any."""
        quotients = [node for node in nodes_of(self.objective) if isinstance(node, Quotient)]
        return max(0.0, min((float(q.under.reach()[0].min()) for q in quotients), default=1.0))

    @cached_property
    def lowest_value(self) -> float:
        """A lower bound of the minimised objective that needs no oracle."""
        return float(self.objective.reach()[0][0])

    @cached_property
    def highest_value(self) -> float:
        """An upper bound of the minimised objective."""
        return float(self.objective.reach()[1][0])

    def uniform(self, margins: FloatArray) -> FloatArray:
        """Return u of the classifier that takes every decision with equal probability."""
        return self.at_random(margins, np.full(self.axes.k, 1 / self.axes.k))

    def at_random(self, margins: FloatArray, shares: FloatArray) -> FloatArray:
        """Return u of the classifier that ignores the rows and takes each decision with a given probability."""
        return self.vector(statistic(margins[:, :, None] * shares, self.layout, self.axes))

    def vector(self, counted: FloatArray) -> FloatArray:
        """Return u of a statistic."""
        return np.asarray(self._quick @ counted.ravel() + self.constant)

    def loss(self, direction: FloatArray) -> FloatArray:
        """Return the loss whose value on a statistic is ``direction @ u``, up to a constant."""
        return np.asarray(self._adjoint @ direction).reshape(shape_of(self.layout, self.axes))

    @cached_property
    def kinds(self) -> IntArray:
        """The kind of each decision: it does not matter which of the decisions of one kind a row gets.

        ``f1("a")`` says which rows get "a", and nothing of the others. A kind has the number of its first decision.

        Examples
        --------
        >>> import numpy as np
        >>> from metricfit.problem import Problem
        >>> [Problem.of(text).bind(Axes(("a", "b", "c")), np.full((1, 3), 1 / 3)).kinds.tolist()
        ...  for text in ("f1('a')", "g_mean")]
        [[0, 1, 1], [0, 1, 2]]
        """
        generic = self.loss(np.random.default_rng(0).random(self.constant.size))
        same = np.ones((self.axes.k, self.axes.k), bool)
        for cell in generic:
            same &= indifferent(cell, self.layout)
        return np.asarray(same.argmax(axis=1))

    @cached_property
    def alike(self) -> BoolArray:
        """Which decisions are of the largest kind; none if no two are of one kind.

        A search need not change their weights, as those of all other decisions decide between them and the rest. It
        cannot do without the weights of other kinds.
        """
        sizes = np.bincount(self.kinds)
        return np.asarray((self.kinds == sizes.argmax()) & (sizes.max() > 1))

    def even(self, loss: FloatArray) -> FloatArray:
        """Return a loss with the same coefficients for all decisions that are not told apart.

        In the full layout only a rule that decides all rows of a cell alike is sure to stay the same by that; other
        losses are returned as they are.
        """
        whole = self.layout == "full"
        if whole and np.ptp(loss, axis=1).any():
            return loss
        loss = loss.copy()
        for kind in np.flatnonzero(np.bincount(self.kinds) > 1):
            members = self.kinds == kind
            columns = loss[:, :, members]
            loss[:, :, members] = (columns.min if whole else columns.mean)(axis=2, keepdims=True)
        return loss

    @cached_property
    def _quick(self) -> Any:
        """The matrix in the form that is applied fastest."""
        return quick(self.matrix)

    @cached_property
    def _adjoint(self) -> Any:
        return self._quick.T if isinstance(self._quick, np.ndarray) else sp.csr_array(self.matrix.T)

    @property
    def narrow(self) -> bool:
        """Whether u is so short that dense arrays are faster than sparse matrices."""
        return self.constant.size <= NARROW

    def shares(self, counted: FloatArray) -> Any:
        """Return what each cell adds to u, as a matrix (entries of u, cells) that is sparse unless u is short."""
        places, which = self._places
        sums = np.bincount(which, self.matrix.data * counted.ravel()[self.matrix.indices], places.size)
        if self.narrow:
            table = np.zeros((len(self.axes.cells), self.constant.size))
            table.ravel()[places] = sums
            return table.T
        used = np.flatnonzero(sums)  # a rule that never takes most decisions has few entries
        size, cells = self.constant.size, len(self.axes.cells)
        # Built by hand: general constructors take longer than all the rest.
        starts = np.searchsorted(places[used], size * np.arange(cells + 1))
        return sp.csc_array((sums[used], places[used] % size, starts), shape=(size, cells))

    @cached_property
    def _places(self) -> tuple[Any, Any]:
        """Where the entries of the matrix belong, cell by cell: the distinct places, and which one each entry has."""
        _, height, width = shape_of(self.layout, self.axes)
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        places = self.matrix.indices.astype(np.int64) // (height * width) * self.constant.size + rows
        return np.unique(places, return_inverse=True)

    @cached_property
    def by_cell(self) -> bool:
        """Whether the objective or a constraint distinguishes cells, so that each may need a rule of its own."""
        columns, cells = sp.csc_array(self.matrix), len(self.axes.cells)
        columns.sort_indices()
        counts = np.diff(columns.indptr).reshape(cells, -1)
        if np.any(counts != counts[0]):
            return True
        parts = (part.reshape(cells, -1) for part in (columns.indices, columns.data))
        return any(bool(np.any(part != part[0])) for part in parts)

    @cached_property
    def shared(self) -> BoolArray:
        """Which entries of u more than one cell adds to."""
        places, size = self._places[0], self.constant.size
        return np.bincount(places % size, minlength=size) > 1

    def value(self, u: FloatArray) -> float:
        """Return the objective that is minimised."""
        return self.objective.scalar(u)

    def tangent(
        self, u: FloatArray, multipliers: Sequence[FloatArray] = (), theta: Theta = NO_THETA
    ) -> tuple[FloatArray, float]:
        """Return slope and value at u of a plane that lies below the Lagrangian everywhere.

        For a convex objective, convex constraint functions g <= 0 and any multipliers mu >= 0, no feasible
        point costs less than the minimum of this plane, which is one oracle call. So the bound needs no trust
        in the solver that found u, mu and theta.
        """
        slope = self.objective.gradient(u, theta)
        level = float(self.objective.level(u, theta)[0])
        for limit, mu in zip(self.limits, multipliers, strict=False):
            if mu.any():
                slope = slope + limit.convex.slope(u, mu, theta)
                level += float(mu @ limit.convex.level(u, theta))
        return slope, level

    def excess(self, u: FloatArray) -> float:
        """Return by how much the constraints are missed; <= 0 holds, -inf without constraints.

        The larger of each limit's function and its violation, as the function of a rate of few rows may be tiny.
        """
        return self.missed(u)[0]

    def violation(self, u: FloatArray) -> float:
        """Return the largest violation in units of the metrics; -inf without constraints."""
        return max((limit.violation(u) for limit in self.limits), default=-np.inf)

    def violations(self, points: FloatArray) -> FloatArray:
        """Return the largest violation at each of many u, the rows of a matrix."""
        if not self.limits:
            return np.full(len(points), -np.inf)
        size = max(1, BLOCK // self.constant.size)
        blocks = (points[start : start + size] for start in range(0, len(points), size))
        found = [np.max([limit.violations(block) for limit in self.limits], axis=0) for block in blocks]
        return np.concatenate([np.zeros(0), *found])

    def missed(self, u: FloatArray) -> tuple[float, float]:
        """Return `excess` and `violation`, for the price of one."""
        each = [limit.violation(u) for limit in self.limits]
        functions = (float(limit.node.value(u).max()) for limit in self.limits if limit.node is not None)
        return max((*functions, *each), default=-np.inf), max(each, default=-np.inf)


def indifferent(loss: FloatArray, layout: Layout) -> BoolArray:
    """Return which pairs of decisions cost the same under the loss of a cell, whatever the probabilities are.

    Columns are compared by a sum of their entries with weights drawn at random, which only equal columns share.
    """
    drawn = np.random.default_rng(0).random(len(loss)) @ loss
    size = EQUAL * float(np.abs(loss).sum(axis=0).max(initial=0.0))
    same = np.abs(drawn[:, None] - drawn) <= size
    if layout == "diagonal":  # the first coefficient is multiplied by the probability of the own class
        constant = np.abs(loss[0]) <= size
        same &= (constant[:, None] & constant) | np.eye(constant.size, dtype=bool)
    return np.asarray(same)
