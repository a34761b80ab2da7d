"""Class probabilities over the paper's ten splits, computed once and cached outside version control."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from metricfit import datasets

CACHE = Path(__file__).parent / "cache" / "probabilities"

MULTICLASS = ("abalone", "pageblocks", "macho", "satimage", "covtype")
FAIRNESS = ("compas", "lawschool", "adult", "crimes", "default")

# The authors' file of CovType has 14 columns that could not be identified; these are the ten numeric columns
# and the four area indicators. One L-BFGS run, because 298,618 rows leave no time for 20 Newton fits.
COVTYPE_COLUMNS = 14


@dataclass(frozen=True, eq=False)
class Split:
    """Probabilities, labels and groups of the training and the test rows of one split."""

    P: np.ndarray
    y: np.ndarray
    Pt: np.ndarray
    yt: np.ndarray
    g: np.ndarray
    gt: np.ndarray


def protocol(name: str, experiment: str) -> str:
    """Return how the features are scaled and the model is fitted.

    "raw" is the authors' protocol. Their MACHO is standardised over all rows, and once more on the training
    rows in the unconstrained and min-max scripts.
    """
    if name == "covtype":
        return "standardised14-lbfgs"
    if name == "macho":
        return "standardised-all" if experiment == "coverage" else "standardised-train"
    return "raw"


def split(name: str, seed: int, experiment: str = "hmean") -> Split:
    """Return one split of a data set, from the cache or freshly fitted."""
    how = protocol(name, experiment)
    path = CACHE / f"{name}-{seed}-{how}.npz"
    if not path.exists():
        arrays = _fit(name, seed, how)
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part.npz")
        np.savez(part, **arrays)
        part.replace(path)
    with np.load(path) as file:
        return Split(**{key: file[key] for key in ("P", "y", "Pt", "yt", "g", "gt")})


def features(name: str, seed: int, how: str) -> tuple[np.ndarray, ...]:
    """Return X, X_test, y, y_test, group, group_test of one split, scaled as the protocol says."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    data = datasets.load(name)
    X, y = data.X.astype(float), data.y.astype(int)
    group = np.zeros(len(y), dtype=int) if data.group is None else data.group.astype(int)
    if name == "covtype":
        X = X[:, :COVTYPE_COLUMNS]
    if how == "standardised-all":
        X = StandardScaler().fit_transform(X)
    X, Xt, y, yt, g, gt = train_test_split(X, y, group, test_size=0.3, random_state=seed)
    if how in ("standardised-train", "standardised14-lbfgs"):
        scaler = StandardScaler().fit(X)
        X, Xt = scaler.transform(X), scaler.transform(Xt)
    return X, Xt, y, yt, g, gt


def _fit(name: str, seed: int, how: str) -> dict[str, np.ndarray]:
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

    X, Xt, y, yt, g, gt = features(name, seed, how)
    if how.endswith("lbfgs"):
        model = LogisticRegression(C=1.0, max_iter=200)
    else:
        # The meaning of tol has changed since the authors ran it: this is their 1e-3.
        model = LogisticRegressionCV(solver="newton-cg", cv=2, tol=1e-3 / len(y))
    with warnings.catch_warnings():
        # Unscaled columns make some of the 20 fits stop at their limit, as they did for the authors.
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if model.classes_.size != y.max() + 1:
        raise ValueError(f"split {seed} of {name} has no training row of some class")
    as_stored = (lambda p: p.astype(np.float32)) if name == "covtype" else np.asarray
    return {
        "P": as_stored(model.predict_proba(X)),
        "y": y,
        "Pt": as_stored(model.predict_proba(Xt)),
        "yt": yt,
        "g": g,
        "gt": gt,
    }
