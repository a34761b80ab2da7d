"""The default counting: who is chosen, by which rows, and what the result says of it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import metricfit as mf
from metricfit.oracles import Rows
from metricfit.problem import Problem
from metricfit.solving.judge import Merit, shortfall, spread


def right_probabilities(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([4, 2, 1], rows)
    return proba, (rng.random((rows, 1)) > proba.cumsum(axis=1)).sum(axis=1)


def separable(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two per cent positives that separate perfectly, by scores with an offset of 7."""
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < 0.02).astype(int)
    score = np.where(y == 1, rng.normal(6, 1.5, rows), rng.normal(-6, 1.5, rows)) + 7
    proba = 1 / (1 + np.exp(-score))
    return np.stack([1 - proba, proba], axis=1), y


def on_new_rows(result: mf.Result, proba: np.ndarray, y: np.ndarray, metric: mf.Metric) -> float:
    made = np.zeros((proba.shape[1], proba.shape[1]))
    np.add.at(made, y, result.policy.decision_proba(proba))
    return float(metric(mf.Confusion(made[None] / len(y), result.policy.axes)))


@pytest.mark.parametrize("limits", [[], [mf.precision(2) >= 0.5]])
def test_right_probabilities_keep_their_proof(limits):
    result = mf.optimize(*right_probabilities(3000), "g_mean", limits)
    assert result.counting == "calibrated"
    assert result.certified
    assert result.gap <= 1e-4
    assert result.status == "optimal"
    assert result.choice.startswith("the calibrated answer")
    assert result.policy.provenance["counting"] == "calibrated"
    assert result.policy.provenance["choice"] == result.choice
    assert f"counts calibrated: {result.choice}" in repr(result)


def test_scores_that_separate_are_searched_by_labels():
    proba, y = separable(20_000)
    limit = mf.recall(1) >= 0.95
    default, calibrated = (
        mf.optimize(proba[:4000], y[:4000], "accuracy", [limit], classes=[0, 1], counting=counting)
        for counting in ("auto", "calibrated")
    )
    rest = proba[4000:], y[4000:]
    assert default.counting == "labels"
    assert default.calibrated.value < 0.9  # soft counts: each of many sure rows keeps back a little
    assert on_new_rows(default, *rest, mf.accuracy()) > 0.99
    assert on_new_rows(default, *rest, mf.recall(1)) > 0.95
    assert on_new_rows(calibrated, *rest, mf.accuracy()) < on_new_rows(default, *rest, mf.accuracy())


def test_the_value_of_new_rows_is_what_the_judge_minimises():
    """The mean of max(Z - m, 0) for a normal variable Z with error e; without an error the shortfall itself."""
    draws = np.random.default_rng(0).standard_normal(1_000_000)
    for margin, error in ((0.0, 0.02), (0.03, 0.02), (-0.01, 0.02)):
        exact = np.maximum(error * draws - margin, 0).mean()
        assert shortfall(np.array([margin]), np.array([error]))[0] == pytest.approx(exact, abs=5e-5)
    assert shortfall(np.array([-0.3, 0.3]), np.zeros(2)).tolist() == [0.3, 0.0]


def test_errors_are_those_of_draws():
    """Of the limits' margins, and of the difference of two policies, which is far smaller than that of each."""
    proba, y = right_probabilities(2000)
    rows = Rows.of(proba, y)
    program = Problem.of("g_mean", [mf.precision(2) >= 0.5]).bind(rows.axes, rows.margins())
    made = np.eye(3)[proba.argmax(axis=1)], np.eye(3)[(proba * [1.0, 1.05, 1.1]).argmax(axis=1)]
    one, other = (Merit.of(program, [rows[:700], rows[700:]], [m[:700], m[700:]]) for m in made)
    draws, rng = [], np.random.default_rng(0)
    for _ in range(1500):
        again = rng.integers(0, 2000, 2000)
        some = replace(rows[again], weights=None)
        draws.append([Merit.of(program, [some], [m[again]]) for m in made])
    margins = np.std([float(first.margins[0]) for first, _ in draws])
    assert one.errors[0] == pytest.approx(margins, rel=0.08)
    difference = np.std([first.cost - second.cost for first, second in draws])
    assert spread(one.effects - other.effects, one.shares) == pytest.approx(difference, rel=0.15)
    assert difference < 0.5 * np.std([first.cost for first, _ in draws])


