"""Intervals: exact small cases, slopes against added rows, and how often they hold the truth."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from conftest import METRICS, example_rows
from scipy.stats import binomtest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.confusion import Confusion
from metricfit.intervals import Evidence, estimate
from metricfit.intervals.estimate import wilson
from metricfit.intervals.influence import taken_apart

TWO = Axes((0, 1))


def seen_of(y, made, weights=None, axes=TWO, cells=None) -> Evidence:
    return Evidence.of(axes, cells, np.asarray(y), np.eye(axes.k)[np.asarray(made)], weights)


def test_wilson_is_scipys():
    for hits, size in ((0, 10), (7, 10), (50, 100), (1000, 1000)):
        known = binomtest(hits, size).proportion_ci(method="wilson")
        assert wilson(hits / size, size) == pytest.approx((known.low, known.high), abs=1e-12)


def test_wilson_by_hand():
    # 8 of 10: (0.8 + 3.8415 / 20 -+ 1.96 sqrt(0.016 + 3.8415 / 400)) / 1.38415
    low, high = wilson(0.8, 10)
    assert low == pytest.approx(0.4901, abs=2e-4)
    assert high == pytest.approx(0.9433, abs=2e-4)
    assert wilson(0.0, 5)[0] == 0.0
    assert wilson(1.0, 5)[1] == 1.0


def test_a_rate_of_outcomes_has_the_interval_of_its_rows():
    y = np.repeat([1, 1, 0], [30, 10, 60])
    made = np.repeat([1, 0, 0], [30, 10, 60])
    for metric, hits, rows in [(mf.recall(1), 30, 40), (mf.accuracy(), 90, 100), (mf.precision(0), 60, 70)]:
        found = estimate(metric, seen_of(y, made))
        assert (found.value, found.low, found.high) == pytest.approx(
            (hits / rows, *wilson(hits / rows, rows)), abs=1e-5
        )


def test_a_mean_that_is_no_share_has_its_standard_error_and_its_own_ends():
    """Distances of 1 and 3, 100 of each, have the mean 2 and the standard deviation 1; costs may be negative."""
    axes, y = Axes((0, 1, 2, 3)), np.zeros(200, int)
    seen = seen_of(y, np.repeat([1, 3], 100), axes=axes)
    half = 1.959964 / np.sqrt(200)
    found = estimate(mf.ordinal_error(), seen)
    assert (found.value, found.low, found.high) == pytest.approx((2, 2 - half, 2 + half), abs=1e-4)
    gains = -np.broadcast_to(np.arange(4.0), (4, 4))
    found = estimate(mf.cost(gains), seen)
    assert (found.value, found.low, found.high) == pytest.approx((-2, -2 - half, -2 + half), abs=1e-4)
    cells, codes = Cells.observe({"group": np.arange(200) // 100}, 200)
    apart = seen_of(y, np.repeat([1, 3], 100), axes=Axes((0, 1, 2, 3), cells=cells), cells=codes)
    error = mf.ordinal_error()
    for metric in (mf.disparity(error, "group", to="pairs"), mf.worst(error, "group")):
        found = estimate(metric, apart)
        assert found.value == pytest.approx(metric(apart.confusion))
        assert found.low <= found.value <= found.high


def test_weights_count():
    y, made = np.repeat([1, 1, 0], [30, 10, 60]), np.repeat([1, 0, 0], [30, 10, 60])
    plain = estimate(mf.recall(1), seen_of(y, made))
    same = estimate(mf.recall(1), seen_of(y, made, np.full(100, 7.0)))
    assert (same.low, same.high) == pytest.approx((plain.low, plain.high))
    # Half of the weight on a tenth of the rows tells less: as much as 36 rows.
    uneven = np.where(np.arange(100) % 10 == 0, 9.0, 1.0)
    wide = estimate(mf.accuracy(), seen_of(np.arange(100) % 2, np.arange(100) // 2 % 2, uneven))
    rows = uneven.sum() ** 2 / (uneven**2).sum()
    assert wide.high - wide.low == pytest.approx(np.subtract(*wilson(wide.value, rows)[::-1]), rel=0.05)


def test_chances_leave_less_to_luck_than_draws():
    y = np.arange(200) % 2
    certain = seen_of(y, np.arange(200) // 2 % 2)
    mixed = Evidence.of(TWO, None, y, np.where((np.arange(200) < 100)[:, None], [[0.4, 0.6]], [[0.6, 0.4]]))
    sure, unsure = estimate(mf.accuracy(), mixed), estimate(mf.accuracy(), certain)
    assert sure.value == pytest.approx(0.5)
    assert sure.high - sure.low < 0.3 * (unsure.high - unsure.low)


def test_rates_of_nothing_are_unknown():
    found = estimate(mf.recall(1), seen_of([0, 0, 0], [0, 1, 0]))
    assert np.isnan([found.value, found.low, found.high]).all()


def test_all_alike_is_not_certain():
    found = estimate(mf.recall(1), seen_of([1] * 12 + [0] * 30, [1] * 12 + [0] * 30))
    assert found.high == 1.0
    assert found.low == pytest.approx(wilson(1.0, 12)[0])
    assert estimate(mf.min_recall(), seen_of([1] * 12 + [0] * 30, [1] * 12 + [0] * 30)) == found


@pytest.mark.parametrize("example", METRICS, ids=str)
def test_influence_is_the_slope_towards_one_more_row(example):
    rows = example_rows(seed=3)
    confusion = rows.confusion
    cells, codes = Cells.observe(rows.attributes, len(rows.y))
    axes = Axes(confusion.classes, confusion.decisions, cells)
    labels = np.array([axes.class_index(c) for c in rows.y])
    made = np.eye(axes.k)[[axes.decision_index(d) for d in rows.made]]
    seen = Evidence.of(axes, codes, labels, made, rows.weight)
    pieces = taken_apart(example.metric, seen)
    assert pieces.value == pytest.approx(example.metric(seen.confusion), abs=1e-9)
    assert pieces.largest @ seen.mass == pytest.approx(0.0, abs=1e-4 * seen.total)
    if not example.metric.smooth:
        return  # a largest of several has no slope where two meet
    for pattern in range(0, len(seen.mass), max(1, len(seen.mass) // 7)):
        step, mass = 1e-6 * seen.total, seen.mass.copy()
        mass[pattern] += step
        moved = example.metric(Confusion(seen.tensor(mass), axes))
        slope = (moved - pieces.value) / 1e-6
        assert pieces.largest[pattern] == pytest.approx(slope, rel=2e-2, abs=2e-3)


def population(groups: int) -> Confusion:
    cells = Cells(("group",), tuple((g,) for g in range(groups)))
    tensor = np.zeros((groups, 2, 2))
    recall, alarm = np.linspace(0.6, 0.8, groups), np.linspace(0.05, 0.15, groups)
    tensor[:, 1] = 0.3 * np.stack([1 - recall, recall], axis=1) / groups
    tensor[:, 0] = 0.7 * np.stack([1 - alarm, alarm], axis=1) / groups
    return Confusion(tensor, Axes((0, 1), (), cells))


@pytest.mark.parametrize(
    "metric",
    [
        mf.recall(1),
        mf.precision(1),
        mf.g_mean(),
        mf.mcc(),
        mf.min_recall(),
        mf.demographic_parity(over="group"),
        mf.worst(mf.recall(1), over="group"),
    ],
    ids=str,
)
def test_intervals_hold_the_truth_about_as_often_as_they_say(metric):
    truth, draws, rng = population(3), 80, np.random.default_rng(0)
    inside = 0
    for _ in range(draws):
        counts = rng.multinomial(800, truth.values.ravel()).reshape(truth.values.shape)
        a, i, j = np.nonzero(counts)
        rows = counts[a, i, j].astype(float)
        found = estimate(metric, Evidence(truth.axes, a, i, np.eye(2)[j], rows, rows))
        assert found.low <= found.value <= found.high
        inside += found.low <= metric(truth) <= found.high
    assert inside / draws >= 0.88


def test_patterns_are_the_rows():
    rng = np.random.default_rng(1)
    y, chances = rng.integers(0, 2, 500), np.array([[1, 0], [0.25, 0.75], [0, 1]])[rng.integers(0, 3, 500)]
    weights = rng.random(500)
    seen = Evidence.of(TWO, None, y, chances, weights)
    assert len(seen.mass) == 6
    direct = np.stack([(weights[:, None] * chances)[y == c].sum(axis=0) for c in (0, 1)]) / weights.sum()
    np.testing.assert_allclose(seen.confusion.matrix, direct)
    parts = [Evidence.of(TWO, None, y[s], chances[s], weights[s]) for s in (slice(0, 100), slice(100, 500))]
    np.testing.assert_allclose(Evidence.joined(parts).confusion.matrix, direct)
    assert Evidence.joined(parts).effective_rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_the_smallest_of_very_many_by_hand():
    groups, rows = 1200, 40
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(groups), rows)
    decided = np.eye(2)[(rng.random(group.size) < 0.8).astype(int)]
    axes = Axes((0, 1), (), Cells(("group",), tuple((g,) for g in range(groups))))
    found = estimate(
        mf.worst(mf.recall(1), over="group"), Evidence.of(axes, group, np.ones(group.size, int), decided)
    )
    # Agresti and Coull's intervals, with more rows added the more groups there are, for all simultaneously.
    hits = decided[:, 1].reshape(groups, rows).sum(axis=1)
    z = NormalDist().inv_cdf(0.975)
    added = 2 * NormalDist().inv_cdf(1 - 0.05 / groups) / z
    rates = (hits + added) / (rows + 2 * added)
    errors = np.sqrt(rates * (1 - rates) / (rows + 2 * added))
    near = rates - 2 * z * errors <= (rates + 2 * z * errors).min()
    factor = NormalDist().inv_cdf(1 - 0.05 / near.sum())
    assert near.sum() > 1000
    assert found.value == pytest.approx(hits.min() / rows)
    assert found.low == pytest.approx(min((rates - z * errors)[near].min(), found.value), abs=1e-6)
    assert found.high == pytest.approx((rates + factor * errors)[near].min(), abs=1e-6)


@pytest.mark.parametrize("cells", [1, 400])
def test_rows_that_are_alike_are_one_pattern(cells):
    """Sure rows are told apart by their decision, mixed ones by all chances, in few cells and in many."""
    random = np.random.default_rng(0)
    k, rows = 3, 300
    cell, labels = random.integers(0, cells, rows), random.integers(0, k, rows)
    kinds = np.array(
        [
            [1.0, 0, 0],
            [0, 1.0, -0.0],
            [-0.0, 1.0, 0],
            [0, 0, 1.0],
            [0.3, 0.7, 0],
            [0.7, 0.3, -0.0],
            [0.7, 0.3, 0],
        ]
    )
    chances, weights = kinds[random.integers(0, len(kinds), rows)], random.random(rows)
    names = Cells(("g",), tuple((a,) for a in range(cells))) if cells > 1 else Cells()
    seen = Evidence.of(
        Axes(tuple(range(k)), cells=names), cell if cells > 1 else None, labels, chances, weights
    )
    expected = {}
    for key in zip(
        cell.tolist(), labels.tolist(), map(tuple, (chances + 0.0).tolist()), weights.tolist(), strict=True
    ):
        expected.setdefault(key[:3], []).append(key[3])
    found = dict(
        zip(
            zip(seen.cells.tolist(), seen.labels.tolist(), map(tuple, seen.chances.tolist()), strict=True),
            zip(seen.mass, seen.squares, strict=True),
            strict=True,
        )
    )
    assert found.keys() == expected.keys()
    for key, (mass, squares) in found.items():
        np.testing.assert_allclose([mass, squares], [sum(expected[key]), np.square(expected[key]).sum()])
