"""The words in which errors speak of rows and names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from metricfit.types import IntArray


def some(values: Iterable[object], total: int | None = None, limit: int = 5) -> str:
    """Return the first few values as text, with the number of those left out.

    Examples
    --------
    >>> some(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    known = list(values)
    total = len(known) if total is None else total
    text = ", ".join(repr(value) for value in known[:limit])
    rest = total - min(len(known), limit)
    return f"{text} and {rest} more" if rest > 0 else text


def rows_text(rows: IntArray, total: int | None = None) -> str:
    """Return how many rows there are, and the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> rows_text(np.array([4, 17]))
    '2 rows (4, 17)'
    """
    total = len(rows) if total is None else total
    noun = "row" if total == 1 else "rows"
    return f"{total} {noun} ({some(map(int, rows[:5]), total)})"


def unknown(what: str, value: object, known: Iterable[object]) -> str:
    """Return the message for a name that does not exist, with the nearest that does.

    Parameters
    ----------
    what : str
        The kind of name, such as ``"class"``.
    value : object
        What was asked for.
    known : iterable
        The names that exist.

    Returns
    -------
    str

    Examples
    --------
    >>> unknown("class", "froud", ["ok", "fraud"])
    "unknown class 'froud'; did you mean 'fraud'? Known: 'ok', 'fraud'"
    """
    names = list(known)
    texts = {str(name).lower(): name for name in names}
    near = difflib.get_close_matches(str(value).lower(), texts, n=1)
    hint = f"; did you mean {texts[near[0]]!r}?" if near else "."
    return f"unknown {what} {value!r}{hint} Known: {some(names, limit=10) or 'none'}"
