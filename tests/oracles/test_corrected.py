"""The corrected oracle: the cheapest rule for scaled counts, and factors that follow labels where these are many."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from metricfit.oracles import PluginOracle, Rows
from metricfit.oracles.corrected import CorrectedOracle, label_factor
from metricfit.oracles.settings import TUNED


def soft_oracle(seed, rows=5, groups=False):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(3), rows)
    given = {"sensitive_features": np.arange(rows) % 2} if groups else {}
    return PluginOracle(Rows.of(proba, np.arange(rows) % 3, **given), "model"), proba


def least_of_all_rules(proba, cells, factor, loss, layout):
    """Try each way to decide each row: a rule costs the sum of its scaled counts times the loss."""
    best = np.inf
    for made in product(range(3), repeat=len(proba)):
        counts = np.zeros(loss.shape)
        for row, (j, cell) in enumerate(zip(made, cells, strict=True)):
            if layout == "full":
                counts[cell, :, j] += proba[row] / len(proba)
            else:
                counts[cell, :, j] += np.array([proba[row, j], 1.0]) / len(proba)
        best = min(best, float((counts * factor * loss).sum()))
    return best


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("layout", ["full", "diagonal"])
@pytest.mark.parametrize("seed", range(3))
def test_no_rule_is_cheaper_by_scaled_counts(seed, layout, groups):
    soft, proba = soft_oracle(seed, groups=groups)
    cells = np.arange(len(proba)) % 2 if groups else np.zeros(len(proba), int)
    random = np.random.default_rng(100 + seed)
    shape = (1 + groups, 3 if layout == "full" else 2, 3)
    loss, factor = random.normal(size=shape), np.exp(0.5 * random.normal(size=shape))
    oracle = CorrectedOracle(soft, factor)
    answer = oracle(loss, layout)
    expected = least_of_all_rules(proba, cells, factor, loss, layout)
    assert float((answer.statistic * loss).sum()) == pytest.approx(expected, abs=1e-12)
    assert oracle.exact
    # The vertex names its rule by the scaled loss: asked of the rows as they are, that gives the counts unscaled.
    np.testing.assert_allclose(soft(answer.loss, layout).statistic * factor, answer.statistic, atol=1e-12)
    for one, other in zip(oracle.many([loss, -loss], layout), (answer, oracle(-loss, layout)), strict=True):
        np.testing.assert_array_equal(one.statistic, other.statistic)
        np.testing.assert_array_equal(one.loss, other.loss)


def test_a_factor_of_one_changes_nothing():
    soft, _ = soft_oracle(0)
    loss = np.random.default_rng(1).normal(size=(1, 2, 3))
    answer = CorrectedOracle(soft, np.ones_like(loss))(loss, "diagonal")
    np.testing.assert_array_equal(answer.statistic, soft(loss, "diagonal").statistic)


def diagonal(hits, decided):
    return np.array([[hits, decided]])


def test_the_factor_by_hand():
    """Of 400 decisions 300 hits are expected and 240 counted: the error of the logarithm is sqrt(1/4 / 300)."""
    rows = 1000
    factor = label_factor(diagonal([0.24], [0.4]), diagonal([0.30], [0.4]), "diagonal", rows)
    ratio = np.log(240.5 / 300.5)
    error = np.sqrt((1 - 0.75) / 300)
    assert abs(ratio) > 2 * error
    expected = np.exp(ratio * (1 - (2 * error / ratio) ** 2))
    assert factor[0, 0, 0] == pytest.approx(expected, rel=1e-12)
    assert 240 / 300 < factor[0, 0, 0] < 1
    assert factor[0, 1, 0] == 1  # how often a decision is made is known


def test_what_sampling_error_explains_is_no_reason_for_a_factor():
    rows = 1000
    error = np.sqrt((1 - 0.75) / 300)
    for errors, moved in ((1.8, False), (2.2, True)):
        hits = 0.30 * np.exp(errors * error)
        factor = label_factor(diagonal([hits], [0.4]), diagonal([0.30], [0.4]), "diagonal", rows)
        assert bool(factor[0, 0, 0] > 1) is moved


def test_more_rows_are_believed_more_and_none_too_far():
    counted, expected = diagonal([0.24], [0.4]), diagonal([0.30], [0.4])
    factors = [
        label_factor(counted, expected, "diagonal", rows)[0, 0, 0] for rows in (10, 1000, 10**4, 10**7)
    ]
    assert factors[0] == 1
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] == pytest.approx(0.8, abs=1e-3)
    far = label_factor(diagonal([0.01, 0.9], [0.5, 0.9]), diagonal([0.4, 0.1], [0.5, 0.9]), "diagonal", 10**7)
    np.testing.assert_allclose(far[0, 0], [1 / TUNED.largest_ratio, TUNED.largest_ratio])


def test_in_the_full_layout_each_entry_has_its_factor():
    expected = np.array([[[0.3, 0.1], [0.1, 0.5]]])
    counted = np.array([[[0.2, 0.1], [0.2, 0.5]]])
    factor = label_factor(counted, expected, "full", 10**8)
    np.testing.assert_allclose(factor, [[[2 / 3, 1.0], [2.0, 1.0]]], rtol=1e-3)
    # No decision of a kind is no evidence.
    nothing = label_factor(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), "full", 10**8)
    np.testing.assert_array_equal(nothing, np.ones((1, 2, 2)))
