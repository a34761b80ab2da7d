"""Objective and constraints, and their bound form: the only place that knows about signs.

`Problem` is what the user asked for, in natural signs. `Program` is the same on given data: minimise a
function of the generalised confusion vector ``u = M z + c`` where convex functions of ``u`` are <= 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.data.confusion import Axes
from metricfit.data.layout import Layout, shape_of, statistic
from metricfit.exceptions import InfeasibleError, NotConvex
from metricfit.functions.binding import Binding
from metricfit.functions.expression import NO_THETA, Node, Theta, nodes_of
from metricfit.functions.levels import at_least, at_most, defined
from metricfit.functions.nonlinear import Quotient
from metricfit.functions.sums import Sum, negative
from metricfit.metrics import Constraint, Curvature, Metric, custom, parse
from metricfit.types import BoolArray, FloatArray

# Beyond the rounding of a metric's largest value.
OUT_OF_REACH = 1e-9

ObjectiveLike = Metric | str | Callable[[FloatArray], float]
ConstraintLike = Constraint | str

# A constraint function that no rule brings further below zero than this is rescaled.
LIGHT = 1e-4


@dataclass(frozen=True)
class Problem:
    """An objective and the constraints to keep.

    Examples
    --------
    >>> import metricfit as mf
    >>> print(Problem.of("g_mean", [mf.recall(1) >= 0.5]))
    maximize g_mean() subject to recall(1) >= 0.5
    """

    objective: Metric
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def of(
        cls, objective: ObjectiveLike, constraints: ConstraintLike | Iterable[ConstraintLike] = ()
    ) -> Problem:
        """Read an objective (metric, name, text or callable) and constraints (objects or text)."""
        if isinstance(constraints, Constraint | str):
            constraints = [constraints]
        try:
            given = list(constraints)
        except TypeError:
            raise ValueError(f"constraints must be a list of constraints, got {constraints!r}") from None
        return cls(_objective(objective), tuple(_constraint(c) for c in given))

    @property
    def sign(self) -> int:
        """The factor by which the objective becomes one to minimise; metrics without a better side are maximised."""
        return 1 if self.objective.direction < 0 else -1

    def __str__(self) -> str:
        limits = f" subject to {', '.join(map(str, self.constraints))}" if self.constraints else ""
        return f"{'maximize' if self.sign < 0 else 'minimize'} {self.objective}{limits}"

    def bind(self, axes: Axes, margins: FloatArray) -> Program:
        """Return the problem on data with these axes and class priors (cells x classes)."""
        seen = axes.seen
        binding = Binding.of(seen, margins.reshape(len(seen.cells), seen.n))
        goal = binding.take(self.objective)
        limits = tuple(Limit(c, binding.take(c.metric)) for c in self.constraints)
        functions = binding.finish("diagonal" if seen is axes else "full")
        return Program(
            self,
            axes,
            functions.layout,
            functions.matrix,
            functions.constant,
            functions.low,
            functions.high,
            goal if self.sign > 0 else negative(goal),
            limits,
        )


def _objective(objective: ObjectiveLike) -> Metric:
    if isinstance(objective, str):
        objective = parse(objective)  # type: ignore[assignment]
    if isinstance(objective, Metric):
        return objective
    if isinstance(objective, Constraint):
        raise ValueError(
            f"objective is the constraint '{objective}'; pass it in constraints= and a metric as objective"
        )
    if callable(objective):
        if getattr(objective, "__module__", "").startswith("metricfit.metrics"):
            raise ValueError(
                f"objective is the function {objective.__name__}; call it: mf.{objective.__name__}(...)"
            )
        return custom(objective)
    raise ValueError(
        f"objective must be a metric, its name, text or a callable on the n x k matrix, got {objective!r}"
    )


def _constraint(constraint: ConstraintLike) -> Constraint:
    found = parse(constraint) if isinstance(constraint, str) else constraint
    if not isinstance(found, Constraint):
        raise ValueError(f"constraints must be comparisons such as precision('a') >= 0.9, got {found!r}")
    return found


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
        """What makes a function that is small for all rules one of usual size.

        A precision of light rows among heavy ones, multiplied out, is smaller than what counts as rounding error.
        """
        node = self._turned(self.constraint.limit)
        room = -float(node.reach()[0][0]) if node.size == 1 else 1.0
        return 1 / room if 0 < room < LIGHT else 1.0

    @cached_property
    def convex(self) -> Node:
        """The functions for the constraint's own limit, for methods that need them; NotConvex where there are none."""
        return self.functions(self.constraint.limit)

    @cached_property
    def node(self) -> Node | None:
        """The functions for the constraint's own limit; None when they are not convex."""
        try:
            return self.convex
        except NotConvex:
            return None

    def value(self, u: FloatArray) -> float:
        """Return the metric's value; NaN for a rate of nothing (a precision where nothing was decided so).

        The worst of several rates is that of those there are. Where the limit keeps no convex set, rates of
        nothing inside the metric count 0, as they do in the metric itself.
        """
        return float(defined(self.metric, u)[0]) if self._may_be_of_nothing else self.metric.scalar(u)

    @cached_property
    def _may_be_of_nothing(self) -> bool:
        known = nodes_of(self.metric) if self.node is not None else [self.metric]
        return any(isinstance(node, Quotient) for node in known)

    def violation(self, u: FloatArray) -> float:
        """Return by how much the limit is missed, in units of the metric; 0 for a rate of nothing."""
        value = self.value(u)
        excess = (
            value - self.constraint.limit if self.constraint.sense == "<=" else self.constraint.limit - value
        )
        return 0.0 if np.isnan(excess) else excess

    @property
    def out_of_reach(self) -> float:
        """By how much the limit lies beyond all values that the metric can have; at most 0 where it does not."""
        low, high = (float(end[0]) for end in self.metric.reach())
        return low - self.constraint.limit if self.constraint.sense == "<=" else self.constraint.limit - high

    def refuse_if_empty(self) -> None:
        """Raise if only a rate of nothing keeps the constraint, as of ``precision("a") >= 90``.

        No rule with such decisions keeps it, and one without them does so only in name. Other limits that cannot be
        kept are found by the methods.
        """
        if self._may_be_of_nothing and self.out_of_reach > OUT_OF_REACH:
            name, missed = str(self.constraint), self.out_of_reach
            raise InfeasibleError({name: missed}, {name: missed}, (name,), proven=True)

    def unit(self, u: FloatArray) -> FloatArray:
        """Return what one unit of slack in the limit adds to the functions (they are affine in the limit)."""
        step = 1.0 if self.constraint.sense == "<=" else -1.0
        limit = self.constraint.limit
        return self.functions(limit).value(u) - self.functions(limit + step).value(u)


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
        except NotConvex:
            return False
        return True

    @property
    def convex_limits(self) -> bool:
        """Whether all constraints keep a convex set."""
        return all(limit.node is not None for limit in self.limits)

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
        """Return u of the classifier that decides anything with equal probability."""
        return self.at_random(margins, np.full(self.axes.k, 1 / self.axes.k))

    def at_random(self, margins: FloatArray, shares: FloatArray) -> FloatArray:
        """Return u of the classifier that looks at no row and takes each decision with a given probability."""
        return self.vector(statistic(margins[:, :, None] * shares, self.layout, self.axes))

    def vector(self, counted: FloatArray) -> FloatArray:
        """Return u of a statistic."""
        return np.asarray(self.matrix @ counted.ravel() + self.constant)

    def loss(self, direction: FloatArray) -> FloatArray:
        """Return the loss whose value on a statistic is ``direction @ u``, but for a constant."""
        return np.asarray(self._adjoint @ direction).reshape(shape_of(self.layout, self.axes))

    @cached_property
    def _adjoint(self) -> Any:
        return sp.csr_array(self.matrix.T)

    def shares(self, counted: FloatArray) -> Any:
        """Return what each cell adds to u, as a sparse matrix (entries of u, cells)."""
        places, which = self._places
        sums = np.bincount(which, self.matrix.data * counted.ravel()[self.matrix.indices], places.size)
        used = np.flatnonzero(sums)  # a rule that never takes most decisions has few entries
        size, cells = self.constant.size, len(self.axes.cells)
        # Put together by hand: general constructors take longer than all the rest.
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
            if limit.node is not None and mu.any():
                slope = slope + limit.node.slope(u, mu, theta)
                level += float(mu @ limit.node.level(u, theta))
        return slope, level

    def excess(self, u: FloatArray) -> float:
        """Return the largest value of the constraint functions; <= 0 holds, -inf without constraints."""
        return max((self._excess(limit, u) for limit in self.limits), default=-np.inf)

    def violation(self, u: FloatArray) -> float:
        """Return the largest violation in units of the metrics; -inf without constraints."""
        return max((limit.violation(u) for limit in self.limits), default=-np.inf)

    @staticmethod
    def _excess(limit: Limit, u: FloatArray) -> float:
        return limit.violation(u) if limit.node is None else float(limit.node.value(u).max())
