"""Rows with groups for the comparison of fairness tools: the paper's data sets, and generated ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import metricfit as mf

REAL = ("compas", "lawschool", "crimes", "default", "adult")


@dataclass(frozen=True)
class Rows:
    """Standardised features without the attribute, labels and groups; thirds to train, to tune and to judge."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    part: np.ndarray

    def of(self, *parts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inside = np.isin(self.part, parts)
        return self.X[inside], self.y[inside], self.group[inside]


def split(X: np.ndarray, y: np.ndarray, group: np.ndarray, seed: int) -> Rows:
    part = np.random.default_rng(seed).permutation(np.arange(len(y)) % 3)
    spread = X.std(axis=0)
    return Rows((X[:, spread > 0] - X[:, spread > 0].mean(axis=0)) / spread[spread > 0], y, group, part)


def real(name: str, seed: int) -> Rows:
    """Return a data set without the columns that are the attribute or its complement."""
    data = mf.datasets.load(name)
    X, group = np.asarray(data.X, float), np.asarray(data.group)
    same = [np.array_equal(column, group) or np.array_equal(column, 1 - group) for column in X.T]
    return split(X[:, ~np.array(same)], np.asarray(data.y), group, seed)


def generated(rows: int, groups: int, classes: int, seed: int) -> Rows:
    """Return Gaussian classes whose shares differ from group to group; two features tell of the group."""
    rng = np.random.default_rng(seed)
    lean = np.exp(rng.normal(scale=0.8, size=(groups, classes)))
    lean /= lean.sum(axis=1, keepdims=True)
    group = rng.choice(groups, rows, p=(share := 1 / (2 + np.arange(groups))) / share.sum())
    y = (rng.random((rows, 1)) > lean.cumsum(axis=1)[group]).sum(axis=1)
    means, hints = rng.normal(size=(classes, 6)), rng.normal(size=(groups, 2))
    X = np.concatenate([means[y], hints[group]], axis=1) + rng.normal(size=(rows, 8))
    return split(X, y, group, seed)
