"""Random numbers of the tests: from the tuning rows alone, uniform over them, and the same again for the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import metricfit as mf
from metricfit.data.rows import Rows
from metricfit.trust.claims.claim import claims
from metricfit.trust.claims.lots import Lots
from metricfit.trust.claims.p_values import p_value
from metricfit.trust.decided import Decided


def rows(seed: int, size: int = 60, group: bool = False) -> Rows:
    random = np.random.default_rng(seed)
    shown = random.random(size)
    y = (random.random(size) < shown).astype(int)
    return Rows.of(
        np.stack([1 - shown, shown], axis=1),
        y,
        classes=[0, 1],
        sensitive_features=np.arange(size) % 2 if group else None,
    )


def test_coins_of_other_rows_are_other_coins_evenly_spread():
    coins = [Lots.of(rows(seed)).coin for seed in range(400)]
    assert 0 < min(coins) < max(coins) <= 1
    assert stats.kstest(coins, "uniform").pvalue > 0.01


def test_everything_that_tells_rows_apart_tells_their_lots_apart():
    one = rows(0)
    swapped = Rows.of(one.proba, 1 - one.labels, classes=[0, 1])
    assert len({Lots.of(some).seed for some in (one, swapped, rows(0, group=True), one[:59])}) == 4


def test_the_same_rows_have_the_same_lots_whatever_the_last_digits():
    one = rows(0)
    again = Rows.of(one.proba * (1 + 1e-13), one.labels, classes=[0, 1])
    assert Lots.of(one) == Lots.of(again)
    np.testing.assert_array_equal(Lots.of(one).each(3, 2)[1], Lots.of(again).each(3, 2)[1])


def p_of(hits: int, size: int, limit: float, coin: float) -> float:
    """Return the p-value of a precision: all rows get the decision, some of them are hits."""
    data = Rows.of(np.full((size, 2), 0.5), np.repeat([1, 0], [hits, size - hits]), classes=[0, 1])
    decided = Decided(data, np.tile([0.0, 1.0], (size, 1)))
    (claim,) = claims(mf.precision(1) >= limit, data.axes, data.margins())
    return p_value(claim, decided, decided, 0.95, Lots(coin=coin)).p


def test_a_coin_counts_the_hits_found_in_part():
    assert p_of(80, 100, 0.7, 1.0) == pytest.approx(stats.binom.sf(79, 100, 0.7))
    half = (stats.binom.sf(79, 100, 0.7) + stats.binom.sf(80, 100, 0.7)) / 2
    assert p_of(80, 100, 0.7, 0.5) == pytest.approx(half)


def test_a_coin_alone_confirms_nothing():
    """Of 8 rows even 8 hits do not confirm 0.7 (0.7**8 = .058), of 9 they do."""
    assert p_of(8, 8, 0.7, 0.01) == pytest.approx(0.7**8)
    assert p_of(9, 9, 0.7, 0.01) == pytest.approx(0.01 * 0.7**9)
