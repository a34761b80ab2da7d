"""Classifiers that have only scores: their order is kept, the calibration finds out how likely they are."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import metricfit as mf
from metricfit.trust.score_models import SPREAD, ScoreModel, with_proba

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 4))
Y = np.where(RNG.random(1500) < 1 / (1 + np.exp(2 - 2 * X[:, 0] - X[:, 1])), "yes", "no")
NEW = RNG.normal(size=(20_000, 4))
TRUTH = 1 / (1 + np.exp(2 - 2 * NEW[:, 0] - NEW[:, 1]))
BASES = {
    "LinearSVC": LinearSVC(),
    "RidgeClassifier": RidgeClassifier(),
    "SGD": SGDClassifier(average=True, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LinearSVC()),
    "search": GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=3),
    "large": make_pipeline(StandardScaler().set_params(with_std=False), RidgeClassifier(alpha=1e-3)),
}


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("counting", ["calibrated", "labels", "auto"])
def test_decisions_are_as_good_as_those_of_a_model_of_probabilities(name, counting):
    clf = mf.MetricClassifier(BASES[name], "balanced_accuracy", cv=3, counting=counting).fit(X, Y)
    made = clf.predict(NEW) == "yes"
    hits = TRUTH[made].sum() / TRUTH.sum(), (1 - TRUTH)[~made].sum() / (1 - TRUTH).sum()
    best = Y.tolist().count("yes") / len(Y) < TRUTH
    bar = TRUTH[best].sum() / TRUTH.sum(), (1 - TRUTH)[~best].sum() / (1 - TRUTH).sum()
    assert np.mean(hits) > np.mean(bar) - 0.02
    assert not hasattr(clf, "predict_proba")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(NEW[:50]), clf.predict(NEW[:50]))


def test_what_is_calibrated_is_right():
    """RidgeClassifier's scores lie between -1 and 1; taken as log-odds without a calibration they would say nothing."""
    clf = mf.MetricClassifier(RidgeClassifier(), "accuracy", cv=3, counting="calibrated", keep_proba=True)
    clf.fit(X, Y)
    proba = clf.policy_.calibration(clf.tuned_on_.proba, np.zeros(len(X), int))[:, 1]
    order = np.argsort(proba)
    for part in np.array_split(order, 6):
        assert abs(proba[part].mean() - (Y[part] == "yes").mean()) < 0.06
    assert clf.result_.certified


def test_rows_keep_the_order_of_their_scores():
    for scale in (1e-6, 1.0, 1e6):
        model = LinearSVC().fit(X, Y)
        model.coef_, model.intercept_ = model.coef_ * scale, model.intercept_ * scale
        proba = with_proba(model, X).predict_proba(X)
        scores = model.decision_function(X)
        assert (np.diff(proba[np.argsort(scores), 1]) >= 0).all()
        assert len(np.unique(proba[:, 1])) == len(np.unique(scores))
        assert np.sqrt(np.mean((np.log(proba) - np.log(proba).mean(axis=1, keepdims=True)) ** 2)) == (
            pytest.approx(SPREAD)
        )


def test_several_classes_and_groups():
    points, labels = make_blobs(600, centers=3, cluster_std=3.0, random_state=0)
    group = RNG.choice(["a", "b"], 600)
    limit = mf.demographic_parity(over="group") <= 0.1
    clf = mf.MetricClassifier(LinearSVC(), "g_mean", [limit], cv=3).fit(
        points, labels, sensitive_features=group
    )
    assert clf.result_.feasible
    likely = LogisticRegression().fit(points, labels).predict(points)
    assert np.mean(clf.predict(points, sensitive_features=group) == labels) > np.mean(likely == labels) - 0.05


def test_frozen_and_blind_and_confident():
    frozen = FrozenEstimator(LinearSVC().fit(X[:700], Y[:700]))
    clf = mf.MetricClassifier(frozen, "balanced_accuracy").fit(X[700:], Y[700:])
    assert isinstance(clf.estimator_, ScoreModel)
    assert clf.estimator_.model is frozen
    assert not hasattr(clf, "predict_proba")
    group = np.where(RNG.random(1500) < 0.5, "a", "b")
    limit = mf.demographic_parity(over="group") <= 0.1
    for base in (LinearSVC(), frozen):
        blind = mf.MetricClassifier(base, "accuracy", [limit], blind=True, cv=3)
        assert blind.fit(X, Y, sensitive_features=group).predict(X[:5]).shape == (5,)
    sure = mf.MetricClassifier(LinearSVC(), "accuracy", ["recall('yes') >= 0.3"], confidence=0.9, cv=3)
    assert sure.fit(X, Y).result_.feasible


def test_probabilities_are_offered_where_the_base_has_them():
    assert hasattr(mf.MetricClassifier(GaussianNB()), "predict_proba")
    assert hasattr(mf.MetricClassifier(make_pipeline(StandardScaler(), GaussianNB())), "predict_proba")
    for base in (LinearSVC(), SVC(), make_pipeline(StandardScaler(), RidgeClassifier())):
        assert not hasattr(mf.MetricClassifier(base), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        mf.MetricClassifier(LinearSVC()).fit(X, Y).predict_proba(X)


def test_what_scores_cannot_do_is_refused():
    with pytest.raises(ValueError, match="counting='model' trusts probabilities as they are, and LinearSVC"):
        mf.MetricClassifier(LinearSVC(), counting="model").fit(X, Y)
    with pytest.raises(ValueError, match="predict_proba, or with fit and decision_function"):
        mf.MetricClassifier(StandardScaler()).fit(X, Y)
    da = pytest.importorskip("dask.array")
    frozen = FrozenEstimator(LinearSVC().fit(X, Y))
    with pytest.raises(ValueError, match=r"Dask collection, for which .* needs predict_proba"):
        mf.MetricClassifier(frozen).fit(da.from_array(X), Y)
    points, labels = make_blobs(200, centers=4, random_state=0)
    with pytest.raises(ValueError, match=r"decision_function of SVC returned shape \(\d+, 6\) for 4 classes"):
        mf.MetricClassifier(SVC(decision_function_shape="ovo"), cv=2).fit(points, labels)


def test_pictures_take_them():
    pytest.importorskip("matplotlib")
    clf = mf.MetricClassifier(LinearSVC(), "accuracy", cv=3).fit(X, Y)
    assert mf.report.ConfusionDisplay.from_estimator(clf, X, Y) is not None
