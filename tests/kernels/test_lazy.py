from __future__ import annotations

import numpy as np
import pytest

from metricfit.kernels import counting as kernels
from metricfit.kernels import shortcuts
from metricfit.kernels.counting import count
from metricfit.kernels.counting_numba import _lines
from metricfit.kernels.counting_numpy import scores_numpy
from metricfit.kernels.lazy import Memory
from metricfit.kernels.lazy_bounds import BUCKETS, FLOOR, Reference, near, remember_numpy
from metricfit.kernels.shortcuts import Shortcut
from metricfit.kernels.sorted_rows import SortedRows
from metricfit.oracles import PluginOracle, Rows

DTYPES = [np.float32, np.float64]


def plain(data, loss, match, engine="numba"):
    return count(*data, loss, match, layout="diagonal", engine=engine)


def make(rng, dtype, n, k, counts):
    """Rows, with many equal ones and equal probabilities in half of the cases, and a match in no order."""
    N, A = int(rng.integers(1, 1500)), int(rng.integers(1, 4))
    P = rng.dirichlet(np.full(n, 0.6), N).astype(dtype)
    if rng.random() < 0.5:
        P = (np.round(P * 8) / 8)[rng.integers(0, N, N)]
    y = None if counts == "soft" else rng.integers(0, n, N).astype(np.int32)
    cell = rng.integers(0, A, N).astype(np.int32) if A > 1 else None
    weight = rng.dirichlet(np.ones(N)) if counts == "weights" else None
    match = np.arange(n) if k == n else rng.permutation(np.r_[np.arange(n), np.full(k, -1)])[:k]
    return (P, y, cell, weight), match, A


def first_loss(rng, A, k):
    """Slopes of one sign or both, some of them zero, with offsets or without, of any scale."""
    loss = rng.uniform(0.2, 1.0, (A, 2, k)) * rng.choice([-1.0, -1.0, 1.0], (A, 1, 1))
    loss[:, 1] *= rng.choice([0.0, 0.0, 0.01, 0.3, 100.0])
    if rng.random() < 0.3:
        loss[:, 0, rng.integers(0, k)] = rng.choice([0.0, -0.0])
    if rng.random() < 0.2:
        loss = np.round(loss * 2) / 2
    return loss * 10.0 ** float(rng.choice([-12, -3, 0, 0, 0, 3, 12]))


def walk(rng, loss, length):
    """Losses around each other: shrinking steps, repeats, new scales, shifts, zeros, signs, equal entries."""
    for t in range(length):
        yield loss
        loss = loss * (1 + 10.0 ** -rng.uniform(0.5, 3 + t / 6) * rng.uniform(-1, 1, loss.shape))
        kind = rng.integers(0, 14)
        if kind == 0:
            loss = loss * 10.0 ** rng.uniform(-3, 3)
        elif kind == 1:
            loss[:, 1] += rng.normal() * np.abs(loss).max()
        elif kind == 2:
            yield loss.copy()
        elif kind == 3:
            yield -loss
        elif kind == 4:
            turned = loss.copy()
            turned[:, rng.integers(0, 2), rng.integers(0, loss.shape[2])] *= rng.choice([0.0, -0.0, -1.0])
            yield turned
        elif kind == 5:
            yield np.repeat(loss[:, :, :1], loss.shape[2], axis=2)
        elif kind == 6:
            yield np.zeros_like(loss)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("counts", ["labels", "weights", "soft"])
