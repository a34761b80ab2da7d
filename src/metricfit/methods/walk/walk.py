"""The oracle as methods see it: directions in, vertices out, and mixtures of the vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from metricfit.methods.walk.budget import Budget, Exhausted, Status
from metricfit.methods.walk.history import Record
from metricfit.oracles.base import OracleBase, Vertex, mixed
from metricfit.problem import Program
from metricfit.types import FloatArray

# The budget of calls of a walk on a small sample of the rows.
FREE_CALLS = 200


@dataclass(frozen=True, eq=False)
class Iterate:
    """What a method has reached: a mixture of the walk's vertices.

    Parameters
    ----------
    weights : array of shape (vertices,) or (cells, vertices)
        How much of each rule, for all cells alike or cell by cell. May be shorter than the walk; the rest
        is zero.
    u : array
        The generalised confusion vector of the mixture.
    bound : float
        A lower bound of the (minimised) objective found in this iteration.
    multipliers : tuple of arrays
        For each constraint, the multipliers of its functions, in units of the objective.
    settled : bool
        Whether a gap within the tolerance is reason to stop.
    final : bool
        Whether the mixture is the answer as it is, so that `Method.finish` has nothing to add.
    """

    weights: FloatArray
    u: FloatArray
    bound: float = -np.inf
    multipliers: tuple[FloatArray, ...] | None = None
    settled: bool = True
    final: bool = False

    def table(self, cells: int, vertices: int | None = None) -> FloatArray:
        """Return the weights as a table (cells, vertices), by default of the vertices that they reach to."""
        known = self.weights.shape[-1]
        table = np.zeros((cells, known if vertices is None else vertices))
        table[:, :known] = self.weights
        return table


@dataclass(frozen=True, eq=False)
class Outcome:
    """The end of a run, in minimisation."""

    best: Iterate
    value: float
    bound: float
    status: Status
    history: tuple[Record, ...]


@dataclass
class Walk:
    """The oracle as methods see it: directions in, vertices out, every call counted against the budget.

    ``explains`` says whether an infeasible search should find out which constraints conflict, ``simplifies`` whether
    mixtures should be reduced to few rules.
    """

    program: Program
    oracle: OracleBase
    tol: float = 1e-4
    budget: Budget = field(default_factory=Budget)
    seed: int | None = None
    vertices: list[Vertex] = field(default_factory=list)
    explains: bool = True
    simplifies: bool = True
    _table: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._table = np.zeros((8, self.program.constant.size))

    def beside(
        self, program: Program, oracle: OracleBase, tol: float | None = None, free: bool = False
    ) -> Walk:
        """Return a separate walk with another program or oracle, which spends the same budget.

        A ``free`` walk, on a small sample, has a budget of its own: `FREE_CALLS` calls and half of the time left. The
        new walk does not find out which constraints conflict, because nobody would be told.
        """
        own = Budget(FREE_CALLS, self.budget.deadline.share(1 / 2))
        return Walk(
            program,
            oracle,
            self.tol if tol is None else tol,
            own if free else self.budget,
            self.seed,
            explains=False,
            simplifies=self.simplifies,
        )

    @property
    def calls(self) -> int:
        """Oracle calls so far."""
        return self.budget.calls

    @property
    def late(self) -> bool:
        """Whether the time is used up."""
        return self.budget.late

    def expect(self, calls: int) -> None:
        """Say how many calls are coming, for oracles that can prepare for many."""
        self.oracle.expect(min(calls, self.budget.left))

    def call(self, direction: FloatArray) -> int:
        """Ask for the best rule for ``direction @ u`` and return its place in `vertices`."""
        return self.ask(self.program.loss(direction))

    def ask(self, loss: FloatArray) -> int:
        """Ask for the best rule for a loss and return its place in `vertices`."""
        return self.add(self.answer(loss))

    def answer(self, loss: FloatArray) -> Vertex:
        """Ask for the best rule for a loss, without keeping it."""
        self.spend()
        return self.oracle(of_unit_size(loss), self.program.layout)

    def spend(self, calls: int = 1) -> None:
        """Count calls against the budget; end the walk when it is used up."""
        self.check(calls)
        self.budget.calls += calls

    def check(self, calls: int = 1) -> None:
        """End the walk when fewer calls are left or time is up; the first call is made however late it is."""
        if self.budget.left < calls:
            raise Exhausted("max_calls")
        if self.budget.late and self.vertices:
            raise Exhausted("max_seconds")

    def ask_all(self, losses: Sequence[FloatArray]) -> list[int]:
        """Ask for the best rules for as many losses as the budget allows, in one pass if the oracle supports it."""
        losses = losses[: 1 if self.late else self.budget.left]
        if not losses:
            return []
        self.spend(len(losses))
        answers = self.oracle.many([of_unit_size(loss) for loss in losses], self.program.layout)
        return [self.add(vertex) for vertex in answers]

    def add(self, vertex: Vertex) -> int:
        """Keep a vertex that came from elsewhere (a warm start)."""
        place = len(self.vertices)
        if place == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self.vertices.append(vertex)
        self._table[place] = self.program.vector(vertex.statistic)
        return place

    @property
    def vectors(self) -> FloatArray:
        """The generalised confusion vectors of all vertices, one in each row."""
        return self._table[: len(self.vertices)]

    def single(self, place: int) -> Iterate:
        """Return a vertex as a mixture of one."""
        weights = np.zeros(place + 1)
        weights[place] = 1.0
        return Iterate(weights, self.vectors[place])

    def statistic(self, mixture: Iterate) -> FloatArray:
        """Return the statistic of a mixture."""
        return mixed(self.vertices, mixture.table(len(self.program.axes.cells)))

    def lower_bound(self, u: FloatArray) -> tuple[float, int]:
        """Price the tangent plane of the objective at u; return the bound that it proves, and the answer's place."""
        slope, level = self.program.tangent(u)
        place = self.call(slope)
        return level + self.least(slope, place) - float(slope @ u), place

    def least(self, slope: FloatArray, place: int) -> float:
        """Return the smallest ``slope @ u`` known after the oracle's answer.

        An exact oracle's answer is the minimum. Counted labels can make an older vertex cheaper than the
        plug-in rule's answer, so that all have to be compared.
        """
        if self.oracle.exact:
            return float(slope @ self.vectors[place])
        return float((self.vectors @ slope).min())


def of_unit_size(loss: FloatArray) -> FloatArray:
    """Scale a loss: the rule does not depend on its size, but float32 scores do."""
    size = np.abs(loss).max()
    return loss / size if size > 0 else loss
