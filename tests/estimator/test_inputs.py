"""What `MetricClassifier` refuses, and what it says then."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import metricfit as mf
from metricfit.datasets import make_gaussians

GAUSS = make_gaussians(n_rows=1500, random_state=0)
X = GAUSS.X
Y = np.array(["common", "middle", "rare"])[GAUSS.y]
SEX = np.where(np.arange(len(Y)) % 3, "F", "M")
WEIGHTS = np.ones(len(Y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": LinearSVC(), "counting": "model"}, "counting='auto', which calibrates them"),
        ({"estimator": "GaussianNB"}, "must be a classifier with fit and predict_proba"),
        ({"objective": "gmean"}, "did you mean 'g_mean'"),
        ({"constraints": ["recall('rear') >= 0.5"]}, "did you mean 'rare'"),
        ({"constraints": ["demographic_parity('sex') <= 0.5"]}, "pass sensitive_features"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"method": "bisection"}, "Try method='column_generation'"),
        ({"counting": "label"}, "'calibrated', 'model'"),
        ({"randomize": "hsah"}, "did you mean 'hash'"),
        ({"cv": "prefit"}, "FrozenEstimator"),
        ({"decisions": ["rare", "rare"]}, "decisions holds the same label twice"),
        ({"tol": -1}, "tol must be"),
        ({"max_calls": 0}, "max_calls must be"),
        ({"max_seconds": 0}, "max_seconds must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": "x"}, "random_state must be a whole number >= 0, a RandomState or None, got 'x'"),
        ({"estimator": GaussianNB}, "must be a classifier with fit and predict_proba"),
        ({"decisions": "rare"}, "decisions must be a list of labels; got the string 'rare'"),
        ({"decisions": []}, "decisions is empty"),
        ({"decisions": {"common", "middle", "rare"}}, "decisions must be a list .* order counts; got a set"),
        ({"decisions": iter(["common", "rare"])}, "decisions can be read only once"),
        ({"constraints": (text for text in ["recall('rare') >= 0.5"])}, "constraints can be read only once"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_bad_parameters_raise(parameters, message):
    clf = mf.MetricClassifier(GaussianNB()).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y)
    assert not hasattr(clf, "classes_")


def test_parameters_are_checked_before_models_are_fitted():
    class Never(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("fitted")

    for confusion in ("labels", "model"):
        clf = mf.MetricClassifier(Never(), "g_mean", ["recall('rear') >= 0.5"], counting=confusion)
        with pytest.raises(ValueError, match="did you mean 'rare'"):
            clf.fit(X, Y)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((X, None), "requires y to be passed"),
        ((X, np.full(len(X), "a")), r"one class only, .*'a'.*1500 rows"),
        ((X[:0], Y[:0]), "y has no rows"),
        ((X, Y[:-1]), "inconsistent numbers of samples"),
        ((X, X[:, 0]), "Unknown label type"),
        ((X, Y, {"sensitive_features": SEX[:-1]}), "lengths differ"),
        ((X, Y, {"sample_weight": -WEIGHTS}), "negative"),
        ((X, Y, {"sample_weight": WEIGHTS[:-1]}), "lengths differ"),
        ((X, np.array([1, "a"] * 750, dtype=object)), "several types|mix|Unknown label type"),
    ],
)
def test_bad_data_raises(data, message):
    with pytest.raises(ValueError, match=message):
        mf.MetricClassifier(GaussianNB()).fit(*data[:2], **(data[2] if len(data) > 2 else {}))


def test_unknown_arguments_raise():
    with pytest.raises(TypeError):
        mf.MetricClassifier(GaussianNB(), metod="auto")
    with pytest.raises(TypeError):
        mf.MetricClassifier(GaussianNB()).fit(X, Y, groups=SEX)
    with pytest.raises(ValueError, match="Invalid parameter"):
        mf.MetricClassifier(GaussianNB()).set_params(metod="auto")
    with pytest.raises(NotFittedError):
        mf.MetricClassifier(GaussianNB()).predict(X)


@pytest.mark.parametrize(
    "y",
    [
        np.where(np.arange(len(Y)) == 7, None, Y),
        np.ma.masked_array(Y, mask=np.arange(len(Y)) == 7),
        np.ma.masked_array(GAUSS.y, mask=np.arange(len(Y)) == 7),
    ],
)
def test_rows_without_a_label_are_named(y):
    with pytest.raises(ValueError, match=r"y is missing \(NaN or None\) in 1 row \(7\)"):
        mf.MetricClassifier(GaussianNB()).fit(X, y)
