"""Level functions of a ratio, or of the worst of several ratios: convex, and <= 0 exactly where a level is reached."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.functions.atoms import TINY
from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.functions.levels import at_most
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.methods.master.columns import Solution
from metricfit.problem import Program
from metricfit.types import FloatArray

# A denominator counts as at least this share of the largest one: a rate of hardly any rows would outweigh all others.
LEAST_SHARE = 1e-3


def level_goal(program: Program, level: float) -> Largest:
    """Return the convex function that is <= 0 exactly where the objective is at most a level."""
    return Largest(at_most(program.objective, level))


def even_goal(program: Program, level: float, u: FloatArray) -> tuple[Largest, FloatArray]:
    """Return `level_goal` with every ratio's part divided by its denominator at u, and the divisors.

    A level function is a ratio's distance to the level times its denominator. The worst of several ratios is found in a
    few of Dinkelbach's steps only if these distances are compared with each other: where the denominators differ, as
    those of a recall and of the precision of a rare decision do, each step would gain the share that the smallest is of
    the largest.
    """
    goal = level_goal(program, level)
    under = goal.part.value(u) - level_goal(program, level + 1).part.value(u)
    under = np.maximum(under, max(LEAST_SHARE * float(under.max()), TINY))
    return (goal, np.ones(1)) if under.size == 1 else (Largest(weighed(goal.part, 1 / under)), under)


def weighed(node: Node, weights: FloatArray) -> Node:
    """Return a node with each of its values multiplied by a weight.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.functions.expression import Entries
    >>> pair = Entries(0, 2, np.zeros(2), np.ones(2))
    >>> weighed(Stack((pair, pair)), np.array([1.0, 2.0, 3.0, 3.0])).value(np.array([0.5, 0.1])).tolist()
    [0.5, 0.2, 1.5, 0.30000000000000004]
    """
    if np.all(weights == weights[0]):
        return Sum(((float(weights[0]), node),))
    if not isinstance(node, Stack):
        return Stack(tuple(Total(row, node) for row in np.diag(weights)))
    ends = np.cumsum([part.size for part in node.parts])[:-1]
    return Stack(tuple(map(weighed, node.parts, np.split(weights, ends))))


def priced_level(
    program: Program, found: Solution, goal: Largest, under: FloatArray, level: float
) -> Solution:
    """Return a solution for an even goal with multipliers of the level function itself, in its units.

    Its scale turns the multipliers into units of the objective.
    """
    parts = found.theta.get(goal, np.full(goal.part.size, 1 / goal.part.size)) / under
    size = float(parts.sum())
    weights, prices = parts / size, tuple(mu / size for mu in found.multipliers)
    here, above = (level_goal(program, at).part.value(found.u) for at in (level, level + 1))
    scale = 1 / max(float(weights @ (here - above)), TINY)
    return replace(found, multipliers=prices, scale=scale, level_theta=weights)