@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 5), (7, 7), (6, 4), (30, 30), (25, 40)])
def test_memory_counts_bit_for_bit(dtype, counts, n, k):
    rng = np.random.default_rng([n, k, len(counts)])
    answered = asked = 0
    for _ in range(4):
        data, match, A = make(rng, dtype, n, k, counts)
        memory = None
        for t, loss in enumerate(walk(rng, first_loss(rng, A, k), 40)):
            if memory is None or t % 10 == 0:
                memory = Memory.of(*data, loss, match)
            found = memory.count(loss)
            asked += 1
            if found is not None:
                answered += 1
                np.testing.assert_array_equal(found, plain(data, loss, match))
    assert answered > asked / 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_at_the_edge_of_their_radius(dtype):
    # Losses that turn one row each by the least amount, between scores that differ in their last bits.
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(5), 400).astype(dtype)
    y, match, loss = rng.integers(0, 5, 400).astype(np.int32), np.arange(5), np.zeros((1, 2, 5))
    loss[0, 0] = -rng.uniform(0.5, 1, 5)
    memory = Memory.of(P, y, None, None, loss, match)
    for row in P.astype(np.float64):
        second, best = np.argsort(row * -loss[0, 0])[-2:]
        even = loss.copy()
        even[0, 0, second] = loss[0, 0, best] * row[best] / row[second]
        for ulps in (-2, -1, 0, 1, 2):
            even[0, 0, second] *= 1 + ulps * np.finfo(dtype).eps
            found = memory.count(even)
            if found is not None:
                np.testing.assert_array_equal(found, plain((P, y, None, None), even, match))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "k"), [(2, 2), (7, 7), (30, 30), (25, 40), (4, 3)])
def test_compiled_memory_is_its_numpy_twin(dtype, n, k):
    from metricfit.kernels import _lazy_jit

    rng = np.random.default_rng(n)
    for _ in range(5):
        (P, _, cell, _), match, A = make(rng, dtype, n, k, "labels")
        loss = first_loss(rng, A, k)
        reference = Reference.of(loss, match, P.dtype)
        decisions, bucket = np.empty(len(P), np.uint8), np.empty(len(P), np.uint8)
        codes = np.zeros(0, np.int32) if cell is None else cell
        _lazy_jit.remember(P, codes, *_lines(P, loss, match), reference.terms, FLOOR, decisions, bucket)
        scores = scores_numpy(P, cell, loss, match, layout="diagonal")
        expected = remember_numpy(reference, scores, cell)
        np.testing.assert_array_equal(decisions, expected[0])
        np.testing.assert_array_equal(bucket, expected[1])


class TestDrift:
    loss = np.array([[[-1.0, -2.0, -4.0], [0.0, 0.5, 0.25]]])
    reference = Reference.of(loss, np.arange(3), np.dtype(np.float64))

    def test_neither_scale_nor_shift_is_drift(self):
        moved = 3 * self.loss + np.array([[[0.0], [7.0]]])
        assert self.reference.drift(moved)[0] < 1e-3  # the allowance for rounding of large offsets
        assert self.reference.drift(5 * self.loss)[0] < 1e-5

    def test_slopes_relative_to_each_other(self):
        turned = self.loss.copy()
        turned[0, :, 1] *= 1.5
        turned[0, 1] = [0.0, 0.5, 0.25] + self.loss[0, 1] * [0.0, 0.5, 0.0]
        assert self.reference.drift(turned)[0] >= 0.2

    @pytest.mark.parametrize("factor", [-1.0, 0.0, np.inf])
    def test_no_bound(self, factor):
        with np.errstate(invalid="ignore"):
            other = self.loss * np.array([[[1.0, factor, 1.0], [1.0, 1.0, 1.0]]])
        assert np.isinf(self.reference.drift(other)[0])

    def test_buckets_of_a_drift(self):
        found = near(np.array([0.0, 2.0**-21, 2.0**-20, 0.2499999999, 0.25, np.inf]))
        assert found.tolist() == [1, 1, 2, BUCKETS, BUCKETS + 1, BUCKETS + 1]


@pytest.mark.parametrize("loss", [np.full((1, 2, 3), 1e35), np.zeros((1, 2, 1))])
def test_no_memory_of_what_has_no_bound(loss):
    P, match = np.full((4, 3), 1 / 3, np.float32), np.arange(loss.shape[2])
    assert Memory.of(P, np.zeros(4, np.int32), None, None, loss, match) is None


