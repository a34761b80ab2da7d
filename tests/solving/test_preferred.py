"""Do no harm: plain rules where tuning gains no more than noise, the search where weights are needed."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.methods import Local, Plugin
from metricfit.metrics.rates import Named


def fair_rows(seed, rows, n=5):
    """Draw rows of equal classes with calibrated probabilities: plain argmax is best, and weights are noise."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.full(n, 0.5), rows)
    return proba, (proba.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)


def macro_f1(y, decisions):
    return mf.macro_f1()(mf.Confusion.from_predictions(y, decisions))


@pytest.mark.parametrize("rows", [150, 600])
def test_where_argmax_is_best_new_rows_lose_nothing(rows):
    gains = []
    for seed in range(6):
        proba, y = fair_rows(seed, rows)
        new, truth = fair_rows(100 + seed, 20_000)
        found = mf.optimize(proba, y, "macro_f1")
        gains.append(macro_f1(truth, found.policy.decide(new)) - macro_f1(truth, new.argmax(axis=1)))
    assert np.mean(gains) >= -0.001


def test_the_plain_rule_is_that_of_the_models_own_probabilities():
    for seed in range(10):  # in most draws nothing is gained
        proba, y = fair_rows(seed, 150)
        found = mf.optimize(proba, y, "macro_f1")
        if np.array_equal(found.policy.decide(proba), proba.argmax(axis=1)):
            break
    plain = mf.optimize(proba, y, "macro_f1", method=Plugin())
    np.testing.assert_array_equal(found.policy.decide(proba), proba.argmax(axis=1))
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    assert found.policy.calibration is None
    assert found.calibrated.value <= found.calibrated.bound


def too_sure_rows(seed, copies, rows=2000, new=20_000):
    """Draw rows of four features; the model counts each of them several times, as naive Bayes counts copies of one."""
    random = np.random.default_rng(seed)
    centres = 1.2 * random.normal(size=(5, 4))
    drawn = []
    for count in (rows, new):
        y = random.choice(5, count, p=[0.35, 0.25, 0.2, 0.12, 0.08])
        X = centres[y] + random.normal(size=(count, 4)) * (1 + 0.5 * (y[:, None] % 2))
        score = -copies * ((X[:, None] - centres) ** 2).sum(axis=2) / 2
        proba = np.exp(score - score.max(axis=1, keepdims=True))
        drawn += [proba / proba.sum(axis=1, keepdims=True), y]
    return drawn


@pytest.mark.parametrize(("seed", "copies"), [(3, 3), (3, 6), (1, 6)])
def test_where_many_rows_are_near_a_threshold_argmax_is_not_preferred(seed, copies):
    """Calibrated without a row, its probabilities cross thresholds tuned on others: that says nothing of new rows."""
    proba, y, new, truth = too_sure_rows(seed, copies)
    found = mf.optimize(proba, y, "min_recall")
    reached = found.policy.evaluate(new, truth, "min_recall")["value"].iloc[0]
    argmax = mf.min_recall()(mf.Confusion.from_predictions(truth, new.argmax(axis=1)))
    assert reached > argmax + 0.05


@pytest.mark.parametrize("seed", [6, 7])
def test_a_cautious_search_is_not_given_up_for_argmax(seed):
    """One class gets a few sure rows, another one all the rest: both rates are 1, where argmax has about .55.

    With seed 6 the guided search is so cautious with the first that no rows get it when they are calibrated without
    themselves. Then labels prefer argmax to it, but not to the policy tuned on these probabilities.
    """
    random = np.random.default_rng(seed)
    y, new = random.integers(0, 3, 400), random.integers(0, 3, 20_000)
    proba, others = (
        0.75 * random.dirichlet([1, 1, 1], len(labels)) + 0.25 * np.eye(3)[labels] for labels in (y, new)
    )
    metric = mf.minimum(mf.recall(0), mf.precision(1))
    found = mf.optimize(proba, y, metric)
    assert found.value == pytest.approx(1.0)
    assert metric(mf.Confusion.from_predictions(new, found.policy.decide(others), classes=range(3))) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_where_weights_are_needed_the_search_is_kept(seed):
    """A class whose probabilities are five times too small is never decided without a weight."""
    proba, y = fair_rows(seed, 2000, 3)
    proba = proba * [1.0, 1.0, 0.2]
    proba /= proba.sum(axis=1, keepdims=True)
    new, truth = fair_rows(100 + seed, 20_000, 3)
    new = new * [1.0, 1.0, 0.2]
    new /= new.sum(axis=1, keepdims=True)
    found = mf.optimize(proba, y, "macro_f1")
    assert found.value > macro_f1(y, proba.argmax(axis=1)) + 0.02
    assert macro_f1(truth, found.policy.decide(new)) > macro_f1(truth, new.argmax(axis=1)) + 0.02


def rare_rows(seed, rows):
    """Draw rows of ten rare classes, a few rows of each: a rule that misses one of these classes has a G-mean of 0."""
    random = np.random.default_rng(seed)
    proba = np.array([0.9, *[0.01] * 10]) * np.exp(random.normal(size=(rows, 11)))
    proba /= proba.sum(axis=1, keepdims=True)
    return proba, (proba.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)


@pytest.mark.parametrize("seed", [2, 3, 7])
def test_a_mean_of_zero_by_held_out_labels_does_not_speak_for_argmax(seed):
    proba, y = rare_rows(seed, 400)
    new, truth = rare_rows(100 + seed, 20_000)

    def g_mean(decisions):
        return mf.g_mean()(mf.Confusion.from_predictions(truth, decisions, classes=range(11)))

    found = mf.optimize(proba, y, "g_mean", classes=range(11))
    assert g_mean(new.argmax(axis=1)) < 0.05
    assert g_mean(found.policy.decide(new)) > 0.15


