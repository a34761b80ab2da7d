"""The number of a row: the same wherever the row stands, and uniform over rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from metricfit.policy.row_hash import cell_keys, mix, uniform

ONE = cell_keys([()])


def numbers(proba, salt=0):
    return uniform(proba, np.zeros(len(proba), dtype=np.int32), ONE, salt)


def rows_of(kind):
    rng = np.random.default_rng(7)
    if kind == "binary":
        p = np.sort(rng.random(20_000))
        return np.column_stack([1 - p, p])
    if kind == "grid":  # few significant bits, as from a forest of 1000 trees
        counts = np.arange(1001 * 8) % 1001 / 1000
        other = np.arange(1001 * 8) // 1001 / 16
        return np.column_stack([counts, other, 2 - counts - other])
    if kind == "dyadic":
        i, j = np.divmod(np.arange(128 * 128), 128)
        return np.column_stack([i / 256, j / 256, 1 - (i + j) / 256])
    return rng.dirichlet(np.full(40, 0.3), size=20_000)


@pytest.mark.parametrize("kind", ["binary", "grid", "dyadic", "dirichlet"])
@pytest.mark.parametrize("salt", [0, 1, -5])
def test_numbers_are_uniform(kind, salt):
    u = numbers(rows_of(kind), salt)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    counts = np.bincount((u * 64).astype(int), minlength=64)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_neighbours_and_salts_are_unrelated():
    rows = rows_of("grid")
    u = numbers(rows)
    limit = 4 / np.sqrt(len(u))
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < limit
    assert abs(np.corrcoef(u, numbers(rows, salt=1))[0, 1]) < limit
    assert abs(np.corrcoef(u, numbers(rows[:, [1, 0, 2]]))[0, 1]) < limit


def test_order_batch_and_precision_do_not_matter():
    rows = np.random.default_rng(1).dirichlet(np.ones(5), size=500).astype(np.float32)
    u = numbers(rows)
    order = np.random.default_rng(2).permutation(500)
    np.testing.assert_array_equal(numbers(rows[order]), u[order])
    np.testing.assert_array_equal(np.concatenate([numbers(rows[i : i + 1]) for i in range(500)]), u)
    np.testing.assert_array_equal(numbers(rows.astype(np.float64)), u)


def test_signed_zeros_are_one_number():
    assert numbers(np.array([[0.0, 1.0]])) == numbers(np.array([[-0.0, 1.0]]))


def test_many_columns_span_several_blocks():
    rows = np.random.default_rng(1).dirichlet(np.ones(1000), size=2500).astype(np.float32)
    np.testing.assert_array_equal(numbers(rows)[2000:], numbers(rows[2000:]))


def test_cells_count_by_value():
    rows = np.full((3, 2), 0.5)
    keys = cell_keys([("F", 1), ("M", 1), ("M", True)])
    u = uniform(rows, np.array([0, 1, 2]), keys)
    assert u[0] != u[1]
    assert u[1] == u[2]
    swapped = uniform(rows[:2], np.array([1, 0]), cell_keys([("M", 1.0), ("F", 1)]))
    np.testing.assert_array_equal(swapped, u[:2])
    assert len(set(cell_keys([("1",), (1,), (1.5,), ("1.5",), (), ("",)]).tolist())) == 6


def test_mix_is_the_published_generator():
    # First outputs of SplitMix64 from the seed 1234567: the state advances by the golden gamma.
    state = np.array([1234567, (1234567 + 0x9E3779B97F4A7C15) & (2**64 - 1)], dtype=np.uint64)
    assert mix(state).tolist() == [6457827717110365317, 3203168211198807973]


def test_memory_stays_in_blocks():
    rows = np.full((2_000_000, 8), 0.125, dtype=np.float32)
    tracemalloc.start()
    numbers(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes
