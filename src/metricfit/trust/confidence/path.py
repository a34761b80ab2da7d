"""The path of policies that confidence tests: from cautious to bold, each with its limits tightened by less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.rows import Rows
from metricfit.functions.binding import Binding
from metricfit.intervals import Evidence, estimate
from metricfit.intervals.estimate import standard_error
from metricfit.methods.base import NEVER, Deadline
from metricfit.metrics.constraint import Constraint
from metricfit.problem import Problem
from metricfit.trust.claims.claim import claims
from metricfit.trust.claims.lots import Lots
from metricfit.trust.claims.p_values import Tested, p_value
from metricfit.trust.decided import Decided
from metricfit.types import FloatArray

# A step of the path is FASTER times the present tightening, but at least BOLDER. Below 0 the limits are looser than
# asked for: they may happen to be harder to keep on the tuning rows, and the held-out rows decide. On average the path
# stops half a step or more before what would pass. On populations other than those of benchmarks/trust (20 to 25 draws
# of 2,000 rows each), steps of .16 and .2 cost .033, .052 and .009 of the G-mean under two precision floors and a
# recall floor, steps of .08 and .1 cost .029, .045 and .008. Under three other precision floors and a recall floor
# these cost .070, .040, .035 and .0075, the present steps .071, .040, .034 and .0073, in a fifth more time.
FASTER, BOLDER, BOLDEST = 0.05, 0.05, -4.0
# A limit is tightened by at most this part of the way to the most extreme value that its metric can have.
NEARLY = 0.9
ROUNDING = 1e-9

Refit = Callable[[Problem, Any], Any]


class Limits:
    """The limits of a problem, tightened in units of their standard errors on ``judging`` rows."""

    def __init__(self, problem: Problem, rows: Rows, policy: Any, judging: int) -> None:
        self.problem = problem
        seen = Decided.by(policy, rows).evidence()
        grown = np.sqrt(len(rows) / judging)
        self.errors = [sampling_error(c, seen) * grown for c in problem.constraints]
        self.ends = [most_cautious(c, rows) for c in problem.constraints]

    def margins(self, step: float) -> list[float]:
        """Return by how much each limit is tightened; never as far as the extreme value of its metric."""
        found = []
        for c, error, end in zip(self.problem.constraints, self.errors, self.ends, strict=True):
            found.append(min(step * error, NEARLY * abs(end - c.limit)))
        return found

    def tightened(self, step: float, lean: Constraint | None = None) -> Problem:
        """Return the problem with its limits tightened by ``step`` standard errors, and with ``lean`` if given."""
        moved = [
            replace(c, limit=c.limit + c.inward * m)
            for c, m in zip(self.problem.constraints, self.margins(step), strict=True)
        ]
        return replace(self.problem, constraints=(*moved, *([] if lean is None else [lean])))

    def hold(self, confusion: Confusion) -> bool:
        """Return whether a confusion tensor keeps all limits as they were asked for."""
        return all(c.excess(c.metric(confusion)) <= ROUNDING for c in self.problem.constraints)


class Path:
    """The policies from cautious to bold, and the rows that test them."""

    def __init__(
        self,
        problem: Problem,
        tuning: Rows,
        kept: Rows,
        level: float,
        refit: Refit,
        deadline: Deadline = NEVER,
    ) -> None:
        self.deadline = deadline
        self.problem, self.tuning, self.kept, self.level, self.refit = problem, tuning, kept, level, refit
        self.all_rows, self.lots = tuning.joined(kept), Lots.of(tuning)
        self.base = refit(problem, None)
        self.free = refit(replace(problem, constraints=()), self.base) if problem.constraints else self.base
        self.limits = Limits(problem, tuning, self.base.policy, len(kept))
        free = Decided.by(self.free.policy, tuning).evidence()
        self.unbound = [estimate(c.metric, free).value for c in problem.constraints]

    def settled(self, step: float) -> bool:
        """Return whether the policy fitted without constraints keeps the limits at this step on the tuning rows."""
        pairs = zip(self.limits.tightened(step).constraints, self.unbound, strict=True)
        return all(c.excess(value) <= 0 for c, value in pairs)

    def policy(self, step: float, lean: Constraint | None, start: Any) -> Any:
        """Return the result for limits tightened by ``step`` standard errors, and for ``lean`` if given."""
        if lean is not None:
            return self.refit(self.limits.tightened(step, lean), start)
        if self.settled(step):
            return self.free
        return self.base if step == 0 else self.refit(self.limits.tightened(step), start)

    def bolder(self, step: float, boldest: float) -> float:
        """Return the next, bolder step of the path."""
        return max(boldest, step - max(BOLDER, FASTER * step))

    def holds(self, policy: Any) -> bool:
        """Return whether all constraints hold by the labels of all rows together."""
        return self.limits.hold(Decided.by(policy, self.all_rows).evidence().confusion)

    def test(self, policy: Any) -> list[Tested]:
        """Return for each constraint the test of the claim with the largest p-value on the held-out rows."""
        decided, before = Decided.by(policy, self.kept), Decided.by(policy, self.tuning)
        return [largest(c, decided, before, self.level, self.lots) for c in self.problem.constraints]


def sampling_error(constraint: Constraint, seen: Evidence) -> float:
    """Return the standard error of a constraint's metric; if it is estimated as 0, that of a share of one half."""
    found = standard_error(constraint.metric, seen)
    return found if found > 0 else 0.5 / float(np.sqrt(seen.effective_rows))


def most_cautious(constraint: Constraint, rows: Rows) -> float:
    """Return the value farthest inside the limit that the constraint's metric can have."""
    low, high = Binding.of(rows.axes, rows.margins()).take(constraint.metric).reach()
    return float(high[0] if constraint.sense == ">=" else low[0])


def each_tested(
    constraint: Constraint, decided: Decided, before: Decided, level: float, lots: Lots
) -> list[Tested]:
    """Return the test of each claim of a constraint."""
    margins: FloatArray = before.rows.margins()
    found = claims(constraint, before.rows.axes, margins)
    return [p_value(claim, decided, before, level, lots) for claim in found]


def largest(constraint: Constraint, decided: Decided, before: Decided, level: float, lots: Lots) -> Tested:
    """Return the test with the largest p-value among the claims of a constraint."""
    found = each_tested(constraint, decided, before, level, lots)
    return max(found, key=lambda test: test.p, default=Tested(0.0, "always true"))
