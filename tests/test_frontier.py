"""Trade-offs: equal to single solves, monotone, honest about levels that cannot be kept."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import metricfit as mf
from metricfit.datasets import make_fraud_triage
from metricfit.oracles import PluginOracle
from metricfit.oracles.choice import oracle_for
from metricfit.oracles.remembering import Remembering
from metricfit.tradeoff import repeated
from metricfit.tradeoff.monotone import monotone


@pytest.fixture(scope="module")
def data():
    return make_fraud_triage(n_rows=3000, random_state=0)


@pytest.fixture(scope="module")
def front(data):
    return mf.frontier(
        data.proba, data.y, "g_mean", mf.precision("fraud"), np.linspace(0.5, 0.9, 25), counting="model"
    )


def single(data, constraint, level, **options):
    limit = replace(constraint, limit=level)
    return mf.optimize(data.proba, data.y, "g_mean", [limit], counting="model", **options)


def test_every_level_is_nearly_the_single_solve(data, front):
    for point in front.points[::4]:
        alone = single(data, front.traded[0], point.levels[0])
        assert point.result.value == pytest.approx(alone.value, abs=2e-4)
        # The single solve's bound is a proof, so nothing here may go beyond it.
        assert point.result.value <= alone.bound + 1e-6
        assert point.result.bound >= alone.value - 1e-6


def test_few_levels_are_single_solves(data):
    front = mf.frontier(
        data.proba, data.y, "g_mean", "precision('fraud') >= 0", [0.9, 0.6, 0.8], counting="model"
    )
    assert [point.level for point in front] == [0.9, 0.6, 0.8]  # as they were given
    assert [point.level for point in front.ordered] == [0.6, 0.8, 0.9]
    for point in front:
        assert point.result.value == pytest.approx(
            single(data, front.traded[0], point.levels[0]).value, abs=2e-4
        )
        assert point.result.gap <= 1e-4


def test_levels_keep_their_order_and_number(data):
    given = {"counting": "model", "expect": True}
    levels, shares = [0.8, 0.6, 0.8], [0.03, 0.05]
    front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), levels, **given)
    assert front.to_frame()["level"].tolist() == levels
    for level, point in zip(levels, front, strict=True):
        assert point.result.constraints[0].limit == level
        assert mf.precision("fraud")(point.result.confusion) >= level - 1e-9
    assert front[1].value > front[0].value == front[2].value
    assert front[0].result.expected == front[2].result.expected != front[1].result.expected
    traded = [mf.precision("fraud"), mf.coverage("fraud") <= 0.1]
    grid = mf.frontier(data.proba, data.y, "g_mean", traded, [[0.7, 0.6], shares], counting="model")
    assert [point.levels for point in grid] == [(0.7, 0.03), (0.7, 0.05), (0.6, 0.03), (0.6, 0.05)]
    assert [point.levels for point in grid.ordered] == [(0.6, 0.05), (0.6, 0.03), (0.7, 0.05), (0.7, 0.03)]
    with pytest.raises(ValueError, match="2 traded constraints; see levels"):
        _ = grid[0].level


def test_values_bounds_and_levels_are_monotone(front):
    frame = front.to_frame()
    assert frame["level"].is_monotonic_increasing
    assert frame["value"].is_monotonic_decreasing
    assert frame["bound"].is_monotonic_decreasing
    assert (frame["bound"] >= frame["value"] - 1e-9).all()
    assert (frame["reached"] >= frame["level"] - 1e-9).all()
    assert set(frame["status"]) == {"optimal"}
    assert "expected" not in frame


def test_policies_keep_their_level_on_the_rows(data, front):
    for point in front.points[::6]:
        chances = point.result.policy.decision_proba(data.proba)
        soft = data.proba.T @ chances / len(data.y)
        confusion = mf.Confusion(soft[None] / soft.sum(), point.result.confusion.axes)
        assert mf.precision("fraud")(confusion) >= point.levels[0] - 1e-6
        assert mf.g_mean()(confusion) == pytest.approx(point.result.value, abs=1e-6)
        np.testing.assert_allclose(confusion.values, point.result.confusion.values, atol=1e-9)
        assert point.result.constraints[-1].limit == point.levels[0]


def test_levels_share_what_was_read(data):
    levels = np.linspace(0.5, 0.9, 50)
    front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), levels, counting="model")
    calls = [point.result.n_oracle_calls for point in front]
    assert len(front) == 50
    assert front.passes < 0.85 * sum(calls)


def test_counted_labels_are_monotone_too(data):
    front = mf.frontier(
        data.proba, data.y, "g_mean", mf.precision("fraud"), np.linspace(0.5, 0.9, 10), counting="labels"
    )
    values = [point.result.value for point in front]
    assert values == sorted(values, reverse=True)
    assert {point.result.status for point in front} == {"searched"}
    for point in front:
        chances = point.result.policy.decision_proba(data.proba)
        counts = np.zeros((4, 4))
        np.add.at(counts, np.searchsorted(data.classes, data.y), chances)
        confusion = mf.Confusion(counts[None] / counts.sum(), point.result.confusion.axes)
        assert mf.precision("fraud")(confusion) >= point.levels[0] - 1e-9
        assert mf.g_mean()(confusion) == pytest.approx(point.result.value, abs=1e-9)


def test_with_groups_labels_promise_no_more_than_single_solves(data):
    region = data.X[["region"]]
    parity = mf.demographic_parity(over="region")
    same = {"constraints": [parity <= 0.03], "sensitive_features": region, "counting": "labels"}
    front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), np.linspace(0.5, 0.8, 5), **same)
    for point in front.points:
        made = point.result.policy.decision_proba(data.proba, region)
        # A row that may be decided in several ways is as many rows, weighted by their chances.
        confusion = mf.Confusion.from_predictions(
            np.repeat(data.y, made.shape[1]),
            np.tile(point.result.policy.axes.decisions, len(data.y)),
            region.loc[region.index.repeat(made.shape[1])],
            made.ravel(),
        )
        assert parity(confusion) <= 0.03 + 1e-6
        assert mf.precision("fraud")(confusion) >= point.levels[0] - 1e-6
        assert mf.g_mean()(confusion) == pytest.approx(point.result.value, abs=1e-6)


def test_metrics_without_convexity_are_solved_level_by_level(data):
    levels = np.linspace(0.6, 0.8, 3)
    front = mf.frontier(data.proba, data.y, "macro_f1", mf.recall("fraud"), levels, max_calls=60)
    values = [point.result.value for point in front]
    assert values == sorted(values, reverse=True)
    assert all(p.result.constraints[0].value >= p.levels[0] - 1e-9 for p in front)


def test_levels_that_cannot_be_kept_stay_as_rows(data):
    front = mf.frontier(
        data.proba, data.y, "accuracy", mf.min_recall(), [0.5, 0.7, 0.95, 0.99], counting="model"
    )
    frame = front.to_frame()
    assert frame["status"].tolist()[-2:] == ["infeasible", "infeasible"]
    assert frame["value"].isna().tolist() == [False, False, True, True]
    best = mf.optimize(data.proba, data.y, "min_recall", counting="model")
    assert frame["reached"].iloc[-1] == pytest.approx(best.value, abs=2e-3)
    assert "2 of them cannot be kept" in repr(front)


def test_levels_are_chosen_between_free_and_strictest(data):
    front = mf.frontier(data.proba, data.y, "accuracy", mf.min_recall(), 12, counting="model")
    free = mf.optimize(data.proba, data.y, "accuracy", counting="model")
    best = mf.optimize(data.proba, data.y, "min_recall", counting="model")
    levels = front.to_frame()["level"]
    assert len(front) == 12
    assert all(point.feasible for point in front)
    assert levels.iloc[0] == pytest.approx(mf.min_recall()(free.confusion), abs=1e-6)
    assert best.value * 0.98 < levels.iloc[-1] <= best.bound


def test_levels_reach_as_far_as_rules_do():
    rng = np.random.default_rng(0)
    y = rng.choice(4, 250, p=[0.5, 0.3, 0.14, 0.06])
    proba = np.exp(2.5 * (1.2 * np.eye(4)[y] + rng.normal(size=(250, 4))))
    proba /= proba.sum(axis=1, keepdims=True)
    front = mf.frontier(proba, y, "g_mean", mf.precision(3), 5, counting="labels")
    levels = front.to_frame()["level"]
    # The surest row of the class is one of it, so that a rule of precision 1 there is.
    assert y[proba[:, 3].argmax()] == 3
    assert levels.iloc[-1] > 0.99
    assert (np.diff(levels) > 0).all()


def test_a_grid_is_monotone_in_both_constraints(data):
    front = mf.frontier(
        data.proba,
        data.y,
        "g_mean",
        [mf.precision("fraud"), mf.coverage("suspicious") <= 0.1],
        [[0.6, 0.8, 0.9], [0.1, 0.05, 0.08]],
        counting="model",
    )
    assert len(front) == 9
    assert [point.levels for point in front][:3] == [(0.6, 0.1), (0.6, 0.05), (0.6, 0.08)]
    table = np.array([point.result.value for point in front.ordered]).reshape(3, 3)
    assert (np.diff(table, axis=0) <= 0).all()
    assert (np.diff(table, axis=1) <= 0).all()
    assert {"level precision('fraud')", "price coverage('suspicious')"} <= set(front.to_frame().columns)
    alone = mf.optimize(
        data.proba,
        data.y,
        "g_mean",
        [mf.precision("fraud") >= 0.8, mf.coverage("suspicious") <= 0.08],
        counting="model",
    )
    assert table[1, 1] == pytest.approx(alone.value, abs=2e-3)


def test_shared_constraints_are_kept_at_every_level(data):
    kept = mf.demographic_parity(over="region") <= 0.02
    front = mf.frontier(
        data.proba,
        data.y,
        "g_mean",
        mf.precision("fraud"),
        np.linspace(0.6, 0.8, 10),
        constraints=[kept],
        sensitive_features=data.X[["region"]],
        counting="model",
    )
    for point in front:
        assert kept.metric(point.result.confusion) <= 0.02 + 1e-6
        assert len(point.result.constraints) == 2


@pytest.fixture(scope="module")
def sexes():
    """Two classes and two groups with other shares and other scores, and a logistic score that is too sure."""
    rng = np.random.default_rng(1)
    group = (rng.random(1500) < 0.35).astype(int)
    y = (rng.random(1500) < np.where(group, 0.12, 0.3)).astype(int)
    score = 1.1 * y + np.where(group, -0.8, 0.2) + rng.normal(size=1500) - 0.8
    p = 1 / (1 + np.exp(-1.6 * score))
    return np.c_[1 - p, p], y, {"sex": group}


def against_single_solves(sexes, kept, counting, every=3):
    """Return the frontier, and by how much its points are below single solves that count alike."""
    proba, y, groups = sexes
    same = {"sensitive_features": groups}
    front = mf.frontier(
        proba, y, mf.recall(1), mf.precision(1), 13, constraints=kept, counting=counting, **same
    )
    below = []
    for point in front.points[::every]:
        limits = [*kept, mf.precision(1) >= point.level]
        alone = mf.optimize(proba, y, mf.recall(1), limits, counting=front.counting, **same)
        below.append(alone.value - point.value)
    return front, below


@pytest.mark.parametrize("counting", ["auto", "calibrated", "labels"])
@pytest.mark.parametrize("grouped", [False, True])
def test_no_point_is_below_its_single_solve(sexes, grouped, counting):
    kept = [mf.equal_opportunity(over="sex", c=1, to="pairs") <= 0.05] if grouped else []
    front, below = against_single_solves(sexes, kept, counting)
    assert max(below) <= 0.003
    assert {point.result.counting for point in front} == {front.counting}
    if counting == "auto":
        assert {point.result.choice for point in front} == {front.choice} != {""}
        assert front[3].policy.provenance["choice"] == front.choice
    else:
        assert (front.counting, front.choice) == (counting, "")


def test_every_level_is_certified(sexes):
    proba, y, groups = sexes
    levels = np.linspace(0, 0.8, 12)
    front = mf.frontier(
        proba, y, mf.recall(1), mf.precision(1), levels, sensitive_features=groups, counting="calibrated"
    )
    assert [point.value for point in front][:4] == [1.0] * 4  # these do not bind
    assert {point.status for point in front} == {"optimal"}
    assert all(point.result.certified and point.result.gap <= 1e-4 for point in front)


def test_the_bound_of_a_looser_level_certifies_a_stricter_one(sexes):
    """A level whose own solve was stopped has the policy and the bound of another one, and with both a proof."""
    front = mf.frontier(*sexes[:2], "accuracy", mf.coverage(1) <= 0, [0.9, 0.8], counting="model")
    loose, strict = front.points
    assert loose.value == strict.value
    stopped = replace(strict.result, status="stopped", bound=np.inf, gap=np.inf, certified=False)
    (_, again) = monotone(front.problem, front.traded, [loose, replace(strict, result=stopped)], 1e-4)
    assert (again.status, again.result.certified, again.bound) == ("optimal", True, loose.bound)


def test_one_choice_is_that_of_most_levels(sexes, monkeypatch):
    """Five levels are judged; whatever a level of its own would choose, all count alike."""
    proba, y, _ = sexes
    answers = iter(["labels", "calibrated", "labels", "calibrated", "labels"])
    plain = mf.optimize(proba, y, "accuracy", counting="calibrated")

    def judged(problem, oracle, options):
        counting = next(answers)
        return replace(plain, counting=counting, choice=f"because of {problem.constraints[-1].limit}")

    whole = repeated.solve
    monkeypatch.setattr(
        repeated, "solve", lambda p, o, how: (judged if o.counting == "auto" else whole)(p, o, how)
    )
    front = mf.frontier(proba, y, "g_mean", mf.precision(1), [0.3, 0.4, 0.5, 0.6, 0.7])
    assert (front.counting, front.choice) == ("labels", "because of 0.3")
    assert {point.result.counting for point in front} == {"labels"}


def test_seconds_are_those_of_the_whole_call(sexes, monkeypatch):
    clock = [0.0]
    calibrated = PluginOracle.calibrated

    def slow(self):
        clock[0] += 100
        return calibrated(self)

    for module in ("metricfit.solving.door", "metricfit.solving.arrays"):
        monkeypatch.setattr(f"{module}.perf_counter", lambda: clock[0])
    monkeypatch.setattr(PluginOracle, "calibrated", slow)
    result = mf.optimize(*sexes[:2], "g_mean", counting="calibrated")
    assert result.seconds == 100


@pytest.mark.parametrize(
    ("constraint", "levels", "said"),
    [
        (mf.coverage("fraud"), [0.1], "has no direction"),
        ([], [0.1], "constraint is empty"),
        (3, [0.1], "constraint"),
        (mf.precision("fraud"), [], "is empty"),
        (mf.precision("fraud"), 1, "at least 2"),
        (mf.precision("fraud"), [float("nan")], "finite"),
        (mf.precision("fraud"), 0.5, r"must be a list of limits, got 0.5; one limit is \[0.5\]"),
        (mf.precision("fraud"), "0.5", r"must be a list of limits, got '0.5'; one limit is \[0.5\]"),
        ([mf.precision("fraud"), mf.recall("fraud")], [[0.5]], "a list for each"),
    ],
)
def test_bad_requests_say_what_is_wrong(data, constraint, levels, said):
    with pytest.raises(ValueError, match=said):
        mf.frontier(data.proba, data.y, "g_mean", constraint, levels, counting="model")


def test_the_oracle_remembers_what_it_was_asked(data):
    plain = oracle_for(data.proba, data.y, counting="model")
    oracle = Remembering(plain)
    losses = [np.random.default_rng(seed).normal(size=(1, 4, 4)) for seed in (0, 1, 0)]
    answers = oracle.many(losses, "full")
    assert answers[0] is answers[2]
    assert oracle.passes == 2
    np.testing.assert_array_equal(answers[1].statistic, plain(losses[1], "full").statistic)
    assert oracle.sample() is plain.sample()
    assert oracle.calibrated() is oracle.calibrated()
    assert oracle.by("calibrated").inmost().rows is plain.rows


def test_what_to_expect_on_new_rows_along_the_frontier(data):
    levels = np.linspace(0.6, 0.85, 10)
    front = mf.frontier(
        data.proba, data.y, "g_mean", mf.precision("fraud"), levels, counting="model", expect=True
    )
    frame = front.to_frame()
    assert (frame["low"] < frame["expected"]).all()
    assert (frame["expected"] < frame["high"]).all()
    alone = mf.optimize(
        data.proba, data.y, "g_mean", [mf.precision("fraud") >= 0.6], counting="model", expect=True
    )
    assert frame["expected"].iloc[0] == pytest.approx(alone.expected.value, abs=0.01)


def test_points_have_full_results(data, front):
    result = front[1].result
    assert result.policy.provenance["constraints"] == [str(result.origin.problem.constraints[0])]
    assert result.counted.rows == 3000
    assert result.origin.problem.constraints[0].limit == front[1].levels[0]


def test_a_point_has_what_its_result_has(data):
    front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), [0.7, 1.5], counting="model")
    kept, lost = front
    assert kept.value == kept.result.value
    assert kept.policy is kept.result.policy
    assert (kept.bound, kept.status) == (kept.result.bound, "optimal")
    assert not hasattr(lost, "value")
    with pytest.raises(AttributeError, match="no policy keeps the limits of this point"):
        _ = lost.value
    again = pickle.loads(pickle.dumps(replace(kept, result=None)))
    assert again.levels == kept.levels


def test_a_callback_follows_every_level_and_a_start_is_begun_at(data):
    seen = []
    levels, known = [0.6, 0.7], {"counting": "model"}
    front = mf.frontier(
        data.proba,
        data.y,
        "g_mean",
        mf.precision("fraud"),
        levels,
        callback=seen.append,
        expect=True,
        **known,
    )
    assert [record.value for record in seen][-1] == pytest.approx(front[1].value, abs=1e-3)
    # Seconds begin anew at each level, and folds are not told of.
    assert sum(later.seconds < earlier.seconds for earlier, later in pairwise(seen)) == 1
    again = mf.frontier(
        data.proba, data.y, "g_mean", mf.precision("fraud"), levels[:1], start=front[0].result, **known
    )
    assert again[0].result.n_oracle_calls < front[0].result.n_oracle_calls
    stopped = mf.frontier(
        data.proba, data.y, "g_mean", mf.precision("fraud"), levels, callback=lambda record: True, **known
    )
    assert [point.status for point in stopped if point.feasible] == ["stopped"] * sum(
        p.feasible for p in stopped
    )


def test_rows_that_lack_an_attribute_may_be_a_cell(data):
    region = pd.Series(np.where(np.arange(len(data.y)) % 5 == 0, None, data.X["region"]), name="region")
    how = {"sensitive_features": region.to_frame(), "counting": "calibrated"}
    parity = mf.demographic_parity("region")
    with pytest.raises(ValueError, match="missing"):
        mf.frontier(data.proba, data.y, "g_mean", parity, [0.2, 0.05], **how)
    front = mf.frontier(data.proba, data.y, "g_mean", parity, [0.2, 0.05], missing="cell", **how)
    single = mf.optimize(data.proba, data.y, "g_mean", [parity <= 0.05], missing="cell", **how)
    assert ("(missing)",) in front[-1].result.confusion.axes.cells.values
    assert min(point.result.value for point in front) == pytest.approx(single.value, abs=2e-4)
