"""`MetricClassifier(oracle="retrain")`: the base classifier is trained again for each loss."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import metricfit as mf


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(600, n_features=5, weights=[0.85], class_sep=0.6, random_state=0)
    return X, np.array(["no", "yes"])[y]


def test_it_is_optimize_with_the_retraining_oracle(data):
    X, y = data
    clf = mf.MetricClassifier(LogisticRegression(), "g_mean", oracle="retrain", max_calls=15).fit(X, y)
    oracle = mf.RetrainOracle(LogisticRegression(), X, y)
    base = LogisticRegression().fit(X, y)
    same = mf.optimize(base.predict_proba(X), y, "g_mean", oracle=oracle, max_calls=15)
    assert isinstance(clf.policy_, mf.ModelPolicy)
    assert clf.result_.value == pytest.approx(same.value)
    np.testing.assert_allclose(clf.decision_proba(X), same.policy.decision_proba(X))
    assert clf.result_.expected is None
    assert "retrains" in clf.result_.expected_note


def test_the_value_is_that_of_its_decisions(data):
    X, y = data
    clf = mf.MetricClassifier(GaussianNB(), "g_mean", oracle="retrain", max_calls=15).fit(X, y)
    chances = clf.decision_proba(X)
    recalls = [chances[y == c, j].mean() for j, c in enumerate(clf.classes_)]
    assert clf.result_.value == pytest.approx(np.sqrt(np.prod(recalls)))
    assert clf.score(X, y) == pytest.approx(clf.result_.value)
    assert clf.result_.value > mf.g_mean()(
        mf.Confusion.from_predictions(y, GaussianNB().fit(X, y).predict(X))
    )
    decided = clf.predict(X)
    assert set(decided) == {"no", "yes"}
    assert np.abs((decided == "yes").mean() - chances[:, 1].mean()) < 0.1
    assert (clf.predict(X) == decided).all()
    np.testing.assert_allclose(clf.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))


def test_groups_and_constraints(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde")).assign(group=(X[:, 0] > 0).astype(int))
    floor = mf.demographic_parity("group") <= 0.1
    clf = mf.MetricClassifier(
        LogisticRegression(), "balanced_accuracy", [floor], oracle="retrain", attributes="group", max_calls=30
    ).fit(frame, y)
    assert clf.result_.feasible
    chances = clf.decision_proba(frame)[:, 1]
    rates = [chances[frame["group"] == g].mean() for g in (0, 1)]
    assert max(abs(rate - chances.mean()) for rate in rates) <= 0.1 + 1e-9
    assert clf.predict(frame).shape == (600,)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"counting": "model"}, "counting"),
        ({"blind": True}, "blind"),
        ({"confidence": 0.9}, "confidence"),
        ({"unseen": "overall"}, "unseen"),
        ({"oracle": "retrian"}, "did you mean 'retrain'"),
    ],
)
def test_what_needs_one_model_is_refused(data, parameters, word):
    given = {"oracle": "retrain"} | parameters
    with pytest.raises(ValueError, match=word):
        mf.MetricClassifier(LogisticRegression(), **given).fit(*data)


def test_a_frozen_model_cannot_be_retrained(data):
    frozen = FrozenEstimator(LogisticRegression().fit(*data))
    with pytest.raises(ValueError, match="not frozen"):
        mf.MetricClassifier(frozen, oracle="retrain").fit(*data)


def test_it_is_cloned_with_its_oracle():
    assert clone(mf.MetricClassifier(GaussianNB(), oracle="retrain")).oracle == "retrain"
