"""The one loop: stopping, timing, counting, history and progress live here, so every method obeys them alike.

A method is a generator over a `Walk`. It asks the walk for vertices and yields what it has reached; it
never looks at a clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from metricfit.exceptions import Unsolved
from metricfit.functions.curvature import Curvature
from metricfit.methods.history import FEASIBLE, Record, Standing, warn_if_astray
from metricfit.methods.progress import Progress
from metricfit.oracles.base import OracleBase, Vertex
from metricfit.problem import Program
from metricfit.types import FloatArray

# Calls of a walk on a small sample of the rows.
FREE_CALLS = 200
Status = Literal["optimal", "searched", "stalled", "max_calls", "max_seconds", "stopped"]


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
    """

    weights: FloatArray
    u: FloatArray
    bound: float = -np.inf
    multipliers: tuple[FloatArray, ...] | None = None
    settled: bool = True


class Method:
    """How to walk the set of achievable confusion tensors.

    ``accepts`` lists the curvatures of a minimised objective, ``needs_smooth`` whether it must have a
    gradient, ``constrained`` whether convex constraints are taken, ``nonconvex`` whether any others are.
    "auto", the docs and the error text read these. ``proves`` says that the method's bound closes in on the
    value where the oracle is exact; ``calibrates`` that counted labels are decided on calibrated probabilities.
    ``as_published`` is what a user may ask of the paper's methods: nothing but the paper's
    steps, whose answer is the last iterate and not the best one seen.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    accepts: ClassVar[frozenset[Curvature]]
    needs_smooth: ClassVar[bool] = False
    constrained: ClassVar[bool] = False
    nonconvex: ClassVar[bool] = False
    proves: ClassVar[bool] = False
    calibrates: ClassVar[bool] = False
    default_calls: ClassVar[int] = 1000
    as_published: bool = False

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield one iterate after the other."""
        raise NotImplementedError

    def calls(self, program: Program) -> int:
        """Return the budget of oracle calls when the user gives none."""
        return self.default_calls

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return what the method makes of its iterates, however the walk ended; the best one by default."""
        return best

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Return a simpler mixture that is at most ``slack`` worse; the same by default."""
        return best

    def refusal(self, program: Program) -> str | None:
        """Say why the method cannot take a problem, or return None when it can."""
        objective = program.problem.objective
        kind = program.curvature
        if kind is Curvature.UNKNOWN and program.quasiconvex:
            kind = Curvature.RATIO
        if kind not in self.accepts:
            wanted = " or ".join(sorted(c.value for c in self.accepts))
            known = kind is not Curvature.UNKNOWN
            shape = objective.curvature.value if known else "of unknown curvature"
            return f"{objective} is {shape}; {self.name} minimises {wanted} functions"
        if self.needs_smooth and not objective.smooth:
            return f"{objective} is not smooth; {self.name} needs a gradient"
        if program.limits and not self.constrained:
            return f"there are constraints; {self.name} takes none"
        if not self.nonconvex:
            for limit in program.limits:
                if limit.node is None:
                    kept = f"'{limit.constraint}' does not keep a convex set"
                    return f"{kept}; {self.name} needs convex constraints"
        return None


class Exhausted(Exception):
    """The budget of calls or seconds is used up."""

    def __init__(self, status: Status) -> None:
        self.status = status


def _unit(loss: FloatArray) -> FloatArray:
    """Scale a loss: the rule does not depend on its size, but float32 scores do."""
    size = np.abs(loss).max()
    return loss / size if size > 0 else loss


@dataclass
class Budget:
    """Oracle calls and seconds that may be spent, and those that were; all walks of one solve share it."""

    max_calls: int = sys.maxsize
    max_seconds: float = np.inf
    calls: int = 0
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started

    @property
    def late(self) -> bool:
        """Whether the time is used up."""
        return self.seconds >= self.max_seconds

    @property
    def left(self) -> int:
        """How many calls are left."""
        return max(self.max_calls - self.calls, 0)


