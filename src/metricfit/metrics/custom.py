"""Any Python function of the confusion matrix as a metric; the function only has to return a value.

The gradient is computed by the complex step: ``f(x + ih) = f(x) + ih f'(x)`` up to terms in ``h ** 2``, so the
imaginary part gives the slope to the last digit, without the cancellation of finite differences. It is automatic
differentiation for everything written with NumPy's arithmetic, powers, ``exp``, ``log``, ``sqrt``, ``where``,
``maximum`` and the like. Functions that do not support complex numbers (``abs``, ``math.log``, comparisons of Python
numbers) refuse them, or lose the imaginary part. One finite difference along a direction detects this, and finite
differences are then used for all entries.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import NO_THETA, Node, Theta
from metricfit.functions.linear import Linear
from metricfit.messages import brief, cut
from metricfit.metrics.base import Metric
from metricfit.metrics.text.parse import parse
from metricfit.metrics.text.words import finite
from metricfit.types import FloatArray

Function = Callable[[FloatArray], float]

# Entries smaller than this are 0 up to rounding.
ROUNDING = 1e-15
IMAGINARY_STEP = 1e-20
STEP = 1e-6
# Slopes along a direction that differ by more than this share are considered different.
AGREEMENT = 1e-6


def custom(function: Function, *, greater_is_better: bool = True, name: str | None = None) -> Metric:
    """Return any function of the n x k confusion matrix as a metric.

    Parameters
    ----------
    function : callable
        Takes the matrix and returns a finite number. The matrix sums to 1 and is read-only; rows are true classes,
        columns are decisions. The gradient is exact for functions written with NumPy's smooth functions, and computed
        by finite differences otherwise; either costs about n * k calls.
    greater_is_better : bool
        Whether the function is to be maximised.
    name : str, optional
        What the metric is called; the function's name by default.

    Returns
    -------
    Metric

    Examples
    --------
    >>> import metricfit as mf
    >>> trace = mf.custom(lambda matrix: matrix.trace(), name="trace")
    >>> trace(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.75
    """
    if not callable(function):
        raise ValueError(f"custom: function must be callable on an n x k matrix, got {brief(function)}")
    text = name or getattr(function, "__name__", None) or type(function).__name__
    _check_takes_one(function, str(text))
    return Custom(_own(str(text)), function, 1 if greater_is_better else -1)


def _check_takes_one(function: Function, text: str) -> None:
    """Refuse a function that cannot be called on one argument, such as scikit-learn's metrics of labels."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled functions do not say
        return
    try:
        signature.bind(None)
    except TypeError:
        asked = f"{brief(text)[1:-1]}{cut(str(signature))}"
        raise ValueError(
            f"custom: the function {asked} cannot be called on one argument, the n x k matrix; scikit-learn's "
            "metrics take labels: use a metric of metricfit, such as mf.balanced_accuracy(), or write it as a function "
            "of the matrix"
        ) from None


def _own(text: str) -> str:
    """Return a name that is not read as a metric of ours: what a policy says it was fitted for is read again."""
    try:
        parse(text)
    except ValueError:
        return text
    return f"custom({text})"


@dataclass(frozen=True, repr=False, eq=False)
class Custom(Metric):
    """A user's function of the n x k matrix."""

    text: str
    function: Function
    direction: int = 1
    curvature = Curvature.UNKNOWN
    smooth = False

    def bind(self, binding: Binding) -> Node:
        n, k = binding.axes.n, binding.axes.k
        entries = binding.bind(Linear(full=sp.eye_array(n * k, format="csr") / binding.mass))
        return Blackbox(self.text, self.function, (n, k), entries)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Blackbox(Node):
    """A user's function of entries that make an n x k matrix."""

    name: str
    function: Function
    shape: tuple[int, int]
    part: Node
    one_by_one = True

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.part,)

    @property
    def curvature(self) -> Curvature:
        return Curvature.UNKNOWN

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        matrices = self.part.value(u).reshape(-1, *self.shape)
        return np.array([self._evaluate(matrix) for matrix in matrices]).reshape(*u.shape[:-1], 1)

    def reach(self) -> tuple[FloatArray, FloatArray]:
        return np.array([-np.inf]), np.array([np.inf])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        matrix = self.part.value(u).reshape(self.shape)
        gradient = complex_step(self.function, matrix)
        if gradient is None or not agrees(self._evaluate, matrix, gradient):
            gradient = differences(self._evaluate, matrix)
        return self.part.slope(u, weight[0] * gradient.ravel())

    def _evaluate(self, matrix: FloatArray) -> float:
        # Sums of shares may end a little below 0, where a user's root or logarithm is undefined.
        result = self.function(_guarded(np.where(np.abs(matrix) < ROUNDING, 0.0, matrix)))
        value = finite(result.item() if np.ndim(result) == 0 and hasattr(result, "item") else result)
        if value is None:
            raise ValueError(
                f"the function {self.name} must return one finite number for a matrix of shape "
                f"{self.shape}, got {brief(result)}; if a rate is undefined, return the value it should count as"
            )
        return value


def complex_step(function: Callable[[Any], Any], matrix: FloatArray) -> FloatArray | None:
    """Return the gradient by the complex step; None if the function does not support complex numbers.

    Examples
    --------
    >>> complex_step(lambda x: np.log(x).sum(), np.array([[0.25, 0.5]]))
    array([[4., 2.]])
    """
    gradient = np.empty(matrix.shape)
    for place in np.ndindex(*matrix.shape):
        ahead = matrix.astype(complex)
        ahead[place] += IMAGINARY_STEP * 1j
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                result = function(_guarded(ahead))
        except (TypeError, ValueError, ArithmeticError, NotImplementedError, np.exceptions.ComplexWarning):
            return None
        if np.ndim(result) != 0 or not np.iscomplexobj(result):
            return None
        gradient[place] = np.imag(result) / IMAGINARY_STEP
    return gradient if np.all(np.isfinite(gradient)) else None


def agrees(function: Function, matrix: FloatArray, gradient: FloatArray) -> bool:
    """Whether a gradient agrees with the slope of the values along one direction into the positive orthant."""
    draw = np.random.default_rng(0).uniform(0.5, 1.0, matrix.shape)
    direction = draw * np.where(matrix > 0, matrix, 1 / matrix.size)
    step = 1e-5
    here, near, far = (function(matrix + t * step * direction) for t in (0, 1, 2))
    seen = (4 * near - 3 * here - far) / (2 * step)
    size = float(np.sum(np.abs(gradient) * direction)) + abs(here)
    return bool(abs(seen - float(np.sum(gradient * direction))) <= AGREEMENT * size)


def differences(function: Function, matrix: FloatArray) -> FloatArray:
    """Return the gradient by central differences, and by forward differences of the same order at zero entries.

    Examples
    --------
    >>> differences(lambda x: abs(x).sum() ** 2, np.array([[0.25, 0.0]])).round(6)
    array([[0.5, 0.5]])
    """
    gradient = np.empty(matrix.shape)
    for place in np.ndindex(*matrix.shape):
        move = np.zeros(matrix.shape)
        move[place] = STEP
        if matrix[place] >= STEP:
            gradient[place] = (function(matrix + move) - function(matrix - move)) / (2 * STEP)
        else:
            rise = 4 * function(matrix + move) - 3 * function(matrix) - function(matrix + 2 * move)
            gradient[place] = rise / (2 * STEP)
    return gradient


def _guarded(matrix: Any) -> Any:
    """Return a copy that the user's function cannot write to."""
    copy = np.array(matrix)
    copy.flags.writeable = False
    return copy
