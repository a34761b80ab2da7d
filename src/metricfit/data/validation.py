"""Checks of the labels, lengths, weights and probabilities that users pass.

Every check returns the array to work with and leaves the user's own untouched. A message names the argument,
what is wrong, in how many rows and which are the first, and what to do next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from decimal import Decimal
from typing import Any

import numpy as np

from metricfit.messages import brief, count, rows_text
from metricfit.types import FloatArray, IntArray, Label

# How libraries call the types of what stands for a missing value, beside NaN.
MISSING_TYPES = frozenset({"NoneType", "NAType", "NaTType"})
SUM_TOLERANCE = 1e-3
# Half precision has 11 bits, so correct rows of many classes may miss 1 by more than the usual tolerance.
HALF_SUM_TOLERANCE = 1e-2
# Larger blocks would be faster, except on Dask workers, where memory of that size is returned to the system at once.
BLOCK_ENTRIES = 1 << 18


def label(value: object, name: str) -> Label:
    """Return ``value`` as a plain Python str, int, float or bool.

    Parameters
    ----------
    value : object
        A Python or NumPy scalar.
    name : str
        What the value is, for the message.

    Returns
    -------
    str, int, float or bool

    Examples
    --------
    >>> import numpy as np
    >>> label(np.int64(3), "a class"), label(Decimal("0.50"), "a class")
    (3, 0.5)
    >>> label(None, "a class")
    Traceback (most recent call last):
    ...
    ValueError: a class must be a string, an integer, a finite float or a bool; got None. Turn it into text
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, Decimal) and value.is_finite():  # of a database, or a table that comes from one
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float | np.floating) and np.isfinite(value):
        return float(value) + 0.0  # turns -0.0 into 0.0
    raise ValueError(
        f"{name} must be a string, an integer, a finite float or a bool; got {brief(value)}. Turn it into text"
    )


def check_lengths(**sizes: int | Sized | None) -> int:
    """Return the number of rows that all arguments share; ``None`` arguments are left out.

    Parameters
    ----------
    **sizes : int, sized or None
        The arguments by name, or their numbers of rows.

    Returns
    -------
    int

    Examples
    --------
    >>> check_lengths(proba=3, y=["a", "b", "b"], sample_weight=None)
    3
    >>> check_lengths(proba=3, y=["a"])
    Traceback (most recent call last):
    ...
    ValueError: lengths differ: proba has 3 rows, y has 1; pass one entry per row in each of them
    """
    lengths = {
        name: size if isinstance(size, int) else len(size) for name, size in sizes.items() if size is not None
    }
    if len(set(lengths.values())) > 1:
        (first, rows), *others = lengths.items()
        rest = ", ".join(f"{name} has {length:,}" for name, length in others)
        raise ValueError(
            f"lengths differ: {first} has {count(rows, 'row')}, {rest}; pass one entry per row in each of them"
        )
    return next(iter(lengths.values()), 0)


