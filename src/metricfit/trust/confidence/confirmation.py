"""Constraints that hold on the population with a given confidence (Learn then Test).

Some rows are held out: model, calibration and policy do not see them. On the other rows a path of policies is fitted,
from cautious to bold: the limits of each are tightened less than those of the one before. The held-out rows test the
policies in that order. The null hypothesis for a policy is "some constraint is broken", and its p-value is the largest
of its claims' p-values, so several constraints cost no confidence. Nor do several policies, because the path ends at
the first one that fails. The boldest policy that passed is returned.

If the tuning rows do not predict well which policy to begin with, limits that oppose each other are tested from both
ends of a line of policies (`metricfit.trust.confidence.opposed`), or several starts divide the error probability
between them. The path from a start then continues with the part of that start alone: it is chosen by the test results.

A confidence of one half asks for no caution: see `metricfit.trust.by_folds`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.intervals import estimate
from metricfit.messages import count
from metricfit.methods.base import NEVER, Deadline
from metricfit.metrics.constraint import Constraint
from metricfit.problem import Problem
from metricfit.trust.claims.claim import claims
from metricfit.trust.claims.p_values import Tested, p_value
from metricfit.trust.confidence.opposed import HALF, Line, line_of
from metricfit.trust.confidence.path import BOLDEST, Path, Refit, each_tested
from metricfit.trust.confidence.starts import SETTINGS, Rehearsal, Start
from metricfit.trust.confidence.unconfirmed import unconfirmed
from metricfit.trust.decided import Decided
from metricfit.types import FloatArray
from metricfit.verdicts import spelt_out

# Bisection steps between the limit and the estimate in the search for a confidence bound.
HALVINGS = 10


@dataclass(frozen=True)
class ConstraintConfidence:
    """How a constraint was confirmed.

    ``estimate`` is its metric on the held-out rows, ``bound`` the tightest limit confirmed with the confidence asked
    for, ``margin`` by how much the limit was tightened in the fit, ``test`` the name of the test, and ``approximate``
    the reason why that test is only approximate with few rows (empty if it is valid with any number).
    """

    name: str
    estimate: float
    bound: float
    limit: float
    margin: float
    p_value: float
    test: str
    approximate: str


@dataclass(frozen=True)
class Confidence:
    """Constraints that hold on the population with confidence ``level``, as tested on ``rows`` rows.

    These are the held-out rows or, if ``folds`` is not 0, all rows, split into that many folds.
    """

    level: float
    rows: int
    policies: int
    constraints: tuple[ConstraintConfidence, ...]
    folds: int = 0

    def __str__(self) -> str:
        by = f"{self.folds} folds of {self.rows:,} rows" if self.folds else f"{self.rows:,} held-out rows"
        lines = [
            f"with confidence {self.level:g}, by {by} ({count(self.policies, 'policy', 'policies')} tested):"
        ]
        for c in self.constraints:
            about = f" (approximate: {c.approximate})" if c.approximate else ""
            found = f"{c.estimate:.3f} " + (
                "expected" if self.folds else f"there, at the worst {c.bound:.3f}"
            )
            lines.append(f"  {spelt_out(c.name)}: {found}, margin {c.margin:.3f}{about}")
        return "\n".join(lines)


def check_confidence(confidence: Any) -> None:
    """Raise unless a confidence is None or a number between 0 and 1.

    Examples
    --------
    >>> check_confidence(95)
    Traceback (most recent call last):
    ...
    ValueError: confidence must be None or a number between 0 and 1, such as 0.95; got 95
    """
    number = isinstance(confidence, int | float | np.number) and not isinstance(confidence, bool)
    if confidence is not None and not (number and 0 < confidence < 1):
        raise ValueError(
            f"confidence must be None or a number between 0 and 1, such as 0.95; got {confidence!r}"
        )


def confirm(
    problem: Problem,
    tuning: Rows,
    kept: Rows,
    level: float,
    refit: Refit,
    counted: bool = True,
    deadline: Deadline = NEVER,
) -> tuple[Any, Problem, Confidence]:
    """Return the result of the boldest policy that the held-out rows confirm, its problem, and the record of the tests.

    Parameters
    ----------
    problem : Problem
        Objective and constraints.
    tuning : Rows
        The rows that policies are fitted on.
    kept : Rows
        The held-out rows, with the same axes: neither model nor policy has seen them.
    level : float
        The confidence.
    refit : callable
        Takes a problem and a result to start from (or None); returns a result with a ``policy``.
    counted : bool
        Whether the constraints must also hold by the labels of all rows together. If not, they hold in the fit, and the
        path ends with limits that are not tightened.
    deadline : Deadline
        When to stop: no bolder policy is then tried, and no tighter limit.

    Raises
    ------
    UnconfirmedError
        If not even a cautious policy passes; the message says how many rows would be needed.
    """
    path = Path(problem, tuning, kept, level, refit, deadline)
    if not problem.constraints:
        return path.base, problem, Confidence(level, len(kept), 0, ())
    begun = begin(path)
    return (
        _confirmed_between(path, begun, counted)
        if isinstance(begun, Line)
        else _confirmed_from(path, begun, counted)
    )


def begin(path: Path) -> list[Start] | Line:
    """Return where to begin: starts with their parts of the error probability, or a line between opposed limits.

    One start is enough if it passes almost surely, or if there is one claim. Otherwise the line is taken if it passes
    in at least as many worlds as the best start; if not, several starts are chosen.
    """
    rehearsal = Rehearsal(path)
    known = list(rehearsal.centre())
    if not known:
        return [Start(0.0, None, path.base, np.zeros((len(rehearsal.claims), 0)))]
    shares = [start.passes(rehearsal.needed()).mean() for start in known]
    best = known[int(np.argmax(shares))]
    if max(shares) >= SETTINGS.surely or len(rehearsal.claims) < 2 or path.deadline.passed:
        return [best]
    line = line_of(rehearsal, best)
    if line is not None and line.share >= max(shares):
        return line
    return rehearsal.chosen(known + list(rehearsal.leaning(best)))


def _confirmed_from(path: Path, begun: list[Start], counted: bool) -> tuple[Any, Problem, Confidence]:
    """Do the work of `confirm` with starts: follow the path from the best start that passes."""
    problem, level = path.problem, path.level
    tried = []
    for start in begun:
        tests = tuple(path.test(start.result.policy))
        tried.append(Passed(start.step, start.lean, start.result, tests, start.level * (1 - level)))
    passed = [one for one in tried if one.passes and (not counted or path.holds(one.result.policy))]
    if not passed:
        closest = min(tried, key=lambda one: one.p / one.error)
        reached = max(0.0, 1 - closest.p * (1 - level) / closest.error)
        raise unconfirmed(path, closest.result.policy, closest.tests, reached)
    best = min(passed, key=lambda one: problem.sign * one.result.value)
    boldest, more = _walked(path, best, counted)
    solved = path.limits.tightened(boldest.step, boldest.lean)
    margins = path.limits.margins(boldest.step)
    return boldest.result, solved, _record(path, boldest, margins, len(tried) + more)


def _confirmed_between(path: Path, line: Line, counted: bool) -> tuple[Any, Problem, Confidence]:
    """Do the work of `confirm` with a line: take the best of its policies that pass on both sides."""
    found, tests = line.confirmed(1 - path.level)
    found = [
        one
        for one in found
        if (path.holds(one.result.policy) if counted else path.limits.hold(one.result.confusion))
    ]
    if not found:
        closest, error = line.closest()
        raise unconfirmed(path, closest.result.policy, path.test(closest.result.policy), max(0.0, 1 - error))
    best = min(found, key=lambda one: path.problem.sign * one.result.value)
    passed = Passed(
        best.step, None, best.result, tuple(path.test(best.result.policy)), HALF * (1 - path.level)
    )
    return best.result, line.problem(best.step), _record(path, passed, line.least_margins(best.step), tests)


@dataclass(frozen=True, eq=False)
class Passed:
    """A tested policy, with one test for each constraint and the error probability that it may use."""

    step: float
    lean: Constraint | None
    result: Any
    tests: tuple[Tested, ...]
    error: float

    @property
    def p(self) -> float:
        """The p-value of "some constraint is broken"."""
        return max(test.p for test in self.tests)

    @property
    def passes(self) -> bool:
        """Whether the held-out rows confirm the policy."""
        return self.p <= self.error


def _walked(path: Path, best: Passed, counted: bool) -> tuple[Passed, int]:
    """Return the boldest policy that passes on the path from one that does, and how many were tested."""
    boldest, count = BOLDEST if counted else 0.0, 0
    while best.step > boldest and not path.settled(best.step) and not path.deadline.passed:
        step = path.bolder(best.step, boldest)
        try:
            result = path.policy(step, best.lean, best.result)
        except (InfeasibleError, KeyboardInterrupt):  # a policy that passes is known already
            break
        found = Passed(step, best.lean, result, tuple(path.test(result.policy)), best.error)
        count += 1
        if not found.passes or (counted and not path.holds(result.policy)):
            break
        best = found
    return best, count


def _record(path: Path, passed: Passed, margins: list[float], count: int) -> Confidence:
    """Return how each constraint was confirmed."""
    policy = passed.result.policy
    decided, before = Decided.by(policy, path.kept), Decided.by(policy, path.tuning)
    seen = decided.evidence()
    records = []
    for c, test, margin in zip(path.problem.constraints, passed.tests, margins, strict=True):
        value = estimate(c.metric, seen).value
        bound = _bound(path, c, value, decided, before, passed.error)
        records.append(
            ConstraintConfidence(
                str(c), value, bound, c.limit, float(margin), test.p, test.test, test.approximate
            )
        )
    return Confidence(path.level, len(path.kept), count, tuple(records))


def _bound(
    path: Path, constraint: Constraint, value: float, decided: Decided, before: Decided, largest: float
) -> float:
    """Return the tightest limit that the same tests confirm, between the constraint's own limit and the estimate.

    ``largest`` is the largest p-value that counts as confirmation.
    """
    margins: FloatArray = before.rows.margins()

    def passes(place: int, limit: float) -> bool:
        claim = claims(replace(constraint, limit=limit), before.rows.axes, margins)[place]
        return p_value(claim, decided, before, path.level, path.lots).p <= largest

    found = [test.p for test in each_tested(constraint, decided, before, path.level, path.lots)]
    bound = value
    for place in sorted(range(len(found)), key=found.__getitem__, reverse=True):
        if path.deadline.passed:
            return constraint.limit
        if passes(place, bound):
            continue  # most claims pass at the bound found for the hardest one
        inside, outside = constraint.limit, bound
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if passes(place, middle) else (inside, middle)
        bound = inside
    return bound
