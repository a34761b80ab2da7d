"""Log loss of calibrated probabilities whose logits are linear in the parameters: value, gradient, Hessian.

The parameters are deviations from no change. The first is the steepness t; the others depend on the core. The
logarithms z of the probabilities are centred, so that a change of V hardly affects the biases::

    logits = z + (t + V)(z - centre) + b      V diagonal (`Diagonal`) or a matrix (`Full`)

Families are masks: which parameters are free, and the ridge of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from metricfit.data.extremes import row_max
from metricfit.types import FloatArray, IntArray

# Above this many classes, products of different classes are left out of the Hessian, which is then only slightly too
# large: most pairs of many classes are never likely together. What is left is an arrow: a diagonal and the row of t.
PAIRS = 150
EVERYTHING = slice(None)
# How often a step that makes the loss larger is halved.
HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Data:
    """Logarithms of probabilities, label codes and weights that sum to the effective number of rows."""

    z: FloatArray
    labels: IntArray
    weights: FloatArray

    @property
    def n(self) -> int:
        """Number of classes."""
        return int(self.z.shape[1])

    def without(self, fold: slice) -> Data:
        """Return all rows but those of a fold."""
        rest = np.r_[: fold.start, fold.stop : len(self.labels)]
        return Data(self.z[rest], self.labels[rest], self.weights[rest])

    def of_label(self, values: FloatArray, rows: slice) -> FloatArray:
        """Return each row's entry of its own label."""
        labels = self.labels[rows]
        return values[np.arange(len(labels)), labels]


