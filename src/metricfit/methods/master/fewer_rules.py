"""Few rules: among all mixtures that are as good as the one a walk ends with, find one of few rules.

Interior-point solvers end in the middle of the set of equally good mixtures, where every rule has some weight.
A corner of that set has about as many rules as there are cells and binding constraints, plus one for each rate
in which the objective is curved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from metricfit.exceptions import UnsolvedError
from metricfit.functions.expression import Constant, Node, nodes_of
from metricfit.functions.nonlinear import Smooth
from metricfit.functions.sums import Sum, negative
from metricfit.methods.base import FEASIBLE, Deadline, Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.corners import Corners
from metricfit.methods.master.linear import Flattened
from metricfit.methods.master.master import Master
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.methods.master.ratio_level import level_goal
from metricfit.problem import Program
from metricfit.types import BoolArray, FloatArray

THRESHOLDS = (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6)


def fewer_rules(program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
    """Return a mixture of few of the rules that is at most ``slack`` worse and keeps the constraints.

    If the walk does not ask for few rules, the mixture stays as it is; so does a corner of a linear program, the best
    mixture already, if nothing may be lost.
    """
    master = Master(program, walk)
    if not walk.simplifies or walk.late or (slack <= 0 and master.is_linear):
        return best
    used = np.flatnonzero(best.weights[:, : len(walk.vertices)].any(axis=0)).tolist()
    columns = Columns(program)
    columns.add_all(used, [walk.vertices[place] for place in used])
    alpha = _only(columns, columns.alpha(best.weights))
    worst = program.value(best.u) + slack / 2

    def good(u: FloatArray) -> bool:
        return program.excess(u) <= FEASIBLE and program.value(u) <= worst

    for corner in _corners(program, columns, alpha, walk.budget.deadline):
        if good(columns.u(corner)):
            alpha = _only(columns, corner)
            break
    weights, u = columns.weights(alpha, len(walk.vertices)), columns.u(alpha)
    made = replace(best, weights=weights, u=u) if good(u) else best
    # More columns never make the best mixture worse, so bisection finds the fewest that are enough.
    tried = _heaviest(columns, alpha)
    while tried and not walk.late:
        half = len(tried) // 2
        fewer, found = columns.copy(), None
        fewer.keep(tried[half])
        with suppress(UnsolvedError):
            found = master.solve(fewer, alpha[tried[half]])
        if found is not None and good(found.u):
            made = replace(best, weights=fewer.weights(found.alpha, len(walk.vertices)), u=found.u)
            tried = tried[:half]
        else:
            tried = tried[half + 1 :]
    return made


def _only(columns: Columns, alpha: FloatArray) -> FloatArray:
    """Forget the columns without weight."""
    used = alpha > 0
    columns.keep(used)
    return columns.normalised(alpha[used])


def _corners(
    program: Program, columns: Columns, alpha: FloatArray, deadline: Deadline
) -> Iterator[FloatArray]:
    """Yield corners of the linear program, first with all rates free, then with those of curved functions fixed."""
    u = columns.u(alpha)
    goal = program.objective if program.curvature.is_convex else level_goal(program, program.value(u))
    roots = [goal, *program.bounds]
    curved = [node.part for root in roots for node in nodes_of(root) if isinstance(node, Smooth)]
    for kept in ([], curved) if curved else ([],):
        if len(columns) <= len(program.axes.cells) + sum(part.size for part in kept):
            return
        flat, body = Flattened(u), Polyhedron(program.constant.size)
        for limit in program.limits:
            body.limit(limit, flat.of(limit.convex))
        for part in kept:
            for same in _equal(flat.of(part), part.value(u)):
                body.limit(part, same)
        cost = body.row(flat.of(goal))
        try:
            found, _ = Corners(program, body, cost, u, deadline).minimise(columns)
        except UnsolvedError:
            continue
        yield columns.normalised(found)


def _equal(node: Node, values: FloatArray) -> tuple[Node, Node]:
    difference = Sum(((1.0, node), (-1.0, Constant(values))))
    return difference, negative(difference)


def _heaviest(columns: Columns, alpha: FloatArray) -> list[BoolArray]:
    """Return masks of each cell's heaviest column and those above a threshold, for falling thresholds; never all."""
    heaviest = np.zeros(len(columns.program.axes.cells))
    np.maximum.at(heaviest, columns.cell, alpha)
    made: list[BoolArray] = []
    for threshold in THRESHOLDS:
        heavy = (alpha >= threshold) | (alpha == heaviest[columns.cell])
        if not heavy.all() and not (made and np.array_equal(heavy, made[-1])):
            made.append(heavy)
    return made
