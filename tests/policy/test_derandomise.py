"""`randomize="never"`: one rule per cell, as close to the mixture as one rule can be."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.layout import shape_of, statistic
from metricfit.oracles import Rows
from metricfit.policy.cell_rows import Cell
from metricfit.policy.derandomise import POINTS, WAYS, ZOOMED, ZOOMS, _best, deterministic
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


@pytest.mark.parametrize("blind", [False, True])
def test_moves_count_the_rows_that_change(blind):
    """What a move adds to u, counted by the rows that it changes, is what deciding all rows again gives."""
    proba, y, group = problem(2)
    n = proba.shape[1]
    if blind:
        joint = np.stack([proba * 0.3, proba * 0.7], axis=1)
        rows = Rows.of(joint, y, sensitive_features=group % 2, blind=True)
    else:
        rows = Rows.of(proba, y)
    program = Problem.of("g_mean", [mf.recall(0) >= 0.5]).bind(rows.axes, rows.margins())
    losses = np.random.default_rng(0).random((2, *shape_of(program.layout, program.axes)[1:]))
    cell = Cell(program, rows, False, 0, losses)
    moves, changes = cell.moves(losses[0])
    _, before = cell.moved(losses[0], 0, 0.0)
    assert len(moves) == len(changes) > 3 * n
    assert (
        np.count_nonzero(np.abs(changes).max(axis=1)) > len(moves) / 2
    )  # rows wrong before and after add nothing
    for (column, step), change in zip(moves, changes, strict=True):
        _, after = cell.moved(losses[0], column, step)
        np.testing.assert_allclose(after - before, change, atol=1e-12)


def test_equally_near_rows_change_together():
    proba = np.repeat([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [5, 40, 5], axis=0)
    rows = Rows.of(proba, np.arange(50) % 2)
    program = Problem.of("accuracy").bind(rows.axes, rows.margins())
    loss = np.array([[-1.0, -1.0], [0.0, 0.0]])
    cell = Cell(program, rows, False, 0, loss[None])
    made = {int(cell.every.decided(cell.moved(loss, *move)[0][None]).sum()) for move in cell.moves(loss)[0]}
    assert made == {
        45
    }  # the 40 in the middle follow the 5 that are decided so; no other set of rows has an end


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


def test_moves_of_many_classes_take_little_memory():
    """What 300 classes times 300 decisions change took 2.6 GB, and two minutes."""
    random = np.random.default_rng(0)
    proba, y = random.dirichlet(np.ones(300), 900), np.arange(900) % 300
    rows = Rows.of(proba, y)
    for metric, few in (("g_mean", False), ("cohen_kappa", True)):  # hits and shares; the whole matrix
        program = Problem.of(metric).bind(rows.axes, np.full((1, 300), 1 / 300))
        losses = random.normal(size=(2, *shape_of(program.layout, program.axes)[1:]))
        cell = Cell(program, rows, False, 0, losses)
        tracemalloc.start()
        moves, changes = cell.moves(losses[0])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(moves) == len(changes)
        assert (not moves) == (few and program.layout == "full")
        assert peak < 2e8


@pytest.mark.parametrize("sampled", [True, False])
def test_labels_of_a_sample_do_not_move_columns(sampled):
    """The single rule of a sample lies between two rules of the mixture; with all labels its columns are moved."""
    proba, y, _ = problem(2)
    rows = Rows.of(proba, y, classes=range(proba.shape[1]))
    program = Problem.of("g_mean").bind(rows.axes, np.bincount(y)[None] / y.size)
    losses = np.zeros((2, 2, rows.axes.k))
    losses[:, 0], losses[1, 0, 0] = -1.0, -2.5
    (loss,), _ = deterministic(program, rows, False, [(np.array([0.5, 0.5]), losses)], sampled)
    ends = np.array([one / np.linalg.norm(one) for one in losses])
    share = np.linalg.lstsq(ends.reshape(2, -1).T, loss.ravel(), rcond=None)[0]
    assert np.allclose(np.tensordot(share, ends, 1), loss, atol=1e-6) == sampled
