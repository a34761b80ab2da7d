"""`Policy.evaluate`: a frame with intervals, by group, and by what the policy was fitted for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.policy import Policy, Rule

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet([1.0, 1.0], 600)
Y = (RNG.random(600) < PROBA[:, 1]).astype(int)
SEX = np.where(RNG.random(600) < 0.3, "F", "M")
POLICY = Policy(Axes((0, 1)), "full", [[Rule(0.25, [[0, 1], [1, 0]]), Rule(0.75, [[0, 1], [3, 0]])]])


def test_values_are_those_of_the_expected_confusion():
    frame = POLICY.evaluate(PROBA, Y, ["recall(1)", mf.precision(1) >= 0.5, mf.g_mean()])
    assert list(frame.columns) == ["metric", "value", "low", "high"]
    assert frame["metric"].tolist() == ["recall(1)", "precision(1)", "g_mean()"]
    chances = POLICY.decision_proba(PROBA)[:, 1]
    assert frame["value"][0] == pytest.approx(chances[Y == 1].mean())
    assert frame["value"][1] == pytest.approx(chances[Y == 1].sum() / chances.sum())
    assert ((frame["low"] < frame["value"]) & (frame["value"] < frame["high"])).all()


def test_the_precision_of_a_class_that_is_never_decided_breaks_no_limit():
    """The same rows must not be judged in two ways: a limit that holds in the result is not missed by its policy."""
    floor = mf.precision(2) >= 0.5
    proba, y = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]] * 300), np.array([0, 1] * 299 + [2, 2])
    result = mf.optimize(proba, y, "accuracy", [floor], expect=True)
    assert result.policy.decision_proba(proba)[:, 2].sum() == 0
    assert result.constraints[0].violation <= 0
    judged = (result.counted.constraints[0], result.expected.constraints[0])
    assert [(np.isnan(one.value), one.outlook) for one in judged] == [(True, "kept")] * 2
    frame = result.policy.evaluate(proba, y, floor)
    assert frame.loc[0, ["value", "low", "high"]].isna().all()


def test_by_group():
    frame = POLICY.evaluate(PROBA, Y, "recall(1)", sensitive_features={"sex": SEX}, by="sex")
    assert frame["group"].tolist() == ["all", "F", "M"]
    chances = POLICY.decision_proba(PROBA)[:, 1]
    assert frame["value"][1] == pytest.approx(chances[(Y == 1) & (SEX == "F")].mean())
    widths = frame["high"] - frame["low"]
    assert widths[1] > widths[2] > widths[0]


def test_a_group_is_not_compared_with_itself():
    asked = ["accuracy()", "demographic_parity(over='sex')", "worst(recall(1), over='sex')"]
    old = RNG.random(600) < 0.5
    people = {"sex": SEX, "old": np.where(old, "yes", "no")}
    frame = POLICY.evaluate(PROBA, Y, asked, sensitive_features=people, by=["sex", "old"])
    assert frame["metric"].tolist() == [*asked, *4 * [asked[0], asked[2]]]
    # Within an age there are two sexes to compare; within each sex and age there is one.
    assert len(POLICY.evaluate(PROBA, Y, asked, sensitive_features=people, by="old")) == 9
    given = "demographic_parity(over='sex', given='old')"
    frame = POLICY.evaluate(PROBA, Y, given, sensitive_features=people, by="old")
    assert frame["group"].tolist() == ["all", "no", "yes"]
    frame = POLICY.evaluate(PROBA, Y, given, sensitive_features=people, by="sex")
    assert frame["group"].tolist() == ["all"]


def test_a_row_for_each_metric_given():
    assert POLICY.evaluate(PROBA, Y, ["recall(1)", "recall(1)"])["metric"].tolist() == 2 * ["recall(1)"]
    first, last = mf.custom(lambda matrix: matrix[0, 0]), mf.custom(lambda matrix: matrix[1, 1])
    frame = POLICY.evaluate(PROBA, Y, [first, last])
    assert frame["metric"].tolist() == 2 * ["<lambda>"]
    assert frame["value"][0] != frame["value"][1]


def test_weights_count():
    weight = RNG.random(600)
    frame = POLICY.evaluate(PROBA, Y, "accuracy()", sample_weight=weight)
    right = POLICY.decision_proba(PROBA)[np.arange(600), Y]
    assert frame["value"][0] == pytest.approx(np.average(right, weights=weight))


def test_the_default_is_what_was_asked(tmp_path):
    result = mf.optimize(PROBA, Y, "g_mean", ["recall(1) >= 0.8"], counting="labels")
    assert result.policy.provenance["rows"] == 600
    assert tuple(result.policy.provenance["classes"]) == result.policy.axes.classes
    result.policy.save(tmp_path / "p.json")
    frame = mf.Policy.load(tmp_path / "p.json").evaluate(PROBA, Y)
    assert frame["metric"].tolist() == ["g_mean()", "recall(1)"]
    assert frame["value"].tolist() == pytest.approx([result.value, result.constraints[0].value])
    with pytest.raises(ValueError, match="does not know what it was fitted for"):
        POLICY.evaluate(PROBA, Y)


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="unknown class 7"):
        POLICY.evaluate(PROBA, Y, "recall(7)")
    with pytest.raises(ValueError, match="metrics must be metrics"):
        POLICY.evaluate(PROBA, Y, [3])
    only = POLICY.evaluate(PROBA[Y == 0], Y[Y == 0], "recall(1)")
    assert np.isnan(only.loc[0, ["value", "low", "high"]].astype(float)).all()


def test_limits_that_are_functions_of_the_users_own_are_not_left_out_without_a_word():
    def positives(C):
        return C[:, 1].sum()

    def recall_like(C):
        return C[1, 1] / C[1].sum()

    recall_like.__name__ = "g_mean"
    limited = mf.optimize(PROBA, Y, "accuracy", [mf.custom(positives) <= 0.9]).policy
    with pytest.warns(mf.exceptions.NotJudgedWarning, match="constraint 'positives <= 0.9' uses a function"):
        assert limited.evaluate(PROBA, Y)["metric"].tolist() == ["accuracy()"]
    named = mf.optimize(PROBA, Y, recall_like, ["accuracy() >= 0.6"]).policy
    with pytest.warns(
        mf.exceptions.NotJudgedWarning, match=r"objective 'custom\(g_mean\)' is a function and is not"
    ):
        assert named.evaluate(PROBA, Y)["metric"].tolist() == ["accuracy()"]


def test_functions_are_wrapped_by_custom():
    with pytest.raises(ValueError, match=r"got <function.*mf.custom\(function\)"):
        POLICY.evaluate(PROBA, Y, lambda C: C[0, 0])
    assert POLICY.evaluate(PROBA, Y, mf.custom(np.trace))["value"][0] == pytest.approx(
        POLICY.evaluate(PROBA, Y, "accuracy")["value"][0]
    )


def test_an_array_without_a_name_is_the_attribute_of_the_policy():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1.0, 1.0], 300)
    y, sex = (rng.random(300) < proba[:, 1]).astype(int), np.where(rng.random(300) < 0.5, "F", "M")
    named = pd.DataFrame({"sex": sex})
    limit = mf.demographic_parity(over="sex") <= 0.1
    policy = mf.optimize(proba, y, "g_mean", [limit], sensitive_features=named, counting="model").policy
    expected = policy.evaluate(proba, y, sensitive_features=named, by="sex")
    pd.testing.assert_frame_equal(policy.evaluate(proba, y, sensitive_features=sex, by="sex"), expected)
