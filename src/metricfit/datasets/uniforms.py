"""Uniform classes on intervals: the class probabilities take few values, the achievable set is a polygon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.datasets._checks import positive_int
from metricfit.datasets.distributions import Distribution, Floats


@dataclass(frozen=True, eq=False)
class Uniforms(Distribution):
    """Classes that are uniform on intervals of the real line.

    Parameters
    ----------
    priors : array of shape (n,)
        Class shares, summing to 1.
    intervals : array of shape (n, 2)
        Start and end of each class's interval.

    Examples
    --------
    >>> from metricfit.datasets import Uniforms
    >>> pair = Uniforms(priors=[0.5, 0.5], intervals=[[0, 2], [1, 3]])
    >>> pair.class_probabilities([0.5, 1.5, 2.5])
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """

    priors: Floats
    intervals: Floats

    def __post_init__(self) -> None:
        for name in ("priors", "intervals"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=float))
        n = len(self.priors)
        if self.priors.ndim != 1 or not np.isclose(self.priors.sum(), 1) or (self.priors <= 0).any():
            raise ValueError(f"priors={self.priors.tolist()} must be positive shares that sum to 1.")
        if self.intervals.shape != (n, 2) or (self.intervals[:, 0] >= self.intervals[:, 1]).any():
            raise ValueError(f"intervals must be {n} pairs (start, end) with start < end.")

    @property
    def _densities(self) -> Floats:
        heights: Floats = self.priors / (self.intervals[:, 1] - self.intervals[:, 0])
        return heights

    def _pieces(self) -> Floats:
        """Return the joint probability of class (row) and piece of the line (column) of constant eta."""
        ends = np.unique(self.intervals)
        inside = (self.intervals[:, :1] <= ends[:-1]) & (ends[1:] <= self.intervals[:, 1:])
        pieces: Floats = inside * np.diff(ends) * self._densities[:, None]
        return pieces

    def class_probabilities(self, X: ArrayLike) -> Floats:
        """Return eta(x), of shape (N, n)."""
        x = np.asarray(X, dtype=float).reshape(-1, 1)
        joint = ((self.intervals[:, 0] <= x) & (x <= self.intervals[:, 1])) * self._densities
        total = joint.sum(axis=1, keepdims=True)
        if not total.all():
            raise ValueError(
                f"X has {int((total == 0).sum())} of {len(x)} rows outside every class's interval."
            )
        proba: Floats = joint / total
        return proba

    def confusion(self, weights: ArrayLike) -> Floats:
        """Return the exact confusion matrix of ``argmax_i weights[i] * eta_i(x)``, ties to the larger i."""
        pieces = self._pieces()
        scores = self._weights(weights)[:, None] * pieces
        n = len(self.priors)
        decided = n - 1 - scores[::-1].argmax(axis=0)
        C = np.zeros((n, n))
        np.add.at(C.T, decided, pieces.T)
        return C

    def _arc(self) -> Floats:
        """Vertices of the upper arc: from all decided 1, pieces turn to 0 in rising order of eta_1."""
        self._two_classes()
        pieces = self._pieces()
        pieces = pieces[:, pieces.sum(axis=0) > 0]
        joint = pieces[:, np.argsort(pieces[1] / pieces.sum(axis=0))]
        c00 = np.concatenate([[0.0], joint[0].cumsum()])
        c11 = self.priors[1] - np.concatenate([[0.0], joint[1].cumsum()])
        return np.column_stack([c00, c11])

    def upper(self, c00: ArrayLike) -> Floats:
        """Return the largest C_11 at each C_00, exact between the vertices."""
        c = self._share_of_class_0(c00) * self.priors[0]
        # At C_00 = pi_0 the edge may be vertical; its top is the largest C_11.
        arc = self._arc()
        tops = np.unique(arc[:, 0].round(12), return_index=True)[1]
        c11: Floats = np.interp(c, arc[tops, 0], arc[tops, 1])
        return c11

    def boundary(self, n_points: int = 201) -> Floats:
        """Return the outline of the achievable (C_00, C_11): its vertices, whatever `n_points`."""
        positive_int("n_points", n_points)
        arc = self._arc()
        return np.vstack([arc, self.priors - arc])

    def _draw(self, y: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return rng.uniform(self.intervals[y, 0], self.intervals[y, 1])[:, None]
