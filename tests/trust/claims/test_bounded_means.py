"""P-values: exact small cases, valid under the null, and smaller for better rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from metricfit.trust.claims.bounded_means import (
    at_most,
    bentkus,
    betting,
    binomial,
    binomial_gap,
    both,
    normal,
)


def test_binomial_by_hand():
    assert binomial(3, 3, 0.5) == pytest.approx(0.125)
    assert binomial(2, 3, 0.5) == pytest.approx(0.5)
    assert binomial(0, 3, 0.5) == 1.0


@pytest.mark.parametrize(("rows", "share"), [(1, 0.7), (17, 0.3), (200, 0.8)])
def test_with_a_coin_a_binomial_test_has_exactly_its_level(rows, share):
    """For each number of hits, p <= level for coins up to a number: its mean over the hits is the level itself."""
    hits = np.arange(rows + 1)
    more, as_many = (np.array([binomial(h, rows, share, coin) for h in hits]) for coin in (0.0, 1.0))
    for level in (0.01, 0.05, 0.5):
        between = np.maximum(as_many - more, 1e-300)  # 0 for numbers of hits that never occur
        coins = np.clip((level - more) / between, 0.0, 1.0)
        assert stats.binom.pmf(hits, rows, share) @ coins == pytest.approx(level)
        # A smaller share of hits, where the null hypothesis holds with room, is confirmed less often.
        assert stats.binom.pmf(hits, rows, 0.9 * share) @ coins < level
    # The p-value grows evenly with the coin, so that the coins that pass are those up to that number.
    assert binomial(rows // 2, rows, share, 0.25) == pytest.approx(
        0.75 * more[rows // 2] + 0.25 * as_many[rows // 2]
    )


def test_at_most_by_hand():
    assert at_most(0, 3, 0.5) == pytest.approx(0.125)
    assert at_most(1, 3, 0.5) == pytest.approx(0.5)
    assert at_most(3, 3, 1.0) == 1.0


def test_two_p_values_together():
    # One standard normal deviation each, weighted alike: their sum over the root of 2.
    one = stats.norm.sf(1.0)
    assert both(one, one, 0.5) == pytest.approx(stats.norm.sf(2 / np.sqrt(2)))
    assert both(one, 0.5, 0.0) == pytest.approx(one)
    assert both(0.0, 1.0, 0.5) == pytest.approx(0.0, abs=1e-6)


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


def test_two_binomials_are_compared_exactly():
    """Against all outcomes, one by one, at the pair of shares that is least in favour.

    An outcome is as small as the one seen if it is as many standard errors below the limit, for shares that are the
    limit apart and together give as many hits.
    """
    n, m, x, y, limit = 12, 9, 5, 5, 0.3

    def errors(i, j):
        share = min(max((i + j - limit * n) / (n + m), 0.5 / (n + m)), 1 - limit - 0.5 / (n + m))
        variance = (share + limit) * (1 - share - limit) / n + share * (1 - share) / m
        return (i / n - j / m - limit) / variance**0.5

    outcomes = [(i, j) for i in range(n + 1) for j in range(m + 1) if errors(i, j) <= errors(x, y) + 1e-9]

    def tail(second):
        return sum(stats.binom.pmf(i, n, second + limit) * stats.binom.pmf(j, m, second) for i, j in outcomes)

    worst = max(tail(second) for second in np.linspace(0.05, 0.7, 400))
    assert binomial_gap((x, y), (n, m), limit) == pytest.approx(worst, abs=2e-3)


@pytest.mark.parametrize(
    ("n", "m", "share", "limit"), [(60, 90, 0.3, 0.1), (40, 40, 0.02, 0.05), (200, 50, 0.8, 0.1)]
)
def test_two_binomials_are_rarely_wrong(n, m, share, limit):
    random = np.random.default_rng(0)
    pairs = zip(random.binomial(n, share + limit, 400), random.binomial(m, share, 400), strict=True)
    wrong = np.mean([binomial_gap(pair, (n, m), limit) <= 0.05 for pair in pairs])
    assert wrong <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_two_binomials_at_the_ends():
    assert binomial_gap((0, 0), (200, 200), 0.2) < 1e-3
    assert binomial_gap((200, 200), (200, 200), 0.2) < 1e-3
    assert binomial_gap((50, 0), (50, 50), 0.2) == 1.0
    assert binomial_gap((3, 1), (0, 10), 0.2) == 1.0
