"""How the data sets that OpenML has become the arrays of the paper's authors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricfit.datasets.registry import FILES

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
Arrays = dict[str, Array]


def abalone(features: pd.DataFrame, target: pd.Series) -> Arrays:
    """Code sex as infant 0, female 1, male 2; rings 5 to 15 are classes 1 to 11, all others class 0."""
    sex = features.iloc[:, 0].astype(str).map({"I": 0, "F": 1, "M": 2})
    X = np.column_stack([sex, features.iloc[:, 1:].astype(float)])
    rings = target.astype(str).astype(float).to_numpy()
    y = np.where((rings >= 5) & (rings <= 15), rings - 4, 0)
    return {"X": X.astype(np.float32), "y": y.astype(np.int16)}


def pageblocks(features: pd.DataFrame, target: pd.Series) -> Arrays:
    """Count the classes from 0."""
    y = target.astype(str).astype(float).to_numpy() - 1
    return {"X": features.astype(float).to_numpy().astype(np.float32), "y": y.astype(np.int16)}


def default(features: pd.DataFrame, target: pd.Series) -> Arrays:
    """Move sex, coded men 0 and women 1, to the front."""
    raw = features.astype(float).to_numpy()
    X = np.column_stack([raw[:, 1] - 1, raw[:, 0], raw[:, 2:]]).astype(np.float32)
    y = target.astype(str).astype(float).to_numpy()
    return {"X": X, "y": y.astype(np.int16), "group": X[:, 0].astype(np.int8)}


class Recipe(NamedTuple):
    """An OpenML data set, how to turn it into arrays, and the SHA-256 of its sorted rows."""

    data_id: int
    convert: Callable[[pd.DataFrame, pd.Series], Arrays]
    sorted_rows_sha256: str


# The others are absent on purpose: OpenML has them with other rows or in other codings, or not at all.
RECIPES = {
    "abalone": Recipe(183, abalone, "c765a2edeab079bd90a6508cf8d01f15266644ed0f7f1e7deb0be9e2a25bc3b3"),
    "pageblocks": Recipe(30, pageblocks, "9d1da0be36b8f8281c97a5fc5d4646e58e24c717a5eb75279120a7910a7d5fdb"),
    "default": Recipe(42477, default, "3b6a3442021c7569e587a4fa6a15eb8a66e970b38922b77bee098a89ebaca8b4"),
}


def fetch(name: str) -> Arrays:
    """Fetch a data set through scikit-learn, which caches it, and convert it."""
    from sklearn.datasets import fetch_openml

    recipe = RECIPES[name]
    bunch = fetch_openml(data_id=recipe.data_id, as_frame=True, parser="auto")
    expected = FILES[name]["X"].shape
    if bunch.data.shape != expected:
        raise ValueError(f"it has {bunch.data.shape} rows and columns instead of {expected}")
    return recipe.convert(bunch.data, bunch.target)


def sorted_rows_sha256(X: Array, y: Array) -> str:
    """Return the SHA-256 of the rows (X, y) as float32 in sorted order.

    OpenML keeps the rows in another order than the paper's authors did, so only the collection of rows can be
    compared.
    """
    rows = np.column_stack([X, y]).astype("<f4")
    # Adding 0.0 turns -0.0, which sorts and compares as 0.0, into the same bytes.
    rows = rows[np.lexsort(rows.T[::-1])] + np.float32(0.0)
    return hashlib.sha256(rows.reshape(-1).view(np.uint8).data).hexdigest()
