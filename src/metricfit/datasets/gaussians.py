"""Gaussian classes on a line: class probabilities and confusion matrices by the normal distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from metricfit.datasets._checks import positive_int
from metricfit.datasets.distributions import Distribution, Floats


@dataclass(frozen=True, eq=False)
class Gaussians(Distribution):
    """Classes that are Gaussians with one covariance matrix and distinct means on one line.

    Parameters
    ----------
    priors : array of shape (n,)
        Class shares, summing to 1.
    means : array of shape (n, d)
        Class means, distinct and on one line.
    covariance : array of shape (d, d)
        The covariance matrix of every class.

    Examples
    --------
    The log odds are linear, so the classes are equally likely half way between their means:

    >>> from metricfit.datasets import Gaussians
    >>> pair = Gaussians(priors=[0.5, 0.5], means=[[-0.5], [0.5]], covariance=[[1.0]])
    >>> pair.class_probabilities([[0.0]])
    array([[0.5, 0.5]])
    >>> pair.confusion([1, 1]).round(4)
    array([[0.3457, 0.1543],
           [0.1543, 0.3457]])
    """

    priors: Floats
    means: Floats
    covariance: Floats

    def __post_init__(self) -> None:
        for name in ("priors", "means", "covariance"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=float))
        n, d = self.means.shape
        if self.priors.shape != (n,) or not np.isclose(self.priors.sum(), 1) or (self.priors <= 0).any():
            raise ValueError(f"priors={self.priors.tolist()} must be {n} positive shares that sum to 1.")
        if self.covariance.shape != (d, d) or (np.linalg.eigvalsh(self.covariance) <= 0).any():
            raise ValueError(f"covariance must be a positive definite matrix of shape {(d, d)}.")
        if np.linalg.matrix_rank(self.means - self.means[0]) != 1 or len(set(self._places)) != n:
            raise ValueError("means must be distinct and lie on one line, or no closed form is known here.")

    @property
    def _direction(self) -> Floats:
        """Projection to the line of means, scaled so that each class has variance 1 on it."""
        span = self.means[-1] - self.means[0]
        u = np.linalg.solve(self.covariance, span)
        direction: Floats = u / np.sqrt(u @ self.covariance @ u)
        return direction

    @property
    def _places(self) -> Floats:
        return self.means @ self._direction

    def _lines(self) -> tuple[Floats, Floats]:
        """Return slope and intercept of log eta_i along the line, up to a common term."""
        return self._places, np.log(self.priors) - self._places**2 / 2

    def class_probabilities(self, X: ArrayLike) -> Floats:
        """Return eta(x), a softmax of linear functions, of shape (N, n)."""
        rows = np.asarray(X, dtype=float).reshape(-1, self.means.shape[1])
        slopes, intercepts = self._lines()
        logits = (rows @ self._direction)[:, None] * slopes + intercepts
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        proba: Floats = odds / odds.sum(axis=1, keepdims=True)
        return proba

    def confusion(self, weights: ArrayLike) -> Floats:
        """Return the exact confusion matrix of ``argmax_i weights[i] * eta_i(x)``."""
        slopes, intercepts = self._lines()
        with np.errstate(divide="ignore"):
            heights = intercepts + np.log(self._weights(weights))
        C = np.zeros((len(slopes), len(slopes)))
        for j in np.flatnonzero(np.isfinite(heights)):
            # Class j is decided where its line is the upper envelope: between these two crossings.
            flatter, steeper = slopes < slopes[j], slopes > slopes[j]
            left = (heights[flatter] - heights[j]) / (slopes[j] - slopes[flatter])
            right = (heights[j] - heights[steeper]) / (slopes[steeper] - slopes[j])
            start, stop = np.max(left, initial=-np.inf), np.min(right, initial=np.inf)
            if start < stop:
                C[:, j] = self.priors * (ndtr(stop - slopes) - ndtr(start - slopes))
        return C

    def upper(self, c00: ArrayLike) -> Floats:
        """Return the largest C_11 at each C_00: pi_1 Phi(distance - Phi^-1(C_00 / pi_0))."""
        recall = self._share_of_class_0(c00)
        distance = self._places[1] - self._places[0]
        c11: Floats = self.priors[1] * ndtr(distance - ndtri(recall))
        return c11

    def boundary(self, n_points: int = 201) -> Floats:
        """Return the outline of the achievable (C_00, C_11), `n_points` thresholds on each of two arcs."""
        self._two_classes()
        inner = np.linspace(self._places[0] - 5, self._places[1] + 5, positive_int("n_points", n_points))
        cuts = np.concatenate([[-np.inf], inner, [np.inf]])
        arc = np.column_stack([ndtr(cuts - self._places[0]), ndtr(self._places[1] - cuts)]) * self.priors
        return np.vstack([arc, self.priors - arc])

    def _draw(self, y: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((len(y), self.means.shape[1]))
        rows: Floats = self.means[y] + noise @ np.linalg.cholesky(self.covariance).T
        return rows
