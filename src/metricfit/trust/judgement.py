"""The objective and the constraints of a policy on labelled rows, each with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import numpy as np

from metricfit.functions.binding import Binding
from metricfit.intervals import Estimate, Evidence, estimate
from metricfit.metrics.base import Metric
from metricfit.problem import Problem
from metricfit.verdicts import by_interval

# Draws, each with both signs, of how policies of other rows differ from those that are judged.
DRAWS = 1000


@dataclass(frozen=True)
class ConstraintEstimate:
    """A constraint's metric with its 95 % interval, beside the limit.

    Examples
    --------
    >>> ConstraintEstimate("precision(1) >= 0.9", 0.87, 0.82, 0.91, 0.9, ">=").outlook
    'open'
    """

    name: str
    value: float
    low: float
    high: float
    limit: float
    sense: str

    @property
    def outlook(self) -> str:
        """What the interval says of the limit on new rows: "likely met", "likely violated" or "open"."""
        return by_interval(self.value, self.low, self.high, self.limit, self.sense)

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Judgement:
    """Objective and constraints by labelled rows, with 95 % intervals.

    Attributes
    ----------
    value, low, high : float
        The objective, and the ends of its interval.
    constraints : tuple of ConstraintEstimate
        The same for each constraint; ends are NaN for a rate of no rows.
    rows : int
        The number of rows.
    note : str
        A note on the rows; empty if there is nothing to say.

    Examples
    --------
    >>> print(Judgement(0.684, 0.661, 0.703, (), 2000))
    0.684 [0.661, 0.703]
    """

    value: float
    low: float
    high: float
    constraints: tuple[ConstraintEstimate, ...]
    rows: int
    note: str = ""

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def provenance(self) -> dict[str, Any]:
        """Return values and intervals as lists, the objective first, for a policy's provenance."""
        both: list[Judgement | ConstraintEstimate] = [self, *self.constraints]
        return {
            "expected": [one.value for one in both],
            "expected_low": [one.low for one in both],
            "expected_high": [one.high for one in both],
        }


def judge(
    problem: Problem, seen: Evidence, rows: int, note: str = "", policies: Sequence[Evidence] = ()
) -> Judgement:
    """Return the objective and constraints of a problem, estimated from decisions about labelled rows.

    ``policies`` are the decisions of several policies about the same rows, any of which could have been
    the one that is judged: the value is the mean over policies like these, and intervals are widened by the variance
    between them.
    """
    value = _judged(problem.objective, seen, policies)
    records = []
    for constraint in problem.constraints:
        found = _judged(constraint.metric, seen, policies)
        records.append(
            ConstraintEstimate(
                str(constraint), found.value, found.low, found.high, constraint.limit, constraint.sense
            )
        )
    return Judgement(value.value, value.low, value.high, tuple(records), rows, note)


def _judged(metric: Metric, seen: Evidence, policies: Sequence[Evidence]) -> Estimate:
    found = estimate(metric, seen, more=partial(_apart, metric, policies))
    if metric.smooth or len(policies) < 2 or isnan(found.value):
        return found
    value = _mean_over_policies(metric, seen, policies)
    return Estimate(value, min(found.low, value), max(found.high, value))


def _mean_over_policies(metric: Metric, seen: Evidence, policies: Sequence[Evidence]) -> float:
    """Return the mean of a metric over policies that differ as these do, around the decisions that are judged.

    A difference between groups that is positive for one policy and negative for another cancels in their decisions
    together, but not in what each of them does. Policies of folds share most of their rows; by the jackknife, policies
    of other rows as many as all of these vary by (folds - 1) / folds times the sum of the squared deviations.
    """
    tensors = np.stack([one.confusion.values for one in policies])
    apart = (tensors - tensors.mean(axis=0)) * np.sqrt((len(tensors) - 1) / len(tensors))
    binding = Binding.of(seen.axes, seen.confusion.margins)
    node = metric.bind(binding)
    functions = binding.finish()
    middle = functions.vector(seen.confusion.values)
    ways = np.stack([functions.vector(one) for one in apart]) - functions.vector(np.zeros(seen.axes.shape))
    normal = np.random.default_rng(0).standard_normal((DRAWS, len(ways)))
    return float(node.value(middle + np.concatenate([normal, -normal]) @ ways).mean())


def _apart(metric: Metric, policies: Sequence[Evidence]) -> float:
    """Return the variance of a metric between policies that decide the same rows."""
    found = []
    for seen in policies:
        with suppress(ValueError):  # an undefined rate
            found.append(metric(seen.confusion))
    return float(np.var(found, ddof=1)) if len(found) > 1 else 0.0
