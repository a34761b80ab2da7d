"""P-values: exact small cases, valid under the null, and smaller for better rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from metricfit.trust.bounded_means import bentkus, betting, binomial, normal, share_at_least


def test_binomial_by_hand():
    assert binomial(3, 3, 0.5) == pytest.approx(0.125)
    assert binomial(2, 3, 0.5) == pytest.approx(0.5)
    assert binomial(0, 3, 0.5) == 1.0


def test_share_at_least_by_hand():
    # All of 3 hits: the share whose cube is 0.05.
    assert share_at_least(3, 3, 0.95) == pytest.approx(0.05 ** (1 / 3))
    assert share_at_least(0, 3, 0.95) == 0.0


def test_betting_by_hand():
    # One row of value 1 where values are at least -1: the bet is known from what was before.
    before = np.array([1.0, -1.0, 1.0, 1.0])  # sum 2 of 5 (one more for caution), squares 4.25 of 5
    assert betting(np.array([1.0]), -1.0, before) == pytest.approx(1 / (1 + 2 / 4.25))
    assert betting(np.array([-1.0]), -1.0, before) == 1.0


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("test", ["binomial", "bentkus", "betting"])
def test_where_nothing_is_true_p_values_are_small_only_by_chance(test, share):
    rng, rows, times = np.random.default_rng(0), 60, 1500
    before = (rng.random(60) < share + 0.05) - share
    found = []
    for _ in range(times):
        values = (rng.random(rows) < share) - share
        if test == "binomial":
            found.append(binomial((values > 0).sum(), rows, share))
        elif test == "bentkus":
            found.append(bentkus(values, -share, 1 - share))
        else:
            found.append(betting(values, -share, before))
    for level in (0.05, 0.2, 0.5):
        noise = np.sqrt(level * (1 - level) / times)
        assert np.mean(np.array(found) <= level) <= level + 3 * noise


@pytest.mark.parametrize("test", ["bentkus", "betting"])
def test_better_rows_and_more_rows_have_smaller_p_values(test):
    def p(hits: int, rows: int) -> float:
        values = np.repeat([0.2, -0.8], [hits, rows - hits])
        return (
            bentkus(values, -0.8, 0.2)
            if test == "bentkus"
            else betting(values, -0.8, np.repeat([0.2, -0.8], [45, 5]))
        )

    found = [p(hits, 100) for hits in (80, 85, 90, 95, 100)]
    assert all(a > b for a, b in pairwise(found))
    assert p(190, 200) < p(95, 100)
    assert p(95, 100) < 0.05


def test_normal_knows_no_error():
    assert normal(1.0, 0.0) == 0.0
    assert normal(-1.0, 0.0) == 1.0
