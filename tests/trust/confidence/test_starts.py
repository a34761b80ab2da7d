"""Where the tests of policies begin."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.trust.confidence.confirmation import begin


def test_one_limit_needs_one_start(path_of):
    found = begin(path_of([mf.recall(1) >= 0.8], 500, 1500))
    assert [start.level for start in found] == [1.0]
    assert found[0].lean is None
    assert found[0].passes(np.array([1.645])).mean() > 0.95


def test_without_a_line_limits_that_oppose_each_other_have_several_starts(monkeypatch, path_of):
    """A policy between the two limits is about three standard errors of the kept rows away from both."""
    monkeypatch.setattr("metricfit.trust.confidence.confirmation.line_of", lambda rehearsal, best: None)
    limits = [mf.recall(1) >= 0.5, mf.coverage(1) <= 0.35]
    path = path_of(limits, 500, 1500, seed=3)
    found = begin(path)
    assert len(found) > 1
    assert sum(start.level for start in found) == pytest.approx(1.0)
    assert found[0].level == max(start.level for start in found)
    recalls = [mf.recall(1)(start.result.confusion) for start in found]
    coverages = [mf.coverage(1)(start.result.confusion) for start in found]
    assert np.ptp(recalls) > 0.02
    assert np.corrcoef(recalls, coverages)[0, 1] > 0.9  # more of the one takes room from the other
    for start in found:
        if start.lean is not None:
            assert start.lean.metric(start.result.confusion) >= start.lean.limit - 1e-6


def test_worlds_foretell_how_often_a_start_passes(path_of):
    """Of one policy on many pairs of tuning and kept rows: both move its room, in units of the kept rows' error."""
    path = path_of([mf.recall(1) >= 0.75], 500, 1500)
    z = begin(path)[0].z[0]
    assert 1.0 < z.std() < np.sqrt(1 + 1500 / 500)  # probabilities vary less than labels


def test_two_limits_close_together_are_confirmed_more_often_than_not():
    rng = np.random.default_rng(0)
    score = rng.normal(size=40_000)
    y = (rng.random(score.size) < 1 / (1 + np.exp(1.4 - 1.8 * score))).astype(int)
    shown = 1 / (1 + np.exp(1 - 1.5 * score))
    proba = np.stack([1 - shown, shown], axis=1)
    limits = [mf.recall(1) >= 0.58, mf.coverage(1) <= 0.35]
    answered = broken = 0
    for draw in range(8):
        places = np.random.default_rng(draw).choice(score.size, 2000, replace=False)
        try:
            result = mf.optimize(proba[places], y[places], "g_mean", limits, confidence=0.95)
        except mf.exceptions.UnconfirmedError:
            continue
        answered += 1
        recall, coverage = result.policy.evaluate(proba, y, ["recall(1)", "coverage(1)"])["value"]
        broken += recall < 0.58 or coverage > 0.35
    assert answered >= 5
    assert broken <= 1
