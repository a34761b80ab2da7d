"""`MetricClassifier`: the same answers as `optimize`, in every form that scikit-learn knows."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from optional import needs, optional
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import metricfit as mf
from metricfit.datasets import example, make_gaussians
from metricfit.policy.row_hash import feature_words

pl = optional("polars")

GAUSS = make_gaussians(n_rows=1000, random_state=0)
X = GAUSS.X
Y = np.array(["common", "middle", "rare"])[GAUSS.y]
TRUE = GAUSS.class_probabilities(X)
SEX = np.array(["F", "M"])[(np.random.default_rng(1).random(len(Y)) < 0.4).astype(int)]
WEIGHTS = np.random.default_rng(2).uniform(0.2, 2, size=len(Y))
FRAME = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "sex": SEX})
FLOOR = mf.precision("rare") >= 0.2


class Exact(ClassifierMixin, BaseEstimator):
    """Knows the distribution, so that its probabilities do not depend on the rows it is fitted on."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return example("Gauss3").class_probabilities(np.asarray(X)[:, :2].astype(float))


def same(first, second):
    return (
        first.policy == second.policy
        and first.value == second.value
        and repr(first.constraints) == repr(second.constraints)  # a price may be NaN
    )


@pytest.mark.parametrize("cv", [5, 3, None, TimeSeriesSplit(3)], ids=str)
@pytest.mark.parametrize("confusion", ["labels", "model"])
def test_exact_probabilities_give_the_answer_of_optimize(cv, confusion):
    clf = mf.MetricClassifier(Exact(), "h_mean", [FLOOR], cv=cv, counting=confusion).fit(X, Y)
    rows = np.arange(len(Y))
    if isinstance(cv, TimeSeriesSplit):
        rows = np.concatenate([test for _, test in cv.split(X)])
    expected = mf.optimize(TRUE[rows], Y[rows], "h_mean", [FLOOR], classes=clf.classes_, counting=confusion)
    assert same(clf.result_, expected)
    np.testing.assert_array_equal(clf.predict(X), expected.policy.decide(TRUE, key=feature_words(X, len(X))))
    np.testing.assert_array_equal(clf.decision_proba(X), expected.policy.decision_proba(TRUE))
    np.testing.assert_array_equal(clf.predict_proba(X), TRUE)


def test_cross_fitting_tunes_on_held_out_probabilities():
    limit = mf.coverage("rare") <= 0.1
    clf = mf.MetricClassifier(GaussianNB(), "h_mean", [limit], cv=4).fit(X, Y)
    held_out = cross_val_predict(GaussianNB(), X, Y, cv=4, method="predict_proba")
    assert same(clf.result_, mf.optimize(held_out, Y, "h_mean", [limit]))
    np.testing.assert_array_equal(clf.predict_proba(X), GaussianNB().fit(X, Y).predict_proba(X))


def test_a_frozen_model_is_used_as_it_is():
    model = GaussianNB().fit(X[:700], Y[:700])
    before = pickle.dumps(model)
    clf = mf.MetricClassifier(FrozenEstimator(model), "h_mean", [FLOOR]).fit(X[700:], Y[700:])
    assert same(clf.result_, mf.optimize(model.predict_proba(X[700:]), Y[700:], "h_mean", [FLOOR]))
    assert pickle.dumps(model) == before
    assert clf.n_features_in_ == 2
    with pytest.raises(NotFittedError):
        mf.MetricClassifier(FrozenEstimator(GaussianNB())).fit(X, Y)
    with pytest.raises(ValueError, match="y has labels that are not classes in 2 rows"):
        clf.fit(X[:3], np.array(["common", "new", "new"]))


def test_a_class_that_only_a_frozen_model_knows():
    clf = mf.MetricClassifier(FrozenEstimator(GaussianNB().fit(X, Y)))
    with pytest.raises(ValueError, match="'rare' has no rows"):
        clf.fit(X[Y != "rare"], Y[Y != "rare"])
    clf.set_params(objective="accuracy").fit(X[Y != "rare"], Y[Y != "rare"])
    assert clf.classes_.tolist() == ["common", "middle", "rare"]


def test_constraints_hold_on_the_tuning_rows():
    model = GaussianNB().fit(X, Y)
    clf = mf.MetricClassifier(FrozenEstimator(model), "g_mean", [FLOOR], tol=1e-6, counting="labels").fit(
        X, Y
    )
    chance = clf.decision_proba(X)[:, 2]
    assert chance[Y == "rare"].sum() / chance.sum() >= 0.2 - 1e-9
    assert clf.result_.constraints[0].violation <= 1e-9
    free = mf.MetricClassifier(FrozenEstimator(model), "g_mean", tol=1e-6).fit(X, Y)
    chance = free.decision_proba(X)[:, 2]
    assert chance[Y == "rare"].sum() / chance.sum() < 0.2  # so that the constraint had something to do


