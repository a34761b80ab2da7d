"""Cross-fitted probabilities: what scikit-learn gives where it can, and sense where it cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from optional import optional
from scipy import sparse
from sklearn import config_context
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from metricfit.trust.crossfit import OutOfFold, class_proba, cross_fit, weight_argument

pl = optional("polars")
pa = optional("pyarrow")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.array(["a", "b", "c"])[(X[:, 0] + RNG.normal(size=90) > 0).astype(int) + (X[:, 1] > 0.8)]
CLASSES = np.unique(Y)
WEIGHTS = RNG.uniform(0.1, 3, size=90)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_equals_cross_val_predict(n_jobs):
    with parallel_config("threading"):  # starting processes takes seconds
        found = cross_fit(GaussianNB(), X, Y, CLASSES, cv=4, n_jobs=n_jobs)
    np.testing.assert_array_equal(
        found.proba, cross_val_predict(GaussianNB(), X, Y, cv=4, method="predict_proba")
    )
    assert found.whole(90)
    assert found.weights(None) is None


@pytest.mark.parametrize(
    "convert",
    [sparse.csr_array, sparse.csr_matrix, pd.DataFrame, pl.DataFrame, lambda x: x.tolist()],
    ids=["csr_array", "csr_matrix", "pandas", "polars", "list"],
)
def test_containers_agree(convert):
    whole = cross_fit(LogisticRegression(), X, Y, CLASSES, cv=3).proba
    np.testing.assert_allclose(
        cross_fit(LogisticRegression(), convert(X), Y, CLASSES, cv=3).proba, whole, atol=1e-6
    )


def test_weights_reach_each_fold():
    folds = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    found = cross_fit(GaussianNB(), X, Y, CLASSES, cv=folds, sample_weight=WEIGHTS)
    for train, test in folds:
        model = GaussianNB().fit(X[train], Y[train], sample_weight=WEIGHTS[train])
        np.testing.assert_array_equal(found.proba[test], model.predict_proba(X[test]))
    np.testing.assert_array_equal(found.weights(WEIGHTS), WEIGHTS)


def test_weights_are_left_out_where_the_estimator_takes_none():
    plain = cross_fit(KNeighborsClassifier(), X, Y, CLASSES)
    np.testing.assert_array_equal(
        cross_fit(KNeighborsClassifier(), X, Y, CLASSES, sample_weight=WEIGHTS).proba, plain.proba
    )


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LogisticRegression(), "sample_weight"),
        (KNeighborsClassifier(), None),
        (make_pipeline(StandardScaler(), GaussianNB()), "gaussiannb__sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (make_pipeline(make_pipeline(GaussianNB())), "pipeline__gaussiannb__sample_weight"),
        (GridSearchCV(GaussianNB(), {}), "sample_weight"),
        (GridSearchCV(KNeighborsClassifier(), {}), None),
        (make_pipeline(GridSearchCV(GaussianNB(), {})), "gridsearchcv__sample_weight"),
    ],
    ids=str,
)
def test_weight_argument(estimator, name):
    assert weight_argument(estimator) == name
    if name is not None:
        estimator.fit(X, Y, **{name: WEIGHTS})


def test_weight_argument_follows_requests():
    with config_context(enable_metadata_routing=True):
        asks = GaussianNB().set_fit_request(sample_weight=True)
        declines = GaussianNB().set_fit_request(sample_weight=False)
        renames = GaussianNB().set_fit_request(sample_weight="importance")
        assert weight_argument(GaussianNB()) == "sample_weight"
        assert weight_argument(asks) == "sample_weight"
        assert weight_argument(declines) is None
        assert weight_argument(renames) is None
        assert weight_argument(make_pipeline(asks)) == "sample_weight"
        assert weight_argument(make_pipeline(declines)) is None
        assert weight_argument(KNeighborsClassifier()) is None
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        assert weight_argument(make_pipeline(scaler, KNeighborsClassifier())) == "sample_weight"


def test_a_class_absent_from_a_fold_has_probability_zero():
    y = np.where(np.arange(30) == 7, "rare", np.where(np.arange(30) % 2, "b", "c"))
    with pytest.warns(UserWarning, match=r"1 of 3 classes .* than there are folds \(3\): rare \(1\)"):
        found = cross_fit(GaussianNB(), X[:30], y, np.unique(y), cv=3)
    np.testing.assert_allclose(found.proba.sum(axis=1), 1)
    assert found.proba[7, 2] == 0


def test_a_fold_of_one_class_is_certain():
    y = np.where(np.arange(12) == 3, 1, 0)
    with pytest.warns(UserWarning, match="fewer rows than there are folds"):
        found = cross_fit(LogisticRegression(), X[:12], y, np.array([0, 1]), cv=4)
    np.testing.assert_array_equal(found.proba[3], [1, 0])


def test_fewer_rows_than_folds():
    y = np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(UserWarning, match="largest of 6 rows has 3; using 3 folds"):
        found = cross_fit(GaussianNB(), X[:6], y, np.array([0, 1]), cv=5)
    np.testing.assert_array_equal(
        found.proba, cross_val_predict(GaussianNB(), X[:6], y, cv=3, method="predict_proba")
    )


def test_folds_need_not_cover_all_rows():
    found = cross_fit(GaussianNB(), X, Y, CLASSES, cv=TimeSeriesSplit(2))
    np.testing.assert_array_equal(found.rows, np.arange(30, 90))
    assert not found.whole(90)
    np.testing.assert_array_equal(found.weights(WEIGHTS), WEIGHTS[30:])


def test_rows_held_out_twice_count_once():
    splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    found = cross_fit(GaussianNB(), X, Y, CLASSES, cv=splits)
    np.testing.assert_array_equal(found.rows, np.repeat(np.arange(90), 2))
    np.testing.assert_array_equal(found.weights(None), np.full(180, 0.5))
    np.testing.assert_allclose(found.weights(WEIGHTS), np.repeat(WEIGHTS, 2) / 2)
    assert (found.proba[::2] != found.proba[1::2]).any()


def test_masks_and_empty_test_sets():
    first = np.arange(90) < 45
    found = cross_fit(GaussianNB(), X, Y, CLASSES, cv=[(first, ~first), (first, [])])
    np.testing.assert_array_equal(found.rows, np.arange(45, 90))
    with pytest.raises(ValueError, match="cv holds out no rows"):
        cross_fit(GaussianNB(), X, Y, CLASSES, cv=[(np.arange(90), [])])


def test_folds_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="cv has folds of other rows than the 90 of y"):
        cross_fit(GaussianNB(), X, Y, CLASSES, cv=[(np.arange(45), np.arange(60, 120))])


def test_precomputed_kernels_are_cut_on_both_sides():
    kernel, options = linear_kernel(X), {"kernel": "linear"}
    folds = [(np.arange(60), np.arange(60, 90))]

    class Shares(SVC):
        def predict_proba(self, X):
            return np.eye(3)[np.searchsorted(CLASSES, self.predict(X))]

    found = cross_fit(Shares(kernel="precomputed"), kernel, Y, CLASSES, cv=folds)
    np.testing.assert_array_equal(found.proba, cross_fit(Shares(**options), X, Y, CLASSES, cv=folds).proba)


@pytest.mark.parametrize("cv", [1, 0, -3, True, False, np.True_])
def test_fewer_than_two_folds_are_refused(cv):
    with pytest.raises(ValueError, match=r"cv must be a number of folds, 2 or more, a splitter.* None"):
        cross_fit(GaussianNB(), X, Y, CLASSES, cv=cv)


@pytest.mark.parametrize("splitter", [GroupKFold(3), LeaveOneGroupOut(), StratifiedGroupKFold(3)])
def test_folds_of_groups_are_passed_as_a_list(splitter):
    with pytest.raises(ValueError, match=r"needs groups.*cv=list\(.*\(.*\)\.split\(X, y, groups\)\)"):
        cross_fit(GaussianNB(), X, Y, CLASSES, cv=splitter)
    folds = list(splitter.split(X, Y, np.arange(90) % 3))
    assert cross_fit(GaussianNB(), X, Y, CLASSES, cv=folds).whole(90)


def test_bad_cv():
    with pytest.raises(ValueError, match="FrozenEstimator"):
        cross_fit(GaussianNB(), X, Y, CLASSES, cv="prefit")


def test_class_proba_aligns_and_checks():
    model = DummyClassifier(strategy="prior").fit([[0]] * 4, ["c", "c", "c", "a"])
    np.testing.assert_array_equal(class_proba(model, [[0]], ["a", "b", "c"]), [[0.25, 0, 0.75]])
    np.testing.assert_array_equal(class_proba(model, [[0]], ["c", "a"]), [[0.75, 0.25]])
    with pytest.raises(ValueError, match="knows classes that y does not have: 'c'"):
        class_proba(model, [[0]], ["a", "b"])

    class Wrong:
        def predict_proba(self, X):
            return np.full(len(X), 0.5)

    with pytest.raises(ValueError, match=r"returned shape \(1,\) for 2 classes"):
        class_proba(Wrong(), [[0]], ["a", "b"])


def test_float32_stays():
    """What the model answers: older versions of scikit-learn answer in float64 whatever they are given."""
    single = X.astype(np.float32)
    answered = LogisticRegression().fit(single, Y).predict_proba(single).dtype
    assert cross_fit(LogisticRegression(), single, Y, CLASSES, cv=2).proba.dtype == answered
    assert cross_fit(Single(), X, Y, CLASSES, cv=2).proba.dtype == np.float32


class Single(GaussianNB):
    def predict_proba(self, X):
        return super().predict_proba(X).astype(np.float32)


def test_arrow_tables():
    table = pa.table({name: X[:, i] for i, name in enumerate("uvw")})
    expected = cross_fit(GaussianNB(), X, Y, CLASSES, cv=2).proba
    np.testing.assert_allclose(cross_fit(GaussianNB(), table, Y, CLASSES, cv=2).proba, expected)


def test_nothing_is_changed():
    estimator, y = GaussianNB(), Y.copy()
    before, weights = X.copy(), WEIGHTS.copy()
    assert isinstance(cross_fit(estimator, X, y, CLASSES, sample_weight=weights), OutOfFold)
    assert not hasattr(estimator, "classes_")
    for old, new in ((before, X), (Y, y), (WEIGHTS, weights)):
        np.testing.assert_array_equal(old, new)


def test_a_model_that_rounds_too_much_in_single_precision_is_told_apart():
    class Rounded(GaussianNB):
        def predict_proba(self, X):
            return np.array([[0.5, 0.5], [1, 1], [0.5, 0.5]], X.dtype)

    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 1]
    model = Rounded().fit(X, y)
    with pytest.raises(ValueError, match=r"of Rounded does not sum to 1 .* 1 row \(1\).*X.astype\(float\)"):
        class_proba(model, X.astype(np.float32), [0, 1])
