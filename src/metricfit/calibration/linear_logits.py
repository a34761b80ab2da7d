"""Log loss of calibrated probabilities whose logits are linear in the parameters: value, gradient, Hessian.

The parameters are deviations from no change. The first is the steepness t; the others are a core's own. The
logarithms z of the probabilities enter centred, so that a change of V leaves the biases about alone::

    logits = z + (t + V)(z - centre) + b      V diagonal (`Diagonal`) or a matrix (`Full`)

Families are masks: which parameters are free, and the ridge of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metricfit.types import FloatArray, IntArray

# Above this many classes, products of different classes are left out of the Hessian, which is then too large by
# little: most pairs of many classes are never likely together.
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


def evaluate(logits: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the log loss of each row and its probabilities.

    Examples
    --------
    >>> losses, q = evaluate(np.array([[0.0, 0.0]]), np.array([1]))
    >>> losses.round(3), q
    (array([0.693]), array([[0.5, 0.5]]))
    """
    top = logits.max(axis=1)
    q = np.exp(logits - top[:, None])
    total = np.einsum("ij->i", q)
    q /= total[:, None]
    return np.log(total) + top - logits[np.arange(len(labels)), labels], q


class Diagonal:
    """Parameters (t, V of each class, b of each class): everything that has no matrix."""

    def __init__(self, data: Data) -> None:
        self.data, n = data, data.n
        self.size = 1 + 2 * n
        self.own, self.bias = np.arange(1, 1 + n), np.arange(1 + n, 1 + 2 * n)
        # One number for all classes, so that a change of t is a change of temperature and of nothing else.
        self.centre = np.full(n, data.weights @ data.z.mean(axis=1) / data.weights.sum())

    @cached_property
    def _centred(self) -> FloatArray:
        return self.data.z - self.centre

    def logits(self, params: FloatArray, rows: slice = EVERYTHING) -> FloatArray:
        """Return the logits of some rows."""
        data, n = self.data, self.data.n
        return data.z[rows] + self._centred[rows] * (params[0] + params[1 : 1 + n]) + params[1 + n :]

    def derivatives(self, q: FloatArray, rows: slice = EVERYTHING) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian of the summed loss of some rows, where their probabilities are q."""
        data, n = self.data, self.data.n
        centred, weights = self._centred[rows], data.weights[rows]
        both = np.concatenate((q * centred, q), axis=1)  # probability times feature, for V and for b
        mean = np.einsum("ij->i", both[:, :n])
        weighted = weights[:, None] * both
        gradient = np.empty(self.size)
        hits, labels = weights, data.labels[rows]
        own = centred[np.arange(len(labels)), labels]
        gradient[1 : 1 + n] = weighted[:, :n].sum(axis=0) - np.bincount(labels, hits * own, n)
        gradient[1 + n :] = weighted[:, n:].sum(axis=0) - np.bincount(labels, hits, n)
        gradient[0] = gradient[1 : 1 + n].sum()
        hessian = np.zeros((self.size, self.size))
        square = np.einsum("ij,ij->j", weighted[:, :n], centred)
        diagonals = (square, weighted[:, :n].sum(axis=0), weighted[:, n:].sum(axis=0))
        core = -(weighted.T @ both) if n <= PAIRS else np.zeros((2 * n, 2 * n))
        i = np.arange(n)
        core[i, i] += diagonals[0]
        core[i, n + i] += diagonals[1]
        core[n + i, i] += diagonals[1]
        core[n + i, n + i] += diagonals[2]
        hessian[1:, 1:] = core
        across = np.concatenate(diagonals[:2]) - mean @ weighted
        hessian[0, 1:] = hessian[1:, 0] = across
        hessian[0, 0] = across[:n].sum()
        return gradient, hessian


class Full:
    """Parameters (t, then for each class a row of V and its b): matrices."""

    def __init__(self, data: Data) -> None:
        self.data, n = data, data.n
        self.size = 1 + n * (n + 1)
        places = np.arange(1, self.size).reshape(n, n + 1)
        self.own, self.bias = np.diag(places[:, :n]).copy(), places[:, n].copy()
        self.centre = np.asarray(data.weights @ data.z / data.weights.sum())
        self._classes, self._features = np.triu_indices(n), np.triu_indices(n + 1)

    @cached_property
    def _rows(self) -> FloatArray:
        return np.concatenate((self.data.z - self.centre, np.ones((len(self.data.z), 1))), axis=1)

    @cached_property
    def _products(self) -> FloatArray:
        i, j = self._features
        return self._rows[:, i] * self._rows[:, j]

    def logits(self, params: FloatArray, rows: slice = EVERYTHING) -> FloatArray:
        """Return the logits of some rows."""
        n = self.data.n
        change = params[1:].reshape(n, n + 1).copy()
        change[np.arange(n), np.arange(n)] += params[0]
        return self.data.z[rows] + self._rows[rows] @ change.T

    def derivatives(self, q: FloatArray, rows: slice = EVERYTHING) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian of the summed loss of some rows, where their probabilities are q."""
        data, n = self.data, self.data.n
        weighted = data.weights[rows, None] * q
        residual = weighted.copy()
        labels = data.labels[rows]
        residual[np.arange(len(labels)), labels] -= data.weights[rows]
        i, j = self._classes
        pairs = -weighted[:, i] * q[:, j]
        pairs[:, i == j] += weighted
        sums = pairs.T @ self._products[rows]
        hessian = np.empty((self.size, self.size))
        blocks = _symmetric(n, sums)  # (n, n, feature pairs)
        whole = _symmetric(n + 1, blocks.reshape(n * n, -1).T).reshape(n + 1, n + 1, n, n)
        hessian[1:, 1:] = whole.transpose(2, 0, 3, 1).reshape(self.size - 1, self.size - 1)
        gradient = np.concatenate(([0.0], (residual.T @ self._rows[rows]).ravel()))
        gradient[0] = gradient[self.own].sum()
        hessian[0, 1:] = hessian[1:, 0] = hessian[self.own, 1:].sum(axis=0)
        hessian[0, 0] = hessian[0, self.own].sum()
        return gradient, hessian


