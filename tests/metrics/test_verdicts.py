"""The words of a judgement, and what a comparison is said to compare with."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.verdicts import MARKS, by_interval, on_these_rows, spelt_out


@pytest.mark.parametrize(
    ("value", "low", "high", "limit", "sense", "word"),
    [
        (0.0498, 0.043, 0.0565, 0.05, "<=", "open"),
        (0.04, 0.03, 0.05, 0.05, "<=", "likely met"),
        (0.06, 0.051, 0.07, 0.05, "<=", "likely violated"),
        (0.9, 0.88, 0.92, 0.9, ">=", "open"),
        (0.9, 0.9, 0.92, 0.9, ">=", "likely met"),
        (0.8, 0.75, 0.899, 0.9, ">=", "likely violated"),
        (0.0, np.nan, np.nan, 0.9, ">=", "likely met"),
        (np.nan, np.nan, np.nan, 0.9, ">=", "open"),
    ],
)
def test_an_interval_says_one_of_three_words(value, low, high, limit, sense, word):
    assert by_interval(value, low, high, limit, sense) == word
    assert word in MARKS


def test_only_a_limit_that_is_met_has_a_tick():
    assert [word for word, mark in MARKS.items() if mark == "✓"] == ["met", "likely met"]


def test_rounding_is_no_violation():
    assert [on_these_rows(by) for by in (-0.1, 1e-12, 0.25)] == ["met", "met", "violated by 0.25"]


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (mf.equalized_odds("age"), "to all rows"),
        (mf.equalized_odds("age", to="pairs"), "between pairs"),
        (mf.demographic_parity(["age", "sex"], to="mean"), "to the mean of groups"),
        (mf.disparity(mf.recall("a) to='pairs'"), "age"), "to all rows"),
        (mf.disparity(mf.recall("it's"), "age", to="pairs"), "between pairs"),
    ],
)
def test_every_comparison_says_what_it_compares_with(metric, said):
    assert spelt_out(str(metric)) == f"{metric} {said}"
    assert spelt_out(str(metric <= 0.25)) == f"{metric} {said} <= 0.25"


def test_each_of_several_comparisons_says_its_own():
    both = mf.equalized_odds("age") + 0.5 * mf.equal_opportunity("sex", 1, to="pairs")
    text = "equalized_odds(over='age') to all rows + 0.5 * equal_opportunity(over='sex', c=1, to='pairs') between pairs"
    assert spelt_out(str(both)) == text
    assert spelt_out("g_mean() >= 0.5") == "g_mean() >= 0.5"
