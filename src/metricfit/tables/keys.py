"""Keys of rows as tables write them: the same case is the same key in every file, whatever the other rows are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from metricfit.data.columns import is_arrow

# Numbers without leading zeros: 007 stays a string, so that it is the same key as in the file. Programs write a column
# of whole numbers as 5.0 if an entry was missing once. More digits have the same hash as a number and as a string.
WHOLE = re.compile(r"(0|-?[1-9][0-9]{0,19})(\.0+)?")


def keys_of(column: Any, name: str) -> Any:
    """Return a column of keys, in which each text that is a whole number is that number.

    Each entry is read by itself. If it depended on the others, a case would get another rule in another file.

    Parameters
    ----------
    column : column of a pandas or pyarrow frame
        Those of pandas hold text.
    name : str
        What messages call the column.

    Returns
    -------
    list or the column
        As `metricfit.policy.row_hash.key_words` takes them.

    Raises
    ------
    ValueError
        For booleans and for floats that are not exactly whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> keys_of(np.array(["5", "5.0", "007", "x"], dtype=object), "case")
    [5, 5, '007', 'x']
    """
    if not is_arrow(column):
        return [_typed(entry) for entry in column.tolist()]
    import pyarrow.types as kinds

    kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
    if kinds.is_boolean(kind):
        _refuse(name, f"its type is {kind}")
    if kinds.is_floating(kind):
        _refuse_inexact(column.drop_null().to_numpy(zero_copy_only=False), name)
    if kinds.is_decimal(kind):
        parts = [value for value in column.to_pylist() if value is not None and value % 1]
        if parts:
            _refuse(name, f"it has {parts[0]}, which is not a whole number")
    if str(kind) in ("string", "large_string", "string_view"):
        return [_typed(entry) for entry in column.to_pylist()]
    return column


def _typed(entry: Any) -> Any:
    found = WHOLE.fullmatch(entry) if isinstance(entry, str) else None
    return int(found[1]) if found else entry


def _refuse_inexact(values: Any, name: str) -> None:
    """Refuse floats that are no whole numbers, or so large that several whole numbers have become the same one."""
    most = 2.0 ** (np.finfo(values.dtype).nmant + 1)
    wrong = values[(np.abs(values) > most) | ((values != np.floor(values)) & ~np.isnan(values))]
    if len(wrong):
        _refuse(name, f"it has {float(wrong[0])!r}, which is not exactly a whole number")


def _refuse(name: str, why: str) -> None:
    raise ValueError(
        f"{name}: keys are whole numbers or strings, but {why}; write the column as integers or strings"
    )
