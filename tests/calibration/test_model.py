"""Applying a calibration: the formula, dtypes, blocks, cells, and the way to a document and back."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from calibration.generated import right, softmax

import metricfit
from metricfit.calibration import Calibration, fit, model

RANDOM = np.random.default_rng(0)
CURVES = tuple((np.array([0.1, 0.5, 0.9]), np.array([0.05, 0.4, 0.95])) for _ in range(3))
MADE = {
    "none": Calibration.identity(3),
    "bias": Calibration("bias", RANDOM.normal(size=(1, 3))),
    "cell biases": Calibration("bias", RANDOM.normal(size=(2, 3))),
    "temperature": Calibration("temperature", np.zeros((1, 3)), steepness=[0.5]),
    "cell temperatures": Calibration("temperature_bias", RANDOM.normal(size=(2, 3)), steepness=[0.5, 2.0]),
    "vector": Calibration("vector", RANDOM.normal(size=(1, 3)), [0.5, 1.0, 2.0], floor=1e-3),
    "dirichlet": Calibration("dirichlet", RANDOM.normal(size=(1, 3)), np.eye(3) + 0.1),
    "cell dirichlet": Calibration(
        "dirichlet", RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(3, 3)), [1, 2]
    ),
    "isotonic": Calibration("isotonic", np.zeros((1, 3)), curves=CURVES),
    "cell isotonic": Calibration("isotonic", RANDOM.normal(size=(2, 3)), curves=CURVES),
}
EACH = pytest.mark.parametrize("calibration", MADE.values(), ids=MADE)


def rows(size=50):
    proba = right(size, 3)[0]
    proba[:3] = np.eye(3)
    return proba, np.arange(size) % 2


def expected(calibration, proba, cells):
    """The formula of the docstring, row by row."""
    made = []
    for p, a in zip(proba, cells, strict=True):
        bias = calibration.bias[a % len(calibration.bias)]
        if calibration.curves:
            values = [np.interp(p[i], *curve) * np.exp(bias[i]) for i, curve in enumerate(calibration.curves)]
            made.append(values / np.sum(values))
            continue
        matrix = np.eye(3) if calibration.matrix is None else calibration.matrix
        matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
        steep = calibration.steepness[a % len(calibration.steepness)]
        made.append(softmax((steep * matrix @ np.log(np.maximum(p, calibration.floor)) + bias)[None])[0])
    return np.array(made)


@EACH
def test_the_formula(calibration):
    proba, cells = rows()
    wanted = proba if calibration.family == "none" else expected(calibration, proba, cells)
    made = calibration(proba, cells)
    np.testing.assert_allclose(made, wanted, atol=1e-6)
    assert calibration.is_identity == (calibration.family == "none")


@EACH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_sums_and_input(calibration, dtype):
    proba, cells = rows()
    proba = proba.astype(dtype)
    kept = proba.copy()
    made = calibration(proba, cells)
    assert made.dtype == dtype
    assert made.flags.c_contiguous
    assert not np.shares_memory(made, proba)
    np.testing.assert_allclose(made.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(proba, kept)
    np.testing.assert_allclose(made, calibration(kept.astype(np.float64), cells), atol=1e-5)


@EACH
def test_blocks_and_out(calibration):
    proba, cells = rows(model.BLOCK_ENTRIES // 2)  # with three classes, two blocks
    whole = calibration(proba, cells)
    small = [calibration(proba[i::7], cells[i::7]) for i in range(7)]
    for i, part in enumerate(small):
        np.testing.assert_allclose(part, whole[i::7], atol=1e-12)
    assert calibration(proba, cells, out=proba) is proba
    np.testing.assert_allclose(proba, whole, atol=1e-12)


@EACH
def test_round_trips(calibration):
    proba, cells = rows()
    for again in (
        Calibration.from_dict(calibration.to_dict()),
        pickle.loads(pickle.dumps(calibration)),
        copy.deepcopy(calibration),
    ):
        assert again == calibration
        assert hash(again) == hash(calibration)
        np.testing.assert_array_equal(again(proba, cells), calibration(proba, cells))
        assert not again.bias.flags.writeable
    assert calibration != Calibration("bias", [[0.1, 0.2, 0.3]])
    assert "3 classes" in repr(calibration)


def test_extreme_biases_leave_numbers():
    made = Calibration("bias", [[500.0, -500.0]])(np.array([[0.0, 1.0], [0.5, 0.5]], np.float32))
    assert np.isfinite(made).all()
    np.testing.assert_allclose(made.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("steepness", [1.0, 60.0])
@pytest.mark.parametrize("bias", [[[30.0, -30.0]], [[300.0, -300.0]]])
@pytest.mark.parametrize("matrix", [None, [0.5, 20.0]])
def test_extreme_logits_leave_numbers(steepness, bias, matrix):
    proba = np.array([[0.0, 1.0], [0.5, 0.5], [1e-30, 1.0]], np.float32)
    made = Calibration("vector", bias, matrix, [steepness])(proba)
    assert np.isfinite(made).all()
    np.testing.assert_allclose(made.sum(axis=1), 1, atol=1e-6)


def test_cells_must_be_given():
    with pytest.raises(ValueError, match="cells is missing: this calibration has 2 cells"):
        MADE["cell biases"](rows()[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"family": "magic"}, "unknown family 'magic'"),
        ({"family": 3}, "must be a string"),
        ({"bias": None}, "bias"),
        ({"bias": [[0.0, "1", 0.0]]}, "numbers only"),
        ({"bias": [[0.0, 1.0], [0.0]]}, "equally long"),
        ({"bias": [[0.0, float("nan"), 0.0]]}, "finite"),
        ({"bias": [[0.0, float("inf"), 0.0]]}, "finite"),
        ({"bias": []}, "bias"),
        ({"bias": [[]]}, "bias"),
        ({"bias": [[True, False, True]]}, "numbers only"),
        ({"steepness": [0.0]}, "positive"),
        ({"steepness": [-1.0]}, "positive"),
        ({"steepness": [1.0, 1.0, 1.0], "bias": [[0.0] * 3] * 2}, "they must agree or be 1"),
        ({"matrix": [1.0, 2.0]}, "shape"),
        ({"matrix": [[1.0, 2.0, 3.0]]}, "shape"),
        ({"floor": 0.0}, "floor"),
        ({"floor": "1"}, "floor"),
        ({"floor": 1.5}, "floor"),
        ({"curves": [[[0.1], [0.2]]]}, "one for each"),
        ({"curves": [[[0.1], [0.2], [0.3]]] * 3}, "two arrays"),
        ({"curves": [[[0.2, 0.1], [0.2, 0.3]]] * 3}, "increase"),
        ({"curves": [[[0.1, 0.2], [0.3, 0.2]]] * 3}, "decrease"),
        ({"curves": [[[0.1, 0.2], [0.0, 0.2]]] * 3}, "positive"),
        ({"curves": [[[0.1, 0.2], [0.2]]] * 3}, "equally long"),
        ({"curves": [[[0.1], [0.2]]] * 3, "steepness": [2.0]}, "replace"),
        ({"extra": 1}, "keys"),
    ],
)
def test_hostile_documents(change, words):
    with pytest.raises(ValueError, match=words):
        Calibration.from_dict({**MADE["bias"].to_dict(), **change})


def test_importing_needs_numpy_only():
    """Without the package's own __init__, which imports the rest."""
    stub = "import sys, types; m = types.ModuleType('metricfit'); m.__path__ = [sys.argv[1]]; "
    code = "sys.modules['metricfit'] = m; import metricfit.calibration; print('scipy' in sys.modules)"
    folder = next(iter(metricfit.__path__))
    done = subprocess.run(
        [sys.executable, "-c", stub + code, folder], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_fitted_one_round_trips():
    proba, labels = right(600, 3)
    calibration, _ = fit(proba**2 / (proba**2).sum(axis=1, keepdims=True), labels)
    assert Calibration.from_dict(calibration.to_dict()) == calibration
