"""Comparisons of groups: known answers, fairlearn's own numbers, and groups that lack rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import precision_score

import metricfit as mf
from metricfit.data.confusion import Confusion

Y = [1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0]
MADE = [1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0]
ROWS = {"group": list("aaaaaabbbbcccc"), "site": list("xyxyxyxyxyxyxy")}
SMALL = Confusion.from_predictions(Y, MADE, ROWS)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        # Shares of decision 1: a 3/6, b 2/4, c 1/4, all 6/14.
        (mf.demographic_parity("group"), 6 / 14 - 1 / 4),
        (mf.demographic_parity("group", to="pairs"), 1 / 4),
        (mf.demographic_parity("group", to="mean"), 5 / 12 - 1 / 4),
        (mf.demographic_parity("group", 1, to="pairs", as_ratio=True), 1 / 2),
        (mf.demographic_parity("group", to="pairs", as_ratio=True), 1 / 2),
        (mf.demographic_parity("group", 0, to="pairs", as_ratio=True), 2 / 3),
        # Recalls of class 1: a 2/3, b 1/2, c 1, all 4/6.
        (mf.equal_opportunity("group", 1), 1 / 3),
        (mf.equal_opportunity("group", 1, to="pairs"), 1 / 2),
        (mf.equal_opportunity("group", 1, as_ratio=True), 2 / 3),
        # False positive rates of class 1: a 1/3, b 1/2, c 0, all 2/8.
        (mf.equalized_odds("group"), 1 / 3),
        (mf.equalized_odds("group", to="pairs"), 1 / 2),
        (mf.equalized_odds("group", 1, to="pairs", as_ratio=True), 0.0),
        # Errors: a 2/6, b 2/4, c 0, all 4/14.
        (mf.equal_error_rates("group"), 4 / 14),
        (mf.equal_error_rates("group", to="pairs"), 1 / 2),
        # Precisions of class 1: a 2/3, b 1/2, c 1, all 4/6.
        (mf.predictive_parity("group", 1, to="pairs"), 1 / 2),
        # Shares of decision 1 at x: a 2/3, b 1/2, c 1/2, all 4/7; at y: a 1/3, b 1/2, c 0, all 2/7.
        (mf.demographic_parity("group", given="site"), 2 / 7),
        (mf.demographic_parity("group", given="site", to="pairs"), 1 / 2),
        (mf.disparity(mf.coverage(1), "group", given="site", min_share=0.145), 2 / 3 - 4 / 7),
        (mf.worst(mf.recall(1), "group", min_share=0.3), 2 / 3),
    ],
    ids=str,
)
def test_known_answers(metric, value):
    assert metric(SMALL) == pytest.approx(value, abs=1e-12)
    assert mf.parse(str(metric))(SMALL) == pytest.approx(value, abs=1e-12)


def test_the_same_numbers_as_fairlearn():
    fair = pytest.importorskip("fairlearn.metrics")
    rng = np.random.default_rng(0)
    y, made = rng.integers(0, 2, (2, 500))
    group, site = rng.integers(0, 4, 500), rng.integers(0, 3, 500)
    weight = rng.exponential(size=500)
    confusion = Confusion.from_predictions(y, made, {"group": group, "site": site}, weight)
    ours = {
        "demographic_parity": mf.demographic_parity,
        "equalized_odds": mf.equalized_odds,
        "equal_opportunity": mf.equal_opportunity,
    }
    for to, method in (("pairs", "between_groups"), ("overall", "to_overall")):
        for name, metric in ours.items():
            rows = {"sensitive_features": group, "sample_weight": weight, "method": method}
            far = getattr(fair, f"{name}_difference")(y, made, **rows)
            ratio = getattr(fair, f"{name}_ratio")(y, made, **rows)
            assert metric("group", 1, to=to)(confusion) == pytest.approx(far, abs=1e-12)
            assert metric("group", 1, to=to, as_ratio=True)(confusion) == pytest.approx(ratio, abs=1e-12)
        frame = fair.MetricFrame(
            metrics=fair.selection_rate,
            y_true=y,
            y_pred=made,
            sensitive_features=group,
            control_features=site,
            sample_params={"sample_weight": weight},
        )
        far, ratio = frame.difference(method=method).max(), frame.ratio(method=method).min()
        inside = mf.demographic_parity("group", 1, to=to, given="site")
        assert inside(confusion) == pytest.approx(far, abs=1e-12)
        inside = mf.demographic_parity("group", 1, to=to, given="site", as_ratio=True)
        assert inside(confusion) == pytest.approx(ratio, abs=1e-12)


def test_a_group_without_rows_of_a_class_is_left_out():
    # Group c has no row of class 1: its rates in class 0 still count.
    y, made, group = [0, 1, 0, 1, 0, 0], [0, 1, 0, 0, 1, 1], list("aabbcc")
    confusion = Confusion.from_predictions(y, made, group)
    assert mf.equal_opportunity("group", 1)(confusion) == pytest.approx(0.5)
    assert mf.equalized_odds("group")(confusion) == pytest.approx(0.5)
    assert mf.equalized_odds("group", to="pairs")(confusion) == pytest.approx(1.0)
    assert mf.worst(mf.recall(1), "group")(confusion) == pytest.approx(0.0)
    with pytest.raises(ValueError, match=r"recall\(1\).at\(group='c'\): undefined where group='c'"):
        mf.recall(1).at(group="c")(confusion)


def test_a_group_that_never_gets_a_decision_has_no_precision_to_compare():
    # Precisions of class 1: a 1/2, b 1, c none.
    y, made, group = [0, 1, 1, 1, 0, 1], [1, 1, 1, 1, 0, 0], list("aabbcc")
    confusion = Confusion.from_predictions(y, made, group)
    assert mf.predictive_parity("group", 1)(confusion) == pytest.approx(0.25)
    assert mf.predictive_parity("group", 1, to="pairs")(confusion) == pytest.approx(0.5)
    assert mf.predictive_parity("group", 1, to="pairs", as_ratio=True)(confusion) == pytest.approx(0.5)
    fair = pytest.importorskip("fairlearn.metrics")
    metric = {"precision": partial(precision_score, zero_division=np.nan)}
    frame = fair.MetricFrame(metrics=metric, y_true=y, y_pred=made, sensitive_features=group)
    assert frame.difference()["precision"] == pytest.approx(0.5)
    nobody = Confusion.from_predictions(y, [0] * 6, group)
    assert mf.predictive_parity("group", 1)(nobody) == 0.0


def test_a_group_without_a_class_may_be_spared_its_decision():
    # Group b has no row of class 1, so that all precisions there are 0: parity is kept by never deciding so.
    rng = np.random.default_rng(0)
    group = np.where(rng.random(600) < 0.3, "b", "a")
    score = rng.random(600)
    y = ((rng.random(600) < score) & (group == "a")).astype(int)
    proba = np.column_stack([1 - score, score])
    result = mf.optimize(
        proba, y, "accuracy", [mf.predictive_parity("group", 1) <= 0.05], sensitive_features=group
    )
    made = result.policy.decide(proba, group)
    assert result.constraints[0].violation <= 1e-6
    assert not made[group == "b"].any()
    assert made[group == "a"].mean() > 0.2
    assert (made == y).mean() > 0.75


def test_nothing_to_compare():
    confusion = Confusion.from_predictions([0, 0], [0, 1], ["a", "b"], classes=[0, 1])
    with pytest.raises(ValueError, match=r"equal_opportunity\(over='group', c=1\): undefined"):
        mf.equal_opportunity("group", 1)(confusion)
    with pytest.raises(ValueError, match="no group has rows"):
        mf.disparity(mf.accuracy(), "group", min_share=0.9)(confusion)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: mf.demographic_parity("sex", to="all"), "demographic_parity: to must be 'overall'"),
        (lambda: mf.equal_opportunity("sex", 1, as_ratio=1), "equal_opportunity: as_ratio must be True"),
        (lambda: mf.equalized_odds("sex", given=5), "equalized_odds: given must be the name of an attribute"),
        (lambda: mf.equal_error_rates("sex", min_share=2), "equal_error_rates: min_share must be a share"),
    ],
)
def test_options_that_make_no_sense(made, words):
    with pytest.raises(ValueError, match=words):
        made()
