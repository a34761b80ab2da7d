"""The policy that a walk ends with: its mixture of rules or models, and the deterministic rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from metricfit.data.layout import expand
from metricfit.methods import Iterate, Walk
from metricfit.oracles.base import OracleBase, mixed
from metricfit.oracles.retrain import constant
from metricfit.policy import Policy, Rule
from metricfit.policy.derandomise import deterministic
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Program
from metricfit.result import Deterministic
from metricfit.types import FloatArray


def policy_of(
    program: Program, walk: Walk, best: Iterate
) -> tuple[Policy | ModelPolicy, FloatArray, FloatArray]:
    """Return the mixture as a policy, with its exact weights (cells, vertices) and u."""
    weights = best.table(len(program.axes.cells), len(walk.vertices))
    weights[weights < 1e-12] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    used = [np.flatnonzero(row) for row in weights]
    u = program.vector(mixed(walk.vertices, weights))
    if any(vertex.rule is not None for vertex in walk.vertices):
        heaviest = [int(np.argmax(weights[a, mixture])) for a, mixture in enumerate(used)]
        return _model_policy(program, walk, weights, used, heaviest), weights, u
    rules = tuple(
        tuple(Rule(float(weights[a, t]), walk.vertices[t].loss[a]) for t in mixture)
        for a, mixture in enumerate(used)
    )
    return Policy(program.axes, program.layout, rules, calibration=walk.oracle.calibration), weights, u


def with_single(program: Program, oracle: OracleBase, policy: Policy) -> tuple[Policy, FloatArray | None]:
    """Return a policy with its deterministic rules, which have weight 0 if they are new, and their u.

    Without u the policy is as it was: each cell has one rule, and no row is near a tie under it.
    """
    sample = oracle.sample()
    if sample is None:
        return policy, None
    mixtures = [
        (np.array([rule.weight for rule in mixture]), np.array([rule.loss for rule in mixture]))
        for mixture in policy.rules
    ]
    alone, u = deterministic(program, sample, oracle.exact, mixtures, len(sample) != oracle.n_rows)
    if u is None:
        return policy, None
    rules = tuple(
        mixture if loss is None else (*mixture, Rule(0.0, loss))
        for mixture, loss in zip(policy.rules, alone, strict=True)
    )
    return replace(policy, rules=rules, single=tuple(len(mixture) - 1 for mixture in rules)), u


def alone_of(program: Program, u: FloatArray, mixed: float) -> Deterministic:
    """Return what the deterministic rules achieve at u, compared with the value of the mixture."""
    value = program.value(u)
    return Deterministic(
        program.sign * value + 0.0,
        value - mixed,
        tuple(limit.value(u) for limit in program.limits),
        max((limit.violation(u) for limit in program.limits), default=0.0),
    )


def _model_policy(
    program: Program, walk: Walk, weights: FloatArray, used: list[Any], places: list[int]
) -> ModelPolicy:
    """Return the mixture as a policy over the models of the vertices."""
    kept = np.flatnonzero(weights.any(axis=0))
    index = {int(t): m for m, t in enumerate(kept)}
    models = []
    for t in kept:
        vertex = walk.vertices[t]
        always = int(np.argmin(expand(vertex.loss, program.layout, program.axes)[0, 0]))
        models.append(constant(always) if vertex.rule is None else vertex.rule)
    mixtures = [[(float(weights[a, t]), index[int(t)]) for t in mixture] for a, mixture in enumerate(used)]
    return ModelPolicy(program.axes, models, mixtures, places)


def tensor_of(walk: Walk, weights: FloatArray, program: Program) -> FloatArray:
    """Return the confusion tensor of a mixture (cells, vertices) of the walk's rules."""
    used = np.flatnonzero(weights.any(axis=0))
    losses = np.stack([walk.vertices[t].loss for t in used])
    return walk.oracle.confusion(losses, weights[:, used], program.layout)