@dataclass
class Walk:
    """The oracle as methods see it: directions in, vertices out, every call counted against the budget."""

    program: Program
    oracle: OracleBase
    tol: float = 1e-4
    budget: Budget = field(default_factory=Budget)
    seed: int | None = None
    vertices: list[Vertex] = field(default_factory=list)
    guide: Outcome | None = None
    guiding: list[Iterate] = field(default_factory=list)
    _table: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._table = np.zeros((8, self.program.constant.size))

    def beside(
        self, program: Program, oracle: OracleBase, tol: float | None = None, free: bool = False
    ) -> Walk:
        """Return a walk of its own, with another program or oracle, whose calls count here too.

        Calls of a ``free`` one, which asks a small sample, do not count; half of the time left is its own.
        """
        own = Budget(FREE_CALLS, (self.budget.max_seconds - self.budget.seconds) / 2)
        return Walk(
            program, oracle, self.tol if tol is None else tol, own if free else self.budget, self.seed
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
        self.spend()
        return self.add(self.oracle(_unit(loss), self.program.layout))

    def spend(self, calls: int = 1) -> None:
        """Count passes over the rows; end the walk when the budget is used up."""
        self.check(calls)
        self.budget.calls += calls

    def check(self, calls: int = 1) -> None:
        """End the walk when the budget does not have so many passes; a first one is made however late it is."""
        if self.budget.left < calls:
            raise Exhausted("max_calls")
        if self.budget.late and self.vertices:
            raise Exhausted("max_seconds")

    def ask_all(self, losses: Sequence[FloatArray]) -> list[int]:
        """Ask for the best rules for several losses, in one pass if the oracle can, as far as the budget goes."""
        losses = losses[: self.budget.left]
        if not losses:
            return []
        self.spend(len(losses))
        answers = self.oracle.many([_unit(loss) for loss in losses], self.program.layout)
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

    def mix(self, weights: FloatArray) -> FloatArray:
        """Return u of a mixture of whole vertices."""
        return weights @ self.vectors[: weights.size]

    def lower_bound(self, u: FloatArray) -> tuple[float, int]:
        """Price the tangent plane of the objective at u; return the bound that it proves, and the place."""
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


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the loop ends with, in minimisation."""

    best: Iterate
    value: float
    bound: float
    status: Status
    history: tuple[Record, ...]


def run(
    method: Method,
    program: Program,
    walk: Walk,
    callback: Callable[[Record], object] | None = None,
    verbose: int = 0,
    warn: bool = True,
) -> Outcome:
    """Follow a method until it has converged, its budget is used up, or somebody stops it; keep the best."""
    best: Iterate | None = None
    bound, status, records = -np.inf, "stalled", []
    proves = method.proves and walk.oracle.exact
    steps, progress = method.steps(program, walk), Progress(verbose)
    interrupted, prices = False, None
    first: Standing | None = None
    found: Standing | None = None
    standing: Standing | None = None
    try:
        for iterate in steps:
            found = Standing.of(program, iterate.u)
            first = first or found
            if standing is None or method.as_published or found.beats(standing):
                best, standing = iterate, found
            if walk.oracle.exact:  # else a bound would be an estimate, and none is claimed
                bound = max(bound, iterate.bound)
            prices = iterate.multipliers or prices
            record = standing.record(program, walk.calls, walk.budget.seconds, bound)
            records.append(record)
            progress(record)
            if iterate.settled and standing.kept and standing.value - bound <= walk.tol:
                status = "optimal"
                break
            if callback is not None and callback(record):
                status = "stopped"
                break
        else:
            status = "max_calls" if not walk.budget.left else "stalled" if proves else "searched"
    except Exhausted as end:
        status = end.status
    except Unsolved:  # an inner program that no solver solves ends the walk; what was found is kept
        status = "stalled"
    except KeyboardInterrupt:
        status, interrupted = "stopped", True
    finally:
        steps.close()  # type: ignore[attr-defined]
        progress.close()
    if best is None:
        best = _first(program, walk, interrupted)
    finished = method.finish(program, walk, best)
    finished = finished if method.as_published else better(program, best, finished)
    last = Standing.of(program, finished.u)
    gap = last.value - bound
    if (
        finished is not best
        and status in ("stalled", "searched", "max_calls")
        and last.kept
        and gap <= walk.tol
    ):
        status = "optimal"
    best = finished
    if last.kept:
        best = method.polish(program, walk, best, max(walk.tol - max(gap, 0.0), 0.0))
    best = best if best.multipliers else replace(best, multipliers=prices)
    last = Standing.of(program, best.u)
    bound = min(bound, last.value) if last.kept else bound
    records.append(last.record(program, walk.calls, walk.budget.seconds, bound))
    if warn and status != "optimal":
        path = (first or last, found or last, last)
        warn_if_astray(method.name, program, walk.oracle.margins, walk.calls, path)
    return Outcome(best, last.value, bound, status, tuple(records))  # type: ignore[arg-type]


def better(program: Program, old: Iterate | None, new: Iterate) -> Iterate:
    """Return the better of two iterates: constraints first, then the objective."""
    if old is None or Standing.of(program, new.u).beats(Standing.of(program, old.u)):
        return new
    return old


def _first(program: Program, walk: Walk, interrupted: bool) -> Iterate:
    if not walk.vertices:
        if interrupted:
            raise KeyboardInterrupt
        raise ValueError("the budget ended before the first oracle call; raise max_calls or max_seconds")
    best: Iterate | None = None
    for place in range(len(walk.vertices)):
        best = better(program, best, walk.single(place))
    assert best is not None
    return best


__all__ = [
    "FEASIBLE",
    "Budget",
    "Exhausted",
    "Iterate",
    "Method",
    "Outcome",
    "Record",
    "Status",
    "Walk",
    "better",
    "run",
]
