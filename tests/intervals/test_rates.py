"""Influences of rates and of their comparison over groups: those of a small change of each row's weight."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.intervals.estimate import estimate
from metricfit.intervals.evidence import Evidence
from metricfit.intervals.influence import taken_apart

METRICS = {
    "recall": mf.recall(1),
    "precision": mf.precision(2),
    "recall in a slice": mf.recall(1).at(group="b"),
    "parity": mf.demographic_parity("group"),
    "odds": mf.equalized_odds("group"),
    "odds between pairs": mf.equalized_odds("group", to="pairs"),
    "worst recall": mf.worst(mf.recall(1), "group"),
    "worst false alarms": mf.worst(mf.false_positive_rate(1), "group"),
    "parity to the mean": mf.demographic_parity("group", to="mean"),
    "ratio of recalls": mf.equal_opportunity("group", 1, to="pairs", as_ratio=True),
    "predictive parity": mf.predictive_parity("group", 1, to="pairs"),
    "error rates": mf.equal_error_rates("group", to="pairs"),
    "worst G-mean": mf.worst(mf.g_mean(), "group"),
}


def seen(rows: int = 400) -> Evidence:
    random = np.random.default_rng(0)
    group, y = random.choice(list("abc"), rows), random.integers(0, 3, rows)
    cells, codes = Cells.observe({"group": group}, rows)
    chances = random.dirichlet(np.ones(3), 12)[random.integers(0, 12, rows)]
    chances[np.arange(rows), y] += 0.3 * (group == "a") + 0.1
    chances /= chances.sum(axis=1, keepdims=True)
    return Evidence.of(Axes((0, 1, 2), (0, 1, 2), cells), codes, y, chances, random.uniform(0.5, 2.0, rows))


@pytest.mark.parametrize("name", METRICS)
def test_an_influence_is_the_slope_towards_more_of_a_pattern(name):
    metric, rows = METRICS[name], seen()
    pieces = taken_apart(metric, rows)
    assert pieces.value == pytest.approx(metric(rows.confusion), abs=1e-12)
    assert pieces.largest @ rows.mass == pytest.approx(0.0, abs=2e-3)
    for place in range(0, len(rows.mass), 37):
        more = rows.mass + 1e-6 * rows.total * (np.arange(len(rows.mass)) == place)
        moved = metric(mf.Confusion(rows.tensor(more), rows.axes))
        # Ratios are of shares to which half a row was added.
        near = 0.03 * abs(pieces.largest[place]) if pieces.logs else 0.0
        assert (moved - pieces.value) / 1e-6 == pytest.approx(pieces.largest[place], abs=1e-3 + near)


def test_what_is_clearly_below_the_largest_is_left_out():
    rows = seen(4000)
    pieces = taken_apart(mf.equalized_odds("group"), rows)
    assert 1 <= len(pieces.values) < 2 * 3 * 9  # both signs of three groups and nine rates


@pytest.mark.parametrize(
    "metric",
    [mf.g_mean(), mf.predictive_parity("group", 1), mf.demographic_parity("group", as_ratio=True)],
    ids=str,
)
def test_intervals_contain_their_value(metric):
    found = estimate(metric, seen())
    assert found.low < found.value < found.high
