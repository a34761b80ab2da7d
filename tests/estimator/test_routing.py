"""Arguments of fit that are for the base classifier or the splitter, with metadata routing and without it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import metricfit as mf

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
X[:, 0] = np.arange(N)
Y = (X[:, 1] + RNG.normal(size=N) > 0).astype(int)
HINT = np.arange(N) * 2.0
SEEN: list[tuple[str, object]] = []


class Hinted(ClassifierMixin, BaseEstimator):
    """Remembers what its fit was passed, beside the rows, which are numbered by their first column."""

    def fit(self, X, y, sample_weight=None, hint=None, mode="plain"):
        SEEN.append((mode, (X[:, 0].copy(), None if hint is None else np.array(hint), sample_weight)))
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


@pytest.fixture(autouse=True)
def forget():
    SEEN.clear()


def check_cut(fits):
    """Check that every fit saw the hints of its own rows."""
    assert len(SEEN) == fits
    for mode, (rows, hint, _) in SEEN:
        assert mode == "special"
        np.testing.assert_array_equal(hint, 2 * rows)


def test_without_routing_the_base_gets_them_cut_as_the_folds_are():
    mf.MetricClassifier(Hinted(), cv=3).fit(X, Y, hint=HINT, mode="special", sample_weight=HINT + 1)
    check_cut(4)
    assert all(weight is not None for _, (_, _, weight) in SEEN)


@pytest.mark.parametrize("how", [{"cv": None}, {"confidence": 0.9, "constraints": ["recall(1) >= 0.2"]}])
def test_other_ways_of_fitting_pass_them_on(how):
    mf.MetricClassifier(Hinted(), "accuracy", **{"cv": 3, **how}).fit(X, Y, hint=HINT, mode="special")
    check_cut(1 if how.get("cv", 3) is None else 4)


def test_pipelines_take_them_by_the_name_of_the_step():
    base = make_pipeline("passthrough", Hinted())
    mf.MetricClassifier(base, cv=3).fit(X, Y, hinted__hint=HINT, hinted__mode="special")
    check_cut(4)


def test_with_routing_requests_decide():
    with config_context(enable_metadata_routing=True):
        clf = mf.MetricClassifier(Hinted().set_fit_request(hint=True, mode=True), cv=3)
        clf.fit(X, Y, hint=HINT, mode="special", sample_weight=HINT + 1)
        check_cut(4)
        with pytest.raises(UnsetMetadataPassedError, match="hint"):
            mf.MetricClassifier(Hinted(), cv=3).fit(X, Y, hint=HINT)
        with pytest.raises(TypeError, match="hint"):
            mf.MetricClassifier(GaussianNB(), cv=3).fit(X, Y, hint=HINT)


def test_with_routing_searches_pass_them_through_under_other_names_too():
    with config_context(enable_metadata_routing=True):
        base = make_pipeline("passthrough", Hinted())
        base[-1].set_fit_request(hint="advice", mode=True, sample_weight=True)
        clf = mf.MetricClassifier(base, cv=3).set_fit_request(sample_weight=True)
        clf.set_score_request(sample_weight=False)
        search = GridSearchCV(clf, {"objective": ["g_mean", "h_mean"]}, cv=2)
        search.fit(X, Y, advice=HINT, mode="special", sample_weight=HINT + 1)
        check_cut(2 * 2 * 4 + 4)


def test_groups_reach_the_splitter():
    groups = np.arange(N) // 10
    with config_context(enable_metadata_routing=True):
        clf = mf.MetricClassifier(Hinted(), cv=GroupKFold(3), keep_proba=True).fit(X, Y, groups=groups)
    for _, (rows, _, _) in SEEN[:3]:
        seen = set((rows // 10).astype(int).tolist())
        assert len(seen) == 8
    plain = mf.MetricClassifier(Hinted(), cv=list(GroupKFold(3).split(X, Y, groups))).fit(X, Y)
    assert clf.policy_ == plain.policy_
    with pytest.raises(ValueError, match="needs groups"):
        mf.MetricClassifier(GaussianNB(), cv=GroupKFold(3)).fit(X, Y)


def test_a_misspelt_argument_is_refused_before_anything_is_fitted():
    with pytest.raises(
        TypeError, match="unknown argument 'sensitive_feature'; did you mean 'sensitive_features'"
    ):
        mf.MetricClassifier(Hinted(), cv=3).fit(X, Y, sensitive_feature=Y)
    assert not SEEN


@pytest.mark.parametrize("how", [{"blind": True}, {"oracle": "retrain"}])
def test_models_of_other_labels_take_none(how):
    with pytest.raises(ValueError, match="'hint' cannot be passed"):
        mf.MetricClassifier(Hinted(), **how).fit(X, Y, sensitive_features=Y, hint=HINT)


def test_what_is_consumed_is_not_requested_twice():
    with config_context(enable_metadata_routing=True):
        clf = mf.MetricClassifier(Hinted().set_fit_request(hint=True, sample_weight=True))
        assert clf.get_metadata_routing().consumes("fit", ["hint", "sample_weight", "mode"]) == {"hint"}
