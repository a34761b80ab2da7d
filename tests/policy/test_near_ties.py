"""Rows whose scores are equal up to rounding are decided alike: by the policy, by its exports, on rounded inputs."""

from __future__ import annotations

import numpy as np
import pytest
from exported_rules import RUNNERS

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.oracles import Rows
from metricfit.policy.derandomise import Cell
from metricfit.policy.near_ties import ROUNDING, Margins
from metricfit.problem import Problem

PROBLEMS = [
    ("recall(1)", [mf.precision(1) >= 0.8]),
    ("accuracy", [mf.recall(1) >= 0.8]),
    ("g_mean", [mf.coverage(1) <= 0.4]),
    ("f_beta(1, 1)", [mf.false_positive_rate(1) <= 0.1]),
    ("g_mean", []),
]
FAIR = ("accuracy", [mf.demographic_parity(over="group") <= 0.02])
KINDS = ["labels", "labels", "calibrated", "labels", "model"]


def few_scores(seed: int, n: int):
    """Return 200 rows of few different probabilities, which differ in their last bits, labels and groups."""
    rng = np.random.default_rng(seed)
    prior = [0.55, 0.45] if n == 2 else [0.4, 0.35, 0.25]
    y = (rng.random(200) < 0.45).astype(int) if n == 2 else rng.choice(3, 200, p=prior)
    proba = np.exp(np.round(2 * (rng.normal(size=(200, n)) + 1.3 * np.eye(n)[y]))) * prior
    return proba / proba.sum(axis=1, keepdims=True), y, rng.choice(["a", "b"], 200)


def check(proba, y, group, objective, limits, confusion, runners):
    """Check that all ways to decide agree, and keep the limits that the deterministic rule is said to keep."""
    result = mf.optimize(proba, y, objective, limits, sensitive_features=group, counting=confusion)
    policy, told = result.policy, result.deterministic
    attributes = None if group is None else {"group": group.tolist()}
    made = policy.decide(proba, attributes, randomize="never").tolist()
    assert policy.decide(np.round(proba, 12), attributes, randomize="never").tolist() == made
    for runner in runners:
        assert RUNNERS[runner](policy, proba, attributes) == made, runner
    if confusion == "labels" and told is not None:
        classes = range(proba.shape[1])
        found = mf.Confusion.from_predictions(y, made, sensitive_features=group, classes=classes)
        assert [limit.metric(found) for limit in limits] == pytest.approx(told.constraints, abs=1e-9)
        assert mf.parse(objective)(found) == pytest.approx(told.value, abs=1e-9)
    return result


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.WorstValueWarning")
@pytest.mark.parametrize("first", range(0, 100, 10))
def test_exports_and_rounded_inputs_decide_alike(first):
    for seed in range(first, first + 10):
        runners = RUNNERS if seed % 5 == 0 else ["python", "sqlite"]
        for n, (objective, limits) in ((2, PROBLEMS[seed % 5]), (3, PROBLEMS[seed // 5 % 5]), (2, FAIR)):
            proba, y, group = few_scores(seed, n)
            group = group if limits is FAIR[1] else None
            try:
                check(proba, y, group, objective, limits, KINDS[seed // 3 % 5], runners)
            except mf.InfeasibleError:
                continue


def test_a_limit_that_splitting_an_atom_would_break():
    """The rule once had its threshold inside an atom: the export kept a precision of .754, not .8."""
    proba, y, _ = few_scores(83, 2)
    told = check(proba, y, None, "recall(1)", [mf.precision(1) >= 0.8], "labels", RUNNERS).deterministic
    assert told.violation <= 0


@pytest.mark.parametrize("confusion", ["labels", "model"])
def test_a_single_rule_is_cleared_too(confusion):
    """Half of the rows are at .5, the threshold for accuracy, up to the last bit; all get one decision."""
    half = np.nextafter(0.5, [0, 1, 0.5])[np.arange(60) % 3]
    proba = np.concatenate([np.column_stack([half, 1 - half]), np.tile([[0.2, 0.8], [0.8, 0.2]], (30, 1))])
    y = np.concatenate([np.arange(60) % 2, np.tile([1, 0], 30)])
    rounded = np.round(proba, 12)
    policy = mf.optimize(proba, y, "accuracy", counting=confusion).policy
    made = policy.decide(proba, randomize="never")
    assert len(set(made[:60].tolist())) == 1
    np.testing.assert_array_equal(policy.decide(rounded, randomize="never"), made)
    np.testing.assert_array_equal(policy.decide(1 - rounded[:, ::-1], randomize="never"), made)


def test_a_rule_without_near_ties_stays_as_it_is():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 500)
    y = (proba.cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    result = mf.optimize(proba, y, "accuracy", counting="model")
    assert result.deterministic is None
    assert len(result.policy.rules[0]) == 1


@pytest.mark.parametrize("layout", ["diagonal", "full"])
@pytest.mark.parametrize("seed", range(10))
def test_clearing_leaves_no_row_near_a_tie(seed, layout):
    """A loss under which the three decisions cost the same for one of twelve atoms."""
    rng = np.random.default_rng(seed)
    few = rng.dirichlet(np.ones(3), 12)
    proba = np.repeat(few, 10, axis=0) * (1 + 1e-16 * rng.integers(-2, 3, (120, 3)))
    y = rng.integers(3, size=120)
    metric = "g_mean" if layout == "diagonal" else mf.cost(rng.random((3, 3)))
    rows = Rows.of(proba, y)
    program = Problem.of(metric).bind(rows.axes, rows.margins())
    assert program.layout == layout
    loss = rng.random((2, 3)) if layout == "diagonal" else rng.random((3, 3))
    costs = few[0] * loss[0] + loss[1] if layout == "diagonal" else few[0] @ loss
    loss[1 if layout == "diagonal" else slice(None)] -= costs
    cell = Cell(program, rows, False, 0, loss[None])
    before = Margins.of(proba, loss, layout, program.axes)
    assert before.near.sum() == before.near[:10].sum() == 20
    after, share = cell.cleared(loss, 0.0, lambda points: [(0.0, value) for value in points[:, 0].tolist()])
    margins = Margins.of(proba, after, layout, program.axes)
    assert not margins.near.any()
    assert (margins.made.reshape(12, 10) == margins.made.reshape(12, 10)[:, :1]).all()
    np.testing.assert_allclose(share, cell.moved(after, 0, 0.0)[1])


def test_decisions_that_always_cost_the_same_are_no_near_ties():
    proba = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    margins = Margins.of(proba, np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.5]]), "diagonal", Axes((0, 1, 2)))
    assert margins.kind[0] == margins.kind[1] != margins.kind[2]
    assert not margins.near.any()
    assert margins.made.tolist() == [1, 2]


@pytest.mark.parametrize(("dtype", "away"), [("f8", ROUNDING), ("f4", 1e-6)])
def test_single_precision_is_coarser(dtype, away):
    loss = np.array([[0.0, 1.0], [1.0, 0.0]])
    for factor, expected in ((0.2, True), (2.0, False)):
        half = 0.5 + factor * away / 2
        margins = Margins.of(np.array([[half, 1 - half]], dtype), loss, "full", Axes((0, 1)))
        assert margins.near.any() == expected
