"""Firm mixtures: of all that are as good, the one whose rates have the most rows.

A precision does not depend on how rarely a decision is made. So the best mixture of a linear program may make it for a
millionth of a row, where another one makes it for many.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from metricfit.exceptions import UnsolvedError
from metricfit.functions.expression import nodes_of
from metricfit.functions.extremes import Largest
from metricfit.functions.nonlinear import Quotient
from metricfit.functions.sums import Stack, negative
from metricfit.methods.base import Iterate, Standing, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.master import Master
from metricfit.metrics import Constraint
from metricfit.problem import Limit, Program


def firm(program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
    """Return a mixture that is at most ``slack`` worse than the best one, with denominators as large as possible."""
    unders = [node.under for node in nodes_of(program.objective) if isinstance(node, Quotient)]
    if program.lowest_denominator > 0 or not unders or not program.mixable:
        return best
    worst = program.sign * (program.value(best.u) + slack)
    goal = program.problem.objective
    as_good = Constraint(goal, "<=" if program.sign > 0 else ">=", worst)
    natural = program.objective if program.sign > 0 else negative(program.objective)
    largest = Largest(Stack(tuple(negative(under) for under in unders)))
    wide = replace(program, objective=largest, limits=(*program.limits, Limit(as_good, natural)))
    columns = Columns(program, walk.vertices)
    with suppress(UnsolvedError):
        found = Master(wide, walk).solve(columns, columns.alpha(best.table(len(program.axes.cells))))
        if Standing.of(wide, found.u).kept:
            return replace(best, weights=columns.weights(found.alpha, len(walk.vertices)), u=found.u)
    return best
