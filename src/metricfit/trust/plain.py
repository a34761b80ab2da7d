"""Do no harm: the plain rules of the model's own probabilities, unless the search is better by more than noise."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.layout import expand, statistic
from metricfit.data.rows import Rows
from metricfit.exceptions import OverfitWarning
from metricfit.methods.base import Iterate, Walk, run
from metricfit.methods.history import Standing
from metricfit.methods.local import Local
from metricfit.methods.starts import argmax_loss, balanced_loss
from metricfit.oracles.base import OracleBase
from metricfit.policy import Policy, Rule
from metricfit.problem import Problem, Program
from metricfit.types import FloatArray

# How many standard errors of its gain over the most probable class a rule must gain where nothing constrains it: none
# for that class itself, more for the balanced rule, which is not made for the metric, than for the search.
ERRORS = (0.0, 2.0, 0.5)
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
    if not program.limits:
        return _most_gain(problem, raw, walk.oracle, policy)
    found = Standing.of(walk.program, u)
    standings = [Standing.of(program, raw.vectors[place]) for place in plain]
    best = min(plain, key=lambda place: (standings[place].excess, standings[place].value))
    if standings[best] < found:
        return raw, raw.single(best)
    if not walk.guiding or given.costly or not found.kept:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverfitWarning)  # nobody asked for a search on these labels alone
        direct = run(Local(), program, raw)
    reached = Standing.of(program, direct.best.u)
    return (raw, direct.best) if reached.kept and reached.value < found.value - CLEARLY else None


def _most_gain(
    problem: Problem, raw: Walk, calibrated: OracleBase, policy: Policy
) -> tuple[Walk, Iterate] | None:
    """Return the plain rule to prefer where nothing constrains the problem, or None for the policy.

    Rows judge the policy by probabilities that were calibrated without them, so that its gain is an honest one.
    """
    rows = raw.oracle.sample()
    if rows is None or calibrated.report is None:
        return None
    places, proba = calibrated.report.held_out
    rows = rows.take(places)
    shares = [_plain_policy(raw, place).decision_proba(rows.proba, rows.attributes) for place in (0, 1)]
    shares.append(replace(policy, calibration=None).decision_proba(proba, rows.attributes))
    tensors = [_tensor(rows, made) for made in shares]
    values = [float(problem.objective(Confusion(tensor, rows.axes))) for tensor in tensors]
    gains = [-problem.sign * (value - values[0]) for value in values]
    sure = [
        gain >= errors * noise(raw.program, rows, tensor, made - shares[0])
        for gain, errors, tensor, made in zip(gains, ERRORS, tensors, shares, strict=True)
    ]
    best = max((place for place in range(3) if sure[place]), key=lambda place: (gains[place], -place))
    return None if best == 2 else (raw, raw.single(best))


def _plain_policy(raw: Walk, place: int) -> Policy:
    axes, layout = raw.program.axes, raw.program.layout
    return Policy(axes, layout, tuple((Rule(1.0, loss),) for loss in raw.vertices[place].loss))


def _tensor(rows: Rows, shares: FloatArray) -> FloatArray:
    """Return the confusion tensor of decisions, given by their probabilities, on labelled rows."""
    tensor = np.zeros(rows.axes.shape)
    weights = np.full(len(rows), 1 / len(rows)) if rows.weights is None else rows.weights
    cells = np.zeros(len(rows), np.int64) if rows.cells is None else rows.cells
    np.add.at(tensor, (cells, rows.labels), shares * weights[:, None])
    return tensor


def noise(program: Program, rows: Rows, tensor: FloatArray, changed: FloatArray) -> float:
    """Return the standard error of what a rule gains by changing the decisions of rows; it has the tensor given."""
    cells = np.zeros(len(rows), np.int64) if rows.cells is None else rows.cells
    u = program.vector(statistic(tensor, program.layout, program.axes))
    slopes = expand(program.loss(program.objective.gradient(u)), program.layout, program.axes)
    moved = (changed * slopes[cells, rows.labels]).sum(axis=1)
    weights = np.full(len(rows), 1 / len(rows)) if rows.weights is None else rows.weights
    return float(np.sqrt(np.sum(weights**2 * (moved - weights @ moved) ** 2)))
