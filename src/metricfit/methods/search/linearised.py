"""Mixtures within limits of any shape: in each step, limits with a nonconvex feasible set become tangent planes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from metricfit.functions.expression import Entries, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.methods.base import FEASIBLE, Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.feasibility import lower_violation, phase_one
from metricfit.methods.master.generation import generate
from metricfit.methods.search.corrective import towards
from metricfit.methods.search.merit import FIRST, merit
from metricfit.methods.search.profile import Profile
from metricfit.problem import Limit, Program
from metricfit.types import FloatArray

# Steps from one start, and oracle calls for each of them.
STEPS = 20
PRICINGS = 10
# Tangent planes stand in for the limits and are only close to them, so each is kept with ROOM to spare. Outside the
# limits, a step must take away at least the share GAIN of what is missing.
ROOM = 1e-3
GAIN = 1e-3


def mix_within(program: Program, walk: Walk, profile: Profile, start: Iterate) -> Iterator[Iterate]:
    """Yield mixtures that miss the constraints by ever less, and once they are kept, are ever better.

    A mixture may keep limits that none of its rules keeps: two limits that pull a rule in opposite directions, or a
    share of decisions that no rule hits. Each step finds the best mixture within the tangent planes of the limits, and
    moves towards it as far as the limits themselves allow.
    """
    columns, reached = Columns(program, walk.vertices), start
    for _ in range(STEPS):
        kept, before = program.excess(reached.u) <= FEASIBLE, merit(program, reached.u, FIRST)
        step = (
            _improving(program, walk, columns, reached)
            if kept
            else _entering(program, walk, columns, reached)
        )
        *_, target = islice(step, PRICINGS)
        reached = towards(profile, reached, target, FIRST)
        yield reached
        gained = before - merit(program, reached.u, FIRST)
        if gained <= (walk.tol / 10 if kept else GAIN * before):
            return


def _entering(program: Program, walk: Walk, columns: Columns, reached: Iterate) -> Iterator[Iterate]:
    limits = [linearised(limit, program, reached.u) for limit in program.limits]
    return lower_violation(phase_one(program, limits), walk, columns, -ROOM)


def _improving(program: Program, walk: Walk, columns: Columns, reached: Iterate) -> Iterator[Iterate]:
    limits = tuple(linearised(limit, program, reached.u) for limit in program.limits)
    goal = program.objective
    if not program.curvature.is_convex:
        goal = planes(goal, reached.u, 1, program.entries)
    return generate(replace(program, objective=goal, limits=limits), walk, columns)


def linearised(limit: Limit, program: Program, u: FloatArray) -> Limit:
    """Return a limit with a convex feasible set: the limit itself, or one on the metric's tangent planes at u."""
    if limit.node is not None:
        return limit
    return replace(limit, metric=planes(limit.metric, u, -limit.constraint.inward, program.entries))


def planes(node: Node, u: FloatArray, sign: int, entries: Entries) -> Node:
    """Return a node with its curved parts replaced by tangent planes at u, so that ``sign * node`` is convex.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.functions.nonlinear import Product
    >>> whole = Entries(0, 2, np.zeros(2), np.ones(2))
    >>> x, y = (Entries(i, i + 1, np.zeros(1), np.ones(1)) for i in range(2))
    >>> plane = planes(Product(x, y), np.array([0.5, 0.2]), 1, whole)
    >>> [round(plane.scalar(np.array(u)), 6) for u in ([0.5, 0.2], [1.0, 0.2], [1.0, 0.4])]
    [0.1, 0.2, 0.3]
    """
    if node.affine is not None:
        return node
    match node:
        case Sum(terms, constant):
            parts = ((c, planes(part, u, sign if c > 0 else -sign, entries)) for c, part in terms)
            return Sum(tuple(parts), constant)
        case Stack(parts):
            return Stack(tuple(planes(part, u, sign, entries) for part in parts))
        case Largest(part) if sign > 0:
            return Largest(planes(part, u, sign, entries))
    slopes = [node.slope(u, weight) for weight in np.eye(node.size)]
    found = [
        Sum(((1.0, Total(slope, entries)),), float(value - slope @ u))
        for slope, value in zip(slopes, node.value(u), strict=True)
    ]
    return Stack(tuple(found)) if node.size > 1 else found[0]
