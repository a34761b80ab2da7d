"""A sample finds the rules, all rows count them: what the sample says, how it is corrected, and what it saves."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.calibration.recalibration import shifted
from metricfit.methods import ColumnGeneration, Plugin, Walk, run
from metricfit.methods.master import head_start as warm
from metricfit.methods.master.head_start import head_start
from metricfit.oracles import PluginOracle, Rows, in_memory
from metricfit.oracles.files import blocks
from metricfit.oracles.sampled import CountedSample, SampledOracle
from metricfit.problem import Problem
from metricfit.solving import solve

ROWS, CLASSES = 20_000, 6


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    """A sample of 2,000 rows, which is small beside 20,000."""
    for module in (blocks, in_memory):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 2000)
    monkeypatch.setattr(blocks.fractions, "__defaults__", (2000,))
    monkeypatch.setattr(blocks, "SAMPLE_ENTRIES", 10_000)


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    proba = random.dirichlet([4, 2, 1, 1, 0.5, 0.3], ROWS)
    y = (proba.cumsum(axis=1) > random.random((ROWS, 1))).argmax(axis=1)
    bent = proba * [1.0, 1.5, 0.7, 1.0, 2.0, 0.5]
    return bent / bent.sum(axis=1, keepdims=True), y, random.integers(0, 2, ROWS)


def oracle_of(data, confusion, groups=False):
    return PluginOracle(Rows.of(data[0], data[1], sensitive_features=data[2] if groups else None), confusion)


LOSS = -np.array([[[1.0, 2.0, 3.0, 4.0, 8.0, 10.0], [0.3, 0.2, 0.1, 0.0, 0.0, 0.0]]])


@pytest.mark.parametrize("groups", [False, True])
def test_a_sample_counts_by_probabilities(data, groups):
    whole = oracle_of(data, "model", groups)
    sampled, rows = SampledOracle(whole), whole.sample()
    loss = np.repeat(LOSS, 1 + groups, axis=0)
    expected = PluginOracle(rows, "model")(loss, "diagonal").statistic
    np.testing.assert_allclose(sampled(loss, "diagonal").statistic, expected, atol=1e-12)
    np.testing.assert_allclose(
        sampled(loss, "diagonal").statistic, whole(loss, "diagonal").statistic, atol=0.03
    )


def test_where_labels_are_counted_probabilities_are_made_to_fit_them(data):
    whole = oracle_of(data, "labels")
    sampled, rows = SampledOracle(whole), whole.sample()
    q = shifted(rows.proba, rows.shift)
    np.testing.assert_allclose(rows.weights @ q, whole.margins[0], atol=1e-4)
    scores = rows.proba * LOSS[0, 0] + LOSS[0, 1]
    made = np.eye(CLASSES)[scores.argmin(axis=1)]
    found = sampled(LOSS, "diagonal").statistic[0]
    np.testing.assert_allclose(found[0], rows.weights @ (made * q), atol=1e-12)
    np.testing.assert_allclose(found[1], rows.weights @ made, atol=1e-12)


@pytest.mark.parametrize("kind", [SampledOracle, CountedSample])
@pytest.mark.parametrize("groups", [False, True])
def test_what_is_known_of_a_mixture_corrects_it_and_its_neighbours(data, kind, groups):
    whole = oracle_of(data, "labels", groups)
    loss = np.repeat(LOSS, 1 + groups, axis=0)
    known = [whole(loss, "diagonal"), whole(loss * [1, 1, 0.5, 1, 1, 1], "diagonal")]
    weights = np.array([[0.3, 0.7], [0.6, 0.4]])[: 1 + groups]
    sampled, near = kind(whole), loss * [1, 1.02, 1, 0.98, 1, 1]
    before = np.abs(sampled(near, "diagonal").statistic - whole(near, "diagonal").statistic).max()
    sampled.correct(known, weights, "diagonal")
    mixed, answered = (
        sum(weights[:, t, None, None] * oracle(known[t].loss, "diagonal").statistic for t in (0, 1))
        for oracle in (whole, sampled)
    )
    np.testing.assert_allclose(answered, mixed, atol=1e-12)
    after = np.abs(sampled(near, "diagonal").statistic - whole(near, "diagonal").statistic).max()
    assert after < before / 2


def test_labels_of_a_sample_are_counted(data):
    whole = oracle_of(data, "labels")
    sampled = CountedSample(whole)
    expected = PluginOracle(whole.sample(), "labels")(LOSS, "diagonal").statistic
    np.testing.assert_allclose(sampled(LOSS, "diagonal").statistic, expected, atol=1e-12)
    assert sampled.sample() is whole.sample()


def test_weights_are_scanned_where_probabilities_are_off(data, monkeypatch):
    proba, y, _ = data
    flat = proba**0.4 / (proba**0.4).sum(axis=1, keepdims=True)
    values = {}
    for right in (1.05, np.inf):  # with infinity nothing is ever off
        monkeypatch.setattr(warm, "RIGHT", right)
        oracle = PluginOracle(Rows.of(flat, y))
        assert oracle.sample().steepness > 1.5
        values[right] = solve(Problem.of("micro_f1(0)"), oracle).value
    assert values[1.05] > values[np.inf] + 1e-3


CONSTRAINTS = [[], ["coverage_deviation() <= 0.02"], ["recall(5) >= 0.6", "coverage(0) >= 0.3"]]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=["free", "coverages", "two"])
@pytest.mark.parametrize("groups", [False, True])
def test_rounds_lead_to_the_optimum(data, constraints, groups):
    whole = oracle_of(data, "model", groups)
    assert whole.costly
    problem = Problem.of("h_mean", constraints)
    program = problem.bind(whole.axes, whole.margins)
    walk = Walk(program, whole)
    head_start(program, walk, ColumnGeneration())
    started = walk.calls
    outcome = run(ColumnGeneration(), program, walk)
    assert outcome.status == "optimal"
    assert 0 < started <= walk.calls <= started + 6  # it begins near its end
    cold = run(ColumnGeneration(), program, Walk(program, whole))
    assert outcome.value == pytest.approx(cold.value, abs=2e-4)


def test_no_start_from_a_sample_where_passes_are_cheap(data, monkeypatch):
    monkeypatch.setattr(blocks, "SAMPLE_ENTRIES", 10**9)
    whole = oracle_of(data, "model")
    program = Problem.of("h_mean").bind(whole.axes, whole.margins)
    walk = Walk(program, whole)
    head_start(program, walk, ColumnGeneration())
    assert not whole.costly
    assert walk.calls == 0


def test_budgets_hold_during_the_start(data):
    whole = oracle_of(data, "model")
    limited = solve(Problem.of("h_mean", CONSTRAINTS[1]), whole, max_calls=2)
    assert (limited.status, limited.n_oracle_calls) == ("max_calls", 2)
    with pytest.raises(mf.InfeasibleError):
        solve(Problem.of("h_mean", ["recall(5) >= 0.99", "coverage(5) <= 0.001"]), whole)


def test_a_stop_during_the_start_ends_the_walk(data, monkeypatch):
    asked, calls = SampledOracle.__call__, []

    def interrupted(self, loss, layout):
        calls.append(loss)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return asked(self, loss, layout)

    monkeypatch.setattr(SampledOracle, "__call__", interrupted)
    balanced = mf.optimize(*data[:2], "h_mean", method=Plugin(balanced=True))
    result = solve(Problem.of("h_mean"), oracle_of(data, "model"), start=balanced)
    assert (result.status, result.n_oracle_calls) == ("stopped", 1)
    assert len(calls) == 4
