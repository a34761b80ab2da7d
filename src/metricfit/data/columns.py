"""Columns of any library as sorted distinct values and integer codes.

Columns may be lists, NumPy arrays, or columns of pandas, polars and pyarrow frames; none of these libraries is
imported. Values are equal across them: ``1``, ``1.0`` and ``np.int64(1)`` are the same value, ``"1"`` is another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from metricfit.data.validation import MISSING_TYPES, label, unmasked
from metricfit.messages import rows_text
from metricfit.types import IntArray, Label


def is_frame(data: object) -> bool:
    """Return whether the data has named columns."""
    return isinstance(data, Mapping) or hasattr(data, "columns")


def is_arrow(data: object) -> bool:
    """Return whether the data is an array or a table of pyarrow, which need not be imported to tell."""
    return type(data).__module__.partition(".")[0] == "pyarrow"


def frame_columns(frame: Any) -> list[Any]:
    """Return the names of the columns of a frame or mapping, in their order; pyarrow calls its arrays "columns".

    Examples
    --------
    >>> frame_columns({"sex": ["F"], "age": [30]})
    ['sex', 'age']
    """
    if isinstance(frame, Mapping):
        return list(frame)
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def read_frame(frame: Any, name: str) -> dict[str, Any]:
    """Return the columns of a frame or mapping by name.

    Parameters
    ----------
    frame : mapping, pandas or polars DataFrame, or pyarrow Table
        The data.
    name : str
        The argument's name, for messages.

    Returns
    -------
    dict

    Examples
    --------
    >>> read_frame({"sex": ["F", "M"]}, "sensitive_features")
    {'sex': ['F', 'M']}
    """
    names = frame_columns(frame)
    wrong = [column for column in names if not isinstance(column, str)]
    if wrong:
        raise ValueError(f"{name} has a column named {wrong[0]!r}; column names must be strings, rename it")
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise ValueError(f"{name} has more than one column named {twice!r}; rename or drop one of them")
    return {column: frame[column] for column in names}


def some_rows(column: Any, rows: slice) -> Any:
    """Return some rows of an array or of a column of a frame, whose own index may start anywhere.

    Examples
    --------
    >>> import pandas as pd
    >>> some_rows(pd.Series([5, 6, 7], index=[9, 8, 7]), slice(0, 2)).tolist()
    [5, 6]
    """
    return getattr(column, "iloc", column)[rows]


def sort_key(value: Label) -> tuple[bool, Label]:
    """Return the sort key of a label: numbers come before strings.

    Examples
    --------
    >>> sorted(["b", 2, "a", 1], key=sort_key)
    [1, 2, 'a', 'b']
    """
    return isinstance(value, str), value


def factorize(
    column: Any, name: str, missing: Label | None = None, advice: str = "give them their own value"
) -> tuple[list[Label], IntArray]:
    """Return the sorted distinct values of a column and each row's index among them.

    Parameters
    ----------
    column : one-dimensional array-like
        A list, array, or column of a frame.
    name : str
        What the column is, for messages.
    missing : label, optional
        The label for missing values; without it they are an error.
    advice : str
        What that error suggests besides dropping the rows.

    Returns
    -------
    values : list of str, int, float or bool
        Numbers come before strings.
    codes : ndarray of shape (N,)
        ``values[codes[i]]`` is row ``i``'s value. Do not write to them: they may be the column itself.

    Raises
    ------
    ValueError
        For missing values, values that are not plain scalars, or more than one dimension.

    Examples
    --------
    >>> values, codes = factorize(["b", "a", "b"], "y")
    >>> values, codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    raw, codes = _distinct(column, name)
    gaps = np.array([is_missing(value) for value in raw], dtype=bool)
    if gaps.any() and missing is None:
        _raise_missing(np.flatnonzero(gaps[codes]), name, advice)
    if gaps.any():
        filled = [missing if gap else value for value, gap in zip(raw, gaps, strict=True)]
        raw, places = distinct_objects(filled, name)
        codes = places[codes]
    values = [label(value, f"a value of {name}") for value in raw]
    order = sorted(range(len(values)), key=lambda i: sort_key(values[i]))
    if order == list(range(len(values))):
        return values, codes
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return [values[i] for i in order], rank[codes]


