"""Value, gradient and Hessian of both cores by finite differences, and minima by their optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from calibration.generated import right

from metricfit.calibration.families import Family
from metricfit.calibration.linear_logits import Data, Diagonal, Full, evaluate, minimise
from metricfit.calibration.settings import SETTINGS

CORES = {
    "simple": lambda data: Diagonal(data, own=False),
    "diagonal": Diagonal,
    "full": Full,
}


def made(rows=60, n=4):
    proba, labels = right(rows, n)
    weights = np.random.default_rng(1).uniform(0.2, 3, rows)
    return Data(np.log(proba), labels, weights)


def value(core, params, rows=slice(None)):
    data = core.data
    return data.weights[rows] @ evaluate(core.logits(params, rows), data.labels[rows])[0]


def gradient(core, params, rows=slice(None)):
    q = evaluate(core.logits(params, rows), core.data.labels[rows])[1]
    return core.derivatives(q, rows)


@pytest.mark.parametrize("make", CORES.values(), ids=CORES)
@pytest.mark.parametrize("rows", [slice(None), slice(10, 35)])
def test_derivatives(make, rows):
    core = make(made())
    params = 0.3 * np.random.default_rng(2).normal(size=core.size)
    slope, curved = gradient(core, params, rows)
    step = 1e-5
    for i, unit in enumerate(step * np.eye(core.size)):
        up, down = params + unit, params - unit
        assert (value(core, up, rows) - value(core, down, rows)) / (2 * step) == pytest.approx(
            slope[i], abs=1e-6
        )
        change = (gradient(core, up, rows)[0] - gradient(core, down, rows)[0]) / (2 * step)
        np.testing.assert_allclose(curved[i], change, atol=1e-5)


@pytest.mark.parametrize("name", ["temperature", "bias", "temperature_bias", "vector", "dirichlet"])
def test_minima_have_no_slope(name):
    data = made(200)
    core = {"vector": Diagonal, "dirichlet": Full}.get(name, CORES["simple"])(data)
    mask = Family(name, 5.0).mask(core, SETTINGS)
    params = minimise(core, mask, np.zeros(core.size), 1e-10)
    np.testing.assert_allclose(mask.slope(gradient(core, params)[0], params), 0, atol=1e-4)
    assert not params[np.setdiff1d(np.arange(core.size), mask.free)].any()


def test_many_classes_find_the_same_minimum():
    """The arrow, which leaves pairs of classes out, takes more steps to the same place."""
    data = made(300, 6)
    core, arrow = Diagonal(data, own=False), Diagonal(data, own=False, pairs=3)
    mask = Family("temperature_bias").mask(core, SETTINGS)
    exact = minimise(core, mask, np.zeros(core.size), 1e-12)
    assert gradient(arrow, exact)[1].shape != gradient(core, exact)[1].shape
    rough = minimise(arrow, mask, np.zeros(core.size), 1e-12, steps=300)
    np.testing.assert_allclose(rough, exact, atol=1e-3)


def test_integer_weights_are_repeated_rows():
    proba, labels = right(80, 3)
    counts = np.random.default_rng(3).integers(1, 4, 80)
    once = Data(np.log(proba), labels, counts.astype(float))
    often = Data(np.log(proba.repeat(counts, axis=0)), labels.repeat(counts), np.ones(counts.sum()))
    found = []
    for data in (once, often):
        core = Full(data)
        found.append(
            minimise(core, Family("dirichlet", 5.0).mask(core, SETTINGS), np.zeros(core.size), 1e-10)
        )
    np.testing.assert_allclose(*found, atol=1e-6)
