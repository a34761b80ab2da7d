"""Log loss on new rows of each calibration family and of the one that is chosen, over many data sets.

Models are trained on the tuning rows; calibration is fitted on their cross-fitted probabilities and judged on
rows that neither has seen. Models of data sets with groups do not see the group; cells are the groups.

    METRICFIT_DATA=... python benchmarks/worlds/calibration.py [text in the name of a world]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricfit.calibration import SETTINGS, fit
from metricfit.calibration.candidates import candidates
from metricfit.calibration.choice import walk
from metricfit.calibration.curves import curve_candidates
from metricfit.calibration.folds import fold_rows
from metricfit.calibration.model import FAMILIES

CACHE = Path(__file__).parent / ".cache"
DATA = Path(os.environ["METRICFIT_DATA"])
MODELS = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    "boosted": lambda: HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=12, random_state=0),
    "bayes": lambda: make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-4)),
    "forest": lambda: RandomForestClassifier(60, min_samples_leaf=2, random_state=0),
}
BUNDLED = {"digits": load_digits, "wine": load_wine, "breast_cancer": load_breast_cancer}
FEATURES = (*BUNDLED, "abalone", "pageblocks", "macho", "satimage", "covtype")
GROUPS = ("crimes", "compas", "lawschool", "default", "adult")
PROBABILITIES = (
    "cifar10_flip",
    "cifar55_test",
    "cifar100_cv",
    "news20_cv",
    "debian_section_mlp",
    "debian_maintainer_mlp",
)
SIZES = {"covtype": (1000, 5000, 20_000, 80_000), "wine": (400,), "breast_cancer": (400,)}
NEW_ROWS, FEW = 20_000, 600


def worlds(text: str = "") -> Iterator[tuple[str, tuple]]:
    """Yield a name and (P, y, cells) to fit on and on new rows."""
    for name in (*FEATURES, *GROUPS):
        for size in SIZES.get(name, (400, 4000)):
            for model in MODELS:
                for seed in (0, 1) if size <= 5000 else (0,):
                    key = f"{name}-{size}-{model}-{seed}"
                    slow = model != "logistic" and size > 20_000
                    if text in key and not slow:
                        yield key, trained(name, size, model, seed, CACHE / f"{key}.npz")
    for name in PROBABILITIES:
        if text in name:
            with np.load(DATA / f"{name}.npz") as file:
                data = dict(file)
            P, y = (data[k] if k in data else data[f"{k}_test"] for k in "Py")
            for size in (300, 3000, len(y) // 2):
                order = np.random.default_rng(0).permutation(len(y))
                fit, new = order[:size], order[len(y) // 2 :][:NEW_ROWS]
                yield f"{name}-{size}", (*given(P, y, fit), *given(P, y, new))
    for shape in ("right", "sure", "shifted", "mixed", "cells"):
        for size, n in ((300, 3), (3000, 5), (20_000, 8)):
            if text in f"made-{shape}":
                yield f"made-{shape}-{size}", (*made(shape, size, n, 0), *made(shape, NEW_ROWS, n, 1))


def given(P, y, rows):
    proba = P[rows].astype(np.float64)
    return proba / proba.sum(axis=1, keepdims=True), y[rows].astype(int), np.zeros(len(rows), int)


def made(shape: str, size: int, n: int, seed: int):
    """Return probabilities that are wrong in a known way, labels and cells."""
    random = np.random.default_rng(seed)
    right = random.dirichlet(np.full(n, 0.5), size)
    y = (random.random((size, 1)) > right.cumsum(axis=1)).sum(axis=1).clip(0, n - 1)
    cells, z = random.integers(0, 4, size), np.log(np.maximum(right, 1e-9))
    turn = np.eye(n) + 0.3 * np.random.default_rng(9).normal(size=(n, n)) / np.sqrt(n)
    z = {
        "right": z,
        "sure": 1.7 * z,
        "shifted": 1.3 * z + np.linspace(-1, 1, n),
        "mixed": z @ turn,
        "cells": z + (cells[:, None] - 1.5) * np.linspace(-0.4, 0.4, n),
    }[shape]
    P = np.exp(z - z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True), y, cells


def trained(name: str, size: int, model: str, seed: int, cache: Path):
    """Return cross-fitted probabilities of tuning rows and those of new rows, computed once."""
    keys = ("P", "y", "cells", "P_new", "y_new", "cells_new")
    if cache.exists():
        with np.load(cache) as file:
            return tuple(file[key] for key in keys)
    if name in BUNDLED:
        data = BUNDLED[name]()
        X, y, group = data.data, data.target, np.zeros(len(data.target), int)
    else:
        with np.load(DATA / f"{name}.npz") as file:
            X, y = file["X"].astype(np.float64), file["y"].astype(int)
            group = file["group"].astype(int) if "group" in file else np.zeros(len(y), int)
    if group.any():
        with np.errstate(invalid="ignore"):
            told = [abs(np.corrcoef(column, group)[0, 1]) for column in X.T]
        X = X[:, ~(np.array(told) > 0.99)]
    order = np.random.default_rng(seed).permutation(len(y))
    size = min(size, int(0.7 * len(y)))
    fit, new = order[:size], order[size:][:NEW_ROWS]
    kept = np.unique(y[fit], return_counts=True)
    classes = kept[0][kept[1] >= 5]  # cross-fitting needs a row of each class in each part
    fit, new = fit[np.isin(y[fit], classes)], new[np.isin(y[new], classes)]
    codes = np.searchsorted(classes, y)
    estimator = MODELS[model]()
    P = cross_val_predict(estimator, X[fit], codes[fit], cv=5, method="predict_proba")
    P_new = estimator.fit(X[fit], codes[fit]).predict_proba(X[new])
    values = (P, codes[fit], group[fit], P_new, codes[new], group[new])
    CACHE.mkdir(exist_ok=True)
    np.savez(cache, **dict(zip(keys, values, strict=True)))
    return values


def log_loss(P, y) -> float:
    return float(-np.log(np.maximum(P[np.arange(len(y)), y], 1e-6)).mean())


def judged(P, y, cells, P_new, y_new, cells_new) -> dict[str, float]:
    """Return the log loss on new rows of each family, at the ridge that its folds choose, and of the choice."""
    n_cells = max(cells.max(), cells_new.max()) + 1
    rows = fold_rows(P, y, None, cells, SETTINGS.choosing_rows(P.shape[1]), SETTINGS.folds)
    tried: dict[str, list] = {}
    entries = list(candidates(rows, SETTINGS))
    plain = entries[walk(entries, rows.weights, SETTINGS)]
    for entry in [*entries, *curve_candidates(rows, plain, SETTINGS)]:
        tried.setdefault(entry.name, []).append(entry)
    best = {name: min(entries, key=lambda entry: entry.losses.mean()) for name, entries in tried.items()}
    losses = {name: log_loss(entry.final(rows)(P_new), y_new) for name, entry in best.items()}
    start = time.process_time()
    common, report = fit(P, y)
    losses["ms"] = 1e3 * (time.process_time() - start)
    losses["chosen"], losses["promised"] = log_loss(common(P_new), y_new), report.log_loss_after
    in_cells = fit(P, y, None, cells, n_cells)[0] if n_cells > 1 else common
    return {**losses, "in cells": log_loss(in_cells(P_new, cells_new), y_new)}


def main(text: str = "") -> None:
    """Print a line for each world, then means over those with few rows and with many."""
    table = {}
    for key, world in worlds(text):
        table[key] = {"rows": len(world[1]), **judged(*world)}
        print(key, " ".join(f"{name} {value:.4g}" for name, value in table[key].items()), flush=True)
    frame = pd.DataFrame(table).T
    few = frame["rows"] < FEW
    fixed = [*FAMILIES, "chosen", "in cells"]
    for name, part in (("few rows", frame[few]), ("many rows", frame[~few]), ("all", frame)):
        # A family that is not tried with so few rows or so many classes leaves the probabilities as they are.
        filled = part.reindex(columns=fixed).apply(lambda column, part=part: column.fillna(part["none"]))
        above = filled.sub(filled[[*FAMILIES]].min(axis=1), axis=0)
        print(
            f"\n{name}: {len(part)} worlds; log loss on new rows, above the best family of each world, and above none"
        )
        worst = filled.sub(part["none"], axis=0).max()
        print(pd.DataFrame({"mean": filled.mean(), "above best": above.mean(), "worst": worst}).round(4))
        print(f"promised minus reached {(part['promised'] - part['chosen']).mean():+.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
