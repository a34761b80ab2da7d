"""Rows are matched by position; an index of pandas that says otherwise is refused.

Rows with the same index in another order are those of a shuffled table. Aligning them could be as wrong as not doing
so: after ``reset_index``, or for the output of a model, it is the position that counts. So the user decides.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from metricfit.messages import rows_text


def check_row_order(**arguments: Any) -> None:
    """Raise if the index of an argument is that of another in another order; only pandas objects have one.

    An index that has other values, or fewer of them, says nothing of the order and is left alone.

    Examples
    --------
    >>> import pandas as pd
    >>> y = pd.Series([0, 1, 1])
    >>> check_row_order(proba=pd.DataFrame({"a": [0.9, 0.2, 0.1]}), y=y)
    >>> check_row_order(y=y, sensitive_features=["F", "M", "F"], sample_weight=y[::-1])
    Traceback (most recent call last):
    ...
    ValueError: sample_weight has the index of y in another order, in 2 rows (0, 2); rows are matched by position. ...
    """
    known: list[tuple[str, Any]] = []
    for name, index in _indexes(arguments):
        if any(index.equals(other) for _, other in known):
            continue
        for first, other in known:
            if _reordered(index, other):
                raise ValueError(_message(name, index, first, other))
        known.append((name, index))


def _indexes(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the index of each argument, or column of a mapping, that is a frame or a series of pandas."""
    pandas = sys.modules.get("pandas")  # who has not imported it passes none of its objects
    if pandas is None:
        return
    for name, value in arguments.items():
        if isinstance(value, Mapping):
            yield from _indexes({f"{name} column {column!r}": entry for column, entry in value.items()})
        elif isinstance(value, pandas.DataFrame | pandas.Series):
            yield name, value.index


def _reordered(index: Any, other: Any) -> bool:
    """Return whether two indexes that differ have the same values."""
    if len(index) != len(other) or index.nlevels != other.nlevels:
        return False
    return bool(index.isin(other).all() and other.isin(index).all())


def _message(name: str, index: Any, first: str, other: Any) -> str:
    rows = rows_text(np.flatnonzero(np.asarray(index != other)))
    found = f"{name} has the index of {first} in another order, in {rows}; rows are matched by position."
    if not (index.is_unique and other.is_unique):
        return (
            f"{found} The index repeats values, so it cannot match rows either: sort both tables alike, then pass "
            ".to_numpy() of either"
        )
    return (
        f"{found} Pass {name}.loc[{first}.index] to match them by index, or {name}.to_numpy() if the order is right "
        "as it is"
    )
