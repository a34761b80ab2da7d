"""Declared curvature against random midpoints, level sets against plain comparison, reach against values."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import METRICS, decisions_of, example_rows, random_tensor

import metricfit as mf
from metricfit.data.confusion import Confusion
from metricfit.data.layout import statistic
from metricfit.exceptions import NotConvexError
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import of_composition, of_maximum, of_sum
from metricfit.functions.levels import at_least, at_most
from metricfit.metrics import Curvature

LINEAR, CONVEX, CONCAVE, RATIO, UNKNOWN = Curvature
CASES = [(example, decisions) for example in METRICS for decisions in decisions_of(example)]
IDS = [f"{example.metric}-{len(decisions)}" for example, decisions in CASES]


class Bound:
    """A metric on the tensors of one set of axes and class priors."""

    def __init__(self, metric: mf.Metric, start: Confusion) -> None:
        self.start = start
        binding = Binding.of(start.axes, start.margins)
        self.node = metric.bind(binding)
        self.functions = binding.finish()

    def u(self, confusion: Confusion) -> np.ndarray:
        z = statistic(confusion.values, self.functions.layout, confusion.axes)
        return self.functions.matrix @ z.ravel() + self.functions.constant

    def random(self, rng: np.random.Generator) -> np.ndarray:
        spread = rng.choice([0.05, 0.3, 1.0, 5.0])
        return self.u(random_tensor(self.start.axes, self.start.margins, rng, spread))


def contradiction(node, curvature: Curvature, ends: list[np.ndarray]) -> float:
    """By how much values on a segment contradict a curvature."""
    values = np.array([node.scalar((1 - t) * ends[0] + t * ends[1]) for t in (0, 0.25, 0.5, 0.75, 1)])
    above = values[1:4] - np.array([0.75, 0.5, 0.25]) * values[0] - np.array([0.25, 0.5, 0.75]) * values[4]
    match curvature:
        case Curvature.LINEAR:
            return float(np.abs(above).max())
        case Curvature.CONVEX:
            return float(above.max())
        case Curvature.CONCAVE:
            return float(-above.min())
        case Curvature.RATIO:  # level sets are half-spaces: monotone on every segment
            moves = np.diff(values)
            return float(min(moves.max(), -moves.min()))
    return 0.0


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=IDS)
def test_declared_curvature(example, decisions):
    bound = Bound(example.metric, example_rows(decisions).confusion)
    rng = np.random.default_rng(4)
    for _ in range(30):
        ends = [bound.random(rng), bound.random(rng)]
        assert contradiction(bound.node, example.metric.curvature, ends) < 1e-9
        assert contradiction(bound.node, bound.node.curvature, ends) < 1e-9


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=IDS)
def test_bound_curvature_is_at_least_as_good(example, decisions):
    """What data shows may be better than what is declared (a ratio that turns out linear), never worse."""
    bound, declared = Bound(example.metric, example_rows(decisions).confusion), example.metric.curvature
    assert bound.node.curvature in {declared, LINEAR} or declared is UNKNOWN


def test_curvature_is_not_vacuous():
    """What is declared convex or concave does bend, and what is declared unknown is neither."""
    rng = np.random.default_rng(5)
    for example, decisions in CASES:
        declared = example.metric.curvature
        bound = Bound(example.metric, example_rows(decisions).confusion)
        ends = [[bound.random(rng), bound.random(rng)] for _ in range(25)]
        if declared in (CONVEX, CONCAVE):
            assert max(contradiction(bound.node, LINEAR, pair) for pair in ends) > 1e-6, str(example.metric)
        if declared is RATIO and bound.node.curvature is RATIO:
            assert max(contradiction(bound.node, CONVEX, pair) for pair in ends) > 1e-9
            assert max(contradiction(bound.node, CONCAVE, pair) for pair in ends) > 1e-9


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=IDS)
def test_reach_contains_all_values(example, decisions):
    bound = Bound(example.metric, example_rows(decisions).confusion)
    low, high = bound.node.reach()
    assert low.shape == high.shape == (1,)
    rng = np.random.default_rng(6)
    for _ in range(60):
        assert low[0] - 1e-7 <= bound.node.scalar(bound.random(rng)) <= high[0] + 1e-7


BY_NATURE = {
    "recall",
    "specificity",
    "false_positive_rate",
    "coverage",
    "accuracy",
    "churn",
    "precision",
    "f_beta",
}


@pytest.mark.parametrize("example", [e for e in METRICS if e.name in BY_NATURE], ids=str)
def test_reach_of_rates_is_from_zero_to_one(example):
    low, high = Bound(example.metric, example_rows().confusion).node.reach()
    assert low[0] == pytest.approx(0, abs=1e-12)
    assert high[0] == pytest.approx(1) or example.name == "f_beta"


@pytest.mark.parametrize("example", [e for e in METRICS if e.metric.direction < 0], ids=str)
def test_reach_of_what_is_better_when_lower_begins_at_zero(example):
    assert Bound(example.metric, example_rows().confusion).node.reach()[0][0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("example", "decisions"), CASES, ids=IDS)
def test_level_sets(example, decisions):
    """The functions are convex, and all <= 0 exactly where the metric keeps the limit."""
    bound = Bound(example.metric, example_rows(decisions).confusion)
    rng = np.random.default_rng(7)
    points = [bound.random(rng) for _ in range(30)]
    values = np.array([bound.node.scalar(u) for u in points])
    for limit in np.quantile(values, [0.1, 0.5, 0.9]):
        for turn, kept, able in (
            (at_most, values <= limit, {LINEAR, CONVEX, RATIO}),
            (at_least, values >= limit, {LINEAR, CONCAVE, RATIO}),
        ):
            try:
                functions = turn(bound.node, limit)
            except NotConvexError:
                assert example.metric.curvature not in able
                continue
            assert functions.curvature.is_convex
            excess = np.array([functions.value(u).max() for u in points])
            clear = np.abs(values - limit) > 1e-9
            np.testing.assert_array_equal((excess <= 0)[clear], kept[clear])


def test_level_sets_of_extremes_of_ratios():
    """The worst precision, at least a level: every precision is, which is linear."""
    confusion = example_rows().confusion
    worst = Bound(mf.minimum(mf.precision("ant"), mf.precision("bee")), confusion).node
    assert at_least(worst, 0.5).curvature is LINEAR
    with pytest.raises(NotConvexError):
        at_most(worst, 0.5)
    largest = Bound(mf.maximum(mf.precision("ant"), mf.precision("bee")), confusion).node
    assert at_most(largest, 0.5).curvature is LINEAR
    with pytest.raises(NotConvexError):
        at_least(largest, 0.5)


@pytest.mark.parametrize("scale", [2.0, -0.5])
def test_level_sets_of_rescaled_ratios(scale):
    confusion = example_rows().confusion
    plain, moved = mf.precision("bee"), 3 + scale * mf.precision("bee")
    bound = Bound(moved, confusion)
    rng = np.random.default_rng(8)
    for turn in (at_most, at_least):
        functions = turn(bound.node, 3 + scale * 0.4)
        assert functions.curvature is LINEAR
        for _ in range(20):
            u = bound.random(rng)
            below = Bound(plain, confusion).node.scalar(u) <= 0.4
            assert (functions.value(u)[0] <= 0) == (below == ((turn is at_most) == (scale > 0)))


def test_composition_rules():
    assert of_sum([]) is of_sum([(1, LINEAR), (-2, LINEAR)]) is LINEAR
    assert of_sum([(1, CONVEX), (1, LINEAR)]) is of_sum([(-1, CONCAVE), (3, CONVEX)]) is CONVEX
    assert of_sum([(1, CONVEX), (1, CONCAVE)]) is of_sum([(1, RATIO), (1, LINEAR)]) is UNKNOWN
    assert of_sum([(-1, RATIO), (0, CONVEX)]) is RATIO
    assert of_maximum([LINEAR, CONVEX]) is CONVEX
    assert of_maximum([LINEAR, CONCAVE]) is of_maximum([RATIO]) is UNKNOWN
    assert of_composition(CONCAVE, 1, CONCAVE) is CONCAVE
    assert of_composition(CONCAVE, 1, CONVEX) is of_composition(CONCAVE, 0, CONCAVE) is UNKNOWN
    assert of_composition(CONVEX, -1, CONCAVE) is CONVEX
    assert of_composition(CONVEX, -1, RATIO) is UNKNOWN
    assert of_composition(CONVEX, 0, LINEAR) is CONVEX
