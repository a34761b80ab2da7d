"""scikit-learn's own tests of its threshold classifiers, with `MetricClassifier` in their place."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec
from unittest.mock import patch

import numpy as np
import pytest
import sklearn
import sklearn.model_selection
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, fbeta_score, get_scorer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.fixes import parse_version

import metricfit as mf

# Why a test cannot hold, by how the names of its cases begin. One that holds after all fails here, so this stays true.
NO_GRID = "no grid of thresholds is searched, so none of its scores is kept"
NO_SCORES = (
    "it gives decisions and probabilities, neither logarithms of these nor the scores of the base classifier"
)
REFITS = "the base classifier is trained on all rows, or is a FrozenEstimator, which is fitted already"
MUST_FIT = "it needs labels to decide, so it is not fitted before `fit`"
REASONS = {
    "test_tuned_threshold_classifier_no_binary[data0]": "more than two classes are no error",
    "test_tuned_threshold_classifier_no_binary[data1]": "several labels of a row are refused in other words",
    "test_tuned_threshold_classifier_conflict_cv_refit": REFITS,
    "test_threshold_classifier_estimator_response_methods[fixed-predict_proba-estimator1]": "scores are not trusted as "
    "probabilities: counting='model' refuses a classifier that has only scores",
    "test_threshold_classifier_estimator_response_methods[fixed-predict_log_proba": NO_SCORES,
    "test_threshold_classifier_estimator_response_methods[fixed-decision_function": NO_SCORES,
    "test_threshold_classifier_estimator_response_methods[tuned-predict_log_proba-estimator0": NO_SCORES,
    "test_threshold_classifier_estimator_response_methods[tuned-predict_log_proba-estimator2": NO_SCORES,
    "test_threshold_classifier_estimator_response_methods[tuned-decision_function": NO_SCORES,
    "test_tuned_threshold_classifier_without_constraint_value": NO_GRID,
    "test_tuned_threshold_classifier_metric_with_parameter": NO_GRID,
    "test_tuned_threshold_classifier_refit": REFITS,
    "test_tuned_threshold_classifier_thresholds_array": NO_GRID,
    "test_tuned_threshold_classifier_store_cv_results[True]": NO_GRID,
    "test_tuned_threshold_classifier_cv_float": REFITS,
    "test_tuned_threshold_classifier_error_constant_predictor": "equal probabilities of all rows are no error",
    "test_fixed_threshold_classifier_equivalence_default[decision_function]": NO_SCORES,
    # The decisions agree; then the scores are asked for.
    "test_fixed_threshold_classifier[": NO_SCORES,
    "test_fixed_threshold_classifier_fitted_estimator": MUST_FIT,
    "test_fixed_threshold_classifier_classes_": MUST_FIT,
}
# The names of cases are those of this version and newer ones.
SINCE = "1.9"
THEIRS = "sklearn.model_selection.tests.test_classification_threshold"


def tuned(estimator, *, scoring="balanced_accuracy", cv=None, random_state=None, **ours_lacks):
    """Return what does the work of a `TunedThresholdClassifierCV`."""
    if cv == "prefit":
        estimator = FrozenEstimator(estimator)
    elif isinstance(cv, float):
        cv = StratifiedShuffleSplit(1, test_size=cv, random_state=random_state)
    cv = 5 if cv is None or cv == "prefit" else cv
    return mf.MetricClassifier(estimator, objective_of(scoring), cv=cv, random_state=random_state)


def objective_of(scoring):
    """Return the metric of a scorer."""
    if isinstance(scoring, str):
        return scoring
    options = dict(scoring._kwargs)
    if scoring._score_func is f1_score:
        return mf.f1(options.get("pos_label", 1))
    if scoring._score_func is fbeta_score:
        return mf.f_beta(options["beta"], options.get("pos_label", 1))
    return scoring._score_func.__name__.removesuffix("_score")


def fixed(estimator, *, threshold="auto", pos_label=1, response_method="auto"):
    """Return what decides as a `FixedThresholdClassifier`: by costs whose balance is at the threshold."""
    if threshold == "auto":
        threshold = 0.5
    elif response_method == "decision_function":
        threshold = expit(threshold)  # of a logistic regression
    table = np.array([[0, threshold], [1 - threshold, 0]])
    table = table if pos_label == 1 else table[::-1, ::-1]
    return mf.MetricClassifier(estimator, mf.cost(table), counting="model", cv=None)


def borrowed():
    """Return scikit-learn's tests, in a copy of their module that finds ours where it looks for its own."""
    spec = find_spec(THEIRS)
    if spec is None or parse_version(sklearn.__version__) < parse_version(SINCE):
        pytest.skip(f"no tests of scikit-learn {SINCE} or newer here", allow_module_level=True)
    module = module_from_spec(spec)
    replaced = {"TunedThresholdClassifierCV": tuned, "FixedThresholdClassifier": fixed}
    with patch.multiple(sklearn.model_selection, **replaced):
        spec.loader.exec_module(module)
    return {name: test for name, test in vars(module).items() if name.startswith("test_")}


@pytest.fixture(autouse=True)
def expectation(request):
    """Mark a test that cannot hold with its reason."""
    for begin, reason in REASONS.items():
        if request.node.name.startswith(begin):
            request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.fixture
def global_random_seed():
    return 0


THEIR_TESTS = borrowed()
globals().update(THEIR_TESTS)


def test_reasons_are_of_tests_that_exist():
    assert {begin.split("[")[0] for begin in REASONS} <= THEIR_TESTS.keys()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pos_label", [0, 1])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.7])
def test_costs_decide_as_a_fixed_threshold(threshold, pos_label, seed):
    X, y = make_classification(200, flip_y=0.2, random_state=seed)
    given = {"threshold": threshold, "pos_label": pos_label, "response_method": "predict_proba"}
    theirs = sklearn.model_selection.FixedThresholdClassifier(LogisticRegression(), **given).fit(X, y)
    assert (fixed(LogisticRegression(), **given).fit(X, y).predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1"])
def test_the_best_threshold_is_not_missed(scoring, seed):
    X, y = make_classification(400, weights=[0.8], flip_y=0.2, random_state=seed)
    base = LogisticRegression().fit(X, y)
    tuner = sklearn.model_selection.TunedThresholdClassifierCV(
        base, scoring=scoring, cv="prefit", refit=False
    )
    objective = mf.f1(1) if scoring == "f1" else scoring
    ours = mf.MetricClassifier(FrozenEstimator(base), objective, counting="labels").fit(X, y)
    score = get_scorer(scoring)
    # Ties of the grid, and a mixture counted by its shares, are worth less than a row of the rarer class.
    assert score(ours, X, y) >= score(tuner.fit(X, y), X, y) - 0.01
