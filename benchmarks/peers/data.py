"""Generated rows for the comparisons: class probabilities as tired models give them, and ordered classes."""

from __future__ import annotations

import numpy as np


def probabilities(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return softmax probabilities and labels of unequal classes (the i-th has a share of 1 / i).

    The logits are those of Gaussian classes, flattened (a temperature of 1.25), with noise on every row and a
    bias on every class, as models have that were trained on other shares or with class weights. The bias (a standard
    deviation of 0.5, a factor of 1.6) was chosen so that there is something to win over plain argmax, and is fixed.
    """
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, classes + 1)
    share /= share.sum()
    means = 0.8 * rng.normal(size=(classes, 16))
    y = rng.choice(classes, size=rows, p=share)
    x = means[y] + rng.normal(size=(rows, 16))
    logits = 0.8 * (x @ means.T - 0.5 * (means**2).sum(axis=1) + np.log(share))
    logits += 0.3 * rng.normal(size=logits.shape) + 0.5 * rng.normal(size=classes)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True), y


def gaussians(rows: int, classes: int, seed: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of unequal Gaussian classes; ``draw`` numbers samples of the same classes."""
    share = 1 / np.arange(1, classes + 1)
    means = 0.8 * np.random.default_rng(seed).normal(size=(classes, 8))
    rng = np.random.default_rng((seed, draw))
    y = rng.choice(classes, size=rows, p=share / share.sum())
    return means[y] + rng.normal(size=(rows, 8)), y


def grades(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features and ordered labels: grades that lie along a bow, with more of the low ones."""
    rng = np.random.default_rng(seed)
    share = np.geomspace(1, 0.1, classes)
    y = rng.choice(classes, size=rows, p=share / share.sum())
    angle = np.pi * y / (classes - 1)
    means = 2.0 * np.stack([-np.cos(angle), np.sin(angle)], axis=1)
    signal = means + rng.normal(size=(rows, 2))
    return np.concatenate([signal, rng.normal(size=(rows, 6))], axis=1), y
