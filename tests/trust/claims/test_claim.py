"""Claims: what a constraint says about means, and what rows say about the claims."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.rows import Rows
from metricfit.trust.claims.claim import GapClaim, RateClaim, SmoothClaim, claims
from metricfit.trust.claims.p_values import p_value
from metricfit.trust.decided import Decided

AXES = Axes((0, 1, 2), (), Cells(("sex",), (("F",), ("M",))))
EVEN = np.full((2, 3), 1 / 6)


def kinds(constraint) -> list[str]:
    return [type(claim).__name__ for claim in claims(constraint, AXES, EVEN)]


@pytest.mark.parametrize(
    ("constraint", "kind", "count"),
    [
        (mf.precision(1) >= 0.5, RateClaim, 1),
        (mf.recall(1).at(sex="F") >= 0.5, RateClaim, 1),
        (mf.min_recall() >= 0.5, RateClaim, 3),
        (1 - mf.recall(1) <= 0.5, RateClaim, 1),
        (mf.worst(mf.recall(1), over="sex") >= 0.5, RateClaim, 2),
        (mf.coverage_deviation() <= 0.1, RateClaim, 6),
        (mf.coverage_deviation([0.2, 0.3, 0.5]) <= 0.1, RateClaim, 6),
        (mf.cost([[0, 1, 2], [1, 0, 1], [2, 1, 0]]) <= 0.5, RateClaim, 1),
        (mf.f_beta(1, 1) >= 0.5, RateClaim, 1),
        (mf.demographic_parity(over="sex") <= 0.1, GapClaim, 12),
        (mf.equal_opportunity(over="sex", c=1) <= 0.1, GapClaim, 4),
        (mf.disparity(mf.recall(1), over="sex", to="pairs") <= 0.1, GapClaim, 2),
        (mf.predictive_parity(over="sex", c=1) <= 0.1, SmoothClaim, 1),
        (mf.g_mean() >= 0.5, SmoothClaim, 1),
        (mf.balanced_accuracy() >= 0.5, SmoothClaim, 1),
    ],
    ids=str,
)
def test_constraints_become_claims(constraint, kind, count):
    found = claims(constraint, AXES, EVEN)
    assert len(found) == count
    assert all(isinstance(claim, kind) for claim in found)
    if kind is SmoothClaim:
        assert found[0].why


def rows_of(y, cells=None, axes=None, weights=None) -> Rows:
    axes = axes or Axes((0, 1))
    return Rows(np.full((len(y), axes.n), 1 / axes.n), np.asarray(y, np.int32), cells, weights, axes)


def decided(y, made, **more) -> Decided:
    rows = rows_of(y, **more)
    return Decided(rows, np.eye(rows.axes.k)[np.asarray(made)])


def test_a_precision_floor_is_an_exact_binomial_test():
    y, made = np.repeat([1, 0, 1, 0], [45, 5, 20, 30]), np.repeat([1, 1, 0, 0], [45, 5, 20, 30])
    rows = decided(y, made)
    claim = claims(mf.precision(1) >= 0.8, rows.rows.axes, np.full((1, 2), 0.5))[0]
    found = p_value(claim, rows, rows, 0.95)
    assert found.test == "exact binomial"
    assert found.p == pytest.approx(stats.binom.sf(44, 50, 0.8))
    ceiling = claims(mf.recall(1) <= 0.8, rows.rows.axes, np.full((1, 2), 0.5))[0]
    assert p_value(ceiling, rows, rows, 0.95).p == pytest.approx(stats.binom.cdf(45, 65, 0.8))


def test_tests_are_chosen_by_the_margin_they_need():
    """Drawing decisions adds noise: none where few are left to chance, nearly all of it where all of them are."""
    axes, y = Axes((0, 1)), np.repeat([0, 1], [100, 400])
    names = {}
    for random in (0.02, 1.0):
        chances = np.where(np.arange(500) % 100 < 84, 1.0, 0.0)
        chances[:: round(1 / random)] = 0.84
        rows = Decided(rows_of(y, None, axes), np.stack([1 - chances, chances], axis=1))
        claim = claims(mf.recall(1) >= 0.8, axes, np.full((1, 2), 0.5))[0]
        names[random] = p_value(claim, rows, rows, 0.95)
    assert names[0.02].test == "binomial of drawn decisions"
    assert names[1.0].test == "betting"
    assert names[1.0].p < 1e-3 < names[0.02].p


@pytest.mark.parametrize("share", [0.04, 0.12, 0.19, 0.5])
def test_groups_alike_are_confirmed_whatever_their_shares(share):
    """300 rows of each cell would do; the larger group is close to all rows by itself."""
    axes = Axes((0, 1), (), Cells(("group",), ((0,), (1,))))
    small = round(6000 * share)
    group = np.repeat([0, 1], [6000 - small, small]).astype(np.int32)
    positive = np.arange(6000) % 2
    rows = Decided(rows_of(positive, group, axes), np.eye(2)[positive])
    constraint = mf.demographic_parity(over="group") <= 0.15
    margins = np.array([[1 - share] * 2, [share] * 2]) / 2
    assert max(p_value(c, rows, rows, 0.95).p for c in claims(constraint, axes, margins)) < 0.01


def test_the_value_of_a_cleared_rate_is_the_metric():
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 3, 300), rng.integers(0, 2, 300).astype(np.int32)
    chances = rng.dirichlet(np.ones(3), 300)
    rows = Decided(rows_of(y, group, AXES), chances)
    confusion = rows.evidence().confusion
    for metric in (mf.precision(1), mf.recall(2).at(sex="M"), mf.f_beta(2, 0), mf.accuracy(), mf.coverage(1)):
        claim = claims(metric >= 0.5, AXES, confusion.margins)[0]
        x, z, _ = rows.sums(claim.rate)
        assert x.sum() / z.sum() == pytest.approx(metric(confusion))


@pytest.mark.parametrize("metric", [mf.precision(1), mf.demographic_parity(over="group")], ids=str)
def test_p_values_of_true_nulls_are_small_only_by_chance(metric):
    """The limit is the population's own value, or a little on the wrong side of it: nothing is to be shown."""
    rng, times = np.random.default_rng(0), 300
    axes = Axes((0, 1), (), Cells(("group",), ((0,), (1,))))
    sense = metric.direction > 0

    def draw() -> Decided:
        group = (rng.random(200) < 0.4).astype(np.int32)
        y = (rng.random(200) < 0.5).astype(int)
        positive = rng.random(200) < np.where(y == 1, 0.7, 0.2) + 0.1 * group
        chances = np.where(positive[:, None], [[0.1, 0.9]], [[1.0, 0.0]])
        return Decided(rows_of(y, group, axes), chances)

    share = np.array([0.45, 0.55])  # positive in group 0 and 1
    true = 0.9 * 0.6 * (share[1] - share[0])  # the larger distance from all rows, of group 1
    prior = 0.5 * (0.7 + 0.1 * 0.4) / (0.5 * (0.9 + 0.2 * 0.4))
    constraint = metric >= prior if sense else metric <= true
    found = []
    for _ in range(times):
        kept, before = draw(), draw()
        found.append(
            max(p_value(c, kept, before, 0.95).p for c in claims(constraint, axes, np.full((2, 2), 0.25)))
        )
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / times)


def test_gaps_that_are_not_there_are_confirmed_with_many_rows():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 4000).astype(np.int32)
    axes = Axes((0, 1), (), Cells(("group",), ((0,), (1,))))
    rows = decided(rng.integers(0, 2, 4000), rng.integers(0, 2, 4000), cells=group, axes=axes)
    margins = np.full((2, 2), 0.25)
    wide, narrow = (
        max(
            p_value(c, rows, rows, 0.95).p
            for c in claims(mf.demographic_parity(over="group") <= t, axes, margins)
        )
        for t in (0.1, 0.005)
    )
    assert wide <= 0.05 < narrow
