"""`randomize="never"`: one rule per cell, as close to the mixture as one rule can be."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.layout import shape_of, statistic
from metricfit.oracles import Rows
from metricfit.policy.cell_rows import Cell
from metricfit.policy.derandomise import POINTS, WAYS, ZOOMED, ZOOMS, _best
from metricfit.problem import Problem


def problem(seed: int):
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(2, 5)), 4000
    proba = rng.dirichlet(rng.uniform(0.4, 1.5, n), size)
    y = (proba.cumsum(axis=1) < rng.random((size, 1))).sum(axis=1).clip(max=n - 1)
    return proba, y, rng.integers(0, 3, size)


@pytest.mark.parametrize("confusion", ["labels", "model"])
@pytest.mark.parametrize("seed", range(4))
def test_close_to_the_mixture_where_probabilities_are_continuous(seed, confusion):
    proba, y, group = problem(seed)
    plain = mf.optimize(proba, y, "g_mean", sensitive_features=group, counting=confusion).confusion
    limits = [
        mf.precision(0) >= min(mf.precision(0)(plain) + 0.05, 0.95),
        mf.demographic_parity(over="group") <= max(0.5 * mf.demographic_parity(over="group")(plain), 0.01),
    ]
    result = mf.optimize(proba, y, "g_mean", limits, sensitive_features=group, counting=confusion)
    assert confusion == "labels" or result.policy.n_rules > 3  # labels may do with one rule in each cell
    made = result.policy.decide(proba, group, randomize="never")
    tensor = np.zeros(result.confusion.values.shape)
    soft = proba if confusion == "model" else np.eye(proba.shape[1])[y]
    np.add.at(tensor.transpose(0, 2, 1), (group, made), soft)
    alone = mf.Confusion(tensor / tensor.sum(), result.policy.axes)
    # One row of 4,000 moves a share of its group by .0008, and the mixture is fitted to these very labels.
    assert mf.g_mean()(alone) >= result.value - (0.0005 if confusion == "model" else 0.007)
    for limit in limits:
        away = limit.metric(alone) - limit.limit
        assert (away if limit.sense == ">=" else -away) >= -1e-9
    told = result.deterministic
    if result.policy.n_rules == 3:  # nothing to choose from
        assert told is None
        return
    assert told.value == pytest.approx(mf.g_mean()(alone), abs=1e-6)
    assert told.loss == pytest.approx(result.value - told.value, abs=1e-6)
    assert told.constraints == pytest.approx([limit.metric(alone) for limit in limits], abs=1e-6)


def test_it_is_a_plain_rule_that_goes_with_the_policy(tmp_path):
    proba, y, _ = problem(1)
    n = proba.shape[1]
    result = mf.optimize(proba, y, "g_mean", [mf.recall(0) >= 0.9])
    policy = result.policy
    policy.save(tmp_path / "policy.json")
    again = mf.Policy.load(tmp_path / "policy.json")
    assert again == policy
    rule = policy.rules[0][policy.single[0]]
    loss = (
        np.repeat(rule.loss[1:], n, axis=0) + np.diag(rule.loss[0])
        if policy.layout == "diagonal"
        else rule.loss
    )
    costs = proba @ loss
    clear = np.sort(costs, axis=1)[:, 1] - costs.min(axis=1) > 1e-9
    made = again.decide(proba, randomize="never")
    np.testing.assert_array_equal(made[clear], costs.argmin(axis=1)[clear])


def test_few_different_probabilities_keep_the_limit_first():
    """Three leaves: no rule meets the limit exactly, so the value gives way."""
    proba = np.repeat([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], 100, axis=0)
    y = (np.arange(300) % 100 < np.repeat([10, 40, 80], 100)).astype(int)
    result = mf.optimize(proba, y, "accuracy", [mf.recall(1) >= 0.7], counting="labels")
    assert result.policy.n_rules == 2
    made = result.policy.decide(proba, randomize="never")
    assert (made[y == 1] == 1).mean() >= 0.7
    assert result.deterministic.violation <= 0
    assert result.deterministic.loss >= 0


@pytest.mark.parametrize("layout", ["diagonal", "full"])
@pytest.mark.parametrize("soft", [False, True])
def test_a_cell_adds_what_its_confusion_says(layout, soft):
    rng = np.random.default_rng(1)
    proba, y, region = rng.dirichlet(np.ones(3), 300), rng.integers(3, size=300), rng.integers(2, size=300)
    weights = rng.random(300)
    rows = Rows.of(proba, y, sensitive_features=region, sample_weight=weights, decisions=[0, 1, 2, "review"])
    metric = "accuracy" if layout == "diagonal" else mf.cost(rng.random((3, 4)))
    program = Problem.of(metric).bind(rows.axes, rows.margins())
    assert program.layout == layout
    losses = rng.random((3, *shape_of(program.layout, program.axes)[1:]))
    cell = Cell(program, rows, soft, 1, losses)
    between = losses.mean(axis=0)
    costs = (
        proba[:, [0, 1, 2, 0]] * [1, 1, 1, 0] * between[0] + between[1]
        if layout == "diagonal"
        else proba @ between
    )
    made = 3 - np.argmin(costs[:, ::-1], axis=1)
    inside = region == 1
    tensor = np.zeros((2, 3, 4))
    chances = proba if soft else np.eye(3)[y]
    for r in np.flatnonzero(inside):
        tensor[1, :, made[r]] += chances[r] * weights[r] / weights.sum()
    u = program.vector(statistic(tensor, program.layout, program.axes)) - program.constant
    np.testing.assert_allclose(cell.share(between), u, atol=1e-12)


def test_a_mixture_of_many_rules_is_searched_between_a_few_pairs():
    """Frank-Wolfe may leave thousands of rules: 20,000 have 200 million pairs, which must not be listed."""
    random = np.random.default_rng(0)
    losses, weights, asked = random.normal(size=(20_000, 2, 3)), random.dirichlet(np.ones(20_000)), []

    def ranked(some):
        asked.append(len(some))
        return [(0.0, float(loss[0, 0])) for loss in some]

    found = _best(losses, weights, ranked, None)
    assert asked == [WAYS * POINTS] + ZOOMS * [ZOOMED * POINTS]
    order = np.argsort(-weights)
    ends = (losses / np.linalg.norm(losses.reshape(20_000, -1), axis=1)[:, None, None])[:, 0, 0]
    partners = [s for s in order if s > order[0]][:WAYS]
    assert found[0, 0] == pytest.approx(min(ends[order[0]], ends[partners].min()))