def test_infeasible_constraints_raise_and_change_nothing():
    clf = mf.MetricClassifier(GaussianNB(), "g_mean").fit(X, Y)
    old = clf.result_
    clf.set_params(constraints=["recall('rare') >= 0.99", "recall('common') >= 0.99"])
    with pytest.raises(mf.InfeasibleError, match="cannot be kept together"):
        clf.fit(X, Y)
    assert clf.result_ is old


def test_attributes_equal_sensitive_features():
    constraint = mf.demographic_parity(over="sex") <= 0.01
    model = make_pipeline(StandardScaler(), Exact())
    named = mf.MetricClassifier(Exact(), "g_mean", [constraint], attributes="sex").fit(FRAME, Y)
    beside = mf.MetricClassifier(Exact(), "g_mean", [constraint])
    beside.fit(FRAME[["u", "v"]], Y, sensitive_features=FRAME[["sex"]])
    assert same(named.result_, beside.result_)
    assert named.policy_.axes.cells.values == (("F",), ("M",))
    key = np.arange(len(FRAME))
    made = beside.predict(X, sensitive_features=FRAME[["sex"]], key=key)
    np.testing.assert_array_equal(named.predict(FRAME, key=key), made)
    np.testing.assert_array_equal(
        named.decision_proba(FRAME), beside.decision_proba(X, sensitive_features=FRAME["sex"])
    )
    with pytest.raises(ValueError, match="sensitive_features is needed"):
        beside.predict(X)
    with pytest.raises(ValueError, match=r"sensitive_features was passed although attributes=\['sex'\]"):
        named.predict(FRAME, sensitive_features=SEX)
    with pytest.raises(ValueError, match="X is of type ndarray"):
        mf.MetricClassifier(model, attributes=["sex"]).fit(X, Y)
    with pytest.raises(ValueError, match="'sx'; did you mean 'sex'"):
        mf.MetricClassifier(model, attributes=["sx"]).fit(FRAME, Y)
    unseen = FRAME.assign(sex="X")
    with pytest.raises(ValueError, match="sex='X'"):
        named.predict(unseen)


