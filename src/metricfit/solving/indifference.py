"""Decisions that a problem does not tell apart: rows get the most probable of these classes.

The F1 of one class says which rows get that class and nothing of the others: between these every rule is indifferent,
and a tie would send all their rows to the last class. So their costs are lowered by a little of the class's
probability, as little as changes neither value nor limits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.methods.base import Exhausted, Standing
from metricfit.oracles.base import mixed
from metricfit.problem import Program
from metricfit.problem.program import indifferent
from metricfit.solving.answer import Answer
from metricfit.types import BoolArray, FloatArray

# By how much of a class's probability costs are lowered, in turn; the largest entry of a loss has the size 1. Larger is
# better as long as nothing changes: ties are broken far beyond the rounding of scores.
LITTLE = (1e-3, 1e-5, 1e-7)
# Values that differ by less are equal.
ROUNDING = 1e-12


def told_apart(answer: Answer, left: float) -> Answer:
    """Return an answer of which each rule takes the most probable of the classes between which it is indifferent.

    It keeps the limits as the given answer does, with weights (cells, vertices), and its value up to a tenth of the
    tolerance, or to what is ``left`` of that. If there is none, the given answer is returned.
    """
    walk, program, weights = answer.walk, answer.walk.program, answer.mixture.weights
    used = np.flatnonzero(weights.any(axis=0))
    losses = [program.even(walk.vertices[t].loss) for t in used]
    if not program.alike.any() or not any(_undecided(program, loss).any() for loss in losses):
        return answer
    before, slack = answer.standing, max(min(left, walk.tol / 10), ROUNDING)
    for little in LITTLE:
        asked = [lowered(program, loss, little) for loss in losses]
        try:
            walk.spend(len(asked))
        except Exhausted:
            return answer
        told = [
            replace(vertex, loss=loss)
            for vertex, loss in zip(walk.oracle.many(asked, program.layout), asked, strict=True)
        ]
        u = program.vector(mixed(told, weights[:, used]))
        after = Standing.of(program, u)
        if after.excess <= before.excess and after.value <= before.value + slack:
            places = [walk.add(vertex) for vertex in told]
            whole = np.zeros((len(weights), len(walk.vertices)))
            whole[:, places] = weights[:, used]
            return Answer(walk, replace(answer.mixture, weights=whole, u=u))
    return answer


def lowered(program: Program, loss: FloatArray, little: float) -> FloatArray:
    """Return a loss that is lower by a little of each class's probability where it is indifferent between classes.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.data.axes import Axes
    >>> from metricfit.problem import Problem
    >>> program = Problem.of("f1(2)").bind(Axes((0, 1, 2)), np.full((1, 3), 1 / 3))
    >>> lowered(program, np.array([[[0.0, 0.0, -1.0], [0.0, 0.0, 0.4]]]), 1e-3)
    array([[[-0.001, -0.001, -1.   ],
            [ 0.   ,  0.   ,  0.4  ]]])
    """
    match, loss = program.axes.match, loss.copy()
    cell, decision = np.nonzero(_undecided(program, loss) & (match >= 0))
    row = 0 if program.layout == "diagonal" else match[decision]
    loss[cell, row, decision] -= little
    return loss


def _undecided(program: Program, loss: FloatArray) -> BoolArray:
    """Return for each cell which decisions cost the same as another one that the problem does not tell from them."""
    one_kind = program.kinds[:, None] == program.kinds
    return np.stack([(indifferent(cell, program.layout) & one_kind).sum(axis=1) > 1 for cell in loss])