def unmasked(values: Any) -> Any:
    """Return a masked array as one with None where it is masked, which counts as missing; other values as they are.

    Examples
    --------
    >>> unmasked(np.ma.masked_array([1, 2], mask=[False, True])).tolist(), unmasked([1, 2])
    ([1, None], [1, 2])
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        plain = values.data.astype(object)
        plain[np.ma.getmaskarray(values)] = None
        return plain
    return values


def check_several_classes(n: int) -> None:
    """Raise unless there are two or more classes to decide between.

    Examples
    --------
    >>> check_several_classes(2)
    """
    if n < 2:
        raise ValueError(
            "proba has one column, so there is one class and nothing to decide; pass two or more"
        )


# Weights up to this can be squared and summed without overflow.
LARGEST_WEIGHT = 1e100


def check_weights(
    sample_weight: Any, n_rows: int, name: str = "sample_weight", *, allow_zero: bool = False
) -> FloatArray | None:
    """Return the weights as float64, or ``None`` for equal weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,) or None
        Non-negative weights, at least one of them positive.
    n_rows : int
        The number of rows of the data.
    name : str, default="sample_weight"
        The argument's name, for messages.
    allow_zero : bool, default=False
        Whether all weights may be zero, as in a part of the rows.

    Returns
    -------
    ndarray of shape (n_rows,) or None

    Examples
    --------
    >>> check_weights([1, 3], 2)
    array([1., 3.])
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(unmasked(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error
    if weights.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one weight per row; got shape {weights.shape}")
    check_lengths(**{"the data": n_rows, name: len(weights)})
    bad = np.flatnonzero(~np.isfinite(weights))
    if bad.size:
        raise ValueError(
            f"{name} is NaN or infinite in {rows_text(bad)}; give these rows weight 0 or drop them"
        )
    bad = np.flatnonzero(weights < 0)
    if bad.size:
        raise ValueError(f"{name} is negative in {rows_text(bad)}; give these rows weight 0 or drop them")
    bad = np.flatnonzero(weights > LARGEST_WEIGHT)
    if bad.size:
        raise ValueError(
            f"{name} is larger than {LARGEST_WEIGHT:g} in {rows_text(bad)}; divide all weights by a large number"
        )
    if n_rows and not allow_zero and not weights.any():
        raise ValueError(f"{name} is zero in all {n_rows} rows; at least one weight must be positive")
    return weights


def check_proba(
    proba: Any, n_columns: int | None = None, *, name: str = "proba", allow_empty: bool = False
) -> FloatArray:
    """Return class probabilities as a C-contiguous float32 or float64 array, checked.

    Arrays of this kind are returned without a copy; half precision and integers become a renormalised float32 copy. The
    check itself runs in blocks of rows and never makes a second N x n array.

    Parameters
    ----------
    proba : array-like of shape (N, n)
        One row per example, one column per class.
    n_columns : int, optional
        The required number of columns.
    name : str, default="proba"
        The argument's name, for messages.
    allow_empty : bool, default=False
        Whether zero rows are allowed.

    Returns
    -------
    ndarray of shape (N, n)

    Raises
    ------
    ValueError
        For a wrong shape, NaN, negative entries, or rows that do not sum to 1 within 1e-3.

    Examples
    --------
    >>> check_proba([[0.25, 0.75]])
    array([[0.25, 0.75]])
    >>> check_proba([[1.0, 3.0]])
    Traceback (most recent call last):
    ...
    ValueError: proba does not sum to 1 (within 0.001) in 1 row (0); if these are scores to be normalised,
    pass proba / proba.sum(axis=1, keepdims=True)
    """
    array = _as_numbers(proba, name)
    if array.ndim == 1:
        raise ValueError(
            f"{name} must have two dimensions, rows and classes; got shape {array.shape}. For the "
            f"probability p of the second of two classes pass np.column_stack([1 - p, p]), for one row alone [row]"
        )
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, rows and classes; got shape {array.shape}")
    rows, columns = array.shape
    if n_columns is not None and columns != n_columns:
        raise ValueError(
            f"{name} has {columns} columns but there are {n_columns} classes; pass one column per class"
        )
    if columns == 0:
        raise ValueError(f"{name} has no columns; pass one column per class")
    if columns == 1 and np.any(np.abs(array - 1) > HALF_SUM_TOLERANCE):
        raise ValueError(
            f"{name} has one column; pass one column per class. For the probability p of the second of two classes "
            f"that is np.column_stack([1 - p, p])"
        )
    if rows == 0 and not allow_empty:
        raise ValueError(f"{name} has no rows; pass at least one row")
    if array.dtype in (np.float32, np.float64):
        array = np.ascontiguousarray(array)
        _check_rows(array, name, SUM_TOLERANCE)
        return array
    tolerance = HALF_SUM_TOLERANCE if array.dtype == np.float16 else SUM_TOLERANCE
    wide = array.itemsize > 8 and array.dtype.kind == "f"
    array = np.array(array, dtype=np.float64 if wide else np.float32, order="C")
    _check_rows(array, name, tolerance)
    for block in row_blocks(rows, columns):
        array[block] /= array[block].sum(axis=1, keepdims=True)
    return array


def row_blocks(rows: int, columns: int, entries: int | None = None) -> Iterator[slice]:
    """Yield slices that split the rows into blocks of about ``entries`` entries, a quarter of a million by default.

    Examples
    --------
    >>> list(row_blocks(5, BLOCK_ENTRIES // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, (entries or BLOCK_ENTRIES) // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _as_numbers(proba: Any, name: str) -> FloatArray:
    try:
        array: FloatArray = np.asarray(unmasked(proba))
        if array.dtype.kind == "O" and array.ndim == 2:
            gaps = np.array([type(value).__name__ in MISSING_TYPES for value in array.flat]).reshape(
                array.shape
            )
            array = np.where(gaps, np.nan, array).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a two-dimensional array of numbers: {error}") from error
    if array.dtype.kind not in "fiub":
        dense = f"; pass {name}.toarray()" if hasattr(proba, "toarray") else ""
        raise ValueError(
            f"{name} must be a two-dimensional array of numbers; got {type(proba).__name__} of {array.dtype}{dense}"
        )
    return array


def _check_rows(array: FloatArray, name: str, tolerance: float) -> None:
    rows, columns = array.shape
    found: dict[str, list[IntArray]] = {"nan": [], "negative": [], "sum": []}
    for where in row_blocks(rows, columns):
        block = array[where]
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            # Twice as fast as a sum over short rows, but less exact; in doubtful cases the slow sum decides.
            if block.min() >= 0 and np.abs(np.einsum("ij->i", block) - 1).max() <= tolerance:  # False for NaN
                continue
            off = np.abs(block.sum(axis=1, dtype=np.float64) - 1)
        finite = np.isfinite(block).all(axis=1)
        negative = (block < 0).any(axis=1)
        found["nan"].append(where.start + np.flatnonzero(~finite))
        found["negative"].append(where.start + np.flatnonzero(finite & negative))
        found["sum"].append(where.start + np.flatnonzero(finite & ~negative & (off > tolerance)))
    bad = {kind: np.concatenate(parts) for kind, parts in found.items() if parts}
    if not any(part.size for part in bad.values()):
        return
    if bad["nan"].size:
        raise ValueError(f"{name} is NaN or infinite in {rows_text(bad['nan'])}; drop or repair these rows")
    if bad["negative"].size:
        raise ValueError(
            f"{name} is negative in {rows_text(bad['negative'])}; if these are log-probabilities or scores, "
            f"turn them into probabilities first"
        )
    raise ValueError(
        f"{name} does not sum to 1 (within {tolerance:g}) in {rows_text(bad['sum'])}; if these are scores to "
        f"be normalised, pass {name} / {name}.sum(axis=1, keepdims=True)"
    )
