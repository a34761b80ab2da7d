"""Functions of the confusion matrix: exact gradients where the function allows it, differences otherwise."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from conftest import CLASSES, REVIEW, example_rows, random_tensor

import metricfit as mf
from metricfit.metrics import Curvature
from metricfit.metrics.custom import agrees, complex_step, differences


def g_mean(matrix):
    return np.prod(np.diag(matrix) / matrix.sum(axis=1)) ** (1 / len(matrix))


def macro_f1(matrix):
    return np.mean(2 * np.diag(matrix) / (matrix.sum(axis=0) + matrix.sum(axis=1)))


def log_odds(matrix):
    return np.log(matrix).sum() - np.sqrt(matrix).max()


def largest_error(matrix):
    return np.max(matrix - np.diag(np.diag(matrix)))


def distance(matrix):
    return np.linalg.norm(matrix - 0.1)


def deviation(matrix):
    return np.abs(matrix.sum(axis=0) - 0.3).sum() + matrix[0, 0]


def entropy(matrix):
    return -sum(p * math.log(p) for p in matrix.ravel())


def branching(matrix):
    return float(matrix[0, 0]) if matrix[0, 0] > matrix[1, 1] else 2 * float(matrix[1, 1])


def writing(matrix):
    shares = np.zeros(len(matrix))
    shares[:] = matrix.sum(axis=1) * np.diag(matrix)
    return shares.sum()


EXACT = [g_mean, macro_f1, log_odds, largest_error]
ROUGH = [distance, deviation, entropy, branching, writing]
POINT = np.array([[0.3, 0.1, 0.05], [0.05, 0.2, 0.02], [0.08, 0.01, 0.19]])


def central(function, matrix, step=1e-6):
    gradient = np.empty(matrix.shape)
    for place in np.ndindex(*matrix.shape):
        move = np.zeros(matrix.shape)
        move[place] = step
        gradient[place] = (function(matrix + move) - function(matrix - move)) / (2 * step)
    return gradient


@pytest.mark.parametrize("function", EXACT, ids=lambda f: f.__name__)
def test_complex_step_is_exact(function):
    gradient = complex_step(function, POINT)
    np.testing.assert_allclose(gradient, central(function, POINT), rtol=1e-6, atol=1e-8)
    assert agrees(function, POINT, gradient)


def test_complex_step_is_exact_to_the_last_digit():
    np.testing.assert_allclose(complex_step(lambda m: np.log(m).sum(), POINT), 1 / POINT, rtol=1e-15)
    tiny = np.array([[1e-12, 1.0]])
    np.testing.assert_allclose(complex_step(lambda m: np.sqrt(m).sum(), tiny), [[5e5, 0.5]], rtol=1e-14)


@pytest.mark.parametrize("function", ROUGH, ids=lambda f: f.__name__)
def test_functions_not_made_for_complex_numbers_are_noticed(function):
    gradient = complex_step(function, POINT)
    assert gradient is None or not agrees(function, POINT, gradient)


@pytest.mark.parametrize("function", EXACT + ROUGH, ids=lambda f: f.__name__)
def test_gradient_of_a_custom_metric(function):
    axes = mf.Confusion.from_predictions(list(CLASSES), list(CLASSES)).axes
    confusion = mf.Confusion(POINT[None] / POINT.sum(), axes)
    gradient = mf.custom(function).gradient(confusion)
    np.testing.assert_allclose(gradient[0], central(function, confusion.matrix), rtol=1e-5, atol=1e-7)


def test_differences_stay_where_probabilities_are():
    def guarded(matrix):
        assert np.all(matrix >= 0)
        return float(np.abs(matrix).sum() ** 2 + matrix[0, 1] ** 3)

    matrix = np.array([[0.5, 0.0], [1e-9, 0.5]])
    np.testing.assert_allclose(differences(guarded, matrix), np.full((2, 2), 2.0), atol=1e-5)


def test_gradient_at_the_border_is_finite():
    """At a vertex many entries are zero, where a geometric mean has no slope."""
    axes = mf.Confusion.from_predictions(list(CLASSES), list(CLASSES)).axes
    confusion = mf.Confusion([[[0.5, 0, 0], [0.2, 0, 0], [0, 0, 0.3]]], axes)
    assert np.all(np.isfinite(mf.custom(g_mean).gradient(confusion)))


@pytest.mark.parametrize(("function", "metric"), [(g_mean, mf.g_mean()), (macro_f1, mf.macro_f1())])
def test_custom_twin_of_a_metric(function, metric):
    start = example_rows().confusion
    confusion = random_tensor(start.axes, start.margins, np.random.default_rng(0))
    twin = mf.custom(function)
    for one, other in ((twin, metric), (twin.at(sex="F"), metric.at(sex="F"))):
        assert one(confusion) == pytest.approx(other(confusion))
        there = random_tensor(start.axes, start.margins, np.random.default_rng(1))
        move = there.values - confusion.values  # gradients agree on moves that keep the class priors
        slopes = [np.sum(m.gradient(confusion) * move) for m in (one, other)]
        assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)


def test_declarations_and_name():
    metric = mf.custom(g_mean)
    assert (str(metric), metric.curvature, metric.smooth, metric.direction) == (
        "custom(g_mean)",  # not to be read as the metric of that name
        Curvature.UNKNOWN,
        False,
        1,
    )
    assert mf.custom(np.trace, greater_is_better=False, name="hits").direction == -1
    assert str(mf.custom(np.trace, name="hits") + 1) == "1 + hits"

    class Callable:
        def __call__(self, matrix):
            return 1.0

    assert str(mf.custom(Callable())) == "Callable"
    assert pickle.loads(pickle.dumps(metric)).function is g_mean


def test_custom_metrics_combine():
    confusion = example_rows(REVIEW).confusion
    trace = mf.custom(lambda m: m[:3, :3].trace(), name="trace")
    assert trace(confusion) == pytest.approx(mf.accuracy()(confusion))
    assert (trace / (1 + mf.coverage("review")))(confusion) == pytest.approx(
        (mf.accuracy() / (1 + mf.coverage("review")))(confusion)
    )
    assert mf.worst(trace, "sex")(confusion) == pytest.approx(mf.worst(mf.accuracy(), "sex")(confusion))


def test_the_matrix_is_the_slice_with_sum_one_and_cannot_be_written_to():
    seen = []
    confusion = example_rows(REVIEW).confusion
    mf.custom(lambda m: seen.append(m) or 0.0).at(sex="F")(confusion)
    assert seen[0].shape == (3, 4)
    assert seen[0].sum() == pytest.approx(1)
    np.testing.assert_allclose(seen[0], confusion.at(sex="F").matrix, atol=1e-15)

    def overwrites(matrix):
        matrix[0, 0] = 1.0
        return 1.0

    with pytest.raises(ValueError, match="read-only"):
        mf.custom(overwrites)(confusion)


@pytest.mark.parametrize(
    "answer",
    [float("nan"), float("inf"), None, "0.5", [0.5], np.array([0.5]), 1j, True, np.array([0.5, 0.5])],
)
def test_answers_must_be_finite_numbers(answer):
    with pytest.raises(
        ValueError, match=r"the function wrong must return one finite number .* shape \(3, 3\)"
    ):
        mf.custom(lambda matrix: answer, name="wrong")(example_rows().confusion)


@pytest.mark.parametrize("answer", [0.5, np.float32(0.5), np.array(0.5), np.float64(0.5)])
def test_answers_may_be_any_real_number(answer):
    assert mf.custom(lambda matrix: answer)(example_rows().confusion) == 0.5


def test_only_callables():
    with pytest.raises(ValueError, match="function must be callable on an n x k matrix, got 'g_mean'"):
        mf.custom("g_mean")


def test_functions_of_labels_are_refused_with_what_to_use():
    from sklearn.metrics import balanced_accuracy_score

    words = r"balanced_accuracy_score\(y_true, y_pred.* cannot be called on one argument.* mf\.balanced_accuracy\(\)"
    with pytest.raises(ValueError, match=words):
        mf.custom(balanced_accuracy_score)
    with pytest.raises(ValueError, match=words):
        mf.optimize([[0.2, 0.8], [0.7, 0.3]], [1, 0], balanced_accuracy_score)
    assert (
        mf.custom(np.trace)(example_rows().confusion) > 0
    )  # a NumPy function with other, optional arguments


def test_errors_of_the_function_itself_are_shown():
    def broken(matrix):
        raise KeyError("fraud")

    with pytest.raises(KeyError, match="fraud"):
        mf.custom(broken)(example_rows().confusion)