def evaluate(logits: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the log loss of each row and its probabilities.

    Examples
    --------
    >>> losses, q = evaluate(np.array([[0.0, 0.0]]), np.array([1]))
    >>> losses.round(3), q
    (array([0.693]), array([[0.5, 0.5]]))
    """
    top = row_max(logits)
    q = logits - top[:, None]
    mine = q[np.arange(len(labels)), labels]
    np.exp(q, out=q)
    total = np.einsum("ij->i", q)
    q /= total[:, None]
    return np.log(total) - mine, q


class Diagonal:
    """Parameters (t, b of each class, V of each class), for all families without a matrix.

    Without `own` there is no V, which makes most sums half as long. The Hessian has the products of different classes
    if there are at most `pairs` classes.
    """

    def __init__(
        self, data: Data, own: bool = True, centre: FloatArray | None = None, pairs: int = PAIRS
    ) -> None:
        self.data, self.pairs, n = data, pairs, data.n
        self.size = 1 + (2 if own else 1) * n
        self.bias, self.own = np.arange(1, 1 + n), np.arange(1 + n, self.size)
        # One number for all classes, so that a change of t changes the temperature and nothing else.
        common = float(data.weights @ data.z.mean(axis=1) / data.weights.sum())
        self.centre = np.full(n, common) if centre is None else centre

    def of(self, data: Data) -> Diagonal:
        """Return the core of other rows in which parameters mean the same."""
        return Diagonal(data, bool(self.own.size), self.centre, self.pairs)

    @cached_property
    def _centred(self) -> FloatArray:
        return self.data.z - self.centre.astype(self.data.z.dtype)

    def logits(self, params: FloatArray, rows: slice = EVERYTHING) -> FloatArray:
        """Return the logits of some rows."""
        n, z = self.data.n, self.data.z[rows]
        factor, bias = 1 + params[0], params[1 : 1 + n]
        if self.own.size:
            factor = factor + params[self.own]
        made = z * np.asarray(factor, z.dtype)
        made += (bias - (factor - 1) * self.centre).astype(z.dtype)
        return made

    def derivatives(self, q: FloatArray, rows: slice = EVERYTHING) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian of the summed loss of some rows, where their probabilities are q."""
        data, n = self.data, self.data.n
        centred, weights, labels = self._centred[rows], data.weights[rows], data.labels[rows]
        weighted = q * weights[:, None].astype(q.dtype)
        slope = q * centred
        mean = np.einsum("ij->i", slope)
        # The same sums as those of `sum(axis=0)`, which takes three times as long for short rows.
        total, moved = np.einsum("ij->j", weighted), np.einsum("ij,ij->j", weighted, centred)
        square = np.einsum("ij,ij,ij->j", weighted, centred, centred)
        mine = data.of_label(centred, rows)
        gradient = np.zeros(self.size)
        gradient[0] = weights @ (mean - mine)
        gradient[self.bias] = total - np.bincount(labels, weights, n)
        across = moved - mean @ weighted
        corner = square.sum() - weights @ mean**2
        if not self.own.size and n > self.pairs:
            return gradient, np.array([[corner, *total], [0.0, *across]])
        hessian = np.empty((self.size, self.size))
        hessian[0, 0], hessian[0, self.bias] = corner, across
        products = hessian[1:, 1:]
        if self.own.size:
            gradient[self.own] = moved - np.bincount(labels, weights * mine, n)
            hessian[0, self.own] = square - mean @ (weighted * centred)
            both = np.concatenate((q, slope), axis=1)
            products[:] = -(both.T @ (both * weights[:, None].astype(q.dtype)))
            i = np.arange(n)
            products[n + i, n + i] += square
            products[i, n + i] += moved
            products[n + i, i] += moved
        else:
            products[:] = -(q.T @ weighted)
        products[np.arange(n), np.arange(n)] += total
        hessian[1:, 0] = hessian[0, 1:]
        return gradient, hessian


class Full:
    """Parameters (t, then for each class a row of V and its b), for families with a matrix."""

    def __init__(self, data: Data, centre: FloatArray | None = None) -> None:
        self.data, n = data, data.n
        self.size = 1 + n * (n + 1)
        places = np.arange(1, self.size).reshape(n, n + 1)
        self.own, self.bias = np.diag(places[:, :n]).copy(), places[:, n].copy()
        self.centre = data.weights @ data.z / data.weights.sum() if centre is None else centre
        self._classes = np.triu_indices(n)

    def of(self, data: Data) -> Full:
        """Return the core of other rows in which parameters mean the same."""
        return Full(data, self.centre)

    @cached_property
    def _rows(self) -> FloatArray:
        ones = np.ones((len(self.data.z), 1), self.data.z.dtype)
        return np.concatenate((self.data.z - self.centre.astype(self.data.z.dtype), ones), axis=1)

    @cached_property
    def _products(self) -> FloatArray:
        """The products of all pairs of features, as in an upper triangle, (pairs, rows)."""
        columns = np.ascontiguousarray(self._rows.T)
        count, start = len(columns), 0
        products = np.empty((count * (count + 1) // 2, columns.shape[1]), columns.dtype)
        for i in range(count):  # gathered pairs would be copies as large as the products
            np.multiply(columns[i], columns[i:], out=products[start : start + count - i])
            start += count - i
        return products

    def logits(self, params: FloatArray, rows: slice = EVERYTHING) -> FloatArray:
        """Return the logits of some rows."""
        n, z = self.data.n, self.data.z[rows]
        change = params[1:].reshape(n, n + 1).copy()
        change[np.arange(n), np.arange(n)] += params[0]
        return np.asarray(z + self._rows[rows] @ change.T.astype(z.dtype))

    def derivatives(self, q: FloatArray, rows: slice = EVERYTHING) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian of the summed loss of some rows, where their probabilities are q."""
        data, n = self.data, self.data.n
        weights = data.weights[rows].astype(q.dtype)
        columns, i, j = np.ascontiguousarray(q.T), *self._classes
        weighted = columns * weights
        pairs = weighted[i] * columns[j]
        np.negative(pairs, out=pairs)
        pairs[i == j] += weighted
        upper = (pairs @ self._products[:, rows].T)[_places(n)][:, :, _places(n + 1)]  # (n, n, n + 1, n + 1)
        hessian = np.empty((self.size, self.size))
        hessian[1:, 1:] = upper.transpose(0, 2, 1, 3).reshape(self.size - 1, self.size - 1)
        weighted[data.labels[rows], np.arange(len(q))] -= weights
        gradient = np.empty(self.size)
        gradient[1:] = (weighted @ self._rows[rows]).ravel()
        gradient[0] = gradient[self.own].sum()
        hessian[0, 1:] = hessian[1:, 0] = hessian[self.own, 1:].sum(axis=0)
        hessian[0, 0] = hessian[0, self.own].sum()
        return gradient, hessian


Core = Diagonal | Full


@cache
def _places(n: int) -> IntArray:
    """Return where each entry of a symmetric matrix stands in its upper triangle."""
    place = np.empty((n, n), dtype=np.intp)
    i, j = np.triu_indices(n)
    place[i, j] = place[j, i] = np.arange(len(i))
    return place


@dataclass(frozen=True, eq=False)
class Mask:
    """A family: its free parameters and their ridges."""

    free: IntArray
    ridge: FloatArray

    def slope(self, gradient: FloatArray, params: FloatArray) -> FloatArray:
        """Return the gradient of the penalised loss in the free parameters."""
        return np.asarray(gradient[self.free] + self.ridge * params[self.free])

    def step(self, gradient: FloatArray, hessian: FloatArray, params: FloatArray) -> FloatArray:
        """Return Newton's step, 0 for parameters that are not free."""
        step = np.zeros_like(params)
        step[self.free] = self._solve(hessian, -self.slope(gradient, params))
        return step

    def promise(self, gradient: FloatArray, params: FloatArray, step: FloatArray) -> float:
        """Return the gain in penalised loss to expect of Newton's step."""
        return -0.5 * float(self.slope(gradient, params) @ step[self.free])

    def outlook(self, gradient: FloatArray, hessian: FloatArray, params: FloatArray) -> tuple[float, float]:
        """Return the effective number of free parameters, and the gain to expect of Newton's step.

        Each parameter counts by how far the rows, not the ridge, decide it.
        """
        slope = self.slope(gradient, params)
        if len(hessian) == 2:
            freedom = np.sum(1 / (1 + self.ridge / np.maximum(hessian[0, self.free], 1e-300)))
            return float(freedom), 0.5 * float(slope @ self._solve(hessian, slope))
        inverse = np.linalg.inv(self._penalised(hessian))
        return float(len(slope) - self.ridge @ np.diag(inverse)), 0.5 * float(slope @ inverse @ slope)

    def _penalised(self, hessian: FloatArray) -> FloatArray:
        curved = hessian[np.ix_(self.free, self.free)]
        curved[np.arange(len(curved)), np.arange(len(curved))] += self.ridge
        return np.asarray(curved)

    def _solve(self, hessian: FloatArray, right: FloatArray) -> FloatArray:
        if len(hessian) > 2:
            return np.asarray(np.linalg.solve(self._penalised(hessian), right))
        diagonal, edge = hessian[0, self.free] + self.ridge, hessian[1, self.free]
        if self.free[0] != 0:
            return np.asarray(right / diagonal)
        # An arrow: the first parameter is coupled with all others, which are not coupled with each other.
        ratio = edge[1:] / diagonal[1:]
        first = (right[0] - ratio @ right[1:]) / max(diagonal[0] - ratio @ edge[1:], 1e-9 * diagonal[0])
        return np.concatenate(([first], right[1:] / diagonal[1:] - ratio * first))

    def penalty(self, params: FloatArray) -> float:
        """Return half the ridge times the squares."""
        return 0.5 * float(self.ridge @ params[self.free] ** 2)


def minimise(
    core: Core,
    mask: Mask,
    start: FloatArray,
    tolerance: float,
    steps: int = 30,
    known: tuple[FloatArray, tuple[FloatArray, FloatArray]] | None = None,
) -> FloatArray:
    """Return the parameters with the smallest penalised loss, by Newton's method with halved steps.

    Parameters
    ----------
    core : Diagonal or Full
        The rows.
    mask : Mask
        The family.
    start : array
        Where to start.
    tolerance : float
        The steps end after one with a smaller expected gain in summed log loss. After a gain of 1/2 the next one,
        by the quadratic convergence of Newton's method, is far below the noise of the labels.
    steps : int
        The most steps.
    known : tuple, optional
        The losses of the rows at the start, and gradient and Hessian there.
    """
    data, params = core.data, start.copy()
    if known is None:
        losses, q = evaluate(core.logits(params), data.labels)
        known = losses, core.derivatives(q)
    losses, (gradient, hessian) = known
    value = data.weights @ losses + mask.penalty(params)
    for turn in range(steps):
        if turn:
            gradient, hessian = core.derivatives(q)
        step = mask.step(gradient, hessian, params)
        promise = mask.promise(gradient, params, step)
        for _ in range(HALVINGS):
            trial = params + step
            losses, trial_q = evaluate(core.logits(trial), data.labels)
            reached = data.weights @ losses + mask.penalty(trial)
            if reached < value:
                break
            step = 0.5 * step
        else:
            break
        params, q, value = trial, trial_q, reached
        if not promise > tolerance:
            break
    return params
