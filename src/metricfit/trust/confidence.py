"""Constraints that hold on the population with a given confidence (Learn then Test).

Some rows are kept from model, calibration and policy. On the others a path of policies is fitted, from cautious to
bold, each with its limits tightened by less. The kept rows test them in that order: "some constraint is broken" is one
hypothesis for each policy, whose p-value is the largest of its claims', and the first policy that fails ends the path.
So no confidence is spent on the number of policies or constraints. The boldest policy that passed is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError, UnconfirmedError
from metricfit.functions.binding import Binding
from metricfit.intervals import Evidence, estimate
from metricfit.intervals.estimate import standard_error
from metricfit.metrics.base import Absolute, Sliced
from metricfit.metrics.comparison import Disparity
from metricfit.metrics.constraint import Constraint
from metricfit.metrics.rates import Distance, Named
from metricfit.problem import Problem
from metricfit.trust.claims import claims
from metricfit.trust.expected import deal
from metricfit.trust.p_values import Decided, Tested, p_value
from metricfit.types import BoolArray, FloatArray, IntArray

# Chosen on draws from populations other than those of benchmarks/trust (three classes, a rare class, two and four
# groups whose scores differ; 12 to 16 draws of 2,000 rows): of the shares 1/2, 3/5 and 3/4 of the rows kept apart the
# last loses least of the objective in all but one of seven and leaves no more draws without an answer.
FROZEN_SHARE = Fraction(3, 4)
# Where a model is fitted on the other rows too, it needs them more.
MODEL_SHARE = Fraction(1, 3)
FEWEST = 40
# By how many standard errors the limits are tightened where the path may begin, from cautious to bold.
CAUTIOUS = (6.0, 5.0, 4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0)
# A policy to begin with should pass by far: in spite of so many standard errors of what tuning and kept rows differ by.
CLEARLY = 2.0
# The path goes on in steps of a part of where it is, and not less. Below 0 the limits are looser than asked for: the
# tuning rows may be the harder ones, and the kept ones decide.
FASTER, BOLDER, BOLDEST = 0.15, 0.2, -4.0
# How much of the way to the last value that a metric can have a limit may be tightened.
NEARLY = 0.9
# How closely a confidence bound is looked for: the way from estimate to limit is halved so often.
HALVINGS = 16
ROUNDING = 1e-9

Refit = Callable[[Problem, Any], Any]


@dataclass(frozen=True)
class ConstraintConfidence:
    """How a constraint was confirmed.

    ``estimate`` is its metric on the kept rows, ``bound`` what it keeps with the confidence asked for, ``margin`` by
    how much the limit was tightened in the fit, ``test`` the test, ``approximate`` why that is not sound with few rows
    (empty where it is).
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
    """Constraints that hold on the population with confidence ``level``, by ``rows`` rows kept apart."""

    level: float
    rows: int
    policies: int
    constraints: tuple[ConstraintConfidence, ...]

    def __str__(self) -> str:
        lines = [
            f"with confidence {self.level:g}, by {self.rows:,} rows kept apart ({self.policies} policies tested):"
        ]
        for c in self.constraints:
            about = f" (approximate: {c.approximate})" if c.approximate else ""
            lines.append(
                f"  {c.name}: {c.estimate:.3f} there, at the worst {c.bound:.3f}, margin {c.margin:.3f}{about}"
            )
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


def kept_apart(labels: IntArray, cells: IntArray | None, share: Fraction, seed: int = 0) -> BoolArray:
    """Return which rows are kept apart: a share of every class in every cell."""
    if len(labels) < FEWEST:
        raise ValueError(
            f"confidence: {len(labels)} rows are too few to keep some of them apart; give at least {FEWEST}, or leave "
            "confidence out"
        )
    fold = deal(labels, cells, share.denominator, seed)
    return np.asarray((fold >= 0) & (fold < share.numerator))


