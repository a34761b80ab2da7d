"""`max_seconds` is one deadline for the whole call, by a clock on which every rule that is counted takes a second."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

import metricfit as mf
from metricfit.exceptions import BrokenLimitWarning, UnconfirmedError
from metricfit.kernels.scan import Scan
from metricfit.methods.walk import budget
from metricfit.oracles import in_memory
from metricfit.solving import auto, door

LIMITS = ["precision(1) >= 0.6", "worst(recall(1), over='g') >= 0.3"]
SECONDS = 40.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def slow(self, work, seconds):
        def timed(*arguments, **options):
            self.now += seconds
            return work(*arguments, **options)

        return timed


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(budget, "time", SimpleNamespace(perf_counter=lambda: made.now))
    monkeypatch.setattr(in_memory.kernels, "count", made.slow(in_memory.kernels.count, 1.0))
    monkeypatch.setattr(Scan, "line", made.slow(Scan.line, 0.2))
    return made


def draw(rows=1500, seed=0):
    """Probabilities that are right, of rows in two groups."""
    rng = np.random.default_rng(seed)
    shown = 1 / (1 + np.exp(1 - 1.5 * rng.normal(size=rows)))
    y = (rng.random(rows) < shown).astype(int)
    return dict(
        proba=np.stack([1 - shown, shown], axis=1), y=y, sensitive_features={"g": rng.integers(0, 2, rows)}
    )


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"expect": True},
        {"unseen": "overall", "expect": True},
        {"counting": "labels"},
        {"confidence": 0.9},
        {"confidence": 0.5},
        {"counting": "labels", "confidence": 0.9},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seconds", [10.0, SECONDS])
def test_all_parts_of_a_call_share_one_deadline(clock, extra, seconds):
    with suppress(UnconfirmedError):
        result = mf.optimize(**draw(), objective="g_mean", constraints=LIMITS, max_seconds=seconds, **extra)
        assert result.policy.n_rules >= 1
    assert clock.now <= 1.5 * seconds + 1


@pytest.mark.parametrize("confidence", [0.9, 0.5])
@pytest.mark.filterwarnings("ignore")
def test_a_confidence_without_time_asks_for_more_time_and_not_for_more_rows(clock, confidence):
    with pytest.raises(UnconfirmedError, match="give it more time") as caught:
        mf.optimize(
            **draw(),
            objective="g_mean",
            constraints=["precision(1) >= 0.9"],
            max_seconds=1.0,
            confidence=confidence,
        )
    assert caught.value.late
    assert caught.value.rows is None


def test_the_clock_of_these_tests_would_show_a_part_without_a_deadline(clock):
    mf.optimize(**draw(), objective="g_mean", constraints=LIMITS, confidence=0.9)
    assert clock.now > 1.5 * SECONDS + 1


def test_no_single_rule_is_searched_and_nothing_is_judged_when_it_is_late(clock, monkeypatch):
    def never(*arguments):
        raise AssertionError("called after the deadline")

    monkeypatch.setattr(door, "with_single", never)
    monkeypatch.setattr(auto.Bench, "seen", never)
    result = mf.optimize(**draw(), objective="g_mean", max_seconds=2.0, expect=True)
    assert result.status == "max_seconds"
    assert result.expected is None
    assert "max_seconds" in result.expected_note
    assert "no time was left" in result.choice


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_a_search_on_labels_without_time_falls_back_on_its_guide(clock):
    """Under a limit the first rules of the search break it, while the guide, counted by labels, is near it."""
    data = draw()
    guide = mf.optimize(**data, objective="g_mean", constraints=LIMITS, counting="calibrated")
    clock.now = 0.0
    late = mf.optimize(
        **data, objective="g_mean", constraints=LIMITS, counting="labels", max_seconds=SECONDS / 2
    )
    assert late.value >= guide.counted.value - 0.05
    assert max(record.violation for record in late.constraints) <= 0.03


def test_a_policy_that_breaks_limits_for_want_of_time_is_warned_of(clock):
    with pytest.warns(BrokenLimitWarning, match="raise max_seconds"):
        result = mf.optimize(
            **draw(),
            objective="accuracy",
            constraints=["recall(1) >= 0.95"],
            counting="model",
            max_seconds=1.0,
        )
    assert not result.feasible
