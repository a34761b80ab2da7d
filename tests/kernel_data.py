"""Random rows and rules for the tests of the kernels."""

from __future__ import annotations

import numpy as np


def make(N, n, k, A, dtype=np.float64, layout="diagonal", seed=0):
    """Rows, labels, cells, weights, loss and match, with decisions in no order."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n, 0.5), N).astype(dtype)
    y = rng.integers(0, n, N).astype(np.int32)
    cell = rng.integers(0, A, N).astype(np.int32) if A > 1 else None
    weight = rng.dirichlet(np.ones(N))
    match = rng.permutation(np.r_[np.arange(n), np.full(k, -1)])[:k]
    loss = rng.normal(size=(A, 2 if layout == "diagonal" else n, k))
    return P, y, cell, weight, loss, match


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16)
