"""Shares of classes without labels, and the problem solved again for them."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.exceptions import ShiftWarning
from metricfit.policy.at_fit import AtFit
from metricfit.trust.class_shares import estimated

BASE = np.array([0.6, 0.3, 0.1])


def draw(rng, rows, shares=BASE, moved=0.0):
    """Rows of three classes whose features are normal; probabilities that are right for the base shares."""
    y = rng.choice(3, rows, p=shares)
    middles = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    x = middles[y] + rng.normal(size=(rows, 2)) + moved
    logs = np.log(BASE) - ((x[:, None] - middles) ** 2).sum(axis=2) / 2
    proba = np.exp(logs - logs.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True), y


def known_of(rng, rows=3000):
    proba, y = draw(rng, rows)
    return AtFit.of(proba, y, proba)


def test_intervals_contain_the_true_shares_and_the_test_keeps_its_level():
    inside, small, runs = np.zeros(3), 0, 40
    shares = np.array([0.25, 0.35, 0.4])
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        found, (low, high), p = estimated(known_of(rng), draw(rng, 1500, shares)[0])
        np.testing.assert_allclose(found.sum(), 1.0)
        np.testing.assert_allclose(found, shares, atol=0.1)
        inside += (low <= shares) & (shares <= high)
        small += p < 0.05
    assert inside.min() >= 34  # 38 of 40 expected; 34 or fewer have a probability of .01
    assert small <= 6


def test_other_changes_are_not_explained_by_shares():
    rng = np.random.default_rng(1)
    assert estimated(known_of(rng), draw(rng, 3000, moved=0.7)[0])[2] < 0.001


def test_more_rows_narrow_the_interval_until_the_tuning_rows_bound_it():
    rng = np.random.default_rng(2)
    known = known_of(rng)
    widths = [
        np.diff(estimated(known, draw(rng, rows)[0])[1], axis=0)[0].mean() for rows in (200, 2000, 50_000)
    ]
    assert widths[0] > 1.5 * widths[1] > 1.5 * widths[2] > 0


@pytest.fixture(scope="module")
def solved():
    proba, y = draw(np.random.default_rng(3), 2000)
    limits = [mf.precision(2) >= 0.7]
    return {
        c: mf.optimize(proba, y, "macro_f1", limits, counting=c)
        for c in ("calibrated", "labels", "model", "auto")
    }


@pytest.mark.parametrize("counting", ["calibrated", "labels", "model", "auto"])
def test_adapting_is_nearly_as_good_as_labels_of_the_new_population(solved, counting):
    shares = np.array([0.6, 0.1, 0.3])
    rng = np.random.default_rng(4)
    new, labels = draw(rng, 2000, shares)
    judge, truth = draw(rng, 40_000, shares)
    adapted = solved[counting].adapt(new)
    labelled = mf.optimize(new, labels, "macro_f1", [mf.precision(2) >= 0.7], counting=counting)
    old, without, with_labels = (
        one.policy.evaluate(judge, truth, "macro_f1()")["value"][0]
        for one in (solved[counting], adapted, labelled)
    )
    assert without > old + 0.005
    assert without > with_labels - 0.005
    assert adapted.expected is not None
    assert adapted.expected.low < without < adapted.expected.high + 0.02
    exact = solved[counting].adapt(shares=dict(enumerate(shares.tolist())))
    np.testing.assert_allclose(exact.policy.at_fit.classes, shares, atol=1e-9)


def test_the_same_shares_change_next_to_nothing(solved):
    result = solved["model"]
    known = result.policy.at_fit.classes
    again = result.adapt(shares=dict(enumerate(known.tolist())))
    assert again.value == pytest.approx(result.value, abs=1e-3)


def test_a_frame_with_the_shares_at_fit(solved):
    policy = solved["calibrated"].policy
    frame = mf.class_shares(policy, draw(np.random.default_rng(5), 2000)[0])
    assert list(frame.columns) == ["share", "low", "high", "at_fit"]
    assert frame.index.tolist() == [0, 1, 2]
    assert np.all((frame["low"] <= frame["at_fit"]) & (frame["at_fit"] <= frame["high"]))
    assert 0.001 < frame.attrs["p_value"] <= 1


def test_a_warning_if_shares_do_not_explain_the_scores(solved):
    new = draw(np.random.default_rng(6), 3000, moved=0.7)[0]
    with pytest.warns(ShiftWarning, match="something else has changed"):
        solved["calibrated"].adapt(new)


def test_bad_input(solved):
    result = solved["calibrated"]
    for given, words in [
        ({}, "either proba of new rows, or shares"),
        ({"shares": {0: 0.5, 1: 0.5}}, "lacks the classes 2"),
        ({"shares": {0: 0.5, 1: 0.5, 9: 0}}, "unknown class in shares 9"),
        ({"shares": {0: 0.5, 1: 0.5, 2: 0.5}}, "sum to 1; they sum to 1.5"),
        ({"shares": [0.5, 0.5]}, "must be a dict"),
        ({"proba": np.full((5, 2), 0.5)}, "2 columns"),
        ({"proba": np.zeros((0, 3))}, "no rows"),
    ]:
        with pytest.raises(ValueError, match=words):
            result.adapt(**given)
    policy = mf.Policy(result.policy.axes, result.policy.layout, result.policy.rules)
    with pytest.raises(ValueError, match="does not know its tuning rows"):
        mf.class_shares(policy, [[0.2, 0.3, 0.5]])
    proba, y = draw(np.random.default_rng(7), 300)
    kept = y < 2
    narrow = mf.optimize(proba[kept], y[kept], "accuracy", classes=[0, 1, 2], counting="model")
    with pytest.raises(ValueError, match="no tuning row has the class 2"):
        narrow.adapt(shares={0: 0.4, 1: 0.3, 2: 0.3})
