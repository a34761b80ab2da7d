"""Frank-Wolfe with exact line searches over the vertices found so far, for functions that need not be convex."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from metricfit.functions.sums import Total
from metricfit.methods.base import FEASIBLE, Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.feasibility import reach
from metricfit.methods.master.generation import generate
from metricfit.methods.search.merit import FIRST, PENALTY, merit, merit_slope, merits
from metricfit.methods.search.profile import Profile
from metricfit.problem import Program
from metricfit.types import FloatArray

# Steps from one start, and with constraints the oracle calls for each step.
STEPS = 6
PRICINGS = 4
SHARES = np.concatenate([[0.0], np.geomspace(1e-4, 0.5, 32), 1 - np.geomspace(0.5, 1e-4, 32)[1:], [1.0]])


def descend(program: Program, walk: Walk, profile: Profile, place: int) -> Iterator[Iterate]:
    """Walk from a vertex: price the slope of the merit, and move towards the answer as far as that pays."""
    reached = walk.single(place)
    for _ in range(STEPS):
        before = merit(program, reached.u)
        slope = merit_slope(program, reached.u)
        if not np.all(np.isfinite(slope)) or not slope.any():
            return
        if program.curvature.is_convex:
            bound, place = walk.lower_bound(reached.u)
        else:
            bound, place = -np.inf, walk.call(slope)
        # Where labels are counted, the plug-in rule of a slope need not be the cheapest of those found so far.
        if not walk.oracle.exact:
            costs = walk.vectors @ slope
            place = place if costs[place] <= costs.min() else int(costs.argmin())
        reached = exchanged_for(walk, profile, towards(profile, reached, walk.single(place), PENALTY), place)
        yield replace(reached, bound=bound)
        if before - merit(program, reached.u) <= walk.tol / 10:
            return


def descend_within(program: Program, walk: Walk, profile: Profile) -> Iterator[Iterate]:
    """Walk inside convex constraints: each step solves the problem with a linear objective by column generation.

    Begins with the best vertex found so far, or if none keeps the constraints with a mixture that does; raises
    `InfeasibleError` when there is none.
    """
    columns = Columns(program, walk.vertices)
    reached = walk.single(int(merits(program, walk.vectors, FIRST).argmin()))
    if program.excess(reached.u) > FEASIBLE:
        for iterate in reach(program, walk, columns):
            reached = iterate
            yield iterate
    for _ in range(STEPS):
        before = program.value(reached.u)
        plane = Total(program.objective.gradient(reached.u), program.entries)
        if not np.all(np.isfinite(plane.weights)) or not plane.weights.any():
            return
        target = reached
        for iterate in islice(generate(replace(program, objective=plane), walk, columns), PRICINGS):
            target = iterate
        moved = towards(profile, reached, target, FIRST)
        reached = replace(moved, multipliers=target.multipliers)
        yield reached
        if before - program.value(reached.u) <= walk.tol / 10:
            return


def towards(profile: Profile, start: Iterate, end: Iterate, penalty: float) -> Iterate:
    """Return the best mixture on the way from one iterate to another."""
    shares, share = SHARES, 0.0
    for _ in range(3):
        series = profile.between(start.u, end.u, shares).merit(penalty)
        best = int(series.argmin())
        share = float(shares[best])
        low, high = float(shares[max(best - 1, 0)]), float(shares[min(best + 1, shares.size - 1)])
        shares = np.linspace(low, high, 33)
    if share == 0.0:
        return start
    return Iterate(
        _mixed(start.weights, end.weights, share),
        (1 - share) * start.u + share * end.u,
        settled=start.settled,
    )


def exchanged_for(walk: Walk, profile: Profile, reached: Iterate, newest: int) -> Iterate:
    """Shift weight from each vertex in use to the newest one, as far as that pays."""
    for place in np.flatnonzero(reached.weights):
        weight = float(reached.weights[place])
        if place == newest or weight == 1.0:
            continue
        without = np.zeros(max(reached.weights.size, newest + 1))
        without[: reached.weights.size] = reached.weights
        without[place] = 0.0
        without[newest] += weight
        exchanged = Iterate(without, reached.u + weight * (walk.vectors[newest] - walk.vectors[place]))
        reached = towards(profile, reached, exchanged, PENALTY)
    return reached


def _mixed(one: FloatArray, other: FloatArray, share: float) -> FloatArray:
    cells = max(len(np.atleast_2d(one)), len(np.atleast_2d(other)))
    total = np.zeros((cells, max(one.shape[-1], other.shape[-1])))
    total[:, : one.shape[-1]] += (1 - share) * np.atleast_2d(one)
    total[:, : other.shape[-1]] += share * np.atleast_2d(other)
    return total if one.ndim + other.ndim > 2 else total[0]
