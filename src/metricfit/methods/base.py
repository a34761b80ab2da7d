"""The one loop: stopping, timing, counting, history and progress live here, so every method obeys them alike.

A method is a generator over a `Walk`. It asks the walk for vertices and yields what it has reached; it
never looks at a clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from metricfit.exceptions import Unsolved
from metricfit.functions.curvature import Curvature
from metricfit.methods.walk import (
    FEASIBLE,
    Budget,
    Exhausted,
    Iterate,
    Outcome,
    Record,
    Standing,
    Status,
    Walk,
)
from metricfit.methods.walk.history import warn_if_astray
from metricfit.methods.walk.progress import Progress
from metricfit.oracles.base import mixed
from metricfit.problem import Program

# A rule with a smaller weight is seldom used. Rules whose weights together are at most TOGETHER change a value by about
# as much, if it does not jump where a weight becomes 0: by more than STEEP times that, and it does.
SELDOM, TOGETHER, STEEP = 1e-3, 1e-2, 100.0


class Method(ABC):
    """How to walk the set of achievable confusion tensors.

    A method declares what it can do; "auto", the docs and the error messages read these declarations. ``accepts``
    lists the curvatures that a minimised objective may have, ``needs_smooth`` says whether it must have a gradient,
    ``constrained`` whether there may be convex constraints, ``nonconvex`` whether there may be any others. ``proves``
    says that with an exact oracle the bound converges to the value, ``calibrates`` that with counted labels the
    rules decide on calibrated probabilities, ``step_option`` names the option that sets the size of its steps.
    ``as_published`` is an option of the paper's methods: take only the
    paper's steps, and return the last iterate rather than the best one seen.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    accepts: ClassVar[frozenset[Curvature]]
    needs_smooth: ClassVar[bool] = False
    constrained: ClassVar[bool] = False
    nonconvex: ClassVar[bool] = False
    proves: ClassVar[bool] = False
    calibrates: ClassVar[bool] = False
    step_option: ClassVar[str | None] = None
    default_calls: ClassVar[int] = 1000
    as_published: bool = False

    @abstractmethod
    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield one iterate after the other."""

    def calls(self, program: Program) -> int:
        """Return the budget of oracle calls when the user gives none."""
        return self.default_calls

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return the method's final answer, however the walk ended; by default the best iterate."""
        return best

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Return a simpler mixture that is at most ``slack`` worse; by default the given one."""
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


def run(
    method: Method,
    program: Program,
    walk: Walk,
    callback: Callable[[Record], object] | None = None,
    verbose: int = 0,
    warn: bool = True,
) -> Outcome:
    """Run a method until it converges, its budget is used up, or it is stopped; return the best iterate."""
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
            # Without an exact oracle the bound would only be an estimate. No value is below the objective's range.
            if walk.oracle.exact and iterate.bound > -np.inf:
                bound = max(bound, iterate.bound, program.lowest_value)
            prices = iterate.multipliers or prices
            records.append(standing.record(program, walk.calls, walk.budget.seconds, bound))
            progress(records[-1])
            enough = callback is not None and callback(records[-1])
            if iterate.settled and standing.kept and standing.value - bound <= walk.tol:
                status = "optimal"
                break
            if enough:
                status = "stopped"
                break
        else:
            status = "max_calls" if not walk.budget.left else "stalled" if proves else "searched"
    except Exhausted as end:
        status = end.status
    except Unsolved:  # no solver solves an inner program: end the walk, keep what was found
        status = "stalled"
    except KeyboardInterrupt:
        status, interrupted = "stopped", True
    finally:
        steps.close()  # type: ignore[attr-defined]
        progress.close()
    if best is None:
        best = _first(program, walk, interrupted)
    finished = method.finish(program, walk, best)
    if not method.as_published:
        whole = better(program, best, finished)
        finished = supported(program, walk, whole)
        if finished is not whole and status == "optimal":
            status = "stalled"  # unless the bound proves this mixture, too
    best, last = finished, Standing.of(program, finished.u)
    if last.kept:
        gap = last.value - bound
        best = method.polish(program, walk, best, max(walk.tol - max(gap, 0.0), 0.0))
    best = best if best.multipliers else replace(best, multipliers=prices)
    last = Standing.of(program, best.u)
    if status in ("stalled", "searched", "max_calls") and last.kept and last.value - bound <= walk.tol:
        status = "optimal"
    bound = min(bound, last.value) if last.kept else bound
    records.append(last.record(program, walk.calls, walk.budget.seconds, bound))
    if callback is not None and status != "stopped":
        callback(records[-1])
    if warn and method.step_option is not None and status != "optimal":
        path, named = (first or last, found or last, last), (method.name, method.step_option)
        warn_if_astray(named, program, walk.oracle.margins, walk.calls, path)
    return Outcome(best, last.value, bound, status, tuple(records))  # type: ignore[arg-type]


def better(program: Program, old: Iterate | None, new: Iterate) -> Iterate:
    """Return the better of two iterates: constraints first, then the objective."""
    if old is None or Standing.of(program, new.u).beats(Standing.of(program, old.u)):
        return new
    return old


def supported(program: Program, walk: Walk, best: Iterate) -> Iterate:
    """Return a mixture, unless its value rests on rules that it hardly ever uses: then what is best without these.

    A precision does not depend on how rarely a decision is made, so a search may drive the weight of a rule towards 0
    where 0 itself is worthless: a policy that decides for less than one row.
    """
    weights = best.table(len(program.axes.cells))
    heavy = np.where(weights < SELDOM, 0.0, weights)
    left_out = 1 - float(heavy.sum(axis=1).min())
    if not 0 < left_out <= TOGETHER:
        return best
    heavy = heavy / heavy.sum(axis=1, keepdims=True)
    u = program.vector(mixed(walk.vertices, heavy))
    if program.value(u) - program.value(best.u) <= STEEP * left_out:
        return best
    return better(program, _best_single(program, walk), replace(best, weights=heavy, u=u))


def _best_single(program: Program, walk: Walk) -> Iterate:
    best = walk.single(0)
    for place in range(1, len(walk.vertices)):
        best = better(program, best, walk.single(place))
    return best


def _first(program: Program, walk: Walk, interrupted: bool) -> Iterate:
    if not walk.vertices:
        if interrupted:
            raise KeyboardInterrupt
        raise ValueError("the budget ended before the first oracle call; raise max_calls or max_seconds")
    return _best_single(program, walk)


__all__ = [
    "FEASIBLE",
    "Budget",
    "Exhausted",
    "Iterate",
    "Method",
    "Outcome",
    "Record",
    "Standing",
    "Status",
    "Walk",
    "better",
    "run",
]
