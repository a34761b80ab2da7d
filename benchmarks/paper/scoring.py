"""Losses of expected confusion matrices, in NumPy, so that they do not rest on the code they judge."""

from __future__ import annotations

import numpy as np

# The authors add this to the diagonal: a class never met gives a loss of 0.9999, not a division by zero.
EPSILON = 1e-7


def expected(decisions: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Return the expected confusion tensor (groups, classes, decisions) of a randomised classifier."""
    k = decisions.shape[1]
    g = np.zeros(len(y), dtype=int) if groups is None else groups
    C = np.zeros((g.max() + 1, k, k))
    for a in range(C.shape[0]):
        for i in range(k):
            C[a, i] = decisions[(g == a) & (y == i)].sum(axis=0)
    return C / len(y)


def recalls(C: np.ndarray) -> np.ndarray:
    M = C.sum(axis=0)
    return M.diagonal() / M.sum(axis=1)


def h_mean_loss(C: np.ndarray) -> float:
    M = C.sum(axis=0)
    return float(1 - M.shape[0] / (M.sum(axis=1) / (M.diagonal() + EPSILON)).sum())


def g_mean_loss(C: np.ndarray) -> float:
    r = recalls(C)
    return float(1 - np.prod(r) ** (1 / r.size))


def q_mean_loss(C: np.ndarray) -> float:
    return float(np.sqrt(np.mean((1 - recalls(C)) ** 2)))


def min_max_loss(C: np.ndarray) -> float:
    return float(1 - recalls(C).min())


def micro_f1_loss(C: np.ndarray, default: int) -> float:
    M = C.sum(axis=0)
    hits = M.trace() - M[default, default]
    return float(1 - 2 * hits / (2 - M[default].sum() - M[:, default].sum()))


def error(C: np.ndarray) -> float:
    return float(1 - C.sum(axis=0).trace())


def coverage_violation(C: np.ndarray, target: np.ndarray | None = None, limit: float = 0.01) -> float:
    """Return the largest distance of a decision's share from its target, less the limit."""
    M = C.sum(axis=0)
    wanted = M.sum(axis=1) if target is None else target
    return float(np.abs(M.sum(axis=0) - wanted).max() - limit)


def opportunity_violation(C: np.ndarray, to: str, limit: float = 0.05) -> float:
    """Return the largest distance of a group's recall of class 1 from the centre, less the limit."""
    rates = C[:, 1, 1] / C[:, 1].sum(axis=1)
    centre = rates.mean() if to == "mean" else recalls(C)[1]
    return float(np.abs(rates - centre).max() - limit)
