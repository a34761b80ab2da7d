"""Tuning rows and rows not used, with the probabilities of real models: what every table of this folder is made on.

One half of each data set tunes: its probabilities are cross-fitted. The other half judges: its probabilities come from
the model refitted on the whole first half. Probabilities are kept in a cache beside this file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

CACHE = Path(__file__).parent / ".cache"
PAPER = ("abalone", "pageblocks", "macho", "satimage")
OWN = ("digits", "wine", "breast_cancer")
GENERATED = ("too_sure", "too_modest", "wrong_prior")
NETWORKS = ("news20_cv", "cifar100_cv", "debian_section_mlp", "cifar10_flip", "cifar55_test")
KINDS = ("linear", "boosted")
# A class needs rows in every fold of the tuning half.
FEWEST = 15


@dataclass(frozen=True)
class Split:
    """Probabilities and labels to tune on, and those to judge by."""

    name: str
    P: np.ndarray
    y: np.ndarray
    Q: np.ndarray
    z: np.ndarray
    cells: np.ndarray | None = None
    new_cells: np.ndarray | None = None


def folder() -> Path:
    """Return the folder with the paper's data sets."""
    found = os.environ.get("METRICFIT_DATA")
    if not found:
        raise SystemExit("set METRICFIT_DATA to the folder with the paper's data sets")
    return Path(found)


def split(name: str, kind: str = "linear", seed: int = 0, rows: int | None = None) -> Split:
    """Return a data set in two halves; ``rows`` bounds the tuning rows."""
    CACHE.mkdir(exist_ok=True)
    kept = CACHE / f"{name}-{kind}-{seed}-{rows}.npz"
    if not kept.exists():
        made = _network(name, seed) if name in NETWORKS else _modelled(name, kind, seed, rows)
        np.savez(kept, **{key: value for key, value in made.items() if value is not None})
    with np.load(kept) as z:
        return Split(
            f"{name} {kind}",
            *(z.get(key) for key in ("P", "y", "Q", "z", "cells", "new_cells")),
        )


def _network(name: str, seed: int) -> dict[str, np.ndarray]:
    """Halve the rows of a data set that comes as probabilities."""
    with np.load(folder() / f"{name}.npz") as z:
        P, y = (z["P"], z["y"]) if "P" in z else (z["P_test"], z["y_test"])
    P, y = P.astype(float), y.astype(int)
    P /= P.sum(axis=1, keepdims=True)
    order = np.random.default_rng(seed).permutation(len(y))
    tune, judge = order[: len(y) // 2], order[len(y) // 2 :]
    return {"P": P[tune], "y": y[tune], "Q": P[judge], "z": y[judge]}


def _modelled(name: str, kind: str, seed: int, rows: int | None) -> dict[str, np.ndarray | None]:
    """Train a model on half of the rows; cross-fit that half, predict the other."""
    if name in GENERATED:
        return _generated(name, seed, rows or 3000)
    X, y, group = _features(name)
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= FEWEST))
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    size = 0.5 if rows is None else rows
    tune, judge = next(
        StratifiedShuffleSplit(
            1,
            train_size=size,
            test_size=None if rows is None else min(100_000, len(y) - rows),
            random_state=100 + seed,
        ).split(X, y)
    )
    model = _model(kind)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    P = cross_val_predict(model, X[tune], y[tune], cv=folds, method="predict_proba")
    Q = model.fit(X[tune], y[tune]).predict_proba(X[judge])
    cells = (None, None) if group is None else (group[kept][tune], group[kept][judge])
    return {
        "P": P / P.sum(axis=1, keepdims=True), "y": y[tune], "Q": Q / Q.sum(axis=1, keepdims=True), "z": y[judge],
        "cells": cells[0], "new_cells": cells[1],
    }  # fmt: skip


def _features(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if name in OWN:
        loaded = {"digits": load_digits, "wine": load_wine, "breast_cancer": load_breast_cancer}[name]()
        return loaded.data, loaded.target, None
    with np.load(folder() / f"{name}.npz") as z:
        X, y = z["X"].astype(float), z["y"].astype(int)
        group = z["group"].astype(int) if "group" in z else None
    if group is not None:  # the model does not see the attribute
        same = (
            [j for j in range(X.shape[1]) if abs(np.corrcoef(X[:, j], group)[0, 1]) > 0.999] if len(X) else []
        )
        X = np.delete(X, [0, *same], axis=1)
    return X, y, group


def _model(kind: str):
    if kind == "linear":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    if kind == "bayes":
        return make_pipeline(StandardScaler(), GaussianNB())
    # Without early stopping, which from 10,000 rows on may end the model of all rows long before those of the folds.
    # With a ridge on the leaves: without one the boosting of rare classes diverges now and then, and the model of all
    # rows has nothing to do with those of the folds (CovType, 20,000 rows: log loss on new rows .81, where 16,000 of
    # the rows give .55; with the ridge .50 and .51).
    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, l2_regularization=1.0, early_stopping=False, random_state=0
    )


def _generated(name: str, seed: int, rows: int) -> dict[str, np.ndarray]:
    """Draw probabilities, labels from them, and hand out probabilities that are wrong in a known way."""
    rng = np.random.default_rng(1000 + seed)
    n, count = 5, rows + 50_000
    prior = np.array([0.6, 0.2, 0.1, 0.07, 0.03])
    logits = rng.normal(size=(count, n)) * 1.5 + np.log(prior)
    true = np.exp(logits - logits.max(axis=1, keepdims=True))
    true /= true.sum(axis=1, keepdims=True)
    y = (rng.random(count)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, n - 1)
    shift = {
        "too_sure": 2.0 * np.log(true),
        "too_modest": 0.5 * np.log(true),
        "wrong_prior": np.log(true) - 0.7 * np.log(prior),
    }
    given = np.exp(shift[name] - shift[name].max(axis=1, keepdims=True))
    given /= given.sum(axis=1, keepdims=True)
    return {"P": given[:rows], "y": y[:rows], "Q": given[rows:], "z": y[rows:]}
