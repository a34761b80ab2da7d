"""How the paper's constrained methods begin: with rules of which a mixture keeps the constraints, and how much room it has.

Algorithms 7 and 8 ask for a strictly feasible classifier, the step sizes of Algorithm 6 for its room r (Assumption 1), and pruning can keep the
constraints only if some mixture of the iterates does. So all of them begin with the first phase, which also tells when there is no such classifier.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from metricfit.layout import statistic
from metricfit.methods.base import Iterate, Walk
from metricfit.methods.columns import Columns
from metricfit.methods.feasibility import phase_one, reach
from metricfit.methods.pruning import mixture
from metricfit.methods.starts import argmax_loss, balanced_loss
from metricfit.problem import Program


def feasible_start(program: Program, walk: Walk) -> Iterator[Iterate]:
    """Walk until some mixture of the rules found keeps all constraints; raise `InfeasibleError` when none does."""
    if not program.limits:
        return
    if not walk.vertices:
        walk.ask(balanced_loss(program, walk.oracle.margins))
        walk.ask(argmax_loss(program))
    columns = Columns(program)
    for place, vertex in enumerate(walk.vertices):
        columns.add(place, vertex)
    yield from reach(program, walk, columns)


def room(program: Program, walk: Walk) -> float:
    """Return by how much a known classifier keeps all constraints: a trivial one, or a mixture of the rules found."""
    margins, match = walk.oracle.margins, program.axes.match
    priors = np.where(match >= 0, margins.sum(axis=0)[match], 0.0)
    if priors.sum() == 0:
        priors = np.ones(match.size)
    by_prior = margins[:, :, None] * (priors / priors.sum())
    points = [
        program.uniform(margins),
        program.vector(statistic(by_prior, program.layout, program.axes)),
        mixture(phase_one(program, program.limits), walk).u,
    ]
    return max(-program.excess(u) for u in points)
