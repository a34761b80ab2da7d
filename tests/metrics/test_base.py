"""Constraints, bad input and what metrics say about themselves."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from conftest import METRICS, example_rows

import metricfit as mf
from metricfit import metrics
from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion
from metricfit.metrics.registry import FUNCTIONS

TWO = Confusion.from_predictions([0, 0, 1, 1], [0, 1, 1, 1])


def test_registry_is_what_the_package_exports():
    other = {"METRICS", "Constraint", "Curvature", "Metric", "as_metric", "custom", "parse"}
    assert set(metrics.__all__) == {function.__name__ for function in FUNCTIONS} | other
    for function in FUNCTIONS:
        assert getattr(mf, function.__name__) is function
        assert ">>> " in function.__doc__


def test_repr_shows_the_declarations():
    assert repr(mf.recall("a")) == "<Metric recall('a') (linear, smooth, higher is better)>"
    assert repr(mf.coverage(1)) == "<Metric coverage(1) (linear, smooth, no direction)>"
    assert repr(mf.demographic_parity("sex")) == (
        "<Metric demographic_parity(over='sex') (convex, not smooth, lower is better)>"
    )


@pytest.mark.parametrize("example", METRICS, ids=lambda example: str(example.metric))
def test_text_and_pickle_give_the_metric_back(example):
    rows = example_rows()
    for again in (mf.parse(str(example.metric)), pickle.loads(pickle.dumps(example.metric))):
        assert str(again) == str(example.metric)
        assert repr(again) == repr(example.metric)
        assert again(rows.confusion) == example.metric(rows.confusion)


def test_labels_are_plain_in_the_text():
    assert str(mf.recall(np.str_("a"))) == "recall('a')"
    assert str(mf.precision(np.int64(3))) == "precision(3)"
    assert str(mf.recall(True)) == "recall(True)"
    assert str(mf.f_beta(np.float64(1 / 3), 0)) == "f_beta(0.3333333333333333, 0)"
    assert str(mf.recall(0).at(sex=np.array(["F", "M"]))) == "recall(0).at(sex=['F', 'M'])"
    assert str(mf.cost(np.eye(2))) == "cost([[1.0, 0.0], [0.0, 1.0]])"
    assert str(mf.coverage_deviation(np.array([0.25, 0.75]))) == "coverage_deviation([0.25, 0.75])"


def test_slices_by_names_that_are_no_python_names():
    features = {"age group": ["old", "old", "young", "young"], "class": [1, 2, 1, 2]}
    confusion = Confusion.from_predictions([0, 1, 0, 1], [0, 1, 1, 1], features)
    metric = mf.accuracy().at(**{"age group": "young", "class": [1, 2]})
    assert str(metric) == "accuracy().at(**{'age group': 'young', 'class': [1, 2]})"
    assert mf.parse(str(metric))(confusion) == metric(confusion) == 0.5


def test_users_objects_stay_as_they_are():
    matrix, where = [[0, 1], [2, 0]], ["F"]
    cost, slice_ = mf.cost(matrix), mf.recall(1).at(sex=where)
    matrix[0][1] = 9
    where.append("M")
    assert str(cost) == "cost([[0.0, 1.0], [2.0, 0.0]])"
    assert str(pickle.loads(pickle.dumps(cost))) == str(cost)
    assert str(slice_) == "recall(1).at(sex=['F'])"


# Constraints


def test_constraints():
    floor = mf.precision("fraud") >= 0.9
    assert (str(floor.metric), floor.sense, floor.limit) == ("precision('fraud')", ">=", 0.9)
    assert str(floor) == "precision('fraud') >= 0.9"
    limit = 0.25
    assert str(limit >= mf.recall(1)) == "recall(1) <= 0.25"
    assert str(mf.recall(0) <= mf.recall(1)) == "recall(0) - recall(1) <= 0"
    assert str(mf.recall(0) >= 1 / 3) == "recall(0) >= 0.3333333333333333"
    assert pickle.loads(pickle.dumps(floor)).limit == 0.9


def test_chained_constraints_raise():
    with pytest.raises(TypeError, match="write two constraints instead of a <= metric <= b"):
        0.1 <= mf.recall(0) <= 0.5  # noqa: B015
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(mf.recall(0) <= 0.5)


@pytest.mark.parametrize(
    "limit", [float("nan"), float("inf"), "0.5", None, [0.5], np.array([0.5, 1]), True, 10**400]
)
def test_bad_limits(limit):
    with pytest.raises(ValueError, match=r"the limit of a constraint on recall\(0\) must be a finite number"):
        mf.recall(0) <= limit  # noqa: B015


@pytest.mark.parametrize("other", [float("nan"), "a", None, [1], True, 1j, 10**400])
def test_bad_operands(other):
    for combine in (
        lambda m: m + other,
        lambda m: other - m,
        lambda m: m * other,
        lambda m: m / other,
        lambda m: mf.maximum(m, other),
    ):
        with pytest.raises(ValueError, match="metrics combine with metrics and finite numbers"):
            combine(mf.recall(0))


# Bad arguments


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mf.recall(None), "recall: class c must be a string, an integer"),
        (lambda: mf.recall(mf.recall(0)), "recall: class c must be"),
        (lambda: mf.coverage(["review"]), "coverage: decision c must be"),
        (lambda: mf.precision(float("nan")), "precision: class c must be"),
        (lambda: mf.f_beta(0, 1), "beta must be a positive number, got 0; 1 weighs"),
        (lambda: mf.f_beta("x", 1), "beta must be a positive number, got 'x'"),
        (lambda: mf.f_beta(float("inf"), 1), "beta must be a positive number"),
        (lambda: mf.f_beta(1), "give either a class c or average='macro' or 'weighted'"),
        (lambda: mf.f_beta(1, 0, average="macro"), "not both or neither"),
        (lambda: mf.f_beta(1, average="micro"), "average must be 'macro' or 'weighted', got 'micro'"),
        (lambda: mf.jaccard(), "give either a class c or average"),
        (lambda: mf.jaccard(average=3), "average must be 'macro' or 'weighted', got 3"),
        (lambda: mf.cost([1, 2]), r"classes x decisions, got shape \(2,\)"),
        (lambda: mf.cost([[1, np.nan]]), "finite numbers"),
        (lambda: mf.cost([[1, 2], [3]]), "rows of equal length"),
        (lambda: mf.cost("abc"), "must be a table of numbers"),
        (lambda: mf.cohen_kappa("cubic"), "weights must be None, 'linear' or 'quadratic', got 'cubic'"),
        (lambda: mf.coverage_deviation("uniform"), "target must be 'prior', numbers, or a mapping"),
        (lambda: mf.coverage_deviation([0.5, 0.6]), "shares >= 0 that sum to 1"),
        (lambda: mf.coverage_deviation({"a": -0.5, "b": 1.5}), "shares >= 0 that sum to 1"),
        (lambda: mf.quantification_kld(5), "quantification_kld: target must be shares"),
        (lambda: mf.quantification_kld({0: "much"}), "shares >= 0 that sum to 1"),
        (lambda: mf.churn([0, 1]), "name of the attribute column .* got list; add them as a column"),
        (lambda: mf.demographic_parity(5), "demographic_parity: over must be the name of an attribute"),
        (lambda: mf.demographic_parity([]), "over must be the name of an attribute"),
        (lambda: mf.worst("recall", over="sex"), "worst: metric must be a Metric, got 'recall'"),
        (lambda: mf.disparity(0.5, over="sex"), "disparity: metric must be a Metric"),
        (lambda: mf.disparity(mf.recall(0), "sex", to="all"), "to must be 'overall', 'pairs' or 'mean'"),
        (lambda: mf.disparity(mf.recall(0), "sex", as_ratio=1), "as_ratio must be True or False"),
        (lambda: mf.equal_opportunity("sex", None), "equal_opportunity: class c must be"),
        (lambda: mf.minimum(), "minimum takes one or more metrics"),
        (lambda: mf.maximum(0.5), "maximum takes one or more metrics"),
        (lambda: mf.recall(0).at(sex=[]), "'sex' has an empty list of values"),
        (lambda: mf.recall(0).at(sex=None), "at: the value of 'sex' must be"),
        (lambda: mf.recall(0) / 0, r"recall\(0\) / 0: the denominator is zero"),
        (lambda: mf.recall(0)(TWO.values), "is a function of a Confusion, got ndarray"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises(ValueError, match=words):
        make()


# Bad combinations of metric and data


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (mf.recall("bea"), "unknown class 'bea'; did you mean 'bee'"),
        (mf.precision("review"), "unknown class 'review'"),
        (mf.coverage("review"), "unknown decision 'review'"),
        (mf.micro_f1("dog"), "unknown class 'dog'"),
        (mf.f_beta(1, "dog"), "unknown class 'dog'"),
        (mf.demographic_parity("sax"), "unknown attribute 'sax'; did you mean 'sex'"),
        (mf.worst(mf.accuracy(), ["sex", "age"]), "unknown attribute 'age'"),
        (mf.churn("region"), "unknown decision 1"),
        (mf.accuracy().at(sex="X"), "unknown value of attribute 'sex': 'X'"),
        (mf.accuracy().at(age=3), "unknown attribute 'age'"),
        (mf.accuracy().at(sex="F").at(sex="M"), r"the slice at\(sex='F'\) has no rows where sex='M'"),
        (
            mf.cost([[0, 1], [1, 0]]),
            r"matrix has shape \(2, 2\), but there are 3 classes \(rows\) and 3 decisions",
        ),
        (mf.coverage_deviation([0.5, 0.5]), "target has 2 shares, but there are 3 decisions"),
        (mf.coverage_deviation({"dog": 1.0}), "unknown decision 'dog'"),
        (
            mf.disparity(mf.mcc(), "sex", as_ratio=True),
            r"mcc\(\) can be negative, which ratios cannot compare",
        ),
        (mf.disparity(mf.recall("ant") - 0.5, "sex", as_ratio=True), "can be negative"),
    ],
)
def test_metrics_that_do_not_fit_the_data(metric, words):
    with pytest.raises(ValueError, match=words):
        metric(example_rows().confusion)


def test_attributes_that_were_not_given():
    with pytest.raises(ValueError, match=r"unknown attribute 'sex'\. Known: none; pass sensitive_features"):
        mf.demographic_parity("sex")(TWO)


@pytest.mark.parametrize(
    "metric", [mf.ordinal_error(), mf.cohen_kappa("linear"), mf.cohen_kappa("quadratic")]
)
def test_distances_need_classes(metric):
    confusion = Confusion.from_predictions([0, 1], [0, "review"])
    with pytest.raises(ValueError, match=r"decision 'review' is not a class; use cost\(matrix\)"):
        metric(confusion)


EMPTY_CLASS = Confusion([[[0.5, 0.1], [0, 0], [0.2, 0.2]]], Axes(("a", "b", "c"), ("a", "b")))


@pytest.mark.parametrize(
    "metric", [mf.recall("b"), mf.g_mean(), mf.h_mean(), mf.q_mean(), mf.min_recall(), mf.balanced_accuracy()]
)
def test_recall_of_a_class_without_rows(metric):
    words = r": undefined, because class 'b' has no rows at all.*merge the classes"
    with pytest.raises(ValueError, match=rf"^{re.escape(str(metric))}{words}"):
        metric(EMPTY_CLASS)


def test_metrics_that_need_no_rows_of_every_class():
    assert mf.recall("a")(EMPTY_CLASS) == pytest.approx(5 / 6)
    assert mf.precision("b")(EMPTY_CLASS) == 0
    assert mf.macro_f1()(EMPTY_CLASS) == pytest.approx((1 / 1.3) / 3)


def test_undefined_rates_of_a_group_say_which():
    confusion = Confusion.from_predictions([0, 1, 0, 0], [0, 1, 0, 1], ["F", "F", "M", "M"])
    words = r"undefined where group='M', because class 1 has no rows there"
    with pytest.raises(ValueError, match=rf"^recall\(1\).at\(group='M'\): {words}"):
        mf.recall(1).at(group="M")(confusion)
    with pytest.raises(
        ValueError, match=r"false_positive_rate\(0\)\.at\(group=.M.\): undefined where group='M'"
    ):
        mf.false_positive_rate(0).at(group="M")(confusion)
    with pytest.raises(ValueError, match=r"mcc\(\).*: undefined where group='M', because all rows there are"):
        mf.mcc().at(group="M")(confusion)
    assert mf.demographic_parity("group")(confusion) == 0


# Quotients


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (mf.recall("ant") / (mf.recall("bee") - mf.recall("cow")), "must not be negative, but it can be -1"),
        (1 / (mf.coverage("ant") - 0.25), "but it can be -0.25; add a constant that keeps it positive"),
        (1 / (0 * mf.coverage("ant")), "it is never positive"),
        (1 / -mf.g_mean(), "it is never positive"),
    ],
)
def test_denominators_are_positive(metric, words):
    with pytest.raises(ValueError, match=words):
        metric(example_rows().confusion)


def test_denominators_are_checked_exactly():
    """Interval arithmetic alone would think that these could be negative."""
    confusion = example_rows().confusion
    total = mf.coverage("ant") + mf.coverage("bee") + mf.coverage("cow")
    assert (mf.accuracy() / (total - 0.5))(confusion) == pytest.approx(2 * mf.accuracy()(confusion))
    ratio = mf.recall("ant") / (mf.recall("ant") - mf.recall("ant").at(sex="F") + 1)
    assert np.isfinite(ratio(confusion))
