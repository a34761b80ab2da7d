"""Limits that oppose each other: policies between them, tested from both ends.

A wider margin to one limit (a recall, a group above the others) may mean a narrower one to another (a coverage, the
same group below the others). The tuning rows tell only roughly which policy has a margin to both. So policies are lined
up between the two, from a wide margin to the first limit to a wide margin to the second, and the claims are divided
into two sides. The held-out rows test the first side's claims along the line and the second side's claims against it,
each side with half of the error probability and until a policy fails. Both are fixed sequences, so with the confidence
asked for all claims that passed are true, and any policy that passed on both sides may be returned: the best of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.metrics.constraint import Constraint
from metricfit.problem import Problem
from metricfit.trust.claims.claim import Claim, GapClaim, SmoothClaim
from metricfit.trust.claims.p_values import p_value
from metricfit.trust.claims.room import room_metric, room_of
from metricfit.trust.confidence.starts import SETTINGS, Rehearsal, Start
from metricfit.trust.decided import Decided
from metricfit.types import BoolArray, FloatArray, IntArray

# From one policy of a line to the next, limits move by STEP standard errors on the held-out rows, or by FASTER times
# how far they have moved already if that is more, up to FURTHEST. On populations other than those of benchmarks/trust
# a step of 0.4 left one more draw of 12 without an answer in two problems of three.
STEP, FASTER, FURTHEST = 0.3, 0.15, 8.0
# Claims whose margins (rooms) are correlated by more than this have their limits moved together.
TOGETHER = 0.5
# Each side may use this part of the error probability.
HALF = 0.5


def line_of(rehearsal: Rehearsal, best: Start) -> Line | None:
    """Return a line between the claim that fails in the most worlds of a start and the claim most opposed to it.

    None if no claim is opposed to it (their rooms are not negatively correlated), or if no policy is feasible.
    """
    movable = np.isfinite(best.z).all(axis=1) & (best.z.std(axis=1) > 0)
    movable &= [not isinstance(claim, SmoothClaim) for claim in rehearsal.claims]
    failing = np.where(movable, (best.z < rehearsal.needed()[:, None]).mean(axis=1), 0.0)
    one = int(np.argmax(failing))
    if failing[one] == 0:
        return None
    alike = np.zeros((failing.size, failing.size))
    alike[np.ix_(movable, movable)] = np.atleast_2d(np.corrcoef(best.z[movable]))
    two = int(np.argmin(alike[one]))
    if alike[one, two] >= 0:
        return None
    moves = np.where(alike[one] > TOGETHER, 1, np.where(alike[two] > TOGETHER, -1, 0))
    line = Line(rehearsal, best, alike[two] > alike[one], moves)
    return line if line.policies else None


class Line:
    """Policies from a wide margin to the limits of the first side to a wide margin to those of the second.

    Parameters
    ----------
    rehearsal : Rehearsal
        What the tuning rows predict.
    best : Start
        The start with all limits tightened alike that passes in the most worlds; fixed claims keep its limits.
    second : ndarray of bool
        Which claims belong to the second side, tested against the direction of the line.
    moves : ndarray of int
        1 if a claim's limit is tightened at the first end and loosened at the second, -1 for the opposite, 0 if fixed.
    """

    def __init__(self, rehearsal: Rehearsal, best: Start, second: BoolArray, moves: IntArray) -> None:
        self.rehearsal, self.best, self.moves = rehearsal, best, moves
        self.sides = (~second, second)
        self._p: dict[tuple[Start, int], float] = {}
        rows = rehearsal.rows_of(best.result)
        kept = np.sqrt(len(rehearsal.path.kept))
        self.errors = np.zeros(len(moves))
        for place in np.flatnonzero(moves):
            each = rows[place]
            slope = _slope(rehearsal.claims[place], best)
            self.errors[place] = 0.0 if each is None or not slope > 0 else each.error / kept / slope
        policies = [*reversed(list(self._towards(0))), *self._towards(1)]
        self.policies, self.share = self._between(policies)

    def margins(self, step: float) -> FloatArray:
        """Return by how much the limit of each claim is tightened."""
        fixed = np.repeat(self.rehearsal.path.limits.margins(self.best.step), self.rehearsal.counts)
        return np.where(self.moves == 0, fixed, self.moves * step * self.errors)

    def least_margins(self, step: float) -> list[float]:
        """Return for each constraint the smallest margin by which one of its claims is tightened."""
        parts = np.split(self.margins(step), np.cumsum(self.rehearsal.counts)[:-1])
        return [float(part.min(initial=np.inf)) if part.size else 0.0 for part in parts]

    def problem(self, step: float) -> Problem:
        """Return the problem with the limits of the claims moved."""
        path, claims = self.rehearsal.path, self.rehearsal.claims
        tightened = path.limits.tightened(self.best.step).constraints
        ends = np.cumsum(self.rehearsal.counts)
        margins, limits = self.margins(step), []
        for constraint, end, count in zip(tightened, ends, self.rehearsal.counts, strict=True):
            if not self.moves[end - count : end].any():
                limits.append(constraint)
                continue
            for place in range(end - count, end):
                moved = _moved(claims[place], float(margins[place]))
                metric = room_metric(moved, path.tuning.axes, self.rehearsal.margins)
                if metric is not None:
                    limits.append(Constraint(metric, ">=", 0.0))
        return replace(path.problem, constraints=tuple(limits))

    def p_value(self, policy: Start, side: int) -> float:
        """Return the p-value of the null hypothesis "some claim of this side is broken"."""
        if (policy, side) not in self._p:
            path = self.rehearsal.path
            kept, before = (Decided.by(policy.result.policy, rows) for rows in (path.kept, path.tuning))
            claims = (self.rehearsal.claims[place] for place in np.flatnonzero(self.sides[side]))
            tested = (p_value(claim, kept, before, path.level, path.lots).p for claim in claims)
            self._p[policy, side] = max(tested, default=0.0)
        return self._p[policy, side]

    def confirmed(self, error: float) -> tuple[list[Start], int]:
        """Return the policies that pass on both sides, each side with half of the error, and the number of tests."""
        passed, tests = [0, 0], 0
        for side, policies in enumerate((self.policies, self.policies[::-1])):
            for policy in policies:
                tests += 1
                if self.p_value(policy, side) > HALF * error:
                    break
                passed[side] += 1
        return self.policies[len(self.policies) - passed[1] : passed[0]], tests

    def closest(self) -> tuple[Start, float]:
        """Return the policy that passes on both sides with about the smallest error probability, and that probability.

        Along the line the p-values of the first side rise and those of the second fall, so it is where they meet.
        """

        def larger(place: int) -> float:
            return max(self.p_value(self.policies[place], side) for side in (0, 1))

        low, high = 0, len(self.policies) - 1
        while low < high:
            middle = (low + high) // 2
            rising = self.p_value(self.policies[middle], 0) >= self.p_value(self.policies[middle], 1)
            low, high = (low, middle) if rising else (middle + 1, high)
        place = min({max(low - 1, 0), low}, key=larger)
        return self.policies[place], float(larger(place) / HALF)

    def _towards(self, side: int) -> Iterator[Start]:
        """Yield policies towards one end (step 0 counts with side 0) until the claims of that side surely pass."""
        away, last = STEP * side, self.best.result
        while away <= FURTHEST:
            step = -away if side else away
            try:
                last = self.rehearsal.path.refit(self.problem(step), last)
            except InfeasibleError:
                return
            found = self.rehearsal.start(step, None, last)
            yield found
            if self._passes(found, side).mean() >= SETTINGS.surely or self.rehearsal.path.deadline.passed:
                return
            away += max(STEP, FASTER * away)

    def _passes(self, policy: Start, side: int) -> BoolArray:
        """Return in which worlds the claims of a side pass."""
        needed = self.rehearsal.needed(HALF)[:, None]
        return np.asarray((policy.z >= needed)[self.sides[side]].all(axis=0))

    def _between(self, policies: list[Start]) -> tuple[list[Start], float]:
        """Return the policies between the likeliest to pass on the first side and the likeliest on the second.

        Also return the share of worlds in which some policy passes on both sides.
        """
        if not policies:
            return [], 0.0
        first, second = (np.array([self._passes(policy, side) for policy in policies]) for side in (0, 1))
        begin = int(np.flatnonzero(_likely(first))[-1])
        end = begin + int(np.flatnonzero(_likely(second[begin:]))[0])
        along = np.logical_and.accumulate(first[begin : end + 1], axis=0)
        against = np.logical_and.accumulate(second[end : begin - 1 if begin else None : -1], axis=0)[::-1]
        return policies[begin : end + 1], float((along & against).any(axis=0).mean())


def _likely(passes: BoolArray) -> BoolArray:
    """Return which policies pass in the most worlds, or almost surely."""
    shares = passes.mean(axis=1)
    return np.asarray(shares >= min(shares.max(), SETTINGS.surely))


def _slope(claim: Claim, start: Start) -> float:
    """Return how much room a claim loses if its limit is tightened by 1."""
    confusion = start.result.confusion
    return room_of(claim, confusion) - room_of(_moved(claim, 1.0), confusion)


def _moved(claim: Claim, margin: float) -> Claim:
    """Return a claim with its limit tightened by a margin."""
    at_most = isinstance(claim, GapClaim) or claim.sense == "<="
    return replace(claim, limit=claim.limit - margin if at_most else claim.limit + margin)
