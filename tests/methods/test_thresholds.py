"""Two classes under limits on labels, against a linear program over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import metricfit as mf
from metricfit.data.rows import Rows
from metricfit.methods.search.thresholds import corner_thresholds


def rows_of(seed, count=400):
    """Draw probabilities that are wrong, some of them equal, with labels and weights."""
    random = np.random.default_rng(seed)
    y = (random.random(count) < 0.3).astype(int)
    score = np.clip(random.beta(2, 3, count) + 0.25 * y, 0, 1).round(2 if seed % 2 else 6)
    return np.column_stack([1 - score, score]), y, random.exponential(size=count)


def best_mixture(proba, y, weights, gain, floors):
    """Return the largest sum of gains times recalls that any mixture of thresholds with these recalls has."""
    made = (proba[:, 1][:, None] >= np.append(np.unique(proba[:, 1]), 2.0)).astype(float)
    recalls = np.array(
        [np.average(np.abs(made[y == c] - (1 - c)), axis=0, weights=weights[y == c]) for c in (0, 1)]
    )
    found = linprog(
        -np.array(gain) @ recalls, -recalls, -np.array(floors), np.ones((1, recalls.shape[1])), [1]
    )
    return -found.fun


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.OverfitWarning")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("room", [0.002, 0.05])
def test_what_only_a_mixture_keeps_is_found(seed, room):
    proba, y, weights = rows_of(seed)
    first = 0.6 + 0.04 * seed
    floors = [first, best_mixture(proba, y, weights, [0, 1], [first, 0]) - room]
    share = [weights[y == c].sum() / weights.sum() for c in (0, 1)]
    best = best_mixture(proba, y, weights, share, floors)
    limits = [mf.recall(0) >= floors[0], mf.recall(1) >= floors[1]]
    same = {"classes": [0, 1], "sample_weight": weights}
    local = mf.optimize(proba, y, "accuracy", limits, method="local", **same)
    assert local.value == pytest.approx(best, abs=2e-4)
    assert max(record.violation for record in local.constraints) <= 1e-9
    default = mf.optimize(proba, y, "accuracy", limits, **same)
    assert default.value >= best - 0.005
    assert max(record.violation for record in default.constraints) <= 1e-9


def test_corners_of_all_counts():
    score = np.array([0.9, 0.8, 0.7, 0.4, 0.3])
    rows = Rows.of(np.column_stack([1 - score, score]), [1, 1, 0, 1, 0])
    np.testing.assert_allclose(corner_thresholds(rows), [0.35, 0.75])


@pytest.mark.parametrize("labels", [[0, 0, 0], [1, 1, 1]])
def test_one_class_has_no_corners(labels):
    score = np.array([0.2, 0.5, 0.7])
    assert corner_thresholds(Rows.of(np.column_stack([1 - score, score]), labels, classes=[0, 1])).size == 0


def test_probabilities_that_say_nothing_have_no_corners():
    same = np.full((6, 2), 0.5)
    assert corner_thresholds(Rows.of(same, [0, 1] * 3)).size == 0
    score = np.array([0.2, 0.2, 0.6, 0.6])  # each threshold parts both classes alike
    assert corner_thresholds(Rows.of(np.column_stack([1 - score, score]), [0, 1, 0, 1])).size == 0
