from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_data import assert_close, make

from metricfit.data.rows import RowArrays
from metricfit.kernels.counting import confusion, count, decide, mixture_confusion

DTYPES = [np.float32, np.float64]
LAYOUTS = ["diagonal", "full"]
NUMBA = {"engine": "numba"}
NUMPY = {"engine": "numpy"}

# Rows, classes, decisions, cells: around the block of rows, the padding of decisions and the strip of
# classes, with more and fewer decisions than classes, and with so many rows that NumPy decides by columns.
SHAPES = [
    (1, 2, 2, 1),
    (79, 7, 7, 1),
    (80, 7, 7, 2),
    (81, 7, 8, 3),
    (333, 20, 20, 1),
    (334, 5, 21, 4),
    (335, 33, 32, 1),
    (200, 40, 33, 2),
    (97, 100, 100, 90),
    (500, 3, 2, 5),
    (161, 64, 1, 1),
    (50, 130, 140, 2),
    (700, 4, 5, 1),
    (700, 5, 4, 3),
]


# What is computed, by hand -------------------------------------------------------------------------------

P2 = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize("engine", ["numpy", "numba"])
class TestByHand:
    def test_full_loss_is_indexed_by_class_then_decision(self, engine):
        loss = np.array([[[0.0, 1.0, 0.4], [9.0, 0.0, 0.4]]])  # a missed second class costs nine
        found = decide(P2, None, loss, np.array([0, 1, -1]), layout="full", engine=engine)
        np.testing.assert_array_equal(found, [2, 2, 1])
        assert found.dtype == np.int32

    def test_diagonal_loss_shifts_the_named_probability(self, engine):
        match = np.array([1, -1, 0])
        loss = np.array([[[-1.0, 7.0, -1.0], [0.0, -0.6, 0.0]]])
        found = decide(P2, None, loss, match, layout="diagonal", engine=engine)
        np.testing.assert_array_equal(found, [2, 1, 0])

    def test_each_row_is_decided_by_the_loss_of_its_cell(self, engine):
        loss = np.zeros((3, 2, 2))
        loss[1, 1] = [-1, 0]
        found = decide(P2, np.array([1, 0, 1]), loss, np.arange(2), layout="diagonal", engine=engine)
        np.testing.assert_array_equal(found, [0, 1, 0])

    def test_labels(self, engine):
        loss, match = -np.eye(2)[None], np.arange(2)
        y, weight = np.array([0, 0, 1]), np.array([0.5, 0.25, 0.25])
        found = count(RowArrays(P2, y, None, weight), loss, match, layout="full", engine=engine)
        np.testing.assert_array_equal(found, [[[0.5, 0.25], [0.0, 0.25]]])
        loss = np.array([[[-1.0, -1.0], [0.0, 0.0]]])
        found = count(RowArrays(P2, y, None, weight), loss, match, layout="diagonal", engine=engine)
        np.testing.assert_array_equal(found, [[[0.5, 0.25], [0.5, 0.5]]])

    def test_soft_labels(self, engine):
        loss, match, weight = -np.eye(2)[None], np.arange(2), np.array([0.5, 0.25, 0.25])
        found = count(RowArrays(P2, None, None, weight), loss, match, layout="full", engine=engine)
        np.testing.assert_array_equal(found, [[[0.375, 0.1875], [0.125, 0.3125]]])
        loss = np.array([[[-1.0, -1.0], [0.0, 0.0]]])
        found = count(RowArrays(P2, None, None, weight), loss, match, layout="diagonal", engine=engine)
        np.testing.assert_array_equal(found, [[[0.375, 0.3125], [0.5, 0.5]]])

    def test_a_decision_that_is_no_class_is_never_right(self, engine):
        match, loss = np.array([0, -1]), np.array([[[0.0, 0.0], [1.0, 0.0]]])
        for y in (np.array([0, 1, 1]), None):
            found = count(RowArrays(P2, y, None, None), loss, match, layout="diagonal", engine=engine)
            np.testing.assert_array_equal(found, [[[0, 0], [0, 1]]])

    def test_mixture(self, engine):
        losses = np.zeros((3, 2, 2, 2))
        losses[0, :, 1] = [0, 1]
        losses[1, :, 1] = [1, 0]
        losses[2, :, 1] = [0, 1]
        weights = np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
        cell, y, match = np.array([0, 0, 1]), np.array([0, 1, 1]), np.arange(2)
        found = mixture_confusion(
            RowArrays(P2, y, cell, None), losses, weights, match, layout="diagonal", engine=engine
        )
        assert_close(found, np.array([[[0.25, 0.75], [0.25, 0.75]], [[0, 0], [1, 0]]]) / 3)