def test_ties_go_to_the_proof_and_limits_have_their_price():
    shares, first = np.full(4, 0.25), np.array([0.0, 0.0, 0.04, 0.04])

    def merit(cost, effects):
        return Merit(cost, np.zeros(0), np.zeros(0), cost, effects, shares)

    proof = merit(-0.70, first)
    assert not merit(-0.705, first[::-1]).beats(proof, 1.0)  # decided otherwise in many rows: an error of .02
    assert merit(-0.73, first[::-1]).beats(proof, 1.0)
    assert merit(-0.705, first + 0.001).beats(proof, 1.0)  # the same difference in every row


def test_what_nothing_keeps_is_infeasible_with_a_proof():
    proba, y = right_probabilities(500)
    with pytest.raises(mf.InfeasibleError) as error:
        mf.optimize(proba, y, "g_mean", ["coverage(0) >= 0.7", "coverage(1) >= 0.7"])
    assert error.value.proven


def test_limits_that_only_labels_allow_are_met_by_a_search():
    proba, y = separable(4000)
    result = mf.optimize(proba, y, "g_mean", [mf.accuracy() >= 0.999], classes=[0, 1])
    assert result.counting == "labels"
    assert result.feasible


def test_a_named_method_counts_as_it_declares():
    proba, y = right_probabilities(500)
    assert mf.optimize(proba, y, "h_mean", method="frank_wolfe").counting == "calibrated"
    searched = mf.optimize(proba, y, "h_mean", method="local")
    assert (searched.counting, searched.choice) == (
        "labels",
        "the method local was asked for, which searches on labels",
    )


def test_a_search_that_is_stopped_is_not_compared():
    proba, y = right_probabilities(500)
    result = mf.optimize(proba, y, "g_mean", callback=lambda record: True)
    assert (result.status, result.counting) == ("stopped", "calibrated")


def test_many_rows_are_judged_by_a_sample():
    proba, y = right_probabilities(30_000)
    result = mf.optimize(proba, y, "g_mean", [mf.precision(2) >= 0.5])
    assert re.search(r"judged by 20,0\d\d rows", result.choice)
    assert result.certified


def test_expected_values_are_honest_about_the_choice():
    """In each fold the choice is made again; with separable scores it is the search on labels."""
    proba, y = separable(3000)
    result = mf.optimize(proba, y, "g_mean", [mf.recall(1) >= 0.9], classes=[0, 1], expect=True)
    assert result.expected.low <= 0.99 <= result.expected.high + 0.01
    assert result.policy.provenance["expected"][0] == result.expected.value


def test_the_old_name_of_the_argument_says_the_new_one():
    proba, y = right_probabilities(50)
    with pytest.raises(TypeError, match="'confusion' any more: it is called 'counting' now"):
        mf.optimize(proba, y, "g_mean", confusion="labels")
    with pytest.raises(TypeError, match="'counting' now"):
        mf.MetricClassifier(None, confusion="labels")


@pytest.mark.parametrize("counting", ["auto", "calibrated", "labels"])
def test_rows_that_hardly_tell_anything_give_an_answer_or_a_clear_error(counting):
    rng = np.random.default_rng(0)
    equal = np.full((60, 3), 1 / 3)
    y = rng.integers(0, 3, 60)
    given = {"classes": range(3), "counting": counting}
    assert mf.optimize(equal, y, "g_mean", **given).policy.decide(equal).shape == (60,)
    one_of_a_class = np.r_[np.zeros(30, int), np.ones(29, int), 2]
    proba = rng.dirichlet([1, 1, 1], 60)
    assert 0 <= mf.optimize(proba, one_of_a_class, "macro_f1", **given).value <= 1
    assert 0 <= mf.optimize(proba[:2], np.array([0, 1]), "accuracy", **given).value <= 1
    heavy = np.r_[1e8, np.ones(59)]
    assert 0 <= mf.optimize(proba, y, "g_mean", sample_weight=heavy, **given).value <= 1
