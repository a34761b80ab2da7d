"""Limits that oppose each other, tested from both ends of a line of policies."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.exceptions import UnconfirmedError
from metricfit.trust.confidence.confirmation import begin
from metricfit.trust.confidence.opposed import Line
from metricfit.trust.confidence.starts import Start

LIMITS = [mf.recall(1) >= 0.5, mf.coverage(1) <= 0.35]


@pytest.fixture(scope="module")
def line(path_of) -> Line:
    found = begin(path_of(LIMITS, 500, 1500, seed=3))
    assert isinstance(found, Line)
    return found


def test_each_limit_is_a_side(line):
    assert sorted(side.tolist() for side in line.sides) == [[False, True], [True, False]]
    assert sorted(line.moves.tolist()) == [-1, 1]


def test_the_line_leads_from_room_for_one_limit_to_room_for_the_other(line):
    confusions = [policy.result.confusion for policy in line.policies]
    recalls = np.array([mf.recall(1)(c) for c in confusions])
    coverages = np.array([mf.coverage(1)(c) for c in confusions])
    up = 1 if line.sides[1][0] else -1  # the recall's side is tested from the end of the line
    assert (up * np.diff(recalls) >= -1e-6).all()
    assert (up * np.diff(coverages) >= -1e-6).all()
    assert np.ptp(recalls) > 0.05


def test_more_worlds_pass_than_with_one_start(line):
    needed = line.rehearsal.needed()
    assert line.share > line.best.passes(needed).mean()
    assert line.share <= 1.0


def test_what_one_limit_is_tightened_by_the_other_is_loosened_by(line):
    step = line.policies[0].step
    margins = line.least_margins(step)
    assert step > 0
    assert margins == pytest.approx((line.moves * step * line.errors).tolist())
    assert line.errors[1] == pytest.approx(np.sqrt(0.35 * 0.65 / 1500), rel=0.1)  # of a share of 1,500 rows


class Known(Line):
    """A line whose p-values are given: one row for each side."""

    def __init__(self, p_values: list[list[float]]) -> None:
        self.known = p_values
        self.policies = [
            Start(float(place), None, None, np.zeros((2, 0))) for place in range(len(p_values[0]))
        ]

    def p_value(self, policy: Start, side: int) -> float:
        return self.known[side][int(policy.step)]


@pytest.mark.parametrize(
    ("first", "second", "passed", "tests"),
    [
        ([0.01, 0.02, 0.02, 0.03], [0.5, 0.02, 0.01, 0.0], [1, 2], 8),
        (
            [0.01, 0.03, 0.01, 0.01],
            [0.0, 0.0, 0.0, 0.0],
            [0],
            6,
        ),  # what passes after a failure does not count
        ([0.01, 0.03, 0.5, 0.9], [0.9, 0.5, 0.02, 0.01], [], 5),
        ([0.03, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [], 5),
    ],
)
def test_each_side_is_a_fixed_sequence_with_half_of_the_error(first, second, passed, tests):
    found, count = Known([first, second]).confirmed(0.05)
    assert [int(policy.step) for policy in found] == passed
    assert count == tests


def test_the_closest_policy_says_which_confidence_would_do():
    closest, error = Known([[0.01, 0.04, 0.5], [0.9, 0.06, 0.01]]).closest()
    assert closest.step == 1
    assert error == pytest.approx(0.12)


def test_one_rate_within_two_limits_is_confirmed_wherever_it_is(true_rows):
    """Coverage between .25 and .35: no start is needed that the kept rows agree with, only room between the limits."""
    proba, y = true_rows(0, 40_000)
    limits = [mf.coverage(1) >= 0.25, mf.coverage(1) <= 0.35]
    for draw in range(4):
        places = np.random.default_rng(draw).choice(y.size, 800, replace=False)
        result = mf.optimize(proba[places], y[places], "g_mean", limits, confidence=0.95)
        low, high = result.confidence.constraints
        assert 0.25 <= low.bound <= high.bound <= 0.35
        assert max(low.p_value, high.p_value) <= 0.025
        there = result.policy.evaluate(proba, y, "coverage(1)")["value"][0]
        assert 0.25 <= there <= 0.35


def test_calibrated_limits_hold_in_the_fit_too(true_rows):
    proba, y = true_rows(1, 1500)
    limits = [mf.coverage(1) >= 0.25, mf.coverage(1) <= 0.35]
    result = mf.optimize(proba, y, "g_mean", limits, confidence=0.95, counting="calibrated")
    assert result.feasible


def test_without_room_between_the_limits_the_error_says_which_confidence_would_do(true_rows):
    proba, y = true_rows(2, 400)
    limits = [mf.coverage(1) >= 0.28, mf.coverage(1) <= 0.32]
    with pytest.raises(UnconfirmedError) as error:
        mf.optimize(proba, y, "g_mean", limits, confidence=0.95)
    assert error.value.reached < 0.95
