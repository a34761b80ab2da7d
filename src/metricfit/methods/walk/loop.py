"""The one loop: stopping, timing, counting, history and progress live here, so every method obeys them alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from metricfit.exceptions import UnsolvedError
from metricfit.methods.walk.budget import Exhausted, Status
from metricfit.methods.walk.history import Record, Standing, warn_if_astray
from metricfit.methods.walk.progress import Progress
from metricfit.methods.walk.walk import Iterate, Outcome, Walk
from metricfit.oracles.base import mixed
from metricfit.problem import Program
from metricfit.types import FloatArray

if TYPE_CHECKING:
    from metricfit.methods.base import Method

# A rule with a smaller weight is seldom used. Rules whose weights together are at most TOGETHER change a value by about
# as much, if it does not jump where a weight becomes 0: by more than STEEP times that, and it does.
SELDOM, TOGETHER, STEEP = 1e-3, 1e-2, 100.0


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
    standing: Standing | None = None  # of the best iterate
    first: Standing | None = None
    newest: Standing | None = None
    prices: tuple[FloatArray, ...] | None = None
    bound, records = -np.inf, []
    status: Status
    steps, progress = method.steps(program, walk), Progress(verbose)
    try:
        for iterate in steps:
            newest = Standing.of(program, iterate.u)
            first = first or newest
            if standing is None or not method.best_seen or newest.beats(standing):
                best, standing = iterate, newest
            # Without an exact oracle the bound would only be an estimate. No value is below the objective's range.
            if walk.oracle.exact and iterate.bound > -np.inf:
                bound = max(bound, iterate.bound, program.lowest_value)
            prices = iterate.multipliers or prices
            records.append(standing.record(program, walk.calls, walk.budget.seconds, bound))
            progress(records[-1])
            enough = callback is not None and callback(records[-1])
            if iterate.settled and standing.proven(bound, walk.tol):
                status = "optimal"
                break
            if enough:
                status = "stopped"
                break
        else:
            proves = method.proves and walk.oracle.exact
            status = "max_calls" if not walk.budget.left else "stalled" if proves else "searched"
    except Exhausted as end:
        status = end.status
    except UnsolvedError:  # no solver solves an inner program: end the walk, keep what was found
        status = "stalled"
    except KeyboardInterrupt:
        status = "stopped"
    finally:
        steps.close()  # type: ignore[attr-defined]
        progress.close()
    best, status = _answer(method, program, walk, best, bound, status)
    best = best if best.multipliers else replace(best, multipliers=prices)
    last = Standing.of(program, best.u)
    if status in ("stalled", "searched", "max_calls") and last.proven(bound, walk.tol):
        status = "optimal"
    bound = min(bound, last.value) if last.kept else bound
    records.append(last.record(program, walk.calls, walk.budget.seconds, bound))
    if callback is not None and status != "stopped":
        callback(records[-1])
    if warn and method.step_option is not None and status != "optimal":
        path, named = (first or last, newest or last, last), (method.name, method.step_option)
        warn_if_astray(named, program, walk.oracle.margins, walk.calls, path)
    return Outcome(best, last.value, bound, status, tuple(records))


def _answer(
    method: Method, program: Program, walk: Walk, best: Iterate | None, bound: float, status: Status
) -> tuple[Iterate, Status]:
    """Return the method's final answer, which need not be the best iterate, and the status.

    Ctrl-C leaves out what is not done yet: it makes a good answer better.
    """
    if best is None:
        if not walk.vertices:
            if status == "stopped":
                raise KeyboardInterrupt
            raise ValueError("the budget ended before the first oracle call; raise max_calls or max_seconds")
        best = _best_single(program, walk)
    answer = best
    try:
        answer = method.finish(program, walk, best)
        if method.best_seen:
            whole = answer = better(program, best, answer)
            answer = supported(method, program, walk, whole)
            if answer is not whole and status == "optimal":
                status = "stalled"  # unless the bound proves this mixture, too
        reached = Standing.of(program, answer.u)
        if reached.kept:
            slack = max(walk.tol - max(reached.value - bound, 0.0), 0.0)
            answer = method.polish(program, walk, answer, slack)
    except KeyboardInterrupt:
        status = "stopped"
    return answer, status


def better(program: Program, old: Iterate | None, new: Iterate) -> Iterate:
    """Return the better of two iterates: constraints first, then the objective."""
    if old is None or Standing.of(program, new.u).beats(Standing.of(program, old.u)):
        return new
    return old


def supported(method: Method, program: Program, walk: Walk, best: Iterate) -> Iterate:
    """Return a mixture, unless its value rests on rules that it hardly ever uses: then what is best without these.

    A precision does not depend on how rarely a decision is made, so a search may drive the weight of a rule towards 0
    where 0 itself is worthless: a policy that decides for less than one row.
    """
    if _firmer(program, walk, best) is None:
        return best
    # A quarter of the tolerance: half of it may be between the value and a bound of a ratio already.
    firm = method.firm(program, walk, best, walk.tol / 4)
    if (heavy := _firmer(program, walk, firm)) is None:
        return firm
    return better(program, _best_single(program, walk), heavy)


def _firmer(program: Program, walk: Walk, best: Iterate) -> Iterate | None:
    """Return a mixture without the rules that it hardly ever uses, if its value rests on these; else None."""
    weights = best.table(len(program.axes.cells))
    heavy = np.where(weights < SELDOM, 0.0, weights)
    left_out = 1 - float(heavy.sum(axis=1).min())
    if not 0 < left_out <= TOGETHER:
        return None
    heavy = heavy / heavy.sum(axis=1, keepdims=True)
    u = program.vector(mixed(walk.vertices, heavy))
    rests = program.value(u) - program.value(best.u) > STEEP * left_out
    return replace(best, weights=heavy, u=u) if rests else None


def _best_single(program: Program, walk: Walk) -> Iterate:
    best = walk.single(0)
    for place in range(1, len(walk.vertices)):
        best = better(program, best, walk.single(place))
    return best