@pytest.mark.parametrize("metric", ["g_mean", "min_recall", "h_mean"])
def test_rows_that_a_rule_decides_without_a_mistake_are_decided_so(metric):
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    assert mf.optimize(proba, [0, 0, 1], metric).value == pytest.approx(1.0, abs=1e-9)


def test_under_constraints_a_plain_rule_must_keep_them():
    proba, y = fair_rows(0, 600, 3)
    found = mf.optimize(proba, y, "accuracy", "coverage(0) <= 0.2")
    plain = mf.optimize(proba, y, "accuracy", "coverage(0) <= 0.2", method=Plugin())
    assert plain.constraints[0].violation > 0.05
    assert found.constraints[0].violation <= 1e-9


@pytest.mark.parametrize("metric", [mf.cohen_kappa(), mf.mcc()], ids=str)
def test_ranks_that_calibration_cannot_see_are_found_under_a_limit_on_shares(metric):
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.3).astype(int)
    score = rng.normal(size=600) + 2 * y
    # Nearly all rows are sure to be of class 1: their other probability is far below the floor of a calibration.
    odds = np.exp(60 * score + 150)
    proba = np.column_stack([1 / (1 + odds), 1 / (1 + 1 / odds)])
    shares = np.sort(score)[::-1][: int(0.3 * 600)]
    best = max(metric(mf.Confusion.from_predictions(y, (score >= t).astype(int))) for t in shares)
    assert best > 0.7
    assert mf.optimize(proba, y, metric, [mf.coverage(1) <= 0.3]).value > best - 1e-9


@pytest.mark.parametrize(
    ("metric", "worst"),
    [(mf.g_mean(), 1e-9), (mf.h_mean(), 1e-9), (mf.min_recall(), 1e-9), (mf.accuracy(), 0.2)],
)
def test_a_metric_may_be_minimised_though_higher_is_better(metric, worst):
    # One row in ten is of a class that need never be decided: the three means are then 0.
    random = np.random.default_rng(3)
    y = (random.random(2000) < 0.1).astype(int)
    scores = random.normal(size=2000) + 2 * y
    proba = np.column_stack([1 / (1 + np.exp(scores)), 1 / (1 + np.exp(-scores))])
    found = mf.optimize(proba, y, Named(str(metric), metric, -1))
    assert found.value <= worst


@pytest.mark.parametrize(("rows", "classes"), [(10, 3), (5, 50), (300, 4)])
def test_where_probabilities_say_nothing_the_largest_class_is_decided(rows, classes):
    y = np.minimum(np.random.default_rng(0).geometric(0.6, rows) - 1, classes - 1)
    proba = np.full((rows, classes), 1 / classes)
    result = mf.optimize(proba, y, "accuracy", classes=range(classes))
    assert result.value == pytest.approx(np.bincount(y).max() / rows)
    assert set(result.policy.decide(proba)) == {int(np.bincount(y).argmax())}


@pytest.mark.parametrize("metric", ["h_mean", "balanced_accuracy"])
def test_classes_that_a_sample_of_many_rows_lacks_are_no_error(metric):
    """The calibration is chosen on a sample, in which one of the 300 classes has no row."""
    random = np.random.default_rng(0)
    y = np.concatenate([np.arange(300), random.choice(300, 3700)])
    proba = 0.2 * random.random((4000, 300))
    proba[np.arange(4000), y] += 1  # more than any other class has
    result = mf.optimize(proba / proba.sum(axis=1, keepdims=True), y, metric, classes=range(300))
    assert result.value == pytest.approx(1.0)


@pytest.mark.parametrize("seed", [7, 19])
def test_limits_on_groups_that_a_direct_search_of_many_weights_keeps_are_kept(seed):
    """With few rows each try of 96 weights takes little time, and one try alone does not keep these limits."""
    random = np.random.default_rng(seed)
    y, group = np.arange(200) % 8, random.choice(list("abcdef"), 200)
    shown = np.where(random.random(200) < 0.7, y, random.integers(0, 8, 200))
    proba = 0.5 * random.dirichlet(np.ones(8), 200) + 0.5 * np.eye(8)[shown]
    limits = ["demographic_parity('group') <= 0.07", "accuracy() >= 0.68"]
    found = mf.optimize(proba, y, "min_recall", limits, sensitive_features=group)
    assert found.feasible
    direct = mf.optimize(proba, y, "min_recall", limits, sensitive_features=group, method=Local(warn=False))
    assert found.value >= direct.value - 1e-9


@pytest.mark.parametrize(
    ("objective", "limits"),
    [("g_mean", ["precision(2) >= 0.6"]), ("h_mean", ["coverage(1) <= 0.1"]), ("min_recall", [])],
)
def test_wherever_the_time_ends_there_is_an_answer(objective, limits):
    """In a third of the range the time ends within the direct search, after which plain rules cannot be asked for."""
    proba, y, *_ = too_sure_rows(3, 6, new=1)
    whole = mf.optimize(proba, y, objective, limits).seconds
    for share in np.linspace(0.05, 0.95, 19):
        found = mf.optimize(proba, y, objective, limits, max_seconds=share * whole)
        assert found.status in ("max_seconds", "searched")
        assert found.feasible or found.status == "max_seconds"
