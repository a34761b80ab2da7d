"""`MetricClassifier` inside scikit-learn: its checks, its searches and pipelines, its metadata routing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from threadpoolctl import threadpool_limits

import metricfit as mf
from metricfit.datasets import make_fraud_triage, make_gaussians

GAUSS = make_gaussians(n_rows=600, random_state=0)
X = GAUSS.X
Y = np.array(["common", "middle", "rare"])[GAUSS.y]
SEX = np.array(["F", "M"])[(np.random.default_rng(1).random(len(Y)) < 0.4).astype(int)]
WEIGHTS = np.random.default_rng(2).uniform(0.2, 2, size=len(Y))
FRAME = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "sex": SEX})
PARITY = mf.demographic_parity(over="sex") <= 0.02
FOLDS = StratifiedKFold(3)
NUMBERS = make_column_transformer(("passthrough", ["u", "v"]))


class Agreeing(mf.MetricClassifier):
    """Shows decisions as probabilities.

    `check_classifiers_train` ends by asking whether the largest probability is the decision. Probabilities
    are the base classifier's, and decisions differ from their maximum where the metric says so; for the same
    reason scikit-learn exempts its own threshold tuners. All else that the check asks is asked of this class.
    """

    def predict_proba(self, X):
        return np.eye(len(self.classes_))[np.searchsorted(self.classes_, self.predict(X))]


CHECKED = {
    "default": mf.MetricClassifier(LogisticRegression()),
    "soft-labels": mf.MetricClassifier(
        LogisticRegression(), constraints=["min_recall() >= 0.05"], cv=None, counting="model"
    ),
}


def checks():
    found = []
    for name, estimator in CHECKED.items():
        for given, check in estimator_checks_generator(estimator, mark=None):
            title = check.func.__name__
            if title == "check_array_api_input":  # runs only where SciPy was started in a mode of its own
                continue
            if title == "check_classifiers_train" and given.counting == "labels":
                given = Agreeing(**given.get_params(deep=False))
            found.append(pytest.param(given, check, id=f"{name}-{title}"))
    return found


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # infinite labels
@pytest.mark.filterwarnings(
    "ignore:.*fewer rows than there are folds"
)  # some checks have four rows of a class
@pytest.mark.parametrize(("estimator", "check"), checks())
def test_scikit_learn_checks(estimator, check):
    with threadpool_limits(1):  # on tiny matrices threads only wait for each other
        check(estimator)


def test_decisions_beat_the_largest_probability():
    X, y = make_blobs(n_samples=300, random_state=0)
    clf = mf.MetricClassifier(LogisticRegression(), cv=None).fit(X, y)
    recalls = [np.mean(clf.predict_proba(X)[y == c].argmax(axis=1) == c) for c in range(3)]
    by_labels = clf.result_.counted  # the calibrated answer promises a little less
    assert by_labels.value >= np.prod(recalls) ** (1 / 3) - 5e-3  # no more is gained than noise
    assert clf.score(X, y) > 0.83


def test_grid_search_over_objective_and_constraints():
    grid = {
        "objective": ["accuracy", "g_mean", mf.h_mean()],
        "constraints": [[mf.coverage("rare") <= 0.3]],
        "estimator__var_smoothing": [1e-9],
    }
    search = GridSearchCV(
        mf.MetricClassifier(GaussianNB(), cv=3, max_calls=15), grid, scoring="balanced_accuracy", cv=FOLDS
    )
    search.fit(X, Y)
    assert search.best_params_["objective"] != "accuracy"
    assert search.best_estimator_.result_.value > 0
    objectives = [params["objective"] for params in search.cv_results_["params"]]
    scores = dict(zip(map(str, objectives), search.cv_results_["mean_test_score"], strict=True))
    assert scores["g_mean"] > scores["accuracy"] + 0.02


def test_groups_from_columns_need_no_routing():
    clf = mf.MetricClassifier(
        make_pipeline(NUMBERS, GaussianNB()), "g_mean", [PARITY], cv=3, attributes="sex", max_calls=8
    )
    scores = cross_val_score(clf, FRAME, Y, cv=FOLDS)
    expected = []
    for train, test in FOLDS.split(FRAME, Y):
        clf.fit(FRAME.iloc[train], Y[train])
        right = clf.decision_proba(FRAME.iloc[test])[
            np.arange(len(test)), np.searchsorted(clf.classes_, Y[test])
        ]
        recalls = [right[Y[test] == c].mean() for c in clf.classes_]
        expected.append(np.prod(recalls) ** (1 / len(recalls)))
    assert scores.tolist() == pytest.approx(expected)
    outer = make_pipeline("passthrough", clf)
    assert cross_val_score(outer, FRAME, Y, cv=FOLDS).tolist() == pytest.approx(expected)
    search = GridSearchCV(
        clf, {"objective": ["g_mean"]}, scoring=make_scorer(balanced_accuracy_score), cv=FOLDS
    )
    assert search.fit(FRAME, Y).predict(FRAME).shape == Y.shape


def test_as_the_last_step_of_a_pipeline():
    clf = mf.MetricClassifier(KNeighborsClassifier(20), cv=3)
    model = make_pipeline(StandardScaler(), clf).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(model.predict(X), clf.fit(scaled, Y).predict(scaled))
    weighted = make_pipeline(StandardScaler(), clf).fit(X, Y, metricclassifier__sample_weight=WEIGHTS)
    clf.fit(scaled, Y, sample_weight=WEIGHTS)
    assert weighted[-1].result_.value == clf.result_.value


def test_requests_carry_attributes_and_weights():
    with config_context(enable_metadata_routing=True):
        clf = mf.MetricClassifier(GaussianNB(), "g_mean", [PARITY], cv=3, max_calls=8)
        clf.set_fit_request(sensitive_features=True, sample_weight=True)
        clf.set_predict_request(sensitive_features=True)
        clf.set_score_request(sensitive_features=True, sample_weight=True)
        metadata = {"sensitive_features": FRAME[["sex"]], "sample_weight": WEIGHTS}
        found = cross_validate(clf, X, Y, cv=FOLDS, params=metadata, return_estimator=True)
        for (train, test), fitted, score in zip(
            FOLDS.split(X, Y), found["estimator"], found["test_score"], strict=True
        ):
            clf.fit(
                X[train],
                Y[train],
                sensitive_features=FRAME[["sex"]].iloc[train],
                sample_weight=WEIGHTS[train],
            )
            assert fitted.policy_ == clf.policy_
            assert score == clf.score(
                X[test], Y[test], sample_weight=WEIGHTS[test], sensitive_features=SEX[test]
            )
        search = GridSearchCV(clf, {"objective": ["g_mean", "h_mean"]}, cv=FOLDS).fit(X, Y, **metadata)
        assert search.best_estimator_.policy_.axes.cells.names == ("sex",)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf).fit(
            X, Y, **metadata
        )
        assert model.predict(X, sensitive_features=SEX).shape == Y.shape


def test_requests_must_be_made():
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(mf.MetricClassifier(GaussianNB()), {}, cv=FOLDS)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            search.fit(X, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize("asked", [True, False])
def test_requests_of_the_base_decide_about_weights(asked):
    with config_context(enable_metadata_routing=True):
        base = make_pipeline(GaussianNB().set_fit_request(sample_weight=asked))
        clf = mf.MetricClassifier(base, cv=None).fit(X, Y, sample_weight=WEIGHTS)
    expected = GaussianNB().fit(X, Y, sample_weight=WEIGHTS if asked else None)
    np.testing.assert_array_equal(clf.predict_proba(X), expected.predict_proba(X))


def test_categories_and_attributes_of_the_demo():
    data = make_fraud_triage(n_rows=3000, random_state=0)
    base = make_pipeline(make_column_transformer((StandardScaler(), list(data.X.columns[:8]))), GaussianNB())
    clf = mf.MetricClassifier(
        base, "g_mean", ["coverage('fraud') <= 0.05"], cv=3, attributes=data.attributes, tol=0.01
    )
    clf.fit(data.X, data.y)
    assert clf.result_.feasible
    assert clf.policy_.axes.cells.names == ("region", "channel")
    assert set(clf.predict(data.X)) <= set(data.classes)


def test_repr_shows_the_base():
    clf = mf.MetricClassifier(GaussianNB(), mf.h_mean(), [mf.coverage("rare") <= 0.2])
    assert "GaussianNB" in repr(clf)
    assert "GaussianNB" in clf._repr_html_()
    assert "GaussianNB" in clf.fit(X, Y)._repr_html_()
