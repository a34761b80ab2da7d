"""Decisions that leave nothing to decide are refused, with the next move."""

from __future__ import annotations

import pytest
from sklearn.naive_bayes import GaussianNB

import metricfit as mf

PROBA, Y = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]] * 5, [0, 1, 0, 1] * 5
DOORS = {
    "optimize": lambda **how: mf.optimize(PROBA, Y, "accuracy", **how),
    "frontier": lambda **how: mf.frontier(PROBA, Y, "accuracy", mf.recall(1), [0.5], **how),
    "fit": lambda **how: mf.MetricClassifier(GaussianNB(), "accuracy", cv=2, **how).fit(PROBA, Y),
    "retrain": lambda **how: mf.MetricClassifier(GaussianNB(), "accuracy", oracle="retrain", **how).fit(
        PROBA, Y
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_one_decision_that_is_no_class_is_refused(door):
    with pytest.raises(ValueError, match="decisions has only 'human', so there is nothing to decide"):
        DOORS[door](decisions=["human"])


def test_the_message_has_the_list_that_was_meant():
    with pytest.raises(ValueError, match=r"Pass decisions=\[0, 1, 'human'\]"):
        DOORS["optimize"](decisions=["human"])
    assert DOORS["optimize"](decisions=[0, 1, "human"]).value > 0.5


@pytest.mark.parametrize("objective", ["accuracy", "g_mean", "recall(1)", "f1(1)", "mcc"])
def test_an_objective_of_classes_needs_a_decision_that_is_one(objective):
    limits = [mf.coverage("human") <= 0.5]
    with pytest.raises(ValueError, match="the same whatever is decided, because no decision is a class"):
        mf.optimize(PROBA, Y, objective, limits, decisions=["human", "later"])


def test_an_objective_of_decisions_does_not():
    costs = mf.cost([[0.0, 1.0], [1.0, 0.0]])
    result = mf.optimize(PROBA, Y, costs, decisions=["pass", "stop"], counting="model")
    assert set(result.policy.decide(PROBA)) == {"pass", "stop"}
    assert mf.optimize(PROBA, Y, mf.coverage("stop"), decisions=["pass", "stop"]).value == 1.0
