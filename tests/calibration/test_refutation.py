"""The test of probabilities by labels: quiet for right ones, and it names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.generated import right, softmax, wrong

from metricfit.calibration import refuted


@pytest.mark.parametrize(
    ("rows", "n", "spread"), [(100, 2, 1.0), (2000, 5, 0.3), (500, 60, 0.05), (20, 3, 1.0)]
)
def test_quiet_for_right_probabilities(rows, n, spread):
    for seed in range(60):
        proba, labels = right(rows, n, seed, spread)
        weights = np.random.default_rng(seed).exponential(size=rows) ** 2
        cells = np.random.default_rng(seed).integers(0, 3, rows)
        assert refuted(proba, labels) == ()
        assert refuted(proba, labels, weights, cells, 3) == ()


@pytest.mark.parametrize(("steepness", "words"), [(0.5, "too sure"), (2.0, "too modest")])
def test_steepness(steepness, words):
    proba, labels = right(3000, 4)
    found = refuted(wrong(proba, steepness=steepness), labels)[0]
    assert (found.label, found.cell, found.direction) == (None, None, words)
    assert found.p_value < 1e-3


def test_a_class_that_is_rarer_than_told():
    proba, labels = right(3000, 3)
    found = refuted(wrong(proba, bias=np.array([0.0, 0.0, -0.8])), labels)
    first = next(each for each in found if each.label == 2)
    assert first.direction == "too large"
    assert first.expected > first.observed == pytest.approx((labels == 2).mean(), abs=1e-9)
    assert all(each.direction == "too small" for each in found if each.label in (0, 1))


def test_a_cell_that_the_model_does_not_know():
    proba, labels = right(6000, 2)
    cells = np.arange(6000) % 3
    shift = np.array([[0.0, 0.0], [0.5, -0.5], [-0.5, 0.5]])
    found = refuted(softmax(np.log(proba) + shift[cells]), labels, None, cells, 3)
    told = {(each.cell, each.label): each.direction for each in found if each.label is not None}
    assert told[1, 0] == "too large"
    assert told[2, 0] == "too small"
    assert 0 not in {cell for cell, _ in told}
    assert None not in {cell for cell, _ in told}


def test_small_effects_are_not_worth_a_word():
    proba, labels = right(300_000, 2)
    assert refuted(wrong(proba, steepness=0.97), labels) == ()


def test_nothing_to_test():
    assert refuted(np.zeros((0, 3)), np.zeros(0, int)) == ()
    assert refuted(np.eye(3)[:2], np.array([0, 1])) == ()


def test_never_is_refuted_by_labels():
    """A class that the model never expects, and that there is."""
    labels = np.arange(1000) % 3
    found = refuted(np.tile([0.5, 0.5, 0.0], (1000, 1)), labels)
    assert found[0].label == 2
    assert found[0].direction == "too small"
