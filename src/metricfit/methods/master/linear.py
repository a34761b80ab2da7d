"""The master problem with every curved function replaced by its tangent plane: a linear program, for HiGHS.

It is the fallback when the other solvers fail, and it also works where they get stuck: at a rate of zero a
geometric mean is too steep for second derivatives, but its tangent plane is as good as any.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from metricfit.functions.expression import Constant, Entries, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.nonlinear import Smooth
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.methods.base import FEASIBLE, NEVER, Deadline
from metricfit.methods.master.columns import Columns, Solution
from metricfit.methods.master.corners import Corners
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.methods.master.ratio_level import even_goal, priced_level
from metricfit.problem import Program
from metricfit.types import FloatArray


def corrected(program: Program, columns: Columns, alpha: FloatArray, deadline: Deadline = NEVER) -> Solution:
    """Move a mixture towards the solution of its linear program, as far as that pays and constraints hold.

    The multipliers are those of the linear program, whose planes touch at the given mixture; the bound that they prove
    there is the minimum of the linear program.
    """
    alpha = columns.normalised(alpha)
    u = columns.u(alpha)
    flat, body = Flattened(u), Polyhedron(program.constant.size)
    for limit in program.limits:
        body.limit(limit, flat.of(limit.convex))
    under: FloatArray = np.ones(1)
    goal = program.objective
    if not program.curvature.is_convex:
        goal, under = even_goal(program, program.value(u), u)
    cost = body.row(flat.of(goal))
    target, duals = Corners(program, body, cost, u, deadline).minimise(columns)
    target = columns.normalised(target)
    alpha = _on_the_way(program, columns, alpha, target)
    split = body.split(np.maximum(duals, 0.0))
    theta = {flat.maxima[m]: shares for m, shares in body.theta(split).items()}
    prices = tuple(split[limit] for limit in program.limits)
    found = Solution(alpha, columns.u(alpha), prices, theta, touched=u)
    if goal is program.objective:
        return found
    assert isinstance(goal, Largest)
    return priced_level(program, found, goal, under, program.value(u))


def _on_the_way(program: Program, columns: Columns, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the best mixture on the line between two that violates the constraints no more than the start."""
    allowed = max(program.excess(columns.u(start)), FEASIBLE)
    best, least = start, program.value(columns.u(start))
    for step in (*np.geomspace(1e-6, 0.5, 40), *(1 - np.geomspace(0.5, 1e-6, 40)[1:]), 1.0):
        mixed = columns.normalised((1 - step) * start + step * end)
        u = columns.u(mixed)
        if program.excess(u) <= allowed and program.value(u) < least:
            best, least = mixed, program.value(u)
    return best


@dataclass
class Flattened:
    """Replaces curved functions by tangent planes at a point; ``maxima`` maps each new maximum to the original."""

    u: FloatArray
    maxima: dict[Largest, Largest] = field(default_factory=dict)

    def of(self, node: Node) -> Node:
        """Return a maximum of affine functions that touches a convex node from below."""
        match node:
            case Entries() | Constant():
                return node
            case Sum(terms, constant):
                return Sum(tuple((c, self.of(part)) for c, part in terms), constant)
            case Total(weights, part):
                return Total(weights, self.of(part))
            case Stack(parts):
                return Stack(tuple(self.of(part) for part in parts))
            case Largest(part):
                flat = Largest(self.of(part))
                self.maxima[flat] = node
                return flat
            case Smooth(atom, part):
                v = part.value(self.u)
                slope = atom.gradient(v)
                return Sum(((1.0, Total(slope, self.of(part))),), float(atom.level(v) - slope @ v))
        raise TypeError(f"{type(node).__name__} has no tangent plane that lies below it")
