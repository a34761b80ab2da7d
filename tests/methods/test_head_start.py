"""A sample finds the rules, all rows count them: what the sample says, how it is corrected, and what it saves."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.methods import ColumnGeneration, Plugin, Walk, run
from metricfit.methods.master.head_start import head_start
from metricfit.options import Options
from metricfit.oracles import PluginOracle, Rows
from metricfit.oracles.sampled import SampledOracle
from metricfit.oracles.settings import Settings
from metricfit.problem import Problem
from metricfit.solving import solve

ROWS, CLASSES = 20_000, 6
# A sample of 2,000 rows is small beside 20,000.
SMALL_SAMPLES = Settings(sample_rows=2000, sample_entries=10_000)


@pytest.fixture
def data():
    """Rows whose labels follow the probabilities: nothing to warn of where these are trusted."""
    random = np.random.default_rng(0)
    proba = random.dirichlet([4, 2, 1, 1, 0.5, 0.3], ROWS)
    y = (proba.cumsum(axis=1) > random.random((ROWS, 1))).argmax(axis=1)
    return proba, y, random.integers(0, 2, ROWS)


def oracle_of(data, confusion, groups=False, settings=SMALL_SAMPLES):
    rows = Rows.of(data[0], data[1], sensitive_features=data[2] if groups else None)
    return PluginOracle(rows, confusion, settings=settings)


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


@pytest.mark.parametrize("groups", [False, True])
def test_what_is_known_of_a_mixture_corrects_it_and_its_neighbours(data, groups):
    whole = oracle_of(data, "model", groups)
    loss = np.repeat(LOSS, 1 + groups, axis=0)
    known = [whole(loss, "diagonal"), whole(loss * [1, 1, 0.98, 1, 1, 1], "diagonal")]
    weights = np.array([[0.3, 0.7], [0.6, 0.4]])[: 1 + groups]
    sampled, near = SampledOracle(whole), loss * [1, 1.005, 1, 0.995, 1, 1]
    before = np.abs(sampled(near, "diagonal").statistic - whole(near, "diagonal").statistic).max()
    sampled.correct(known, weights, "diagonal")
    mixed, answered = (
        sum(weights[:, t, None, None] * oracle(known[t].loss, "diagonal").statistic for t in (0, 1))
        for oracle in (whole, sampled)
    )
    np.testing.assert_allclose(answered, mixed, atol=1e-12)
    after = np.abs(sampled(near, "diagonal").statistic - whole(near, "diagonal").statistic).max()
    assert after < before / 2


CONSTRAINTS = [[], ["coverage_deviation() <= 0.02"], ["recall(5) >= 0.6", "coverage(0) >= 0.3"]]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=["free", "coverages", "two"])
@pytest.mark.parametrize("groups", [False, True])
def test_rounds_lead_to_the_optimum(data, constraints, groups):
    whole = oracle_of(data, "model", groups)
    assert whole.costly
    problem = Problem.of("h_mean", constraints)
    program = problem.bind(whole.axes, whole.margins)
    walk = Walk(program, whole)
    head_start(ColumnGeneration(), program, walk)
    started = walk.calls
    assert all(
        np.allclose(whole(v.loss, "diagonal").statistic, v.statistic, atol=1e-12) for v in walk.vertices
    )
    again = run(ColumnGeneration(), program, walk)
    assert again.status == "optimal"
    assert 0 < started <= walk.calls <= started + 6  # it begins near its end
    alone = Walk(program, whole)
    assert run(ColumnGeneration(), program, alone).status == "optimal"
    # The method starts so by itself: the same rules, and a few more. The walk above has started so twice.
    assert started <= alone.calls <= min(started + 3, walk.calls)
    whole.__class__ = type("Quick", (PluginOracle,), {"costly": False})
    cold = run(ColumnGeneration(), program, Walk(program, whole))
    assert again.value == pytest.approx(cold.value, abs=2e-4)


@pytest.mark.parametrize("kind", ["labels", "cheap"])
def test_no_start_from_a_sample_where_passes_are_cheap_or_labels_are_counted(data, kind):
    settings = SMALL_SAMPLES._replace(sample_entries=10**9) if kind == "cheap" else SMALL_SAMPLES
    whole = oracle_of(data, "labels" if kind == "labels" else "model", settings=settings)
    program = Problem.of("h_mean").bind(whole.axes, whole.margins)
    walk = Walk(program, whole)
    head_start(ColumnGeneration(), program, walk)
    assert whole.costly is (kind == "labels")
    assert walk.calls == 0


def test_budgets_hold_during_the_start(data):
    whole = oracle_of(data, "model")
    limited = solve(Problem.of("h_mean", CONSTRAINTS[1]), whole, Options(max_calls=2))
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
    result = solve(Problem.of("h_mean"), oracle_of(data, "model"), Options(start=balanced))
    assert (result.status, result.n_oracle_calls) == ("stopped", 1)
    assert len(calls) == 4
