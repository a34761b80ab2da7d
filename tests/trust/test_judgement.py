"""What becomes of a limit on new rows, by an estimate and its interval."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.intervals import Evidence, estimate
from metricfit.problem import Problem
from metricfit.trust.judgement import ConstraintEstimate, judge


@pytest.mark.parametrize(
    ("value", "low", "high", "sense", "outlook"),
    [
        (0.92, 0.9, 0.94, ">=", "likely met"),
        (0.92, 0.85, 0.97, ">=", "open"),
        (0.88, 0.85, 0.93, ">=", "open"),
        (0.8, 0.75, 0.89, ">=", "likely violated"),
        (0.8, 0.75, 0.9, "<=", "likely met"),
        (0.88, 0.8, 0.93, "<=", "open"),
        (0.92, 0.85, 0.95, "<=", "open"),
        (0.95, 0.91, 0.98, "<=", "likely violated"),
        (np.nan, np.nan, np.nan, ">=", "open"),
        (0.0, np.nan, np.nan, ">=", "likely met"),  # a decision that is never made
    ],
)
def test_the_outlook_is_where_estimate_and_interval_lie(value, low, high, sense, outlook):
    assert ConstraintEstimate("", value, low, high, 0.9, sense).outlook == outlook


def test_a_result_says_what_becomes_of_its_limits():
    data = mf.datasets.make_fraud_triage(n_rows=1500, random_state=0)
    limits = [mf.coverage("legit") >= 0.05, mf.coverage("fraud") <= 0.02]
    result = mf.optimize(data.proba, data.y, "g_mean", limits, expect=True)
    loose, tight = result.expected.constraints
    assert (loose.sense, loose.outlook) == (">=", "likely met")
    assert tight.sense == "<="
    said = [line for line in repr(result).splitlines() if "coverage" in line][-2:]
    assert [line.rpartition("on new rows, ")[2] for line in said] == ["likely met", tight.outlook]


def decided(hits: int, of: int = 100) -> Evidence:
    """Return rows of one class of which some are hits."""
    made = np.eye(2)[(np.arange(of) < hits).astype(int)]
    return Evidence.of(Axes((0, 1)), None, np.ones(of, int), made)


def test_policies_that_are_apart_make_intervals_wider():
    """Recalls of .85, .9 and .95 have a standard deviation of .05, which comes on top of the rows' own error."""
    problem = Problem.of("accuracy", [mf.recall(1) >= 0.8])
    alone = estimate(mf.recall(1), decided(90))
    found = judge(problem, decided(90), 100, policies=[decided(85), decided(90), decided(95)])
    record = found.constraints[0]
    assert record.value == alone.value == 0.9
    assert record.value - record.low == pytest.approx(np.hypot(0.9 - alone.low, 1.96 * 0.05), abs=1e-4)
    assert record.high == 1.0  # and not above it
    assert judge(problem, decided(90), 100, policies=[decided(88)] * 3).constraints[0].low == alone.low


def test_a_rate_of_nothing_says_nothing_of_how_far_policies_are_apart():
    problem = Problem.of("accuracy", [mf.precision(0) >= 0.5])
    found = judge(problem, decided(90), 100, policies=[decided(100), decided(90), decided(100)])
    alone = estimate(mf.precision(0), decided(90))
    assert (found.constraints[0].low, found.constraints[0].high) == (alone.low, alone.high)


def in_groups(hits: tuple[int, int], of: int = 200) -> Evidence:
    """Return rows of one class in two groups of equal size, of which so many are hits."""
    axes = Axes((0, 1), cells=Cells(("group",), (("a",), ("b",))))
    made = np.concatenate([np.arange(of) < number for number in hits]).astype(int)
    return Evidence.of(axes, np.repeat([0, 1], of), np.ones(2 * of, int), np.eye(2)[made])


def test_expected_is_the_mean_difference_of_policies_not_that_of_their_mean():
    """Differences of -.1, 0 and .1 have the mean 0; those of policies like these vary by .1 * sqrt(2 * 2 / 3)."""
    problem = Problem.of("accuracy", [mf.equal_opportunity("group", 1, to="pairs") <= 0.05])
    policies = [in_groups((90, 110)), in_groups((100, 100)), in_groups((110, 90))]
    (found,) = judge(problem, in_groups((100, 100)), 400, policies=policies).constraints
    assert found.value == pytest.approx(np.sqrt(2 / np.pi) * 0.1 * np.sqrt(4 / 3), rel=0.05)
    assert found.low <= found.value <= found.high
    (alike,) = judge(problem, in_groups((100, 100)), 400, policies=policies[1:2] * 3).constraints
    assert alike.value == 0.0
    # A difference that is far from 0 for each policy is the one of their decisions together.
    apart = [in_groups((150 + move, 50 - move)) for move in (-4, 0, 4)]
    (far,) = judge(problem, in_groups((150, 50)), 400, policies=apart).constraints
    assert far.value == pytest.approx(0.5, abs=2e-3)


def test_summaries_say_what_a_difference_is_to():
    data = mf.datasets.make_fraud_triage(n_rows=600, random_state=0)
    limits = [mf.equalized_odds("region") <= 0.5, mf.demographic_parity("region", "fraud", to="pairs") <= 0.5]
    groups = data.X[["region"]]
    result = mf.optimize(data.proba, data.y, "g_mean", limits, sensitive_features=groups, counting="model")
    for text in (repr(result), result._repr_html_().replace("&#x27;", "'").replace("&lt;", "<")):
        assert "equalized_odds(over='region') to all rows <= 0.5" in text
        assert "demographic_parity(over='region', c='fraud', to='pairs') between pairs <= 0.5" in text
