"""Warnings point at the line of the user, however deep in the library they arise; numbers agree with their nouns."""

import numpy as np
import pytest

import metricfit as mf
from metricfit.messages import count
from metricfit.policy.provenance import asked

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet([1.0, 1.0], 400)
Y = (RNG.random(400) < PROBA[:, 1]).astype(int)
GROUP = np.where(np.arange(400) < 5, "few", "many")


def not_judged():
    mf.optimize(PROBA, Y, lambda C: C[0, 0], ["recall(1) >= 0.1"], counting="model").policy.evaluate(PROBA, Y)


def another_order():
    mf.optimize(np.eye(2)[1 - Y] * 0.8 + 0.1, Y, "accuracy")


def few_rows_for_weights():
    mf.optimize(PROBA[:40], Y[:40], "g_mean", method="local")


def few_rows_in_a_group():
    parity = mf.demographic_parity(over="group") <= 0.5
    mf.optimize(PROBA, Y, "accuracy", [parity], sensitive_features=GROUP)


@pytest.mark.parametrize(
    ("call", "category"),
    [
        (not_judged, mf.exceptions.NotJudgedWarning),
        (another_order, mf.exceptions.CalibrationWarning),
        (few_rows_for_weights, mf.exceptions.OverfitWarning),
        (few_rows_in_a_group, mf.exceptions.FewRowsWarning),
    ],
)
def test_warnings_point_at_the_line_of_the_user(call, category):
    with pytest.warns(category) as caught:
        call()
    (found,) = [one for one in caught if one.category is category]
    assert found.filename == __file__
    lines = call.__code__.co_firstlineno, max(line for _, _, line in call.__code__.co_lines() if line)
    assert lines[0] <= found.lineno <= lines[1]


@pytest.mark.parametrize(
    ("provenance", "message"),
    [
        (
            {"objective": "<lambda>"},
            "the objective '<lambda>' is a function and is not stored in the policy, so it is not evaluated; "
            "pass metrics=[mf.custom(function), ...]",
        ),
        (
            {"objective": "<lambda>", "constraints": ["f <= 0.9", "recall(1) >= 0.5"]},
            "the objective '<lambda>' and the constraint 'f <= 0.9' use functions that are not stored in the policy, "
            "so they are not evaluated; pass metrics=[mf.custom(function), ...]",
        ),
    ],
)
def test_functions_that_a_policy_does_not_contain(provenance, message):
    with pytest.warns(mf.exceptions.NotJudgedWarning) as caught:
        asked(provenance)
    assert [str(one.message) for one in caught] == [message]


def test_numbers_agree_with_their_nouns():
    assert [count(n, "policy", "policies") for n in (0, 1, 2)] == ["0 policies", "1 policy", "2 policies"]
    policy = mf.optimize(PROBA, Y, "accuracy", counting="model").policy
    assert repr(policy).startswith("Policy(2 classes, 2 decisions, 1 cell, 1 rule,")
    parity = [mf.equal_opportunity(over="group", c=1) <= 0.5]
    with pytest.warns(mf.exceptions.FewRowsWarning, match="^1 of the rates compared over groups rests on"):
        mf.optimize(PROBA, Y, "accuracy", parity, sensitive_features=GROUP)


def test_one_constraint_has_no_others_and_one_of_a_thing_is_singular():
    proba, y = np.full((4, 2), 0.5), [0, 1, 0, 1]
    with pytest.raises(mf.InfeasibleError) as error:
        mf.optimize(proba, y, "g_mean", ["recall(1) >= 1.5"])
    assert "others" not in str(error.value)
    assert "recall(1) >= 1.5 is missed by 0.5. Relax" in str(error.value)
    with pytest.raises(ValueError, match=r"y has 1 distinct label \('a'\) but proba has 2 columns"):
        mf.optimize(proba, ["a"] * 4, "g_mean")
    with pytest.raises(ValueError, match="proba has 1,200 rows, y has 1;"):
        mf.optimize(np.full((1200, 2), 0.5), [0], "g_mean")
    assert "; 1 level)" in repr(mf.frontier(proba, y, "g_mean", "recall(1) >= 0.5", [0.1]))
