"""The rules that a method of the paper mixes: repeated ones merged, weights after a step, runs within runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metricfit.methods.base import Budget, Exhausted, Iterate, Method, Walk
from metricfit.oracles.base import Vertex
from metricfit.policy import Policy
from metricfit.problem import Program
from metricfit.types import FloatArray

# Statistics that agree in this many decimals are equal: the same rows may be summed in another order.
DECIMALS = 12


class Merged:
    """A walk whose repeated rules are one: rules with the same statistic get the place of the first of them.

    The ``first`` rules of the walk, if they are a part of something else, stay what they are.
    """

    def __init__(self, walk: Walk, first: int = 0) -> None:
        self.walk, self.first = walk, first
        self.places: dict[bytes, int] = {}
        for place, vertex in enumerate(walk.vertices[first:], first):
            self.places.setdefault(_key(vertex), place)

    def call(self, direction: FloatArray) -> int:
        """Ask for the best rule for ``direction @ u`` and return its place in the walk."""
        return self.ask(self.walk.program.loss(direction))

    def ask(self, loss: FloatArray) -> int:
        """Ask for the best rule for a loss and return its place in the walk."""
        return self.add(self.walk.answer(loss))

    def add(self, vertex: Vertex) -> int:
        """Return the place of a rule, which is kept if it is new."""
        key = _key(vertex)
        if key not in self.places:
            self.places[key] = self.walk.add(vertex)
        return self.places[key]


def _key(vertex: Vertex) -> bytes:
    return (np.round(vertex.statistic, DECIMALS) + 0.0).tobytes()


def stepped(weights: FloatArray, place: int, step: float) -> FloatArray:
    """Return the weights of a mixture after a step towards one rule.

    Examples
    --------
    >>> stepped(np.array([0.5, 0.5]), 3, 0.2)
    array([0.4, 0.4, 0. , 0.2])
    """
    moved = np.zeros(max(weights.size, place + 1))
    moved[: weights.size] = (1 - step) * weights
    moved[place] += step
    return moved


def run_within(method: Method, program: Program, walk: Walk, calls: int, known: int = 0) -> Iterate | None:
    """Run a method on a share of a walk's calls; return its answer as a mixture of the walk's rules.

    The run knows the first ``known`` rules of the walk and no others. None if it had no call.
    """
    budget = Budget(min(calls, walk.budget.left), walk.budget.deadline)
    inner = Walk(program, walk.oracle, walk.tol, budget, walk.seed)
    for vertex in walk.vertices[:known]:
        inner.add(vertex)
    best: Iterate | None = None
    try:
        for iterate in method.steps(program, inner):
            best = iterate
    except Exhausted:
        pass
    finally:
        walk.budget.calls += inner.calls
    if not inner.vertices:
        return None
    answer = method.finish(program, inner, inner.single(0) if best is None else best)
    rules = Merged(walk)
    places = np.array([rules.add(vertex) for vertex in inner.vertices[: answer.weights.shape[-1]]])
    weights = np.zeros((len(walk.vertices), *answer.weights.shape[:-1]))
    np.add.at(weights, places, answer.weights.T)
    return replace(answer, weights=weights.T)


def check_policy(name: str, given: object) -> Policy:
    """Return a policy of plug-in rules, or raise naming the parameter."""
    if not isinstance(given, Policy):
        raise ValueError(f"{name} must be a Policy, for example result.policy, got {type(given).__name__}")
    return given


def classifier(h0: Policy, program: Program, walk: Walk) -> Iterate:
    """Return a given classifier as a mixture of rules, which join the walk; counting it is no call of the oracle."""
    if h0.calibration != walk.oracle.calibration:
        raise ValueError("h0 decides by other probabilities; give a policy tuned with the same counting=")
    losses = h0.losses_for(program.axes, program.layout)
    if len(losses) < max(map(len, h0.rules)):
        raise ValueError(
            "h0 has rules that this problem cannot express; give a policy tuned on such a problem"
        )
    cells = program.axes.cells.values
    places = [walk.add(vertex) for vertex in walk.oracle.many(losses, program.layout)]
    known = {cell: mixture for cell, mixture in zip(h0.axes.cells.values, h0.rules, strict=True)}
    weights = np.zeros((len(cells), len(walk.vertices)))
    for row, cell in zip(weights, cells, strict=True):
        for place, rule in zip(places, known.get(cell, h0.rules[0]), strict=False):
            row[place] += rule.weight
    found = Iterate(weights, np.zeros(0))
    found = replace(found, u=program.vector(walk.statistic(found)))
    if program.excess(found.u) > 0:
        missed = max(program.limits, key=lambda limit: limit.violation(found.u))
        raise ValueError(
            f"h0 breaks '{missed.constraint}' on these rows by {missed.violation(found.u):.4g}; give a classifier that "
            "keeps all constraints, for example the policy of method='column_generation' under tighter limits"
        )
    return found