def has_gaps_beside(column: Any, name: str, value: Label) -> bool:
    """Return whether a column has missing entries and entries of a value.

    Examples
    --------
    >>> has_gaps_beside(["a", None], "y", "a"), has_gaps_beside(["a", "b"], "y", "a")
    (True, False)
    """
    raw = _distinct(column, name)[0]
    gaps = [is_missing(entry) for entry in raw]
    return any(gaps) and any(not gap and entry == value for entry, gap in zip(raw, gaps, strict=True))


def _distinct(column: Any, name: str) -> tuple[Sequence[Any], IntArray]:
    """Return distinct values in any order, and codes into them; missing values count as values."""
    if isinstance(column, list | tuple):
        return distinct_objects(column, name)
    if str(getattr(column, "dtype", "")) == "category":
        return _distinct_categories(getattr(column, "cat", column))
    array = _as_array(column, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one value per row; got shape {array.shape}")
    kind = array.dtype.kind
    if kind in "mM" and array.size:  # a list of these is one of numbers, where the unit is a nanosecond
        label(array[0], f"a value of {name}")
    if kind in "biu" and array.size:
        low, high = int(array.min()), int(array.max())
        if high - low < max(1024, 2 * array.size):
            return _distinct_range(array, low, high)
    if kind in "biuf":
        values, codes = np.unique(array, return_inverse=True)
        return values.tolist(), codes
    return distinct_objects(array.tolist(), name)


def _as_array(column: Any, name: str) -> Any:
    if is_arrow(column):
        # Python's own objects: pyarrow's to_numpy decodes the nulls of a dictionary column as ordinary values.
        if column.null_count:
            return np.array(column.to_pylist(), dtype=object)
        import pyarrow as pa

        try:
            return column.to_numpy(zero_copy_only=False)
        except (pa.ArrowException, ValueError) as error:  # texts that are no UTF-8, say
            raise ValueError(f"{name} cannot be read: {error}") from error
    array = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(unmasked(column))
    if array.dtype.kind == "f" and "int" in str(column.dtype).lower():
        # Integers with missing values, which NumPy has only as floats.
        return np.array(list(column), dtype=object)
    return array


def _distinct_range(array: Any, low: int, high: int) -> tuple[list[Any], IntArray]:
    """Integers (and bools) of a small range: counting is far faster than sorting."""
    # Unsigned 64-bit values may not fit the signed type before the shift, all others only after widening.
    wide = array if array.dtype == np.uint64 else array.astype(np.intp, copy=False)
    offsets = (wide - low).astype(np.intp, copy=False) if low else wide.astype(np.intp, copy=False)
    present = np.bincount(offsets, minlength=high - low + 1) > 0
    values = [low + int(i) for i in np.flatnonzero(present)]
    if array.dtype.kind == "b":
        values = [bool(value) for value in values]
    return values, offsets if present.all() else (np.cumsum(present) - 1)[offsets]


def _distinct_categories(categorical: Any) -> tuple[list[Any], IntArray]:
    codes = np.asarray(categorical.codes).astype(np.intp)
    categories = [*categorical.categories.tolist(), None]
    codes[codes < 0] = len(categories) - 1
    used = np.bincount(codes, minlength=len(categories)) > 0
    return [categories[i] for i in np.flatnonzero(used)], (np.cumsum(used) - 1)[codes]


def distinct_objects(items: Sequence[Any], name: str) -> tuple[list[Any], IntArray]:
    """Return the distinct ones of some objects, in the order in which they come first, and codes into them.

    Examples
    --------
    >>> distinct_objects(["b", "a", "b"], "y")
    (['b', 'a'], array([0, 1, 0]))
    """
    try:
        index = dict.fromkeys(items)
    except TypeError as error:
        raise ValueError(f"{name} must be one-dimensional, one plain value per row: {error}") from error
    for code, value in enumerate(index):
        index[value] = code
    return list(index), np.fromiter(map(index.__getitem__, items), dtype=np.intp, count=len(items))


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, and what libraries have in their place.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return type(value).__name__ in MISSING_TYPES or (
        isinstance(value, float | np.floating | Decimal) and math.isnan(value)
    )


def _raise_missing(rows: IntArray, name: str, advice: str) -> None:
    raise ValueError(f"{name} is missing (NaN or None) in {rows_text(rows)}; drop these rows or {advice}")
