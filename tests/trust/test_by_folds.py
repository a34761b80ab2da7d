"""Constraints that new rows break as often as not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from metricfit.exceptions import UnconfirmedError
from metricfit.oracles import Rows
from metricfit.problem import Problem
from metricfit.trust.by_folds import SETTINGS, confirm_by_folds
from metricfit.trust.decided import Decided


def population(n: int, seed: int):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    group = rng.integers(0, 4, n)
    y = (rng.random(n) < 1 / (1 + np.exp(0.5 - 2 * X[:, 0] - X[:, 1] - 0.3 * group))).astype(int)
    shown = 1 / (1 + np.exp(0.5 - 1.7 * X[:, 0] - 0.8 * X[:, 1]))
    return X, y, np.stack([1 - shown, shown], axis=1), group


X, Y, PROBA, GROUP = population(20_000, 0)
# More recall than the best G-mean has, and less difference between groups.
FLOOR = mf.recall(1) >= 0.9
PARITY = mf.demographic_parity(over="group") <= 0.04


class Above:
    """Decide 1 above a threshold, and where a row of class 1 is remembered: a policy, and the result of its fit."""

    calibration = None
    constraints = ()

    def __init__(self, threshold, rows, remembered=()):
        self.policy, self.threshold, self.remembered = self, threshold, np.array(remembered)
        self.confusion = Decided.by(self, rows).evidence().confusion
        self.value = mf.g_mean()(self.confusion)

    def decision_proba(self, proba, attributes=None):
        ones = (proba[:, 1] >= self.threshold) | np.isin(proba[:, 1], self.remembered)
        return np.eye(2)[ones.astype(int)]


def rows_of(scores, labels, **more):
    return Rows.of(np.stack([1 - scores, scores], axis=1), labels, classes=[0, 1], **more)


def confirmed(limits, rows, fit):
    """Confirm limits on rows by a fit of a problem to rows."""

    def refit_on(some):
        return lambda problem, start: fit(problem, some)

    return confirm_by_folds(Problem.of("g_mean", limits), rows, refit_on(rows), refit_on)


def test_without_chance_in_the_fit_the_labels_of_all_rows_decide():
    """Scores of the class are even on [0.02, 1], and the fit takes them for even on [0, 1]: it is too cautious."""
    rows = rows_of(
        np.concatenate([np.linspace(0.02, 1, 980), np.linspace(0, 0.999, 300)]), np.repeat([1, 0], [980, 300])
    )
    floor = mf.recall(1) >= 0.8

    def fit(problem, some):
        return Above(1 - problem.constraints[0].limit, some)

    found, problem, record, judged = confirmed([floor], rows, fit)
    one = record.constraints[0]
    # The boldest threshold that keeps 0.8 is 1 - .8 * .98, and a standard error is about the root of .8 * .2 / 980.
    assert found.threshold == pytest.approx(0.216, abs=SETTINGS.resolution * 0.0128 + 1e-3)
    assert mf.recall(1)(found.confusion) >= 0.8
    assert problem.constraints[0].limit == pytest.approx(1 - found.threshold)
    assert one.margin == pytest.approx(0.2 - found.threshold)
    assert one.estimate == pytest.approx(mf.recall(1)(found.confusion))
    assert one.p_value <= 0.5
    assert "folds" in one.approximate
    assert (record.level, record.rows, record.folds) == (0.5, 1280, 3)
    assert judged.constraints[0].value == pytest.approx(one.estimate)


@pytest.mark.parametrize(("limit", "passes"), [(0.78, True), (0.82, False)])
def test_what_a_fit_remembers_is_not_believed(limit, passes):
    """A policy that remembers its rows of the class keeps all of them, and 0.7 of others.

    On all rows the policy of a fold keeps 2/3 and 0.7 of 1/3 of them, 0.9; so the folds' 0.7 is 1 - 0.9 too little for
    the one that has seen all rows: 0.8.
    """
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.permutation(np.linspace(0.001, 0.999, 3000)), np.zeros(300)])
    rows = rows_of(scores, np.repeat([1, 0], [3000, 300]))

    def fit(problem, some):
        return Above(0.3, some, some.proba[some.labels == 1, 1])

    if passes:
        *_, record, _ = confirmed([mf.recall(1) >= limit], rows, fit)
        assert record.constraints[0].estimate == pytest.approx(0.8, abs=0.02)
        return
    with pytest.raises(UnconfirmedError, match=r"3,300 rows in folds do not confirm recall\(1\)") as error:
        confirmed([mf.recall(1) >= limit], rows, fit)
    # 0.18 of room, 0.2 of which is lost.
    assert error.value.rows == pytest.approx(1.25 * 3300, abs=1)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_of_two_groups_one_is_broken_more_often_than_each():
    """Both groups just keep the limit: each new sample breaks one of them three times in four, so room is needed."""
    scores = np.concatenate([np.tile(np.linspace(0.0005, 0.9995, 1000), 2), np.zeros(200)])
    group = np.concatenate([np.repeat([0, 1], 1000), np.arange(200) % 2])
    rows = rows_of(scores, np.repeat([1, 0], [2000, 200]), sensitive_features=group)
    worst = mf.worst(mf.recall(1), over="group") >= 0.8

    def fit(problem, some):
        return Above(1 - problem.constraints[0].limit, some)

    found, _, record, _ = confirmed([worst], rows, fit)
    # Both hold with probability 1/2 where each does with its root: .545 standard errors inside the limit.
    error = np.sqrt(0.8 * 0.2 / 1000)
    assert 0.2 - found.threshold == pytest.approx(0.545 * error, abs=0.15 * error)
    assert record.constraints[0].p_value == pytest.approx(0.5, abs=0.06)


def test_new_rows_break_it_as_often_as_not():
    """Of 16 draws 8 are expected; fewer than 3 or more than 13 would be seen twice in 500 times."""
    broken = []
    for draw in range(16):
        places = np.random.default_rng(draw).choice(len(Y), 800, replace=False)
        result = mf.optimize(PROBA[places], Y[places], "g_mean", [FLOOR], confidence=0.5)
        assert result.feasible
        broken.append(result.policy.evaluate(PROBA, Y, "recall(1)")["value"][0] < 0.9)
    assert 3 <= sum(broken) <= 13


def test_differences_between_groups():
    result = mf.optimize(
        PROBA[:1000], Y[:1000], "g_mean", [PARITY], confidence=0.5, sensitive_features=GROUP[:1000]
    )
    record = result.confidence.constraints[0]
    assert result.feasible
    assert record.margin > 0  # of eight claims, two for each group, some claim is broken more often than each
    assert record.p_value <= 0.5
    assert record.estimate <= 0.04


def test_the_result_says_how():
    result = mf.optimize(PROBA[:2000], Y[:2000], "g_mean", [FLOOR], confidence=0.5)
    assert "with confidence 0.5, by 3 folds of 2,000 rows" in repr(result)
    assert "expected, margin" in repr(result)
    assert result.expected.note == "judged by 3 folds of 2,000 rows"
    seen = result.policy.evaluate(PROBA[:2000], Y[:2000], "recall(1)")["value"][0]
    assert result.constraints[0].value == pytest.approx(seen)
    assert result.constraints[0].violation <= 0
    assert result.policy.provenance["confidence"] == 0.5
    assert result.deterministic is None or result.deterministic.violation <= 1e-9


def test_less_than_one_half_is_one_half():
    low, half = (mf.optimize(PROBA[:800], Y[:800], "g_mean", [FLOOR], confidence=c) for c in (0.2, 0.5))
    assert low.policy == half.policy
    assert low.confidence == half.confidence


@pytest.mark.parametrize("confusion", ["calibrated", "model"])
def test_probabilities_that_count_are_never_asked_for_less(confusion):
    result = mf.optimize(PROBA[:1000], Y[:1000], "g_mean", [FLOOR], counting=confusion, confidence=0.5)
    assert result.confidence.constraints[0].margin >= 0
    assert result.feasible


def test_weights_and_several_limits():
    weights = np.random.default_rng(0).uniform(0.5, 2, 800)
    limits = [FLOOR, mf.coverage(1) <= 0.75, mf.predictive_parity(over="group", c=1) <= 0.2]
    given = {"sensitive_features": GROUP[:800], "sample_weight": weights}
    result = mf.optimize(PROBA[:800], Y[:800], "g_mean", limits, confidence=0.5, **given)
    assert result.feasible
    for record, limit in zip(result.confidence.constraints, limits, strict=True):
        assert record.estimate >= limit.limit if limit.sense == ">=" else record.estimate <= limit.limit


def test_same_seed_same_bits():
    first, second = (
        mf.optimize(PROBA[:1000], Y[:1000], "g_mean", [FLOOR], confidence=0.5, random_state=1, n_jobs=jobs)
        for jobs in (None, 2)
    )
    assert first.policy == second.policy
    assert first.confidence == second.confidence


def test_too_few_rows():
    with pytest.raises(ValueError, match="20 rows are too few"):
        mf.optimize(PROBA[:20], Y[:20], "g_mean", [FLOOR], confidence=0.5)


@pytest.mark.parametrize(("cv", "rows"), [(3, 1200), (None, 400)])
def test_the_rows_of_the_folds_are_not_seen_by_the_model_that_decides_them(cv, rows):
    """With cv=None the model is fitted on two thirds of the rows, and the policy on the others."""
    sizes = []

    class Watched(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            sizes.append(len(X))
            return super().fit(X, y, sample_weight)

    clf = mf.MetricClassifier(Watched(), "g_mean", [FLOOR], confidence=0.5, cv=cv).fit(X[:1200], Y[:1200])
    assert clf.result_.confidence.rows == rows
    assert sizes == ([800, 800, 800, 1200] if cv else [800])
    assert clf.predict(X[:5]).shape == (5,)
