"""Do no harm: the plain rules of the model's own probabilities, unless the search is better by more than noise."""

from __future__ import annotations

import numpy as np

from metricfit.data.layout import expand
from metricfit.data.rows import Rows
from metricfit.methods.base import Iterate, Walk, run
from metricfit.methods.history import Standing
from metricfit.methods.local import Local
from metricfit.methods.starts import argmax_loss, balanced_loss
from metricfit.oracles.base import OracleBase
from metricfit.policy import Policy, Rule
from metricfit.problem import Problem, Program
from metricfit.types import FloatArray

# How many standard errors of the difference an unconstrained search must gain over the most probable class.
ERRORS = 2.0
# By how much a direct search must be better by labels to be preferred: the calibrated one is better on new rows.
CLEARLY = 0.003


def plain_rule(
    problem: Problem, given: OracleBase, walk: Walk, policy: Policy, u: FloatArray
) -> tuple[Walk, Iterate] | None:
    """Return what is to be preferred to a search on calibrated probabilities, with the walk that found it; or None.

    ``given`` counts labels with the model's own probabilities, ``walk`` has found the ``policy`` with ``u``. A plain
    rule that keeps the constraints and has a better value is preferred. So is the most probable class, if nothing
    constrains the problem and the search gains less than the noise of its gain: what is tuned on these rows flatters
    itself on them, and the most probable class does not. Where labels had to be searched for the constraints, so is a
    direct search with the model's own probabilities that is clearly better.
    """
    program = problem.bind(given.axes, given.margins)
    raw = walk.beside(program, given)
    raw.guide = walk.guide
    losses = [argmax_loss(program), balanced_loss(program, given.margins)]
    plain = raw.ask_all(losses)
    if len(plain) < len(losses):
        return None
    found = Standing.of(walk.program, u)
    standings = [Standing.of(program, raw.vectors[place]) for place in plain]
    best = min(plain, key=lambda place: (standings[place].excess, standings[place].value))
    if standings[best] < found:
        return raw, raw.single(best)
    if not program.limits:
        gain = standings[0].value - found.value
        lucky = gain < ERRORS * noise(program, given.sample(), policy, losses[0], u)
        return (raw, raw.single(0)) if lucky else None
    if not walk.guiding or given.costly or not found.kept:
        return None
    direct = run(Local(), program, raw)
    reached = Standing.of(program, direct.best.u)
    return (raw, direct.best) if reached.kept and reached.value < found.value - CLEARLY else None


def noise(program: Program, rows: Rows | None, policy: Policy, loss: FloatArray, u: FloatArray) -> float:
    """Return the standard error of the difference in value between a policy and a plain rule, by labelled rows."""
    if rows is None:
        return 0.0
    cells = np.zeros(len(rows), np.int64) if rows.cells is None else rows.cells
    alone = Policy(program.axes, program.layout, tuple((Rule(1.0, one),) for one in loss))
    changed = policy.decision_proba(rows.proba, rows.attributes) - alone.decision_proba(
        rows.proba, rows.attributes
    )
    slopes = expand(program.loss(program.objective.gradient(u)), program.layout, program.axes)
    moved = (changed * slopes[cells, rows.labels]).sum(axis=1)
    weights = np.full(len(rows), 1 / len(rows)) if rows.weights is None else rows.weights
    return float(np.sqrt(np.sum(weights**2 * (moved - weights @ moved) ** 2)))
