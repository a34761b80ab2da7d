"""Paths of policies on generated rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from metricfit.data.rows import Rows
from metricfit.oracles import PluginOracle
from metricfit.problem import Problem
from metricfit.solving.door import DEFAULTS, solve
from metricfit.trust.confidence.path import Path


@pytest.fixture(scope="session")
def true_rows() -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """Return what draws probabilities of two classes, and labels by them, from a seed and a number of rows."""
    return _true_rows


def _true_rows(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shown = 1 / (1 + np.exp(1 - 1.5 * rng.normal(size=rows)))
    y = (rng.random(shown.size) < shown).astype(int)
    return np.stack([1 - shown, shown], axis=1), y


@pytest.fixture(scope="session")
def path_of() -> Callable[..., Path]:
    """Return what makes a path of some limits on so many tuning and kept rows."""
    return _path_of


def _path_of(limits: list, tuning: int, kept: int, seed: int = 0, level: float = 0.95) -> Path:
    """Return a path on rows whose probabilities are true."""
    proba, y = _true_rows(seed, tuning + kept)
    first, second = (Rows.of(proba[part], y[part]) for part in (slice(tuning), slice(tuning, None)))
    oracle = PluginOracle(first, "model")

    def refit(problem, start):
        return solve(problem, oracle, replace(DEFAULTS, start=start, derandomise=False))

    return Path(Problem.of("g_mean", limits), first, second, level, refit)
