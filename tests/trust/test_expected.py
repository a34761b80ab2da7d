"""What to expect on new rows, and what counted labels say of the same rows."""

from __future__ import annotations

import pickle
from types import MappingProxyType

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.options import Options
from metricfit.oracles import PluginOracle
from metricfit.problem import Problem
from metricfit.solving.auto import answer_of
from metricfit.solving.policy_search import search
from metricfit.trust.expected import deal, expected


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(1 - 2 * score))).astype(int)
    shown = 1 / (1 + np.exp(1 - 1.6 * score))
    return np.stack([1 - shown, shown], axis=1), y, rng.integers(0, 2, n)


def test_folds_have_their_part_of_every_class_in_every_cell():
    rng = np.random.default_rng(0)
    labels, cells = rng.integers(0, 3, 900), rng.integers(0, 2, 900)
    fold = deal(labels, cells, 3)
    for i in range(3):
        for a in range(2):
            counts = np.bincount(fold[(labels == i) & (cells == a)], minlength=3)
            assert counts.max() - counts.min() <= 1
    assert (deal(labels, cells, 3) == fold).all()
    assert (deal(labels, cells, 3, seed=1) != fold).any()


def test_each_row_is_judged_by_a_policy_that_did_not_see_it():
    proba, y, _ = rows(300)
    data = Rows.of(proba, y)
    seen = []

    class Memory:
        """Knows its own rows and is right about them only."""

        axes = data.axes
        provenance = MappingProxyType({})

        def __init__(self, known: Rows) -> None:
            self.known = {p.tobytes(): i for p, i in zip(known.proba, known.labels, strict=True)}
            seen.append(len(known))

        def decision_proba(self, proba, sensitive_features=None):
            made = [self.known.get(p.tobytes(), -1) for p in proba]
            return np.array([[0.5, 0.5] if m < 0 else np.eye(2)[m] for m in made])

    found = expected(Problem.of("accuracy"), data, Memory)
    assert found.value == pytest.approx(0.5)
    assert seen == [200, 200, 200]
    assert found.rows == 300


def test_folds_without_a_policy_are_left_out_and_named():
    proba, y, _ = rows(300)
    data, calls = Rows.of(proba, y), []
    policy = mf.optimize(proba, y, "accuracy").policy

    def refit(part: Rows):
        calls.append(len(part))
        if len(calls) == 1:
            raise InfeasibleError({"a": 1.0}, {"a": 1.0}, ("a",), False)
        return policy

    found = expected(Problem.of("accuracy"), data, refit)
    assert "1 of 3 folds" in found.note
    assert 0.5 < found.value < 1

    def never(part: Rows):
        raise InfeasibleError({"a": 1.0}, {"a": 1.0}, ("a",), False)

    assert expected(Problem.of("accuracy"), data, never) is None


def test_result_tells_what_to_expect():
    proba, y, group = rows(1500)
    limits = [mf.precision(1) >= 0.75, mf.demographic_parity(over="group") <= 0.05]
    result = mf.optimize(proba, y, "g_mean", limits, sensitive_features=group, expect=True)
    found = result.expected
    assert [c.name for c in found.constraints] == [str(c) for c in limits]
    assert [c.limit for c in found.constraints] == [0.75, 0.05]
    assert found.low <= found.value <= found.high <= found.low + 0.2
    assert found.value <= result.value + 0.01
    assert f"expect {found} on new rows" in repr(result)
    again = mf.optimize(proba, y, "g_mean", limits, sensitive_features=group, expect=True, n_jobs=2)
    assert again.expected == found
    assert result.policy.provenance["expected"] == [found.value, *(c.value for c in found.constraints)]
    assert mf.optimize(proba, y, "g_mean", limits, sensitive_features=group).expected is None


def test_counted_is_the_policy_on_the_same_rows():
    proba, y, _ = rows(800)
    weight = np.random.default_rng(5).random(800)
    result = mf.optimize(proba, y, "g_mean", "recall(1) >= 0.8", sample_weight=weight, counting="model")
    chances = result.policy.decision_proba(proba)
    recalls = [np.average(chances[y == c, c], weights=weight[y == c]) for c in (0, 1)]
    assert result.counted.value == pytest.approx(np.sqrt(np.prod(recalls)))
    assert result.counted.constraints[0].value == pytest.approx(recalls[1])
    assert result.counted.constraints[0].low < recalls[1] < result.counted.constraints[0].high
    assert pickle.loads(pickle.dumps(result)).counted == result.counted


def test_a_class_of_one_row_does_no_harm():
    proba = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]] * 30 + [[0.1, 0.1, 0.8]])
    y = np.array([0, 1] * 30 + [2])
    found = mf.optimize(proba, y, "g_mean", expect=True).expected
    assert found.value == pytest.approx(1.0)
    assert found.low < 0.6
    assert "1 row alone" in found.note


def test_data_on_a_cluster_is_judged_by_the_rows_that_the_oracle_keeps():
    da = pytest.importorskip("dask.array")
    proba, y, _ = rows(600)
    result = mf.optimize(
        da.from_array(proba, chunks=(200, 2)), da.from_array(y, chunks=200), "g_mean", expect=True
    )
    assert result.expected.rows == 600  # few enough to keep all of them
    assert result.expected.note == ""
    assert result.expected.low <= result.expected.value <= result.expected.high


def test_a_search_whose_answer_is_only_judged_is_as_good_without_few_rules():
    proba, y, group = rows(1500)
    oracle = PluginOracle(Rows.of(proba, y, sensitive_features=group), "model")
    problem = Problem.of("g_mean", [mf.demographic_parity(over="group") <= 0.02])
    few, many = (search(problem, oracle, Options(), simple=simple) for simple in (True, False))
    assert sum(map(len, few.answer.plugin_policy().rules)) < sum(map(len, many.answer.plugin_policy().rules))
    assert many.answer.walk.program.excess(many.answer.mixture.u) <= 1e-7
    assert many.answer.value <= few.answer.value + 1e-6
    assert few.answer.value - few.outcome.bound <= 1e-4


def test_folds_choose_again_what_to_count_by_but_not_the_family_of_the_calibration(monkeypatch):
    """What is told of new rows is honest about the choice, too."""
    proba, y, _ = rows(3000)
    sure = proba**2 / (proba**2).sum(axis=1, keepdims=True)
    made = []

    def watched(problem, given, options, **how):
        choice = answer_of(problem, given, options, **how)
        made.append((given.counting, {one.name for one in given.calibrated().report.candidates}))
        return choice

    monkeypatch.setattr("metricfit.solving.new_rows.answer_of", watched)
    result = mf.optimize(sure, y, "g_mean", expect=True)
    assert result.calibration.family == "temperature_bias"
    assert made == [("auto", {"none", "temperature_bias"})] * 3
