"""The single rule of a search on labels: as good as any that the search has met, and often as good as the mixture."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.methods.search.merit import FIRST, merits
from metricfit.options import Options
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem
from metricfit.solving.auto import answer_of
from metricfit.solving.single_rule import seen_by, with_single


def gaussians(seed: int):
    """Return probabilities that are not quite right, and labels, of three to six classes in the plane."""
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(3, 7)), 1500
    y = rng.choice(n, size, p=rng.dirichlet(np.full(n, 2.0)))
    middles = rng.normal(scale=1.1, size=(n, 2))
    X = middles[y] + rng.normal(size=(size, 2))
    proba = np.exp(-0.4 * ((X[:, None] - middles) ** 2).sum(-1))
    return proba / proba.sum(axis=1, keepdims=True), y


def floor_on_a_precision(proba, y, c: int):
    """Return a floor that binds."""
    free = mf.optimize(proba, y, "g_mean", counting="calibrated").confusion
    return mf.precision(c) >= round(min(mf.precision(c)(free) + 0.15, 0.95), 3)


@pytest.mark.parametrize("counting", ["labels", "calibrated"])
@pytest.mark.parametrize("seed", [6, 9, 29, 37, 39])
def test_at_least_as_good_as_the_best_single_rule_that_the_search_has_met(seed, counting):
    proba, y = gaussians(seed)
    problem = Problem.of("g_mean", [floor_on_a_precision(proba, y, seed % proba.shape[1])])
    answer = answer_of(problem, PluginOracle(Rows.of(proba, y), counting), Options()).found.answer
    walk, program = answer.walk, answer.walk.program
    policy, u = with_single(program, walk.oracle, answer.plugin_policy(), seen_by(answer))
    u = answer.mixture.u if u is None else u  # None: the policy is a single rule as it is
    assert program.violation(u) <= 1e-9
    best = walk.vectors[merits(program, walk.vectors, FIRST).argmin()]
    assert program.violation(best) <= 1e-9
    assert program.value(u) <= program.value(best) + 1e-9
    # What is said of the rule is what it decides.
    if counting == "labels":
        decided = policy.decide(proba, randomize="never")
        made = mf.Confusion.from_predictions(y, decided, classes=range(proba.shape[1]))
        assert mf.g_mean()(made) == pytest.approx(-program.value(u), abs=1e-6)


@pytest.mark.parametrize(
    ("seed", "least"),
    [
        (6, 0.52),
        (22, 0.59),
        (35, 0.27),
        (38, 0.66),
        (39, 0.42),
    ],  # .499, .582, .144, .646 and .398 without the scans
)
def test_exact_scans_find_a_better_single_rule_on_labels(seed, least):
    proba, y = gaussians(seed)
    limit = floor_on_a_precision(proba, y, seed % proba.shape[1])
    result = mf.optimize(proba, y, "g_mean", [limit], counting="labels")
    made = mf.Confusion.from_predictions(
        y, result.policy.decide(proba, randomize="never"), classes=range(proba.shape[1])
    )
    assert limit.metric(made) >= limit.limit - 1e-9
    assert mf.g_mean()(made) >= least
    assert result.deterministic.constraints == pytest.approx((limit.metric(made),), abs=1e-6)


def test_what_the_single_rule_loses_is_said_wherever_it_is_deployed():
    """Three leaves: no single rule meets the limit exactly, so the value gives way."""
    proba = np.repeat([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], 100, axis=0)
    y = (np.arange(300) % 100 < np.repeat([10, 40, 80], 100)).astype(int)
    limit = mf.recall(1) >= 0.7
    result = mf.optimize(proba, y, "accuracy", [limit], counting="labels")
    alone = result.deterministic
    assert alone.loss > 0.005
    told = f"{alone.value:.6f}, {alone.loss:.4f} less good than the mixture, limits met"
    assert str(alone) == told
    assert told in repr(result)
    assert told in result._repr_html_()
    written = f"accuracy() {alone.value:.4g} (the mixture of rules: {result.value:.4g})"
    floor = f"{limit}: {alone.constraints[0]:.4g} ({result.constraints[0].value:.4g})"
    for text in (result.policy.to_python(), result.policy.to_sql("duckdb")):
        assert written in text
        assert floor in text


def test_a_single_rule_that_breaks_a_limit_says_so():
    """Half of the rows may be decided 1, and all have the same probabilities: only a mixture meets the floor."""
    proba, y = np.tile([0.5, 0.5], (100, 1)), np.arange(100) % 2
    limits = [mf.coverage(1) <= 0.5, mf.recall(1) >= 0.5]
    result = mf.optimize(proba, y, "accuracy", limits, counting="labels")
    assert result.feasible
    alone = result.deterministic
    assert alone.violation == pytest.approx(0.5)
    assert "limits VIOLATED by 0.5" in str(alone)
    assert "limits VIOLATED by 0.5" in repr(result)