Core = Diagonal | Full


def _symmetric(n: int, upper: FloatArray) -> FloatArray:
    """Return a symmetric (n, n, ...) array from the rows of its upper triangle."""
    place = np.empty((n, n), dtype=np.intp)
    i, j = np.triu_indices(n)
    place[i, j] = place[j, i] = np.arange(len(i))
    return upper[place]


@dataclass(frozen=True, eq=False)
class Mask:
    """A family: its free parameters and their ridges."""

    free: IntArray
    ridge: FloatArray

    def step(self, gradient: FloatArray, hessian: FloatArray, params: FloatArray) -> FloatArray:
        """Return Newton's step, 0 for parameters that are not free."""
        free, step = self.free, np.zeros_like(params)
        curved = hessian[np.ix_(free, free)]
        curved[np.arange(len(free)), np.arange(len(free))] += self.ridge
        step[free] = np.linalg.solve(curved, -(gradient[free] + self.ridge * params[free]))
        return step

    def penalty(self, params: FloatArray) -> float:
        """Return half the ridge times the squares."""
        return 0.5 * float(self.ridge @ params[self.free] ** 2)


def minimise(core: Core, mask: Mask, start: FloatArray, tolerance: float, steps: int = 30) -> FloatArray:
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
        The gain in summed log loss that the next step must promise; a hundredth is far below the noise of labels.
    steps : int
        The most steps.
    """
    data, free, params = core.data, mask.free, start.copy()
    losses, q = evaluate(core.logits(params), data.labels)
    value = data.weights @ losses + mask.penalty(params)
    for _ in range(steps):
        gradient, hessian = core.derivatives(q)
        step = mask.step(gradient, hessian, params)
        promise = -0.5 * float((gradient[free] + mask.ridge * params[free]) @ step[free])
        if not promise > tolerance:
            break
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
    return params