def test_threads_change_nothing():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(4), 60_000).astype(np.float32)
    data, match, loss = (P, None, None, rng.dirichlet(np.ones(len(P)))), np.arange(4), -np.ones((1, 2, 4))
    loss[:, 1] = 0
    other = loss * rng.uniform(0.8, 1.2, 4)
    one, two = (Memory.of(*data, loss, match, threads=t).count(other) for t in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, plain(data, other, match))


# Two classes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("counts", ["labels", "weights", "soft"])
@pytest.mark.parametrize("error", [0.0, 1e-7, 1e-3])
def test_sorted_rows_count_as_the_kernel(dtype, counts, error):
    rng = np.random.default_rng(int(error * 1e7))
    for _ in range(6):
        (P, y, cell, weight), match, A = make(rng, dtype, 2, 2, counts)
        P[:, 0] = 1 - P[:, 1]
        P[:, rng.integers(0, 2)] *= (1 + error * rng.uniform(-1, 1, len(P))).astype(dtype)
        data = (P, y, cell, weight)
        rows = SortedRows.of(*data, A)
        random = (np.round(rng.normal(size=(A, 2, 2)) * 2) / rng.choice([1, 2, 3]) for _ in range(40))
        for loss in [*walk(rng, first_loss(rng, A, 2), 40), *random]:
            found, expected = rows.count(loss), plain(data, loss, match)
            if counts == "labels":
                np.testing.assert_array_equal(found, expected)
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def test_sorted_rows_of_an_empty_cell():
    P = np.array([[0.25, 0.75], [0.5, 0.5]])
    rows = SortedRows.of(P, np.array([1, 0]), np.array([2, 2]), None, 3)
    found = rows.count(np.tile([[-1.0, -1.0], [0.0, 0.0]], (3, 1, 1)))
    assert found[:2].sum() == 0
    np.testing.assert_array_equal(found[2], [[0.0, 0.5], [0.0, 1.0]])


# When they are used ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("confusion", ["labels", "model"])
def test_oracle_remembers_when_losses_come_close(monkeypatch, confusion):
    monkeypatch.setattr(shortcuts, "LAZY_WORK", 0)
    monkeypatch.setattr(shortcuts, "LOAD", 0)
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(25, 0.3), 30_000).astype(np.float32)
    oracle = PluginOracle(Rows.of(P, rng.integers(0, 25, len(P)), classes=list(range(25))), confusion)
    calls = []
    monkeypatch.setattr(kernels, "count", lambda *a, count=count, **k: calls.append(1) or count(*a, **k))
    far = [np.stack([-rng.uniform(0.1, 1, 25), np.zeros(25)])[None] for _ in range(20)]
    for loss in far:
        oracle(loss, "diagonal")
    assert len(calls) == 20
    assert oracle.shortcut.memory is None
    for t in range(40):
        loss = far[-1] * (1 + 1e-4 * rng.uniform(-1, 1, 25) / (1 + t))
        found = oracle(loss, "diagonal").statistic
        data = P, oracle.labels, None, None
        np.testing.assert_array_equal(found, plain(data, loss, np.arange(25)))
    assert len(calls) < 20 + 10


def test_oracle_sorts_two_classes_after_many_calls(monkeypatch):
    monkeypatch.setattr(shortcuts, "SORTED_ROWS", 100)
    monkeypatch.setattr(shortcuts, "SORT", 5)
    rng = np.random.default_rng(0)
    p = rng.random(500)
    rows = Rows.of(np.column_stack([1 - p, p]), rng.integers(0, 2, 500))
    oracle = PluginOracle(rows)
    for t in range(10):
        loss = rng.normal(size=(1, 2, 2))
        assert (oracle.shortcut.sorted is None) == (t < 6)
        np.testing.assert_array_equal(
            oracle(loss, "diagonal").statistic,
            plain((rows.proba, rows.labels, None, None), loss, np.arange(2)),
        )


def test_small_data_take_no_shortcut():
    P = np.full((100, 3), 1 / 3)
    shortcut = Shortcut(P, np.zeros(100, np.int32), None, None, np.arange(3), 1)
    assert not shortcut.lazy
    assert all(shortcut.count(np.ones((1, 2, 3))) is None for _ in range(500))