def confirm(
    problem: Problem, tuning: Rows, kept: Rows, level: float, refit: Refit, counted: bool = True
) -> tuple[Any, Problem, Confidence]:
    """Return the result of the boldest policy that the kept rows confirm, its problem, and how they confirm it.

    Parameters
    ----------
    problem : Problem
        Objective and constraints.
    tuning : Rows
        The rows that policies are fitted on.
    kept : Rows
        Rows with the same axes that neither model nor policy has seen.
    level : float
        The confidence.
    refit : callable
        From a problem and a result to start from (or None) to a result with a ``policy``.
    counted : bool
        Whether constraints should hold by the labels of all rows together. If not, they hold in the fit, so that the
        path ends where limits are not tightened any more.

    Raises
    ------
    UnconfirmedError
        If not even a cautious policy passes; it says how many rows would be needed.
    """
    path = _Path(problem, tuning, kept, level, refit)
    if not problem.constraints:
        return path.base, problem, Confidence(level, len(kept), 0, ())
    step, result = path.beginning()
    passed, count, boldest = None, 0, BOLDEST if counted else 0.0
    while True:
        found = path.test(result.policy)
        count += 1
        if max(t.p for t in found) > 1 - level:
            break
        if counted and not path.holds(result.policy):
            break
        passed = (step, result, found)
        if step <= boldest or path.settled(step):
            break
        step = max(boldest, step - max(BOLDER, FASTER * step))
        try:
            result = path.policy(step, result)
        except InfeasibleError:
            break
    if passed is None:
        raise path.failure(result.policy, found)
    return passed[1], path.tightened(passed[0]), path.record(*passed, count)


class _Path:
    """The policies from cautious to bold, and the rows that test them."""

    def __init__(self, problem: Problem, tuning: Rows, kept: Rows, level: float, refit: Refit) -> None:
        self.problem, self.tuning, self.kept, self.level, self.refit = problem, tuning, kept, level, refit
        self.all_rows = tuning.joined(kept)
        self.base = refit(problem, None)
        self.free = refit(replace(problem, constraints=()), self.base) if problem.constraints else self.base
        seen = Decided.by(self.base.policy, tuning).evidence
        grown = np.sqrt(len(tuning) / len(kept))
        self.errors = [_error(c, seen) * grown for c in problem.constraints]
        self.ends = [most_cautious(c, self.tuning) for c in problem.constraints]
        free = Decided.by(self.free.policy, tuning).evidence
        self.unbound = [estimate(c.metric, free).value for c in problem.constraints]
        # As many tuning rows as there are kept ones foretell how the kept ones will test.
        self.rehearsal = tuning.take(np.resize(np.random.default_rng(0).permutation(len(tuning)), len(kept)))

    def margins(self, step: float) -> list[float]:
        """Return by how much each limit is tightened; never as far as the last value that a metric can have."""
        found = []
        for c, error, end in zip(self.problem.constraints, self.errors, self.ends, strict=True):
            found.append(min(step * error, NEARLY * abs(end - c.limit)))
        return found

    def tightened(self, step: float) -> Problem:
        """Return the problem with its limits tightened by so many standard errors."""
        moved = [
            replace(c, limit=c.limit + (m if c.sense == ">=" else -m))
            for c, m in zip(self.problem.constraints, self.margins(step), strict=True)
        ]
        return replace(self.problem, constraints=tuple(moved))

    def settled(self, step: float) -> bool:
        """Return whether limits tightened so bind nothing: the policy without limits is then the best."""
        pairs = zip(self.tightened(step).constraints, self.unbound, strict=True)
        return all((value >= c.limit) if c.sense == ">=" else (value <= c.limit) for c, value in pairs)

    def policy(self, step: float, start: Any) -> Any:
        """Return the result of limits tightened by so many standard errors."""
        if self.settled(step):
            return self.free
        return self.base if step == 0 else self.refit(self.tightened(step), start)

    def beginning(self) -> tuple[float, Any]:
        """Return step and result of the most cautious policy that should pass by far; else of the likeliest."""
        normal = NormalDist()
        apart = np.sqrt(1 + len(self.kept) / len(self.tuning))
        clearly = normal.cdf(normal.inv_cdf(1 - self.level) - CLEARLY * apart)
        likeliest: tuple[float, float, Any] | None = None
        for step in CAUTIOUS:
            try:
                result = self.policy(step, self.base)
            except InfeasibleError:
                continue
            foretold = max(t.p for t in self._tests(result.policy, self.rehearsal))
            if likeliest is None or foretold < likeliest[0]:
                likeliest = foretold, step, result
            if foretold <= clearly:
                break
        if likeliest is None:
            return 0.0, self.base
        return likeliest[1], likeliest[2]

    def holds(self, policy: Any) -> bool:
        """Return whether all constraints hold by the labels of all rows together."""
        confusion = Decided.by(policy, self.all_rows).evidence.confusion
        away = [(c.metric(confusion) - c.limit, c.sense) for c in self.problem.constraints]
        return all(room >= -ROUNDING if sense == ">=" else room <= ROUNDING for room, sense in away)

    def test(self, policy: Any) -> list[Tested]:
        """Return for each constraint the largest p-value of its claims on the kept rows."""
        return self._tests(policy, self.kept)

    def _tests(self, policy: Any, rows: Rows) -> list[Tested]:
        decided, before = Decided.by(policy, rows), Decided.by(policy, self.tuning)
        return [_largest(c, decided, before, self.level) for c in self.problem.constraints]

    def record(self, step: float, result: Any, found: list[Tested], count: int) -> Confidence:
        """Return how each constraint was confirmed."""
        decided, before = Decided.by(result.policy, self.kept), Decided.by(result.policy, self.tuning)
        seen = decided.evidence
        records = []
        for c, test, margin in zip(self.problem.constraints, found, self.margins(step), strict=True):
            value = estimate(c.metric, seen).value
            bound = _bound(c, value, decided, before, self.level)
            records.append(
                ConstraintConfidence(
                    str(c), value, bound, c.limit, float(margin), test.p, test.test, test.approximate
                )
            )
        return Confidence(self.level, len(self.kept), count, tuple(records))

    def failure(self, policy: Any, found: list[Tested]) -> UnconfirmedError:
        """Return the error that says how many rows would be needed."""
        # What a bettor needs, and 0.84 more standard errors so that four of five such samples pass.
        z = float(np.sqrt(2 * np.log(1 / (1 - self.level)))) + 0.84
        seen = Evidence.joined([Decided.by(policy, rows).evidence for rows in (self.tuning, self.kept)])
        grown = np.sqrt((len(self.tuning) + len(self.kept)) / len(self.kept))
        factor, lines = 1.0, []
        for c, test in zip(self.problem.constraints, found, strict=True):
            away = estimate(c.metric, seen).value - c.limit
            room = away if c.sense == ">=" else -away
            factor = max(factor, (z * _error(c, seen) * grown / room) ** 2 if room > 0 else np.inf)
            lines.append(f"{c} (p = {test.p:.3g})")
        total = len(self.kept) + len(self.tuning)
        rows = int(np.ceil(factor * total)) if np.isfinite(factor) else None
        return UnconfirmedError(
            lines, self.level, len(self.kept), rows if rows is None else max(rows, int(1.25 * total))
        )


def _error(constraint: Constraint, seen: Any) -> float:
    found = standard_error(constraint.metric, seen)
    return found if found > 0 else 0.5 / float(np.sqrt(seen.effective_rows))


def most_cautious(constraint: Constraint, rows: Rows) -> float:
    """Return the value farthest inside the limit that the constraint's metric can have."""
    metric = constraint.metric
    while isinstance(metric, Sliced | Named):
        metric = metric.metric
    low, high = Binding.of(rows.axes, rows.margins()).take(constraint.metric).reach()
    if constraint.sense == ">=":
        return float(high[0])
    # What is the largest of differences both ways is never below 0.
    return max(float(low[0]), 0.0) if isinstance(metric, Disparity | Distance | Absolute) else float(low[0])


def _each(constraint: Constraint, decided: Decided, before: Decided, level: float) -> list[Tested]:
    """Return how each claim of a constraint is tested."""
    margins: FloatArray = before.rows.margins()
    found = claims(constraint, before.rows.axes, margins)
    return [p_value(claim, decided, before, level) for claim in found]


def _largest(constraint: Constraint, decided: Decided, before: Decided, level: float) -> Tested:
    found = _each(constraint, decided, before, level)
    return max(found, key=lambda test: test.p, default=Tested(0.0, "always true"))


def _bound(constraint: Constraint, value: float, decided: Decided, before: Decided, level: float) -> float:
    """Return the tightest limit that the same tests confirm, between the constraint's own and the estimate."""
    margins: FloatArray = before.rows.margins()

    def passes(place: int, limit: float) -> bool:
        claim = claims(replace(constraint, limit=limit), before.rows.axes, margins)[place]
        return p_value(claim, decided, before, level).p <= 1 - level

    found = [test.p for test in _each(constraint, decided, before, level)]
    bound = value
    for place in sorted(range(len(found)), key=found.__getitem__, reverse=True):
        if passes(place, bound):
            continue  # most claims keep the limit that the hardest one keeps
        inside, outside = constraint.limit, bound
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if passes(place, middle) else (inside, middle)
        bound = inside
    return bound
