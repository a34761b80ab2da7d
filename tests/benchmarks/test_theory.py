"""What the page on theory says is so: the studies on exact distributions hold what the paper proves."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def studies():
    """Import the benchmark's modules, which stand on their own path, and forget them afterwards."""
    before = set(sys.modules)
    sys.path[:0] = [str(BENCHMARKS / "theory"), str(BENCHMARKS / "paper")]
    try:
        yield import_module("studies")
    finally:
        del sys.path[:2]
        for name in set(sys.modules) - before:
            if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def test_the_loss_matrix_of_a_metric_has_its_best_rule(studies):
    rows = pd.DataFrame(studies.loss_matrices())
    assert len(rows) == 12
    np.testing.assert_allclose(rows["best rule of the costs"], rows["optimum"], atol=1e-4)
    assert (rows["rules"] == 1).all()


@pytest.mark.parametrize("objective", ["h_mean", "g_mean", "q_mean"])
def test_slopes_are_those_of_the_means(studies, objective):
    r, step = np.array([0.3, 0.6, 0.8]), 1e-6
    means = [studies._mean(objective, r + sign * step * e) for e in np.eye(3) for sign in (1, -1)]
    slopes = (np.array(means[::2]) - means[1::2]) / (2 * step)
    np.testing.assert_allclose(studies.gradient(objective, r), slopes, rtol=1e-6)


def test_no_answer_needs_more_rules_than_proven(studies):
    for row in studies.rules():
        assert 1 <= row["rules"] <= row["d + 1"]


def test_regret_is_at_most_the_error_of_the_probabilities(studies):
    for row in studies.regrets():
        assert -1e-9 <= row["cost"] <= row["error"]
        assert row["H-mean"] >= -1e-9


def test_gaps_fall_as_proven(studies):
    frame = pd.DataFrame(studies.gaps((10, 30, 100)))
    free = frame[frame["problem"] == "Q-mean"].pivot(index="asked", columns="method", values="gap")
    assert (free >= -1e-9).all(axis=None)
    for name, power in (("Frank-Wolfe", 1.0), ("GDA", 0.5)):
        assert free[name][100] <= free[name][10] * 10**-power
    assert free["Ellipsoid"][100] < 1e-4
    assert free["column generation"][10] < 1e-6
    proven = frame.drop_duplicates("problem")
    np.testing.assert_allclose(proven["optimum"], proven["proven"], atol=1e-6)
    ratio = frame[(frame["problem"] == "micro-F1") & (frame["method"] == "Bisection")]
    assert (ratio["gap"] <= 2.0 ** -ratio["asked"]).all()
