"""Metrics as scikit-learn scorers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

import metricfit as mf

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=400), "b": RNG.normal(size=400), "sex": RNG.integers(0, 2, 400)})
Y = (RNG.random(400) < 1 / (1 + np.exp(1 - 2 * X["a"] - X["sex"]))).astype(int).to_numpy()


@pytest.mark.parametrize(
    ("metric", "score"),
    [(mf.balanced_accuracy(), balanced_accuracy_score), (mf.f_beta(1, 1), f1_score)],
    ids=lambda given: getattr(given, "__name__", None) or str(given),
)
def test_agrees_with_scikit_learn(metric, score):
    ours = cross_val_score(LogisticRegression(), X, Y, scoring=metric.scorer())
    assert ours == pytest.approx(cross_val_score(LogisticRegression(), X, Y, scoring=make_scorer(score)))


def test_lower_is_better_has_its_sign_turned():
    found = cross_val_score(LogisticRegression(), X, Y, scoring=mf.cost([[0, 1], [5, 0]]).scorer())
    assert (found < 0).all()


def test_a_broken_limit_is_worse_than_any_value():
    model = LogisticRegression().fit(X, Y)
    made = model.predict(X)
    recall = (made[Y == 1] == 1).mean()
    assert mf.accuracy().scorer([mf.recall(1) >= recall - 0.1])(model, X, Y) == pytest.approx(
        (made == Y).mean()
    )
    assert mf.accuracy().scorer(f"recall(1) >= {recall + 0.1}")(model, X, Y) == pytest.approx(-0.1)
    costs = mf.cost([[0, 1], [5, 0]])
    kept, broken = (costs.scorer(mf.recall(1) >= recall + d)(model, X, Y) for d in (-0.1, 0.1))
    worst = (Y == 0).mean() + 5 * (Y == 1).mean()
    assert kept > -worst
    assert broken == pytest.approx(-worst - 0.1)


def test_attributes_are_columns_or_routed():
    parity = mf.demographic_parity(over="sex")
    model = LogisticRegression().fit(X, Y)
    made = pd.Series(model.predict(X))
    shares = made.groupby(X["sex"]).mean()
    expected = -abs(shares - made.mean()).max()
    assert parity.scorer(attributes="sex")(model, X, Y) == pytest.approx(expected)
    assert parity.scorer()(model, X, Y, sensitive_features=X[["sex"]]) == pytest.approx(expected)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = parity.scorer().set_score_request(sensitive_features=True)
        routed = cross_validate(
            LogisticRegression(), X, Y, scoring=scorer, params={"sensitive_features": X["sex"].rename("sex")}
        )
    named = cross_validate(LogisticRegression(), X, Y, scoring=parity.scorer(attributes="sex"))
    assert routed["test_score"] == pytest.approx(named["test_score"])
    with pytest.raises(ValueError, match="a scorer takes sample_weight and sensitive_features"):
        parity.scorer().set_score_request(groups=True)


def test_a_search_looks_for_the_objective():
    clf = mf.MetricClassifier(LogisticRegression(), mf.cost([[0, 1], [5, 0]]), cv=3)
    search = GridSearchCV(clf, {"estimator__C": [1e-6, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"estimator__C": 1.0}
    paid = -search.cv_results_["mean_test_score"]
    assert (paid > 0).all()
    assert search.best_score_ == pytest.approx(-paid.min())


def test_refuses_what_is_no_constraint():
    with pytest.raises(ValueError, match="constraints must be comparisons"):
        mf.accuracy().scorer([mf.recall(1)])
