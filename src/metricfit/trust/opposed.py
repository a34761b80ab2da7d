"""Limits that oppose each other: policies between them, tested from both ends.

Room for one limit (a recall, a group above the others) may take room from another (a coverage, the same group below
them). The tuning rows tell only roughly which policy between the two has room for both. So policies are lined up, from
those with much room for the first to those with much room for the second, and the claims are parted into two sides. The
kept rows test the claims of the first side along the line and those of the second side against it, each side with half
of the error probability and until a policy fails. Both are fixed sequences: with the confidence asked for, all claims
hold that passed, so that any policy that passed on both sides may be taken, the best of them, say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metricfit.exceptions import InfeasibleError
from metricfit.metrics.constraint import Constraint
from metricfit.problem import Problem
from metricfit.trust.claims import Claim, GapClaim, SmoothClaim
from metricfit.trust.decided import Decided
from metricfit.trust.p_values import p_value
from metricfit.trust.room_of_claims import room_metric, room_of
from metricfit.trust.starts import SETTINGS, Rehearsal, Start
from metricfit.types import BoolArray, FloatArray, IntArray

# How far limits move from one policy of a line to the next, in standard errors on the kept rows: so much, or a part of
# how far they are moved; and the furthest. On populations other than those of benchmarks/trust a step of 0.4 left one
# draw more of 12 without an answer in two problems of three.
STEP, FASTER, FURTHEST = 0.3, 0.15, 8.0
# Claims whose rooms are correlated by more than this are moved together.
TOGETHER = 0.5
# The part of the error probability that each side has.
HALF = 0.5


def line_of(rehearsal: Rehearsal, best: Start) -> Line | None:
    """Return policies between the claim that fails most in the worlds of a start and the one opposed to it the most.

    None where no claim is opposed to it, or no policy is between them.
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
    """Policies from much room for the claims of the first side to much room for those of the second.

    Parameters
    ----------
    rehearsal : Rehearsal
        What the tuning rows say.
    best : Start
        The start with all limits tightened alike that passes in the most worlds; limits that do not move are its.
    second : ndarray of bool
        Which claims are tested against the line.
    moves : ndarray of int
        1 for claims whose limits are tightened at the first end and loosened at the second, -1 the other way round.
    """

    def __init__(self, rehearsal: Rehearsal, best: Start, second: BoolArray, moves: IntArray) -> None:
        self.rehearsal, self.best, self.moves = rehearsal, best, moves
        self.sides = (~second, second)
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
        """Return for each constraint by how much its claims are tightened at the least."""
        parts = np.split(self.margins(step), np.cumsum(self.rehearsal.counts)[:-1])
        return [float(part.min(initial=np.inf)) if part.size else 0.0 for part in parts]

    def problem(self, step: float) -> Problem:
        """Return the problem with the limits of claims moved."""
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
        """Return the p-value of "some claim of a side is broken"."""
        path = self.rehearsal.path
        kept, before = (Decided.by(policy.result.policy, rows) for rows in (path.kept, path.tuning))
        claims = (self.rehearsal.claims[place] for place in np.flatnonzero(self.sides[side]))
        return max((p_value(claim, kept, before, path.level).p for claim in claims), default=0.0)

    def confirmed(self, error: float) -> tuple[list[Start], int]:
        """Return the policies that pass on both sides, each with half of an error probability, and how many tests."""
        passed, tests = [0, 0], 0
        for side, policies in enumerate((self.policies, self.policies[::-1])):
            for policy in policies:
                tests += 1
                if self.p_value(policy, side) > HALF * error:
                    break
                passed[side] += 1
        return self.policies[len(self.policies) - passed[1] : passed[0]], tests

    def closest(self) -> tuple[Start, float]:
        """Return the policy that would pass with the least confidence, and the error probability of that."""
        first, second = (
            np.array([self.p_value(policy, side) for policy in self.policies]) for side in (0, 1)
        )
        first, second = np.maximum.accumulate(first), np.maximum.accumulate(second[::-1])[::-1]
        place = int(np.argmin(np.maximum(first, second)))
        return self.policies[place], float(max(first[place], second[place]) / HALF)

    def _towards(self, side: int) -> Iterator[Start]:
        """Yield policies from where no limit is moved (which is the first side's) until a side surely passes."""
        away, last = STEP * side, self.best.result
        while away <= FURTHEST:
            step = -away if side else away
            try:
                last = self.rehearsal.path.refit(self.problem(step), last)
            except InfeasibleError:
                return
            found = self.rehearsal.start(step, None, last)
            yield found
            if self._passes(found, side).mean() >= SETTINGS.surely:
                return
            away += max(STEP, FASTER * away)

    def _passes(self, policy: Start, side: int) -> BoolArray:
        """Return in which worlds the claims of a side pass."""
        needed = self.rehearsal.needed(HALF)[:, None]
        return np.asarray((policy.z >= needed)[self.sides[side]].all(axis=0))

    def _between(self, policies: list[Start]) -> tuple[list[Start], float]:
        """Return the policies between those with which the sides are the likeliest to pass.

        Also in which share of the worlds a policy passes on both sides.
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
    """Return which policies pass in the most worlds, or surely."""
    shares = passes.mean(axis=1)
    return np.asarray(shares >= min(shares.max(), SETTINGS.surely))


def _slope(claim: Claim, start: Start) -> float:
    """Return how much room a claim loses where its limit is tightened by 1."""
    if isinstance(claim, SmoothClaim):
        return 1.0
    confusion = start.result.confusion
    return room_of(claim, confusion) - room_of(_moved(claim, 1.0), confusion)


def _moved(claim: Claim, margin: float) -> Claim:
    """Return a claim with its limit tightened."""
    at_most = isinstance(claim, GapClaim) or claim.sense == "<="
    return replace(claim, limit=claim.limit - margin if at_most else claim.limit + margin)
