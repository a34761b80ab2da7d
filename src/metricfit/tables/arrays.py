"""Columns of a table as arrays of numbers, and of probabilities that sum to 1."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from metricfit.data.columns import is_arrow
from metricfit.data.validation import SUM_TOLERANCE, check_proba
from metricfit.messages import rows_text, some
from metricfit.types import FloatArray

# A number as files write it, or a word for none.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?|nan", re.ASCII | re.IGNORECASE)


def listing(names: Sequence[str]) -> str:
    """Return the first of some column names, for messages.

    Examples
    --------
    >>> listing(["p_a", "p_b"]), listing([])
    ("'p_a', 'p_b'", 'none')
    """
    return some(names, limit=8) or "none"


def numbers(column: Any, name: str) -> Any:
    """Return a column as an array of numbers; raise naming the rows that hold none.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers(pd.Series([1, 2]), "weight").tolist()
    [1, 2]
    """
    try:
        plain = _as_double(column)
        array = np.asarray(plain.to_numpy() if hasattr(plain, "to_numpy") else plain)
    except Exception as error:  # pyarrow's own, of several kinds: texts that are no UTF-8, say
        raise ValueError(f"column {name!r} must hold numbers; it cannot be read: {error}") from error
    if not len(array):
        return np.zeros(0)  # nothing to tell the type by
    if array.dtype.kind not in "fiub":
        values = array.tolist()
        bad = [row for row, value in enumerate(values) if not _is_number(value)]
        if not bad:
            raise ValueError(f"column {name!r} must hold numbers; it holds strings such as {values[0]!r}")
        strange = some(dict.fromkeys(values[row] for row in bad))
        hints = {"%": "shares are written as numbers, 5 % as 0.05", ",": "decimals have a point: 0.5"}
        said = next((f"{hint}; " for sign, hint in hints.items() if sign in str(values[bad[0]])), "")
        raise ValueError(
            f"column {name!r} must hold numbers; it holds {strange} in {rows_text(np.array(bad))}; {said}repair or "
            "drop these rows"
        )
    return array


def _as_double(column: Any) -> Any:
    """Return a column of decimals, as databases write them, in double precision; other columns as they are."""
    if not is_arrow(column):
        return column
    import pyarrow as pa

    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def _is_number(value: Any) -> bool:
    """Return whether a value is a number, or a string that is one in a column of strings; Python also reads 1_0."""
    if isinstance(value, str):
        return NUMBER.fullmatch(value.strip(" ")) is not None
    return isinstance(value, int | float)


def stacked(table: Any, names: Sequence[str], rows: int) -> FloatArray:
    """Return columns of numbers side by side, in single precision if all are."""
    columns = [numbers(table[name], name) for name in names]
    single = all(column.dtype == np.float32 for column in columns)
    proba: FloatArray = np.empty((rows, len(names)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        proba[:, j] = column
    return proba


def divided(proba: FloatArray) -> FloatArray:
    """Divide each row by its sum, in place; NaN and negative numbers are left to the check of probabilities.

    Examples
    --------
    >>> divided(np.array([[1.0, 3.0]])).tolist()
    [[0.25, 0.75]]
    """
    with np.errstate(invalid="ignore"):
        sums = proba.sum(axis=1, dtype=np.float64)
        empty = (sums == 0) & (proba >= 0).all(axis=1)
    if empty.any():
        raise ValueError(f"all probabilities are 0 in {rows_text(np.flatnonzero(empty))}; drop these rows")
    usable = np.isfinite(sums) & (sums > 0)
    np.divide(proba, sums[:, None], out=proba, where=usable[:, None], casting="same_kind")
    return proba


def checked(proba: FloatArray, names: Sequence[str], never: Callable[[], Sequence[str]] = list) -> FloatArray:
    """Return probabilities; raise an error that names invalid rows, and says what to do if they do not sum to 1.

    Parameters
    ----------
    proba : array of shape (N, n)
    names : sequence of str
        The column of each class.
    never : callable
        Returns the columns of classes that no row is labelled with, which may be no probabilities.
    """
    with np.errstate(invalid="ignore"):
        sums = proba.sum(axis=1, dtype=np.float64)
        off = (np.abs(sums - 1) > SUM_TOLERANCE) & (proba >= 0).all(axis=1) & np.isfinite(sums)
    if off.any():
        absent = never()
        why = (
            f"no row has a label for {listing(absent)}, so rename what is no probability; " if absent else ""
        )
        raise ValueError(
            f"the columns {listing(names)} do not sum to 1 (within {SUM_TOLERANCE:g}) in "
            f"{rows_text(np.flatnonzero(off))}; {why}repair these rows, or divide by the sums: normalize=True"
        )
    return check_proba(proba, name=f"a probability (columns {listing(names)})", allow_empty=True)
