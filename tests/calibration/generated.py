"""Probabilities that are wrong in a known way."""

from __future__ import annotations

import numpy as np


def softmax(z):
    q = np.exp(z - z.max(axis=1, keepdims=True))
    return q / q.sum(axis=1, keepdims=True)


def right(rows, n, seed=0, spread=1.0):
    """Return probabilities and labels drawn from them."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.full(n, spread), rows)
    labels = (random.random((rows, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(0, n - 1)
    return proba, labels


def wrong(proba, *, steepness=1.0, bias=0.0, matrix=None):
    """Return probabilities that the calibration with these parameters sets right."""
    z = np.log(np.maximum(proba, 1e-12)) - bias
    z = z / steepness if matrix is None else z @ np.linalg.inv(matrix).T
    return softmax(z)


def log_loss(proba, labels):
    return -np.log(np.maximum(proba[np.arange(len(labels)), labels], 1e-12)).mean()
