"""Algorithm 1 in plain NumPy: what timings are a ratio to, and what it does to a metric that is not smooth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Gradient = Callable[[np.ndarray], np.ndarray]


def frank_wolfe(
    P: np.ndarray, y: np.ndarray, gradient: Gradient, calls: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minimise a convex function of the recalls by `calls` oracle calls, from the balanced rule.

    Returns the weights of the rules, the gains of their decisions (``argmax_j gains[j] * P[:, j]``) and the
    recalls after each call.
    """
    prior = np.bincount(y, minlength=P.shape[1]) / len(y)
    gains, weights, path = np.empty((calls, P.shape[1])), np.zeros(calls), np.empty((calls, P.shape[1]))
    r = np.zeros(P.shape[1])
    for t in range(calls):
        gains[t] = 1 / prior if t == 0 else -gradient(r) / prior
        step = 2 / (t + 1) if t else 1.0
        weights *= 1 - step
        weights[t] += step
        r = (1 - step) * r + step * _recalls(P, y, gains[t], prior)
        path[t] = r
    return weights, gains, path


def _recalls(P: np.ndarray, y: np.ndarray, gains: np.ndarray, prior: np.ndarray) -> np.ndarray:
    k = P.shape[1]
    decided = k - 1 - (P * gains)[:, ::-1].argmax(axis=1)
    return np.bincount(y[decided == y], minlength=k) / len(y) / prior


def h_mean_gradient(r: np.ndarray) -> np.ndarray:
    """Return the gradient of 1 - n / sum(1 / r)."""
    inverse = 1 / np.maximum(r, 1e-9)
    return -r.size * inverse**2 / inverse.sum() ** 2


def min_max_gradient(r: np.ndarray) -> np.ndarray:
    """Return a subgradient of 1 - min(r)."""
    return -np.eye(r.size)[r.argmin()]


def mixture(P: np.ndarray, weights: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return the decision probabilities of a mixture of rules."""
    k = P.shape[1]
    shares = np.zeros_like(P, dtype=float)
    for weight, gain in zip(weights, gains, strict=True):
        if weight > 0:
            shares[np.arange(len(P)), k - 1 - (P * gain)[:, ::-1].argmax(axis=1)] += weight
    return shares
