"""The answer of a search: a mixture of the rules of a walk, the policy that it makes, and the deterministic rules."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metricfit.calibration import Calibration
from metricfit.data.layout import expand
from metricfit.methods import Iterate, Walk
from metricfit.methods.base import Standing
from metricfit.oracles.base import OracleBase, Vertex, mixed
from metricfit.oracles.retrain import constant
from metricfit.policy import Policy, Rule
from metricfit.policy.derandomise import deterministic
from metricfit.policy.models import ModelPolicy
from metricfit.problem import Program
from metricfit.result import Deterministic
from metricfit.types import FloatArray

# Smaller weights in a mixture are set to 0.
LIGHT = 1e-12
# The deterministic rule is looked for between this many of the heaviest rules of a cell: averages may have thousands.
HEAVIEST = 64


@dataclass(frozen=True, eq=False)
class Answer:
    """A mixture of the rules that a walk has found."""

    walk: Walk
    mixture: Iterate

    @property
    def value(self) -> float:
        """Its objective, in minimisation."""
        return self.walk.program.value(self.mixture.u)

    @property
    def standing(self) -> Standing:
        """How good it is."""
        return Standing.of(self.walk.program, self.mixture.u)

    @property
    def by_models(self) -> bool:
        """Whether its rules are retrained models; plug-in rules otherwise."""
        return any(vertex.rule is not None for vertex in self.walk.vertices)

    def exact(self) -> Answer:
        """Return it with weights (cells, vertices) that sum to 1 in each cell, none of them tiny, and their u."""
        program, vertices = self.walk.program, self.walk.vertices
        weights = self.mixture.table(len(program.axes.cells), len(vertices))
        weights[weights < LIGHT] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        u = program.vector(mixed(vertices, weights))
        return Answer(self.walk, replace(self.mixture, weights=weights, u=u))

    def plugin_policy(self) -> Policy:
        """Return an exact answer as a policy."""
        return policy_of(
            self.walk.program, self.walk.vertices, self.mixture.weights, self.walk.oracle.calibration
        )

    def model_policy(self) -> ModelPolicy:
        """Return an exact answer as a policy over the models of its rules."""
        walk, weights, program = self.walk, self.mixture.weights, self.walk.program
        kept = np.flatnonzero(weights.any(axis=0))
        models = []
        for t in kept:
            vertex = walk.vertices[t]
            always = int(np.argmin(expand(vertex.loss, program.layout, program.axes)[0, 0]))
            models.append(constant(always) if vertex.rule is None else vertex.rule)
        index = {int(t): m for m, t in enumerate(kept)}
        mixtures = [[(float(row[t]), index[int(t)]) for t in np.flatnonzero(row)] for row in weights]
        heaviest = [int(np.argmax(row[np.flatnonzero(row)])) for row in weights]
        return ModelPolicy(program.axes, models, mixtures, heaviest)

    def tensor(self) -> FloatArray:
        """Return the confusion tensor of an exact answer."""
        walk, weights = self.walk, self.mixture.weights
        used = np.flatnonzero(weights.any(axis=0))
        losses = np.stack([walk.vertices[t].loss for t in used])
        return walk.oracle.confusion(losses, weights[:, used], walk.program.layout)


def policy_of(
    program: Program, vertices: list[Vertex], weights: FloatArray, calibration: Calibration | None
) -> Policy:
    """Return the policy that mixes the rules of some vertices with weights (cells, vertices)."""
    rules = tuple(
        tuple(Rule(float(row[t]), vertices[t].loss[a]) for t in np.flatnonzero(row))
        for a, row in enumerate(weights)
    )
    return Policy(program.axes, program.layout, rules, calibration=calibration)


def with_single(program: Program, oracle: OracleBase, policy: Policy) -> tuple[Policy, FloatArray | None]:
    """Return a policy with its deterministic rules, which have weight 0 if they are new, and their u.

    Without u the policy is as it was: each cell has one rule, and no row is near a tie under it.
    """
    sample = oracle.sample()
    if sample is None:
        return policy, None
    mixtures = []
    for mixture in policy.rules:
        weights = np.array([rule.weight for rule in mixture])
        kept = np.sort(np.argsort(-weights, kind="stable")[:HEAVIEST])
        mixtures.append((weights[kept], np.array([mixture[t].loss for t in kept])))
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
