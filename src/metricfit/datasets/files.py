"""Loaders of the paper's data sets: from a folder, else from OpenML, and never without a check."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit.datasets import openml
from metricfit.datasets.registry import FILES, GROUP_NAMES
from metricfit.datasets.sources import RECIPES
from metricfit.exceptions import DatasetError
from metricfit.messages import unknown

#: The environment variable that names the folder with the data sets.
FOLDER_VARIABLE = "METRICFIT_DATA"

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """The arrays of one data set; those it does not have are None.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    source : {"folder", "openml"}
        Where it came from. OpenML keeps the rows in another order than the paper's authors, so their
        train/test splits need the folder.
    X, y : ndarray or None
        Features (float32) and labels counted from 0.
    group : ndarray or None
        The protected attribute counted from 0; equal to column 0 of `X`.
    group_name : str or None
        What `group` is: "gender" or "race".
    P, P_train, P_test : ndarray or None
        Class probabilities given by an already trained model.
    y_train, y_test : ndarray or None
        The labels those probabilities are judged by.
    true_y_train, true_y_test : ndarray or None
        The clean labels, where the others are noisy.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.datasets import Dataset
    >>> Dataset("tiny", "folder", X=np.zeros((3, 2)), y=np.array([0, 1, 0]))
    Dataset('tiny', source='folder', X=3x2, y=3)
    """

    name: str
    source: str
    X: Array | None = None
    y: Array | None = None
    group: Array | None = None
    group_name: str | None = None
    P: Array | None = None
    P_train: Array | None = None
    y_train: Array | None = None
    true_y_train: Array | None = None
    P_test: Array | None = None
    y_test: Array | None = None
    true_y_test: Array | None = None

    def __repr__(self) -> str:
        shapes = [
            f", {key}={'x'.join(map(str, value.shape))}"
            for key, value in vars(self).items()
            if isinstance(value, np.ndarray)
        ]
        return f"Dataset({self.name!r}, source={self.source!r}{''.join(shapes)})"


def names() -> tuple[str, ...]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> from metricfit.datasets import names
    >>> names()[:4]
    ('abalone', 'adult', 'cifar100_cv', 'cifar10_flip')
    """
    return tuple(FILES)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load one of the paper's data sets, checked against its known shape and SHA-256.

    The file ``<name>.npz`` is looked for in `folder`, or without one in the folder that the environment
    variable METRICFIT_DATA names. When neither names a folder with that file, abalone, pageblocks and default
    are fetched from OpenML, through scikit-learn and its cache. Only a `folder` given here is final.

    Parameters
    ----------
    name : str
        One of `names()`.
    folder : path, optional
        Where the files are.

    Returns
    -------
    Dataset
        The arrays, as stored.

    Raises
    ------
    DatasetError
        When the name is unknown, the data set cannot be found, or it is damaged.

    Examples
    --------
    >>> from metricfit.datasets import load
    >>> load("abalon")
    Traceback (most recent call last):
    ...
    metricfit.exceptions.DatasetError: unknown data set 'abalon'; did you mean 'abalone'? Known: ...
    """
    if name not in FILES:
        raise DatasetError(f"{unknown('data set', name, FILES)}; metricfit.datasets.names() lists them all.")
    place = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    if place is not None and (path := Path(place) / f"{name}.npz").is_file():
        arrays = _read(path, tuple(FILES[name]))
        check(name, arrays, f"The file {path}", "Get the file again.")
        return Dataset(name, "folder", group_name=GROUP_NAMES.get(name), **arrays)
    if folder is not None:
        raise DatasetError(
            f"folder={os.fspath(folder)!r} has no file {name}.npz. Give the folder that holds it, "
            f"or set {FOLDER_VARIABLE} to it."
        )
    return _from_openml(name, place)


def _read(path: Path, keys: tuple[str, ...]) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(path) as archive:
            missing = [key for key in keys if f"{key}.npy" not in archive.namelist()]
        if not missing:
            with np.load(path, allow_pickle=False) as stored:
                return {key: stored[key] for key in keys}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(f"The file {path} cannot be read ({error}). Get the file again.") from error
    raise DatasetError(f"The file {path} lacks the arrays {missing}. Get the file again.")


def check(name: str, arrays: Mapping[str, Array], what: str, move: str, *, checksum: bool = True) -> None:
    """Raise unless every array has the shape, the type and (with `checksum`) the bytes known for `name`."""
    for key, expected in FILES[name].items():
        array = arrays[key]
        if (array.shape, str(array.dtype)) != (expected.shape, expected.dtype):
            raise DatasetError(
                f"{what} has {key} of shape {array.shape} and type {array.dtype}; {name} has "
                f"{expected.shape} of {expected.dtype}. {move}"
            )
        if checksum and sha256(array) != expected.sha256:
            raise DatasetError(f"{what} is damaged or another version: the SHA-256 of {key} differs. {move}")


def sha256(array: Array) -> str:
    """Return the SHA-256 of the little-endian bytes of an array in row order."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return hashlib.sha256(little.reshape(-1).view(np.uint8).data).hexdigest()


def _from_openml(name: str, place: str | os.PathLike[str] | None) -> Dataset:
    looked = (
        f"{FOLDER_VARIABLE} is not set" if place is None else f"{FOLDER_VARIABLE}={place!r} has no {name}.npz"
    )
    move = (
        f"Run 'metricfit datasets build FOLDER', which makes {name}.npz, and set {FOLDER_VARIABLE} to the folder."
        if name in RECIPES
        else f"Set {FOLDER_VARIABLE} to the folder that holds {name}.npz, or give folder=."
    )
    if name not in openml.RECIPES:
        raise DatasetError(
            f"{name} was not found: {looked}, and OpenML does not have it in this form. {move}"
        )
    data_id = openml.RECIPES[name].data_id
    try:
        arrays = openml.fetch(name)
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{name} was not found: {looked}, and fetching data set {data_id} from OpenML failed "
            f"({error}). {move}"
        ) from error
    what = f"OpenML's data set {data_id}"
    check(name, arrays, what, move, checksum=False)
    if openml.sorted_rows_sha256(arrays["X"], arrays["y"]) != openml.RECIPES[name].sorted_rows_sha256:
        raise DatasetError(
            f"{what} has other rows than {name}: the SHA-256 of its sorted rows differs. {move}"
        )
    return Dataset(name, "openml", group_name=GROUP_NAMES.get(name), **arrays)