@needs("pyarrow")
@pytest.mark.parametrize("cv", [3, TimeSeriesSplit(3)], ids=str)
def test_frames_agree(cv):
    def numbers(frame):
        return frame[["u", "v"]] if hasattr(frame, "loc") else frame.select("u", "v")

    def fit(frame):
        parity = "demographic_parity('sex') <= 0.02"
        return mf.MetricClassifier(Exact(), "g_mean", [parity], cv=cv, attributes=["sex"], max_calls=8).fit(
            frame, Y
        )

    frames = [FRAME, FRAME.convert_dtypes(dtype_backend="pyarrow"), pl.from_pandas(FRAME)]
    fits = [fit(frame) for frame in frames]
    for frame, clf in zip(frames, fits, strict=True):
        assert same(clf.result_, fits[0].result_)
        np.testing.assert_array_equal(clf.predict(frame), fits[0].predict(FRAME))
    plain = mf.MetricClassifier(GaussianNB(), cv=cv, max_calls=8)
    values = [plain.fit(numbers(frame), Y).result_.value for frame in frames]
    assert values == [values[0]] * 3
    assert plain.feature_names_in_.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([10, 20, 30]),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1.0, 2.0, 3.0]),
        np.array(["x", "yy", "zzz"]),
        np.array(["x", "yy", "zzz"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_come_back_as_they_were(labels):
    clf = mf.MetricClassifier(Exact()).fit(X, labels[GAUSS.y])
    made = clf.predict(X)
    assert made.dtype == labels.dtype
    np.testing.assert_array_equal(clf.classes_, labels)
    expected = mf.MetricClassifier(Exact()).fit(X, GAUSS.y).predict(X)
    np.testing.assert_array_equal(made, labels[expected])
    assert set(mf.MetricClassifier(GaussianNB()).fit(X, GAUSS.y > 0).predict(X)) == {False, True}


@pytest.mark.parametrize("make", [list, pd.Series, pl.Series, lambda y: pd.Series(y, dtype="category")])
def test_containers_of_labels_agree(make):
    expected = mf.MetricClassifier(Exact()).fit(X, Y)
    clf = mf.MetricClassifier(Exact()).fit(X, make(Y))
    assert same(clf.result_, expected.result_)
    assert clf.score(X, make(Y)) == pytest.approx(g_mean_of(clf.decision_proba(X), Y))


def test_decisions_that_are_no_class():
    costs = np.array([[0, 1, 1, 0.4], [1, 0, 1, 0.4], [1, 1, 0, 0.4]])
    clf = mf.MetricClassifier(Exact(), mf.cost(costs), decisions=[0, 1, 2, "review"], counting="model").fit(
        X, GAUSS.y
    )
    made = clf.predict(X)
    expected = np.where(TRUE.max(axis=1) > 0.6, TRUE.argmax(axis=1).astype(object), "review")
    np.testing.assert_array_equal(made, expected)
    assert clf.decision_proba(X).shape == (len(Y), 4)
    paid = np.mean([costs[i, 3 if d == "review" else d] for i, d in zip(GAUSS.y, made, strict=True)])
    assert clf.score(X, GAUSS.y) == pytest.approx(-paid)


def test_sparse_rows_pass_through():
    clf = mf.MetricClassifier(LogisticRegression(), cv=3)
    expected = clf.fit(X, Y).decision_proba(X)
    for make in (sparse.csr_array, sparse.coo_matrix):
        assert (clf.fit(make(X), Y).decision_proba(make(X)) != expected).any(axis=1).mean() < 0.01
    assert get_tags(clf).input_tags.sparse
    assert not get_tags(mf.MetricClassifier(GaussianNB())).input_tags.sparse


def test_weights_reach_model_and_tuning():
    clf = mf.MetricClassifier(GaussianNB(), "h_mean", cv=None).fit(X, Y, sample_weight=WEIGHTS)
    model = GaussianNB().fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(clf.predict_proba(X), model.predict_proba(X))
    expected = mf.optimize(model.predict_proba(X), Y, "h_mean", sample_weight=WEIGHTS)
    assert same(clf.result_, expected)
    right = clf.decision_proba(X)[np.arange(len(Y)), np.searchsorted(clf.classes_, Y)]
    recalls = [np.average(right[c == Y], weights=WEIGHTS[c == Y]) for c in clf.classes_]
    assert clf.score(X, Y, sample_weight=WEIGHTS) == pytest.approx(3 / sum(1 / r for r in recalls))


@pytest.mark.parametrize("pipeline", [False, True])
def test_models_without_weights(pipeline):
    model = KNeighborsClassifier(20)
    base = make_pipeline(StandardScaler(), model) if pipeline else model
    clf = mf.MetricClassifier(base, "h_mean", cv=3).fit(X, Y, sample_weight=WEIGHTS)
    held_out = cross_val_predict(base, X, Y, cv=3, method="predict_proba")
    assert same(clf.result_, mf.optimize(held_out, Y, "h_mean", sample_weight=WEIGHTS))


def test_weighted_models_in_pipelines():
    base = make_pipeline(StandardScaler(), GaussianNB())
    clf = mf.MetricClassifier(base, cv=None).fit(X, Y, sample_weight=WEIGHTS)
    expected = clone(base).fit(X, Y, gaussiannb__sample_weight=WEIGHTS)
    np.testing.assert_array_equal(clf.predict_proba(X), expected.predict_proba(X))


def test_fits_are_repeatable_and_leave_everything_alone():
    constraints, attributes, base = [FLOOR], ["sex"], Exact()
    clf = mf.MetricClassifier(base, "h_mean", constraints, attributes=attributes, cv=3)
    frame, y, weights = FRAME.copy(), Y.copy(), WEIGHTS.copy()
    first = clf.fit(frame, y, sample_weight=weights).result_
    assert same(clf.fit(frame, y, sample_weight=weights).result_, first)
    assert same(clone(clf).fit(frame, y, sample_weight=weights).result_, first)
    assert constraints == [FLOOR]
    assert clf.constraints is constraints
    assert not hasattr(base, "classes_")
    pd.testing.assert_frame_equal(frame, FRAME)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(weights, WEIGHTS)


def test_pickles():
    clf = mf.MetricClassifier(Exact(), "h_mean", [FLOOR], attributes="sex").fit(FRAME, Y)
    again = pickle.loads(pickle.dumps(clf))
    assert same(again.result_, clf.result_)
    np.testing.assert_array_equal(again.predict(FRAME), clf.predict(FRAME))


def g_mean_of(chances, y) -> float:
    right = chances[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
    return float(np.prod([right[c == y].mean() for c in np.unique(y)]) ** (1 / len(np.unique(y))))


@pytest.mark.parametrize("randomize", ["hash", "draw", "never"])
def test_randomize(randomize):
    clf = mf.MetricClassifier(
        Exact(), "g_mean", [FLOOR], randomize=randomize, random_state=3, counting="model"
    ).fit(X, Y)
    assert clf.policy_.n_rules > 1
    expected = clf.policy_.decide(TRUE, randomize=randomize, random_state=3, key=feature_words(X, len(X)))
    np.testing.assert_array_equal(clf.predict(X), expected)
    assert get_tags(clf).non_deterministic == (randomize == "draw")


def test_random_state_objects_stand_for_one_seed():
    clf = mf.MetricClassifier(
        Exact(), "g_mean", [FLOOR], randomize="draw", random_state=np.random.RandomState(0)
    ).fit(X, Y)
    np.testing.assert_array_equal(clf.predict(X), clf.predict(X))
