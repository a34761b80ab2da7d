"""Metrics as scikit-learn scorers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

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


@pytest.fixture(scope="module")
def blind():
    limit = mf.demographic_parity("sex") <= 0.05
    clf = mf.MetricClassifier(LogisticRegression(), "accuracy", [limit], attributes="sex", blind=True, cv=2)
    return clf.fit(X, Y)


def test_blind_decisions_are_scored_by_classes_with_or_without_the_attribute(blind):
    expected = blind.decision_proba(X)[np.arange(len(Y)), Y].mean()
    assert blind.score(X, Y) == pytest.approx(expected)
    assert blind.score(X[["a", "b"]], Y) == pytest.approx(expected)
    assert mf.accuracy().scorer(attributes=["sex"])(blind, X, Y) == pytest.approx(expected)
    assert np.isfinite(cross_val_score(blind, X, Y, cv=2)).all()


def test_blind_decisions_are_scored_over_groups_that_they_do_not_see(blind):
    parity = mf.demographic_parity("sex")
    taken = pd.Series(blind.decision_proba(X)[:, 1])
    expected = -abs(taken.groupby(X["sex"]).mean() - taken.mean()).max()
    assert parity.scorer()(blind, X, Y) == pytest.approx(expected)
    unnamed = X[["a", "b"]]
    assert parity.scorer()(blind, unnamed, Y, sensitive_features=X["sex"]) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"unknown attribute 'sex'.*pass sensitive_features="):
        parity.scorer()(blind, unnamed, Y)


def test_blind_decisions_with_attributes_beside_the_features_are_scored(blind):
    clf = clone(blind).set_params(attributes=None).fit(X[["a", "b"]], Y, sensitive_features=X["sex"])
    expected = clf.decision_proba(X[["a", "b"]])[np.arange(len(Y)), Y].mean()
    assert clf.score(X[["a", "b"]], Y) == pytest.approx(expected)
    assert clf.score(X[["a", "b"]], Y, sensitive_features=X["sex"]) == pytest.approx(expected)


def test_missing_attributes_are_scored_as_the_cell_they_are():
    holes = X.assign(sex=X["sex"].astype(float).mask(X.index % 5 == 0))
    pipe = make_pipeline(FunctionTransformer(lambda frame: frame[["a", "b"]]), LogisticRegression())
    clf = mf.MetricClassifier(pipe, "accuracy", attributes="sex", missing="cell", cv=None).fit(holes, Y)
    taken = clf.decision_proba(holes)
    assert clf.score(holes, Y) == pytest.approx(taken[np.arange(len(Y)), Y].mean())
    inside = (Y == 1) & holes["sex"].isna()
    found = mf.recall(1).at(sex="(missing)").scorer()(clf, holes, Y)
    assert found == pytest.approx(taken[inside, 1].mean())


def test_without_randomization_the_single_rule_is_scored():
    few = mf.coverage(1) <= 0.15
    clf = mf.MetricClassifier(
        DecisionTreeClassifier(max_depth=1),
        mf.recall(1),
        [few],
        counting="model",
        cv=None,
        randomize="never",
    ).fit(X, Y)
    recall = (clf.predict(X)[Y == 1] == 1).mean()
    assert abs(clf.decision_proba(X)[Y == 1, 1].mean() - recall) > 0.05
    assert clf.score(X, Y) == pytest.approx(recall)
    assert mf.recall(1).scorer()(clf, X, Y) == pytest.approx(recall)


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
