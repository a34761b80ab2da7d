"""Values: scikit-learn's scores where there are any, direct computation from the rows otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import CLASSES, COSTS, METRICS, REVIEW, decisions_of, example_rows, reordered, unweighted

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion
from metricfit.metrics import METRICS as REGISTRY

CASES = [(example, decisions) for example in METRICS for decisions in decisions_of(example)]


def ident(case: object) -> str:
    return str(case.metric) if hasattr(case, "metric") else str(len(case))


def test_every_metric_has_an_example():
    assert {example.name for example in METRICS} == set(REGISTRY)


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=ident)
def test_value(example, decisions):
    rows = example_rows(decisions)
    assert example.metric(rows.confusion) == pytest.approx(example.score(rows), abs=1e-12)
    plain = unweighted(example_rows(decisions, seed=1, size=200))
    assert example.metric(plain.confusion) == pytest.approx(example.score(plain), abs=1e-12)


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=ident)
def test_slice_is_the_metric_of_those_rows(example, decisions):
    rows = example_rows(decisions, seed=2, size=600)
    inside = rows.attributes["region"].isin([1, 3]).to_numpy()
    if ".at" in str(example.metric):  # the slice of a slice
        inside = inside & (rows.attributes["sex"].to_numpy() == "F")
    sliced = example.metric.at(region=[1, 3])
    assert sliced(rows.confusion) == pytest.approx(example.score(rows.where(inside)), abs=1e-12)
    assert sliced(rows.confusion) == pytest.approx(
        example.metric(rows.confusion.at(region=[1, 3])), abs=1e-12
    )
    assert (sliced.curvature, sliced.smooth, sliced.direction) == (
        example.metric.curvature,
        example.metric.smooth,
        example.metric.direction,
    )


@pytest.mark.parametrize("example", [e for e in METRICS if e.name != "cost"], ids=ident)
def test_order_of_decisions_does_not_matter(example):
    for decisions in decisions_of(example):
        confusion = example_rows(decisions).confusion
        turned = reordered(confusion, decisions[::-1])
        assert example.metric(turned) == pytest.approx(example.metric(confusion), abs=1e-12)


def test_costs_are_not_transposed():
    y, made = ["a", "a", "b"], ["a", "b", "a"]
    confusion = Confusion.from_predictions(y, made)
    assert mf.cost([[0, 1], [10, 0]])(confusion) == pytest.approx(11 / 3)
    assert mf.cost([[0, 10], [1, 0]])(confusion) == pytest.approx(11 / 3)
    assert mf.cost([[0, 3], [10, 0]])(confusion) == pytest.approx(13 / 3)
    rows = example_rows()
    assert mf.cost(COSTS)(rows.confusion) != pytest.approx(mf.cost(COSTS.T)(rows.confusion))


def test_cost_of_more_decisions_than_classes():
    confusion = Confusion.from_predictions(["a", "b", "b", "a"], ["a", "review", "a", "b"])
    assert mf.cost([[0, 2, 0.5], [7, 0, 0.25]])(confusion) == pytest.approx((7 + 0.25 + 2) / 4)


def test_fewer_decisions_than_classes():
    axes = Axes(("ant", "bee", "cow"), ("cow", "ant", "review"))
    confusion = Confusion([[[0.1, 0.2, 0.1], [0.1, 0.05, 0.15], [0.2, 0.0, 0.1]]], axes)
    assert mf.accuracy()(confusion) == pytest.approx(0.4)
    assert mf.recall("bee")(confusion) == 0
    assert mf.recall("cow")(confusion) == pytest.approx(2 / 3)
    assert mf.balanced_accuracy()(confusion) == pytest.approx((0.5 + 0 + 2 / 3) / 3)
    assert mf.g_mean()(confusion) == mf.h_mean()(confusion) == mf.min_recall()(confusion) == 0
    assert mf.precision("cow")(confusion) == pytest.approx(0.5)
    assert mf.f_beta(1, "bee")(confusion) == mf.jaccard("bee")(confusion) == 0
    assert mf.false_positive_rate("bee")(confusion) == 0
    assert mf.specificity("bee")(confusion) == 1
    assert mf.macro_f1()(confusion) == pytest.approx((0.4 / 0.65 + 0 + 0.4 / 0.7) / 3)
    assert mf.micro_f1("bee")(confusion) == pytest.approx(0.8 / (0.4 + 0.3 + 0.65))
    assert mf.coverage("review")(confusion) == pytest.approx(0.35)
    assert mf.selective_accuracy()(confusion) == pytest.approx(0.4 / 0.65)
    assert mf.selective_recall("cow")(confusion) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="unknown decision 'bee'"):
        mf.precision("bee")(confusion)


def test_selective_metrics_are_plain_ones_when_all_decisions_are_classes():
    confusion = example_rows().confusion
    assert mf.selective_accuracy()(confusion) == pytest.approx(mf.accuracy()(confusion))
    assert mf.selective_recall("cow")(confusion) == pytest.approx(mf.recall("cow")(confusion))


def test_rates_of_nothing_are_zero():
    confusion = Confusion.from_predictions(["a", "b", "b"], ["b", "b", "b"], classes=["a", "b"])
    assert mf.precision("a")(confusion) == 0
    assert mf.f_beta(1, "a")(confusion) == 0
    assert mf.mcc()(confusion) == 0
    assert mf.cohen_kappa()(confusion) == pytest.approx(0)
    assert mf.selective_accuracy()(Confusion.from_predictions(["a", "b"], ["?", "?"])) == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_mcc_of_decisions_that_are_all_alike_is_exactly_zero(weighted):
    """On any processor, however its sums are rounded: nothing divided by nearly nothing is no correlation."""
    random = np.random.default_rng(0)
    for classes in (2, 3, 5) * 40:
        y = np.append(np.arange(classes), random.integers(0, classes, 20))
        weight = 10 ** random.uniform(-3, 3, len(y)) if weighted else None
        made = np.full(len(y), random.integers(classes))
        confusion = Confusion.from_predictions(y, made, sample_weight=weight, classes=range(classes))
        assert mf.mcc()(confusion) == 0


def test_labels_may_be_of_any_kind():
    for labels in ((0, 1, 2), (0.5, 1.5, 2.5), CLASSES):
        names = dict(zip(CLASSES, labels, strict=True))
        rows = example_rows()
        y, made = ([names[v] for v in column] for column in (rows.y, rows.made))
        confusion = Confusion.from_predictions(np.array(y), made, sample_weight=rows.weight)
        expected = mf.recall("cow")(rows.confusion)
        assert mf.recall(labels[2])(confusion) == pytest.approx(expected)
        assert mf.recall(np.array(labels)[2])(confusion) == pytest.approx(expected)


def test_groups_may_be_named_by_list_or_tuple():
    confusion = example_rows(REVIEW).confusion
    one, two = mf.demographic_parity(("sex",)), mf.demographic_parity("sex")
    assert one(confusion) == two(confusion)
    assert str(one) == "demographic_parity(over=['sex'])"


def test_one_group_has_no_disparity():
    confusion = example_rows().confusion
    assert mf.disparity(mf.recall("bee"), "sex", to="pairs").at(sex="F")(confusion) == 0
    assert mf.disparity(mf.recall("bee"), "sex", to="pairs", as_ratio=True).at(sex="F")(confusion) == 1
    assert mf.demographic_parity("sex").at(sex="F")(confusion) == 0


def test_groups_without_weight_are_left_out():
    rows = example_rows()
    weight = np.where(rows.attributes["region"] == 3, 0.0, rows.weight)
    confusion = Confusion.from_predictions(rows.y, rows.made, rows.attributes, sample_weight=weight)
    kept = rows.where(weight > 0).confusion
    for metric in (mf.demographic_parity("region"), mf.worst(mf.g_mean(), "region"), mf.churn("today")):
        assert metric(confusion) == pytest.approx(metric(kept))
