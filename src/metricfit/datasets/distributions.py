"""What a distribution with known answers can be asked.

Every distribution here decides along one line, so the rule ``argmax_i w_i eta_i(x)`` cuts that line into
intervals and its confusion matrix is a sum of interval probabilities: no sampling, no quadrature. The section
numbers are those of Narasimhan et al., *Consistent Multiclass Algorithms for Complex Metrics and
Constraints*.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.datasets._checks import positive_int

Floats = NDArray[np.float64]
Seed = int | np.random.Generator | None


class Distribution(ABC):
    """Rows and labels drawn from a known distribution; classes are 0 to n-1.

    Examples
    --------
    >>> from metricfit.datasets import example
    >>> example("NormImbal").priors
    array([0.8, 0.2])
    """

    priors: Floats

    @abstractmethod
    def class_probabilities(self, X: ArrayLike) -> Floats:
        """Return eta(x), the probability of each class given the row, of shape (N, n)."""

    @abstractmethod
    def confusion(self, weights: ArrayLike) -> Floats:
        """Return the exact confusion matrix of ``argmax_i weights[i] * eta_i(x)``, ties to the larger i."""

    @abstractmethod
    def boundary(self, n_points: int = 201) -> Floats:
        """Return the outline of the achievable (C_00, C_11), for two classes, as a closed polygon."""

    @abstractmethod
    def upper(self, c00: ArrayLike) -> Floats:
        """Return the largest C_11 that any randomised classifier reaches at each C_00."""

    @abstractmethod
    def _draw(self, y: NDArray[np.intp], rng: np.random.Generator) -> Floats: ...

    def lower(self, c00: ArrayLike) -> Floats:
        """Return the smallest C_11 at each C_00: answering the opposite mirrors the set at its centre."""
        return self.priors[1] - self.upper(self.priors[0] - np.asarray(c00, dtype=float))

    def sample(self, n_rows: int, random_state: Seed = 0) -> tuple[Floats, NDArray[np.intp]]:
        """Draw `n_rows` rows X of shape (n_rows, d) and their labels y."""
        rng = np.random.default_rng(random_state)
        y = rng.choice(len(self.priors), size=positive_int("n_rows", n_rows), p=self.priors)
        return self._draw(y, rng), y

    def _weights(self, weights: ArrayLike) -> Floats:
        w = np.asarray(weights, dtype=float)
        if w.shape != self.priors.shape:
            raise ValueError(
                f"weights has shape {w.shape}; give one weight for each of {len(self.priors)} classes."
            )
        if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
            raise ValueError(
                f"weights={w.tolist()} must be finite and non-negative, with at least one positive."
            )
        return w

    def _share_of_class_0(self, c00: ArrayLike) -> Floats:
        """Turn C_00 into the recall of class 0, for two classes."""
        self._two_classes()
        c = np.asarray(c00, dtype=float)
        if not ((c >= -1e-12) & (c <= self.priors[0] + 1e-12)).all():
            raise ValueError(f"c00 must lie between 0 and the prior of class 0, {self.priors[0]:g}.")
        recall: Floats = np.clip(c / self.priors[0], 0.0, 1.0)
        return recall

    def _two_classes(self) -> None:
        if len(self.priors) != 2:
            raise ValueError(
                f"The set of (C_00, C_11) describes two classes, and this distribution has "
                f"{len(self.priors)}; use confusion(weights) to trace its boundary."
            )