# Twins -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
class TestTwins:
    def test_decisions_are_equal(self, shape, layout, dtype):
        P, _, cell, _, loss, match = make(*shape, dtype, layout)
        for m in (match, in_order(shape)):
            expected = decide(P, cell, loss, m, layout=layout, **NUMPY)
            np.testing.assert_array_equal(decide(P, cell, loss, m, layout=layout, **NUMBA), expected)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_counts_are_equal(self, shape, layout, dtype, weighted):
        P, y, cell, weight, loss, match = make(*shape, dtype, layout)
        weight = weight if weighted else None
        for labels in (y, y.astype(np.int16), None):
            expected = count(RowArrays(P, labels, cell, weight), loss, match, layout=layout, **NUMPY)
            found = count(RowArrays(P, labels, cell, weight), loss, match, layout=layout, **NUMBA)
            assert found.shape == loss.shape
            assert found.dtype == np.float64
            assert_close(found, expected)
            if labels is not None and not weighted:
                np.testing.assert_array_equal(found, expected)

    def test_tensors_are_equal(self, shape, layout, dtype):
        P, y, cell, weight, loss, match = make(*shape, dtype, layout)
        decisions = decide(P, cell, loss, match, layout=layout)
        for labels in (y, None):
            for w in (weight, None):
                arguments = RowArrays(P, labels, cell, w), decisions, loss.shape[0], loss.shape[2]
                expected = confusion(*arguments, **NUMPY)
                assert_close(confusion(*arguments, **NUMBA), expected)
                assert expected.sum() == pytest.approx(1, abs=1e-6)

    def test_mixtures_are_equal(self, shape, layout, dtype):
        P, y, cell, weight, loss, match = make(*shape, dtype, layout)
        rng = np.random.default_rng(1)
        losses = np.stack([loss, loss[::-1], rng.normal(size=loss.shape)])
        shares = rng.dirichlet(np.ones(3), shape[3])
        shares[0] = [0, 1, 0]
        for labels in (y, None):
            arguments = RowArrays(P, labels, cell, weight), losses, shares, match
            expected = mixture_confusion(*arguments, layout=layout, **NUMPY)
            assert_close(mixture_confusion(*arguments, layout=layout, **NUMBA), expected)

    def test_statistics_are_those_of_the_tensor(self, shape, layout, dtype):
        P, y, cell, weight, loss, match = make(*shape, dtype, layout)
        for labels in (y, None):
            decisions = decide(P, cell, loss, match, layout=layout, **NUMBA)
            tensor = confusion(
                RowArrays(P, labels, cell, weight), decisions, loss.shape[0], loss.shape[2], **NUMPY
            )
            found = count(RowArrays(P, labels, cell, weight), loss, match, layout=layout, **NUMBA)
            if layout == "full":
                assert_close(found, tensor)
            else:
                named = np.flatnonzero(match >= 0)
                assert_close(found[:, 0, named], tensor[:, match[named], named])
                np.testing.assert_allclose(found[:, 1], tensor.sum(axis=1), rtol=1e-6)


def in_order(shape):
    """Classes first, then decisions that are none: what rows are read in place for."""
    _, n, k, _ = shape
    return np.r_[np.arange(min(n, k)), np.full(max(0, k - n), -1)]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_twins_agree_on_random_problems(data):
    N, n, k = (data.draw(st.integers(1, most)) for most in (400, 50, 50))
    A, dtype = data.draw(st.integers(1, 6)), data.draw(st.sampled_from(DTYPES))
    layout, levels = data.draw(st.sampled_from(LAYOUTS)), data.draw(st.integers(1, 8))
    P, y, cell, weight, loss, match = make(N, n, k, A, dtype, layout, data.draw(st.integers(0, 2**32)))
    # Few levels make many ties.
    P, loss = np.round(P * levels) / dtype(levels), np.round(loss * levels)
    expected = decide(P, cell, loss, match, layout=layout, **NUMPY)
    np.testing.assert_array_equal(decide(P, cell, loss, match, layout=layout, **NUMBA), expected)
    labels = data.draw(st.sampled_from([y, None]))
    w = data.draw(st.sampled_from([weight, None]))
    assert_close(
        count(RowArrays(P, labels, cell, w), loss, match, layout=layout, **NUMBA),
        count(RowArrays(P, labels, cell, w), loss, match, layout=layout, **NUMPY),
    )


# Ties ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("N", [5, 200])
@pytest.mark.parametrize("k", [2, 8, 40, 100])
class TestTies:
    def test_go_to_the_larger_index(self, k, N, dtype, engine):
        P = np.full((N, k), 1 / k, dtype)
        loss = np.zeros((1, 2, k))
        np.testing.assert_array_equal(
            decide(P, None, loss, np.arange(k), layout="diagonal", engine=engine), k - 1
        )
        loss[0, 1, k - 1] = 1e-3
        np.testing.assert_array_equal(
            decide(P, None, loss, np.arange(k), layout="diagonal", engine=engine), k - 2
        )
        full = np.repeat(np.random.default_rng(0).normal(size=(1, k, 1)), k, axis=2)
        np.testing.assert_array_equal(
            decide(P, None, full, np.arange(k), layout="full", engine=engine), k - 1
        )

    def test_zeros_of_both_signs_are_equal(self, k, N, dtype, engine):
        P = np.zeros((N, k), dtype)
        P[:, 0] = 1
        for last in (-0.0, 0.0):
            loss = np.zeros((1, 2, k))
            loss[0, 0] = np.where(np.arange(k) % 2, 1.0, -1.0)  # -0.0 and 0.0 beside the first class
            loss[0, :, 0] = 0.0
            loss[0, 1] = np.where(np.arange(k) % 2, -0.0, 0.0)
            loss[0, 1, k - 1] = last
            np.testing.assert_array_equal(
                decide(P, None, loss, np.arange(k), layout="diagonal", engine=engine), k - 1
            )
            full = np.full((1, k, k), -last)
            full[:, :, k - 1] = last
            np.testing.assert_array_equal(
                decide(P, None, full, np.arange(k), layout="full", engine=engine), k - 1
            )

    def test_are_seen_among_negative_and_positive_scores(self, k, N, dtype, engine):
        P = np.full((N, k), 1 / k, dtype)
        for low in (-3.0, 2.0):
            loss = np.zeros((1, 2, k))
            loss[0, 1] = low + np.arange(k)
            loss[0, 1, k // 2] = low
            np.testing.assert_array_equal(
                decide(P, None, loss, np.arange(k), layout="diagonal", engine=engine), k // 2
            )
