"""Intervals of comparisons between groups: by hand, and how often they contain the truth, as the benchmark draws it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.intervals import Estimate, Evidence, estimate

FOLDER = Path(__file__).parents[2] / "benchmarks" / "trust"
TWO_GROUPS = Axes((0, 1), cells=Cells(("group",), (("a",), ("b",))))


@pytest.fixture(scope="module")
def benchmark():
    """Import the benchmark, which stands on its own path, and forget it afterwards."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield import_module("interval_coverage")
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("interval_coverage", None)


def of_hits(first: int, second: int, rows: int) -> Evidence:
    """Return rows of class 1 in two groups of equal size, of which so many are hits."""
    decided = np.r_[np.arange(rows) < first, np.arange(rows) < second].astype(int)
    return Evidence.of(TWO_GROUPS, np.repeat([0, 1], rows), np.ones(2 * rows, int), np.eye(2)[decided])


def agresti_caffo(first: int, second: int, rows: int, added: float = 1.0) -> tuple[float, float]:
    """Return the ends of the interval of a difference with as many hits and misses added in each group."""
    shares = [(hits + added) / (rows + 2 * added) for hits in (first, second)]
    error = np.sqrt(sum(p * (1 - p) for p in shares) / (rows + 2 * added))
    return shares[0] - shares[1] - 1.959964 * error, shares[0] - shares[1] + 1.959964 * error


@pytest.mark.parametrize(("first", "second"), [(100, 100), (101, 100), (110, 100), (160, 100), (200, 200)])
@pytest.mark.parametrize("to", ["pairs", "overall"])
def test_a_difference_of_two_groups_by_hand(first, second, to):
    """The interval of the difference, with its sign lost: 0 is in it if the difference may be 0."""
    found = estimate(mf.equal_opportunity("group", 1, to=to), of_hits(first, second, 200))
    # Each group is half of all rows. Four functions, two of them alike, may be the largest distance from all rows.
    scale, added = (1.0, 1.0) if to == "pairs" else (0.5, 2.2414 / 1.95996)
    low, high = agresti_caffo(first, second, 200, added)
    assert found.value == pytest.approx(scale * abs(first - second) / 200)
    assert found.high == pytest.approx(scale * max(abs(low), abs(high)), rel=0.03)
    assert found.low == pytest.approx(scale * max(low, 0.0), abs=5e-3)


def test_no_difference_in_few_rows_is_not_certainty():
    odds = mf.equal_opportunity("group", 1, to="pairs")
    assert estimate(odds, of_hits(200, 200, 400)).high > 0.005
    assert estimate(odds, of_hits(100, 100, 200)).high == pytest.approx(0.0976, abs=0.001)
    assert estimate(odds, of_hits(1, 1, 1)).high > 0.6


def test_a_multiple_of_a_difference_has_the_multiple_of_its_interval():
    odds, seen = mf.equal_opportunity("group", 1, to="pairs"), of_hits(60, 52, 100)
    whole, part = estimate(odds, seen), estimate(1 - 0.5 * odds, seen)
    assert (part.value, part.low, part.high) == pytest.approx(
        (1 - whole.value / 2, 1 - whole.high / 2, 1 - whole.low / 2)
    )


def test_ratios_by_hand():
    """Logarithms of shares to which half a hit and half a miss were added."""
    found = estimate(mf.equal_opportunity("group", 1, to="pairs", as_ratio=True), of_hits(90, 60, 100))
    shares = np.array([60.5 / 101, 90.5 / 101])
    error = np.sqrt(((1 - shares) / (shares * 101)).sum())
    ends = np.exp(np.log(shares[0] / shares[1]) + 1.959964 * error * np.array([-1, 1]))
    assert found == Estimate(pytest.approx(2 / 3), *(pytest.approx(end, rel=1e-3) for end in ends))


# With 100 draws, 8 of 10,000 shares of a true .95 are below .86; the benchmark takes more draws.
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.2])
@pytest.mark.parametrize(("groups", "rows"), [(2, 200), (2, 2000), (3, 1000)])
@pytest.mark.parametrize(
    "name",
    [
        "opportunity, pairs",
        "opportunity, overall",
        "odds, pairs",
        "predictive parity, pairs",
        "error rates, pairs",
        "half of a difference",
        "ratio of shares, pairs",
        "worst recall",
    ],
)
def test_intervals_contain_the_truth_as_often_as_they_say(benchmark, name, groups, rows, gap):
    truth = benchmark.population(groups, gap, "spread")
    assert benchmark.coverage(benchmark.METRICS[name], truth, rows, 100) >= 0.86
