"""Limits over groups leave out rates of few rows: which, how they are told, and what they do to a solve."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metricfit as mf
from metricfit.metrics.few_rows import limited
from metricfit.oracles import Rows

ROWS = 900


def census(seed: int = 0) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Two large groups and one of six rows, whose four of class 1 have low probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.random(ROWS)
    y = (rng.random(ROWS) < p).astype(int)
    race = np.where(rng.random(ROWS) < 0.4, "b", "a")
    race[:6], p[:6], y[:6] = "c", [0.01, 0.02, 0.03, 0.04, 0.9, 0.95], [1, 1, 1, 1, 0, 0]
    return np.stack([1 - p, p], axis=1), y, pd.DataFrame({"race": race})


def counts(y: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
    return pd.crosstab(frame["race"], y).to_numpy()


def test_only_rates_of_few_rows_are_left_out_each_with_its_rows():
    proba, y, frame = census()
    axes = Rows.of(proba, y, sensitive_features=frame).axes
    (odds,), thin = limited([mf.equalized_odds(over="race") <= 0.05], axes, counts(y, frame), 10)
    assert [(one.group, one.rows) for one in thin] == [({"race": "c"}, 2), ({"race": "c"}, 4)]
    assert str(thin[1]) == "decision rates of class 1 where race='c' (4 rows)"
    assert str(odds) == "equalized_odds(over='race') <= 0.05"  # what was asked for
    (three,), thin = limited([mf.equalized_odds(over="race") <= 0.05], axes, counts(y, frame), 3)
    assert [one.rows for one in thin] == [2]
    # Only the four rows of class 1 in group c are decided wrongly, which the first limit does not look at.
    made = np.where((frame["race"] == "c") & (y == 1), 0, y)
    confusion = mf.Confusion.from_predictions(y, made, sensitive_features=frame, classes=[0, 1])
    assert odds.metric(confusion) == pytest.approx(4 / y.sum())  # of groups a and b to all rows
    assert three.metric(confusion) == pytest.approx(1 - 4 / y.sum())


def test_values_are_those_without_the_group():
    proba, y, frame = census()
    axes, made = Rows.of(proba, y, sensitive_features=frame).axes, (proba[:, 1] > 0.5).astype(int)
    confusion = mf.Confusion.from_predictions(y, made, sensitive_features=frame, classes=[0, 1])
    for metric, rate in (
        (mf.equal_opportunity(over="race", c=1, to="pairs"), lambda r: made[r & (y == 1)].mean()),
        (mf.demographic_parity(over="race", to="pairs"), lambda r: made[r].mean()),
        (mf.disparity(mf.recall(1), over="race", to="pairs"), lambda r: made[r & (y == 1)].mean()),
    ):
        (constraint,), thin = limited([metric <= 0.1], axes, counts(y, frame), 10)
        large = [rate((frame["race"] == group).to_numpy()) for group in "ab"]
        assert len(thin) == 1
        assert constraint.metric(confusion) == pytest.approx(abs(large[0] - large[1]), abs=1e-12)
        assert metric(confusion) > constraint.metric(confusion)
    (floor,), _ = limited([mf.worst(mf.recall(1), over="race") >= 0.1], axes, counts(y, frame), 10)
    assert mf.worst(mf.recall(1), over="race")(confusion) == 0.0
    assert floor.metric(confusion) > 0.5


def test_a_comparison_is_never_left_with_fewer_than_two_groups():
    proba, y, frame = census()
    axes = Rows.of(proba, y, sensitive_features=frame).axes
    asked = mf.equal_opportunity(over="race", c=1) <= 0.05
    assert limited([asked], axes, counts(y, frame), 10_000) == ((asked,), ())
    assert limited([asked], axes, counts(y, frame), 0) == ((asked,), ())


def test_comparisons_within_expressions_are_found():
    proba, y, frame = census()
    axes = Rows.of(proba, y, sensitive_features=frame).axes
    inner = mf.maximum(mf.equal_opportunity(over="race", c=1), 0.5 * mf.demographic_parity(over="race"))
    (made,), thin = limited([inner <= 0.05], axes, counts(y, frame), 10)
    assert [one.rows for one in thin] == [4, 6]
    assert str(made.metric) == str(inner)


@pytest.mark.parametrize("counting", ["auto", "calibrated", "labels"])
def test_six_rows_do_not_rule_nine_hundred(counting):
    proba, y, frame = census()
    limit = [mf.equal_opportunity(over="race", c=1) <= 0.05]
    how = {"sensitive_features": frame, "counting": counting}
    result = mf.optimize(proba, y, "accuracy", limit, **how)
    assert [(one.rate, one.rows) for one in result.left_out] == [("recall(1)", 4)]
    assert "left out of the constraints, for few rows: recall(1) where race='c' (4 rows)" in repr(result)
    assert result.feasible
    whole = mf.optimize(proba, y, "accuracy", limit, **how, min_rows=0)
    assert whole.left_out == ()
    if counting == "labels":  # which say that recall is 0 in group c unless rows of probability .01 are taken
        assert result.value > whole.value


def test_the_policy_file_remembers_what_was_left_out(tmp_path):
    proba, y, frame = census()
    limit = [mf.equal_opportunity(over="race", c=1) <= 0.05]
    result = mf.optimize(proba, y, "accuracy", limit, sensitive_features=frame, counting="labels")
    result.policy.save(tmp_path / "policy.json")
    policy = mf.Policy.load(tmp_path / "policy.json")
    asked = policy.evaluate(proba, y, sensitive_features=frame).set_index("metric")["value"]
    shown = policy.evaluate(proba, y, "equal_opportunity(over='race', c=1)", sensitive_features=frame)
    assert asked["equal_opportunity(over='race', c=1)"] <= 0.05 + 1e-9
    assert shown["value"].iloc[0] > 0.15  # of all groups, asked for by name


def test_frontiers_leave_out_the_same_rates():
    proba, y, frame = census()
    front, whole = (
        mf.frontier(
            proba,
            y,
            "accuracy",
            mf.equal_opportunity(over="race", c=1),
            [0.02, 0.1],
            sensitive_features=frame,
            counting="labels",
            min_rows=least,
        )
        for least in (10, 0)
    )
    assert front[0].result.value > whole[0].result.value


def test_a_class_that_is_rare_in_every_group_is_left_out_whole():
    data = mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)
    frame, limit = data.X[["region"]], "equalized_odds(over='region') <= 0.12"
    rows = pd.crosstab(frame["region"], data.y)
    assert (rows["chargeback"] < 10).all()
    result = mf.optimize(data.proba, data.y, "g_mean", [limit], sensitive_features=frame)
    assert [one.rows for one in result.left_out if "chargeback" in one.rate] == rows["chargeback"].tolist()
    assert result.feasible
    assert 0 <= result.counted.constraints[0].low <= result.counted.constraints[0].value


@pytest.mark.parametrize("wrong", [-1, 2.5, "ten", True])
def test_wrong_numbers_of_rows_are_named(wrong):
    proba, y, frame = census()
    with pytest.raises(ValueError, match="min_rows must be a whole number >= 0"):
        mf.optimize(proba, y, "accuracy", sensitive_features=frame, min_rows=wrong)
