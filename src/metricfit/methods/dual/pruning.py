"""The final mixture of the rules: the pruning step of section 8.2, or the best mixture of all of them.

Neither asks the oracle. The paper's linear program weighs whole iterates by an upper bound of the
objective; the mixture weighs them, cell by cell, by the objective itself, by column generation over the
rules already found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Literal

import numpy as np

from metricfit.data.layout import Layout
from metricfit.exceptions import Unsolved
from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk, better
from metricfit.methods.dual.feasible_start import opening
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.feasibility import ROOM, lower_violation, phase_one
from metricfit.methods.master.fewer_rules import fewer_rules
from metricfit.methods.master.generation import generate
from metricfit.methods.master.mixtures import SPARE
from metricfit.methods.starts import balanced_loss
from metricfit.oracles.base import OracleBase, Vertex
from metricfit.problem import Program
from metricfit.solvers.lp import LinearProgram
from metricfit.types import FloatArray, IntArray

Prune = Literal["objective", "linear", "none"]
PRUNES: tuple[Prune, ...] = ("objective", "linear", "none")

# The mixture is found up to this error, or as well as this many rounds find it.
EXACT = 1e-7
ROUNDS = 300


def distinct(walk: Walk) -> IntArray:
    """Return the first place of every different statistic."""
    first: dict[bytes, int] = {}
    for place, vertex in enumerate(walk.vertices):
        first.setdefault(vertex.statistic.tobytes(), place)
    return np.array(list(first.values()))


class KnownRules(OracleBase):
    """An oracle over the rules that a walk has found: for each cell the cheapest of them, exactly."""

    exact = True

    def __init__(self, walk: Walk) -> None:
        self.axes, self.margins, self.asked = walk.oracle.axes, walk.oracle.margins, walk.oracle
        self.places = distinct(walk)
        found = np.stack([walk.vertices[place].statistic for place in self.places])
        self.shape = found.shape[1:]
        self.statistics = found.reshape(*found.shape[:2], -1)

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the cheapest rule of each cell; ``rule`` holds their places in the walk."""
        costs = np.einsum("tas,as->ta", self.statistics, loss.reshape(loss.shape[0], -1))
        chosen = costs.argmin(axis=0)
        counted = self.statistics[chosen, np.arange(chosen.size)].reshape(self.shape)
        return Vertex(loss, counted, self.places[chosen])

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules."""
        return self.asked.confusion(losses, weights, layout)


def mixture(program: Program, walk: Walk) -> Iterate:
    """Return the best mixture, cell by cell, of all rules found: constraints first, then the objective."""
    search = Walk(program, KnownRules(walk), tol=EXACT)
    columns = Columns(program)
    best: Iterate | None = None
    for iterate in _rounds(program, search, columns):
        best = better(program, best, iterate)
        if program.excess(best.u) <= FEASIBLE and program.value(best.u) - iterate.bound <= EXACT:
            break
    assert best is not None
    weights = np.zeros((len(program.axes.cells), len(walk.vertices)))
    for place, vertex in enumerate(search.vertices[: best.weights.shape[1]]):
        np.add.at(weights, (np.arange(weights.shape[0]), vertex.rule), best.weights[:, place])
    return Iterate(weights, best.u, multipliers=best.multipliers)


def _rounds(program: Program, search: Walk, columns: Columns) -> Iterator[Iterate]:
    """Yield the iterates of column generation over the pool, starting from the tangent of the uniform classifier."""
    place = search.call(program.tangent(program.uniform(search.oracle.margins))[0])
    columns.add(place, search.vertices[place])
    if program.limits:
        first = phase_one(program, program.limits)
        for iterate in islice(lower_violation(first, search, columns, -ROOM), ROUNDS):
            yield replace(iterate, bound=-np.inf, multipliers=None)
        if program.excess(iterate.u) > FEASIBLE:
            return
    yield from islice(generate(program, search, columns), ROUNDS)


def linear_program(program: Program, walk: Walk) -> Iterate | None:
    r"""Solve the linear program of section 8.2; None when no weights keep all constraints.

    Minimise :math:`\sum_t \alpha_t \psi(C^t)` where :math:`\sum_t \alpha_t \phi_k(C^t) \le 0` for every
    constraint function k. The functions are convex, so a mixture whose weighted sums are <= 0 keeps the
    constraints; where the functions are linear, the converse holds too and nothing is lost.
    """
    places = distinct(walk)
    vectors = [walk.vectors[place] for place in places]
    nodes = program.bounds
    rows = np.stack(
        [np.concatenate([node.value(u) for node in nodes] or [np.zeros(0)]) for u in vectors], axis=1
    )
    chosen = LinearProgram(np.zeros(places.size), np.full(places.size, np.inf))
    chosen.add_rows(np.ones((1, places.size)), np.ones(1), np.ones(1))
    chosen.add_rows(rows, np.full(rows.shape[0], -np.inf), np.full(rows.shape[0], -SPARE))
    try:
        alpha, multipliers = chosen.minimise(np.array([program.value(u) for u in vectors]))
    except Unsolved:
        return None
    weights = np.zeros(len(walk.vertices))
    weights[places] = np.maximum(alpha, 0.0)
    weights /= weights.sum()
    cuts = np.cumsum([node.size for node in nodes])[:-1]
    prices = tuple(np.split(-multipliers[1:], cuts))
    return Iterate(weights, walk.mix(weights), multipliers=prices)


def pruned(program: Program, walk: Walk, best: Iterate, how: Prune) -> Iterate:
    """Return the mixture that pruning makes of the rules found."""
    if how == "none":
        return best
    found = linear_program(program, walk) if how == "linear" else None
    # If no mixture of whole rules keeps the constraints, one with separate weights for each cell may.
    return mixture(program, walk) if found is None else found


class Pruned(Method):
    """A method of the paper with two aids: it begins with feasible rules, and ends with the best mixture of all.

    ``as_published`` leaves both out.
    """

    prune: Prune = "objective"

    def opened(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Find rules of which a mixture is feasible; yield it only if the final answer may be such a mixture."""
        if self.as_published:
            if not walk.vertices:
                walk.ask(balanced_loss(program, walk.oracle.margins))
            return
        for iterate in opening(program, walk):
            if self.prune != "none":
                yield iterate

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Prune the rules found."""
        return best if self.as_published else pruned(program, walk, best, self.prune)

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Drop rules that the mixture can do without."""
        if self.as_published or best.weights.ndim == 1:
            return best
        return fewer_rules(program, walk, best, max(slack, walk.tol / 10))


def check_prune(prune: str) -> Prune:
    """Return the option, or raise."""
    if prune not in PRUNES:
        raise ValueError(f"prune must be one of {', '.join(map(repr, PRUNES))}, got {prune!r}")
    return prune
