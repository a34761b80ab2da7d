"""A bound for means of ratios, such as macro-F1: the best that each ratio could be alone."""

from __future__ import annotations

import numpy as np

from metricfit.methods.base import Walk
from metricfit.methods.profile import Ratios
from metricfit.metrics.expression import Constant, Node, Sum
from metricfit.problem import Program


def bound_of_ratios(program: Program, walk: Walk) -> float:
    r"""Return a lower bound of a (minimised) sum of one ratio per decision; minus infinity if the objective is none.

    A ratio of rows decided j and of those that are right has convex level sets, so over all sets of rows it is extreme where a linear function is: on
    the rows most likely of class j, or least likely, however many. Those are prefix sums along one sort. The bound is valid where probabilities are
    counted as soft labels, and holds under any constraints, which it ignores.
    """
    parts = _ratios(program.objective, 1.0, program)
    make = getattr(walk.oracle, "scan", None)
    if parts is None or make is None:
        return -np.inf
    constant, sums = parts
    scan = make(np.zeros((len(program.axes.cells), 2, program.axes.k)), "diagonal")
    total = constant + sum(scale * ratios.constant for scale, ratios in sums)
    for j in range(program.axes.k):
        walk.spend()
        hit, made = scan.likeliest(j)
        for scale, ratios in sums:
            ends = [ratios.ends(j, *rows) for rows in ((hit, made), (hit[-1] - hit, made[-1] - made))]
            total += min(scale * end for pair in ends for end in pair)
    return float(total)


def _ratios(node: Node, scale: float, program: Program) -> tuple[float, list[tuple[float, Ratios]]] | None:
    """Write a node as a constant plus multiples of sums of ratios; None if it is not of that form."""
    ratios = Ratios.of(node, program)
    if ratios is not None:
        return 0.0, [(scale, ratios)]
    if isinstance(node, Constant) and node.size == 1:
        return scale * float(node.values[0]), []
    if not isinstance(node, Sum) or node.size != 1:
        return None
    constant, found = scale * node.constant, []
    for coefficient, part in node.terms:
        inner = _ratios(part, scale * coefficient, program)
        if inner is None:
            return None
        constant += inner[0]
        found += inner[1]
    return constant, found
