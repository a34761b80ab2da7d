"""Checks of what users hand in: the arrays that come back, and the words of the errors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from optional import optional
from scipy import sparse

from metricfit.data.columns import factorize
from metricfit.data.validation import check_lengths, check_proba, check_weights, label, row_blocks
from metricfit.messages import rows_text, some, unknown

pl = optional("polars")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contiguous_floats_are_not_copied(dtype):
    proba = np.full((5, 4), 0.25, dtype=dtype)
    assert check_proba(proba) is proba


def test_other_orders_and_frames_become_contiguous():
    proba = np.array([[0.2, 0.8], [0.6, 0.4], [1.0, 0.0]])
    for given in (
        np.asfortranarray(proba),
        proba.tolist(),
        pd.DataFrame(proba),
        pl.DataFrame(proba),
        proba[::1],
    ):
        checked = check_proba(given, 2)
        assert checked.flags.c_contiguous
        np.testing.assert_array_equal(checked, proba)
    np.testing.assert_array_equal(check_proba(pd.DataFrame(proba).astype(object)), proba)


def test_half_precision_is_renormalised_in_a_float32_copy():
    rng = np.random.default_rng(0)
    half = rng.dirichlet(np.ones(50), size=20).astype(np.float16)
    before = half.copy()
    checked = check_proba(half)
    assert checked.dtype == np.float32
    np.testing.assert_allclose(checked.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(half, before)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, bool])
def test_one_hot_rows_of_integers(dtype):
    checked = check_proba(np.eye(3, dtype=dtype))
    assert checked.dtype == np.float32
    np.testing.assert_array_equal(checked, np.eye(3))


def test_longer_floats_become_float64():
    assert check_proba(np.full((2, 2), 0.5, dtype=np.longdouble)).dtype == np.float64


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0.5, 0.5], r"np\.column_stack\(\[1 - p, p\]\)"),
        (np.zeros((2, 2, 2)), r"two dimensions.*\(2, 2, 2\)"),
        ([[0.2, 0.3, 0.5]], "proba has 3 columns but there are 2 classes"),
        (np.empty((0, 2)), "proba has no rows"),
        (np.empty((3, 0)), "has 0 columns but there are 2"),
        ([["a", "b"]], "numbers"),
        ([[0.5, 0.5], [1.0]], "numbers"),
        (np.array([["a", 1]], dtype=object), "numbers"),
        (sparse.csr_matrix(np.eye(2)), "csr_matrix"),
        (None, "NoneType"),
        ([[0.5, 0.5], [np.nan, 0.5], [np.inf, 0]], r"NaN or infinite in 2 rows \(1, 2\)"),
        ([[-0.5, 1.5], [0.5, 0.5]], r"negative in 1 row \(0\)"),
        ([[0.5, 0.5], [0.5, 0.502]], r"1 row \(1\).*proba / proba\.sum\(axis=1, keepdims=True\)"),
        ([[-np.inf, np.inf]], "infinite"),
        (np.array([[1, 1]]), "does not sum to 1"),
        (np.array([[0, 0]]), "does not sum to 1"),
    ],
)
def test_bad_probabilities_say_what_and_where(given, words):
    with pytest.raises(ValueError, match=words):
        check_proba(given, 2)


def test_no_columns_without_a_known_number():
    with pytest.raises(ValueError, match="no columns"):
        check_proba(np.empty((3, 0)))


def test_rows_within_the_tolerance_pass_and_empty_may_be_allowed():
    check_proba([[0.5, 0.5009]])
    check_proba([[-0.0, 1.0]])
    assert check_proba(np.empty((0, 2)), allow_empty=True).shape == (0, 2)


def test_bad_rows_are_counted_over_all_blocks():
    proba = np.full((3_000_000 // 4, 4), 0.25, dtype=np.float32)
    bad = np.array([3, 300_000, 749_999])
    proba[bad, 0] = 0.9
    with pytest.raises(ValueError, match=r"3 rows \(3, 300000, 749999\)"):
        check_proba(proba)
    proba[300_000, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinite in 1 row \(300000\)"):
        check_proba(proba)


def test_the_check_allocates_far_less_than_a_second_array():
    proba = np.full((400_000, 10), 0.1, dtype=np.float32)
    tracemalloc.start()
    check_proba(proba)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < proba.nbytes / 4


def test_blocks_cover_every_row_once():
    every = np.arange(10_000)
    blocks = [every[block] for block in row_blocks(10_000, 1000)]
    assert len(blocks) == 39
    np.testing.assert_array_equal(np.concatenate(blocks), every)
    assert list(row_blocks(0, 3)) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, np.nan, 2], r"sample_weight is NaN or infinite in 1 row \(1\)"),
        ([1, -1, -2], r"negative in 2 rows \(1, 2\)"),
        ([0, 0, 0], "zero in all 3 rows"),
        ([1, 2], "sample_weight has 2"),
        ([[1, 2, 3]], r"one-dimensional.*\(1, 3\)"),
        (["a", "b", "c"], "must be numbers"),
    ],
)
def test_bad_weights(given, words):
    with pytest.raises(ValueError, match=words):
        check_weights(given, 3)


def test_good_weights_are_float64_and_none_stays_none():
    assert check_weights(None, 3) is None
    weights = check_weights(pd.Series([1, 0, 2]), 3)
    assert weights.dtype == np.float64
    np.testing.assert_array_equal(weights, [1, 0, 2])


def test_lengths():
    assert check_lengths(proba=2, y=[1, 2], sample_weight=None) == 2
    assert check_lengths() == 0
    with pytest.raises(ValueError, match="proba has 2 rows, y has 3, sample_weight has 1"):
        check_lengths(proba=2, y=[1, 2, 3], sample_weight=np.ones(1))


@pytest.mark.parametrize("value", [None, np.nan, np.inf, b"a", (1,), pd.NaT, pd.Timestamp("2020-01-01"), 1j])
def test_labels_are_plain_finite_scalars(value):
    with pytest.raises(ValueError, match="a class must be"):
        label(value, "a class")


@pytest.mark.parametrize(
    ("value", "plain"),
    [(np.str_("a"), "a"), (np.int8(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (-0.0, 0.0)],
)
def test_labels_become_python_scalars(value, plain):
    made = label(value, "a class")
    assert repr(made) == repr(plain)


def test_messages():
    assert some(range(7)) == "0, 1, 2, 3, 4 and 2 more"
    assert rows_text(np.arange(10, 20)) == "10 rows (10, 11, 12, 13, 14 and 5 more)"
    assert rows_text(np.array([3])) == "1 row (3)"
    assert unknown("metric", "gmean", ["g_mean", "h_mean"]).startswith(
        "unknown metric 'gmean'; did you mean 'g_mean'?"
    )
    assert unknown("class", "xyz", []) == "unknown class 'xyz'. Known: none"


def test_rounding_of_wide_rows_is_not_mistaken_for_a_wrong_sum():
    rng = np.random.default_rng(0)
    wide = rng.dirichlet(np.ones(200_000), size=2).astype(np.float32)
    constant = np.full((1, 3_000_000), 1 / 3_000_000, dtype=np.float32)
    assert check_proba(wide) is wide
    assert check_proba(constant) is constant


def test_what_is_masked_is_missing():
    mask = np.arange(6).reshape(3, 2) == 3
    with pytest.raises(ValueError, match=r"proba is NaN or infinite in 1 row \(1\)"):
        check_proba(np.ma.masked_array(np.full((3, 2), 0.5), mask=mask))
    with pytest.raises(ValueError, match=r"sample_weight is NaN or infinite in 1 row \(2\)"):
        check_weights(np.ma.masked_array([1, 1, 1], mask=[False, False, True]), 3)
    with pytest.raises(ValueError, match=r"y is missing .* in 1 row \(0\)"):
        factorize(np.ma.masked_array([1, 0, 1], mask=[True, False, False]), "y")
    whole = np.ma.masked_array([[0.25, 0.75]])
    np.testing.assert_array_equal(check_proba(whole), [[0.25, 0.75]])


def test_missing_probabilities_of_a_frame_are_named():
    frame = pd.DataFrame([[0.5, 0.5], [1.0, None]]).astype("Float64")
    with pytest.raises(ValueError, match=r"proba is NaN or infinite in 1 row \(1\)"):
        check_proba(frame)
