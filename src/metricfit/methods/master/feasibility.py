"""The first phase: find a mixture that keeps all constraints, or show which constraints conflict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations, islice
from math import comb

import numpy as np

from metricfit.exceptions import InfeasibleError, UnsolvedError
from metricfit.functions.expression import Constant, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Stack, Sum
from metricfit.methods.base import FEASIBLE, Exhausted, Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.generation import best_mixture, generate
from metricfit.methods.master.master import Master
from metricfit.methods.master.mixtures import FEW_ROWS
from metricfit.methods.master.polyhedron import is_polyhedral
from metricfit.methods.starts import constant_rules
from metricfit.problem import Limit, Program
from metricfit.types import FloatArray

# A mixture that keeps all constraints with this margin is good enough to start from.
ROOM = 1e-6
# Solvers of curved programs bring the smallest violation and its bound no closer than this.
UNDECIDED = 1e-6
MOST_CONSTANTS = 2000
DIAGNOSIS_ROUNDS = 100
# The most sets of constraints of one size that are tried in the search for a smallest conflict.
MOST_SETS = 200


def phase_one(program: Program, limits: Sequence[Limit]) -> Program:
    """Return the problem of making the largest constraint function as small as possible, or as small as needed.

    For many affine rows a small margin is enough: at the least violation thousands of them would bind in the linear
    program. From the boundary of a curved limit no straight line may lead on, so there the start is deep inside.
    """
    nodes: tuple[Node, ...] = tuple(limit.convex for limit in limits)
    if sum(node.size for node in nodes) > FEW_ROWS and all(map(is_polyhedral, nodes)):
        nodes = (*nodes, Constant(np.array([-2 * ROOM])))
    return replace(program, objective=Largest(Stack(nodes)), limits=())


def lower_violation(
    program: Program,
    walk: Walk,
    columns: Columns,
    target: float,
    master: Master | None = None,
    start: Iterate | None = None,
) -> Iterator[Iterate]:
    """Minimise a phase-one objective until it reaches its target, or provably cannot be <= 0, or is minimal."""
    for iterate in generate(program, walk, columns, start, FEASIBLE, master):
        yield iterate
        value = program.value(iterate.u) if program.excess(iterate.u) <= FEASIBLE else np.inf
        if value <= target or iterate.bound > FEASIBLE or value - iterate.bound <= FEASIBLE:
            return


def add_constants(program: Program, walk: Walk, columns: Columns) -> None:
    """Add the rules that decide all rows alike: they cost no call, and a class that is never decided is never wrong."""
    if program.axes.k * len(program.axes.cells) <= MOST_CONSTANTS:
        for vertex in constant_rules(program, walk.oracle.margins):
            columns.add(walk.add(vertex), vertex)


def reach(program: Program, walk: Walk, columns: Columns, goal: Master | None = None) -> Iterator[Iterate]:
    """Yield iterates until one keeps all constraints; raise `InfeasibleError` when none can.

    ``goal`` is the master problem to be solved next, if there is one. A linear program finds out by itself whether a
    mixture of the columns keeps the constraints, and is then solved already; other problems need a feasible start.
    """
    add_constants(program, walk, columns)
    if goal is not None and goal.is_linear:
        with suppress(UnsolvedError):
            solved = goal.solve(columns, np.ones(len(columns)))
            # Shares of weight below the solver's tolerance may break a limit that it calls kept.
            if program.excess(solved.u) <= FEASIBLE:
                yield Iterate(columns.weights(solved.alpha, len(walk.vertices)), solved.u)
                return
    start = None
    for stage in stages(program, program.limits):
        best, bound, nearest = np.inf, -np.inf, program.uniform(walk.oracle.margins)
        for iterate in _lowest(stage, walk, columns, start):
            bound = max(bound, iterate.bound)
            if stage.excess(iterate.u) <= FEASIBLE and stage.value(iterate.u) < best:
                best, nearest, start = stage.value(iterate.u), iterate.u, iterate
            yield replace(iterate, bound=-np.inf, multipliers=None)
        # With an exact oracle, a bound above zero proves that the constraints conflict, and a bound just below the
        # smallest violation says the same up to rounding. If it is neither, the solvers failed and nothing is known.
        if best > FEASIBLE:
            if not walk.oracle.exact or bound > 0 or best - bound <= UNDECIDED:
                raise _diagnosis(program, walk, columns, nearest, walk.oracle.exact and bound > 0)
            return
    if start is not None:
        yield replace(start, bound=-np.inf, multipliers=None)


def stages(program: Program, limits: Sequence[Limit]) -> Iterator[Program]:
    """Yield the problems whose least values must be <= 0, one after the other, so that limits can be kept together.

    Affine limits come first, and the curved ones then under them: a mixture that keeps affine limits only just is a
    good start for any method, one that keeps curved limits only just is not.
    """
    open_limits = [limit for limit in limits if not limit.always]
    flat = tuple(limit for limit in open_limits if is_polyhedral(limit.convex))
    curved = [limit for limit in open_limits if limit not in flat]
    if flat:
        yield phase_one(program, flat)
    if curved:
        yield replace(phase_one(program, curved), limits=flat)


def _lowest(stage: Program, walk: Walk, columns: Columns, start: Iterate | None) -> Iterator[Iterate]:
    """Yield iterates that lower the value of a stage until it is low enough; no call is needed if it is at once."""
    master = Master(stage, walk)
    alpha = np.ones(len(columns)) if start is None else columns.alpha(start.weights)
    mixed = best_mixture(master, columns, alpha)
    if stage.value(mixed.u) <= -ROOM and stage.excess(mixed.u) <= FEASIBLE:
        yield Iterate(columns.weights(mixed.alpha, len(walk.vertices)), mixed.u)
        return
    yield from lower_violation(stage, walk, columns, -ROOM, master, start)


def _smallest(program: Program, walk: Walk, columns: Columns, limits: Sequence[Limit]) -> float:
    """Return the smallest value that the largest of some constraint functions can have, or one that is low enough."""
    least, start = -np.inf, None
    for stage in stages(program, limits):
        found = [i for i in lower_violation(stage, walk, columns, -ROOM, start=start)]
        start = min(
            found, key=lambda iterate: (max(stage.excess(iterate.u), FEASIBLE), stage.value(iterate.u))
        )
        least = stage.value(start.u)
        if least > FEASIBLE:
            break
    return least


def in_units(program: Program, limits: Sequence[Limit]) -> Program:
    """Return the problem of making the largest violation, in units of the metrics, as small as possible."""
    signs = [-1.0 * limit.constraint.inward for limit in limits]
    excess = [Sum(((s, m.metric),), -s * m.constraint.limit) for s, m in zip(signs, limits, strict=True)]
    return replace(program, objective=Largest(Stack(tuple(excess))), limits=())


def _least_violating(program: Program, walk: Walk, columns: Columns, limits: Sequence[Limit]) -> FloatArray:
    """Return u of a mixture whose largest violation is as small as possible."""
    problem = in_units(program, limits)
    best = None
    for iterate in islice(generate(problem, walk, columns), DIAGNOSIS_ROUNDS):
        if best is None or problem.value(iterate.u) < problem.value(best):
            best = iterate.u
        if problem.value(best) - iterate.bound <= walk.tol:
            break
    assert best is not None
    return best


def _diagnosis(
    program: Program, walk: Walk, columns: Columns, reached: FloatArray, proven: bool
) -> InfeasibleError:
    """Say which constraints conflict, and by how much; what the budget leaves no time to find out stays open."""
    limits, together = program.limits, reached
    alone = {str(limit.constraint): np.nan for limit in limits}
    conflict: Sequence[Limit] = limits
    complete = False
    if walk.explains:
        with suppress(Exhausted):
            together = _least_violating(program, walk, columns, limits)
            for limit in limits:
                alone[str(limit.constraint)] = _alone(program, walk, columns, limit)
            impossible = [limit for limit in limits if alone[str(limit.constraint)] > 0]
            if impossible:
                conflict = impossible[:1]
            else:
                for smaller in _conflicts(program, walk, columns):
                    conflict = smaller
            complete = True
    violations = {str(limit.constraint): limit.violation(together) for limit in limits}
    names = tuple(str(limit.constraint) for limit in conflict)
    return InfeasibleError(violations, alone, names, proven, complete)


def _alone(program: Program, walk: Walk, columns: Columns, limit: Limit) -> float:
    violation = limit.violation(_least_violating(program, walk, columns, [limit]))
    # A rate of no rows, 0 / 0, keeps its limit, though it has no value to compare.
    return min(violation, 0.0) if _smallest(program, walk, columns, [limit]) <= FEASIBLE else violation


def _conflicts(program: Program, walk: Walk, columns: Columns) -> Iterator[Sequence[Limit]]:
    """Yield ever smaller sets of constraints that cannot be kept together, though each of them can alone.

    The last set is a smallest one if there are few sets to try, else one from which no constraint can be left out.
    """
    limits = program.limits
    for size in (2, 3):
        if size < len(limits) and comb(len(limits), size) <= MOST_SETS:
            for chosen in combinations(limits, size):
                if _smallest(program, walk, columns, chosen) > FEASIBLE:
                    yield chosen
                    return
    kept = list(limits)
    for limit in limits:
        rest = [other for other in kept if other is not limit]
        if len(rest) > 1 and _smallest(program, walk, columns, rest) > FEASIBLE:
            kept = rest
            yield kept
