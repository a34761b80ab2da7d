"""The final mixture of the rules: the pruning step of section 8.2, or the best mixture of all of them.

Neither asks the oracle. The paper's linear program weighs whole iterates by an upper bound of the
objective; the mixtures weigh them, whole or cell by cell, by the objective itself, by column generation over
the rules already found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal

import numpy as np
import scipy.sparse as sp

from metricfit.data.axes import Axes
from metricfit.data.layout import Layout
from metricfit.exceptions import UnsolvedError
from metricfit.methods.base import FEASIBLE, Iterate, Walk, better
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.feasibility import ROOM, lower_violation, phase_one
from metricfit.methods.master.generation import generate
from metricfit.methods.master.mixtures import SPARE
from metricfit.oracles.base import OracleBase, Vertex
from metricfit.problem import Program
from metricfit.solvers.lp import LinearProgram
from metricfit.types import FloatArray

Prune = Literal["objective", "whole", "linear", "none"]
PRUNES: tuple[Prune, ...] = ("objective", "whole", "linear", "none")

# The mixture is found up to this error, or as well as this many rounds find it.
EXACT = 1e-7
ROUNDS = 300


class KnownRules(OracleBase):
    """An oracle over rules that are known: for each cell the cheapest of them, exactly."""

    exact = True

    def __init__(self, axes: Axes, vertices: Sequence[Vertex]) -> None:
        self.axes = axes
        found = np.stack([vertex.statistic for vertex in vertices])
        self.shape = found.shape[1:]
        self.statistics = found.reshape(*found.shape[:2], -1)

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the cheapest rule of each cell; ``rule`` holds their places."""
        costs = np.einsum("tas,as->ta", self.statistics, loss.reshape(loss.shape[0], -1))
        chosen = costs.argmin(axis=0)
        counted = self.statistics[chosen, np.arange(chosen.size)].reshape(self.shape)
        return Vertex(loss, counted, chosen)

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Nobody asks for the confusion of a mixture of these rules."""
        raise NotImplementedError


def mixture(program: Program, walk: Walk) -> Iterate:
    """Return the best mixture, cell by cell, of all rules found: constraints first, then the objective."""
    return _best(program, walk.vertices, program.uniform(walk.oracle.margins))


def whole_mixture(program: Program, vectors: FloatArray, start: FloatArray) -> Iterate:
    """Return the best mixture of whole classifiers, which are given by their u, the rows of a matrix.

    It is the mixture of a problem with a single cell, in which a classifier counts as its u. ``start`` is some
    achievable u at which the objective has a gradient.
    """
    size = program.constant.size
    axes = Axes(("u",), tuple(range(size)))
    alone = replace(program, axes=axes, layout="full", matrix=sp.csr_array(sp.eye_array(size)))
    statistics = (vectors - program.constant)[:, None, None, :]
    best = _best(alone, [Vertex(counted, counted) for counted in statistics], start)
    return replace(best, weights=best.weights[0])


def _best(program: Program, vertices: Sequence[Vertex], start: FloatArray) -> Iterate:
    """Return the best mixture of some vertices by column generation over them, starting from a tangent."""
    search = Walk(program, KnownRules(program.axes, vertices), tol=EXACT)
    best: Iterate | None = None
    for iterate in _rounds(program, search, start):
        best = better(program, best, iterate)
        if program.excess(best.u) <= FEASIBLE and program.value(best.u) - iterate.bound <= EXACT:
            break
    assert best is not None
    weights = np.zeros((len(program.axes.cells), len(vertices)))
    for place, vertex in enumerate(search.vertices[: best.weights.shape[1]]):
        np.add.at(weights, (np.arange(weights.shape[0]), vertex.rule), best.weights[:, place])
    return Iterate(weights, best.u, multipliers=best.multipliers)


def _rounds(program: Program, search: Walk, start: FloatArray) -> Iterator[Iterate]:
    """Yield the iterates of column generation, starting from the tangent at a point."""
    columns, place = Columns(program), search.call(program.tangent(start)[0])
    columns.add(place, search.vertices[place])
    if program.limits:
        first = phase_one(program, program.limits)
        for iterate in islice(lower_violation(first, search, columns, -ROOM), ROUNDS):
            yield replace(iterate, bound=-np.inf, multipliers=None)
        if program.excess(iterate.u) > FEASIBLE:
            return
    yield from islice(generate(program, search, columns), ROUNDS)


def linear_program(program: Program, vectors: FloatArray) -> Iterate | None:
    r"""Solve the linear program of section 8.2; None when no weights keep all constraints.

    Minimise :math:`\sum_t \alpha_t \psi(C^t)` where :math:`\sum_t \alpha_t \phi_k(C^t) \le 0` for every
    constraint function k. The functions are convex, so a mixture whose weighted sums are <= 0 keeps the
    constraints; where the functions are linear, the converse holds too and nothing is lost.
    """
    nodes = program.bounds
    rows = np.stack(
        [np.concatenate([node.value(u) for node in nodes] or [np.zeros(0)]) for u in vectors], axis=1
    )
    chosen = LinearProgram(np.zeros(len(vectors)), np.full(len(vectors), np.inf))
    chosen.add_rows(np.ones((1, len(vectors))), np.ones(1), np.ones(1))
    chosen.add_rows(rows, np.full(rows.shape[0], -np.inf), np.full(rows.shape[0], -SPARE))
    try:
        alpha, multipliers = chosen.minimise(np.array([program.value(u) for u in vectors]))
    except UnsolvedError:
        return None
    weights = np.maximum(alpha, 0.0)
    weights /= weights.sum()
    cuts = np.cumsum([node.size for node in nodes])[:-1]
    prices = tuple(np.split(-multipliers[1:], cuts))
    return Iterate(weights, weights @ vectors, multipliers=prices)


def pruned(program: Program, walk: Walk, best: Iterate, how: Prune, h0: Iterate | None = None) -> Iterate:
    """Return what pruning makes of the rules found, and of one classifier more; ``best`` if that is nothing.

    ``h0`` mixes the first rules of the walk, which do not count as found.
    """
    if how == "none":
        return best
    if how == "objective":
        return mixture(program, walk)
    first = 0 if h0 is None else h0.weights.shape[-1]
    vectors = walk.vectors[first:] if h0 is None else np.vstack([walk.vectors[first:], h0.u])
    if how == "linear":
        found = linear_program(program, vectors)
    else:
        found = whole_mixture(program, vectors, program.uniform(walk.oracle.margins))
    if found is None or h0 is None:
        return best if found is None else found
    weights = np.concatenate([np.zeros(first), found.weights[:-1]])
    whole = found.weights[-1] * h0.table(len(program.axes.cells), weights.size) + weights
    return replace(found, weights=whole)


def check_prune(prune: str) -> Prune:
    """Return the option, or raise."""
    for known in PRUNES:
        if prune == known:
            return known
    raise ValueError(f"prune must be one of {', '.join(map(repr, PRUNES))}, got {prune!r}")
