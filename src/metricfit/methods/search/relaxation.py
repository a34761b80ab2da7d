"""A bound for means of ratios, such as macro-F1: optimise each ratio separately."""

from __future__ import annotations

import numpy as np

from metricfit.methods.base import Walk
from metricfit.methods.search.ratios import RatioCombination
from metricfit.problem import Program


def bound_of_ratios(program: Program, walk: Walk) -> float:
    r"""Return a lower bound of a (minimised) sum of one ratio per decision; minus infinity for other objectives.

    A ratio in the rows decided j and the hits among them has convex level sets, so over all sets of rows its extremes
    are those of linear functions: the rows most, or least, likely to be of class j, for some number of rows. Prefix
    sums along one sort give them all. The bound is valid where probabilities are counted as soft labels, and holds
    under any constraints, which it ignores.
    """
    affine = RatioCombination.of(program.objective, program)
    loss = np.zeros((len(program.axes.cells), 2, program.axes.k))
    scan = None if affine is None else walk.oracle.scan(loss, "diagonal")
    if affine is None or scan is None or len(scan.rows) != walk.oracle.n_rows:  # a sample proves nothing
        return -np.inf
    total = affine.constant
    for j in range(program.axes.k):
        walk.spend()
        hit, made = scan.likeliest(j)
        for scale, ratios in affine.terms:
            ends = [ratios.ends(j, *rows) for rows in ((hit, made), (hit[-1] - hit, made[-1] - made))]
            total += min(scale * end for pair in ends for end in pair)
    return float(total)
