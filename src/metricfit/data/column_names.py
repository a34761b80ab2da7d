"""Names of columns and rows as labels, and where each class is among them.

Frames of probabilities and tables of costs are read by such names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from metricfit.data.columns import frame_columns
from metricfit.data.validation import label
from metricfit.types import Label


def column_labels(frame: Any) -> tuple[Label, ...] | None:
    """Return the names of a frame's columns as plain labels; None if the columns are only numbered.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> column_labels(pd.DataFrame(np.eye(2))), column_labels(pd.DataFrame(np.eye(2), columns=["a", "b"]))
    (None, ('a', 'b'))
    """
    return _labels(frame_columns(frame))


def row_labels(frame: Any) -> tuple[Label, ...] | None:
    """Return the index of a pandas frame as plain labels; None if the rows are only numbered.

    Examples
    --------
    >>> import pandas as pd
    >>> row_labels(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]))
    ('x', 'y')
    """
    return _labels(list(frame.index)) if hasattr(frame, "index") else None


def _labels(names: list[Any]) -> tuple[Label, ...] | None:
    # 0, 1, 2 in pandas; column_0, column_1, column_2 in polars.
    numbered = all(isinstance(name, int | np.integer) and name == i for i, name in enumerate(names))
    numbered = numbered or all(name == f"column_{i}" for i, name in enumerate(names))
    return None if numbered else tuple(label(name, "the name of a column or row") for name in names)


def order_of(names: Sequence[Label], wanted: Sequence[Label]) -> list[int] | None:
    """Return the position of each label among the names of columns, or None if the names do not match.

    Names may be the labels, or the labels with a common prefix or suffix, as in the tables of the command line. Case is
    ignored unless names differ only in case.

    Examples
    --------
    >>> order_of(["b", "a"], ["a", "b"]), order_of(["p_2", "p_1"], [1, 2]), order_of(["x", "y"], ["a", "b"])
    ([1, 0], [1, 0], None)
    >>> order_of(["NO score", "YES score"], ["yes", "no"])
    [1, 0]
    """
    if len(names) != len(wanted):
        return None
    order = _places(names, wanted)
    if order is not None:
        return order
    for fold in (str, str.casefold):
        texts, labels = [fold(str(name)) for name in names], [fold(str(value)) for value in wanted]
        for _, before, after in _within(texts[0], labels):
            order = _places(texts, [before + text + after for text in labels])
            if order is not None:
                return order
    return None


def _places(names: Sequence[Label], wanted: Sequence[Label]) -> list[int] | None:
    places = {name: i for i, name in enumerate(names)}
    if len(places) < len(names) or set(wanted) != set(places):
        return None
    return [places[name] for name in wanted]


def _within(name: str, labels: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield each label that a name contains, with its prefix and suffix."""
    for j, text in enumerate(labels):
        start = name.find(text)
        while start >= 0:
            yield j, name[:start], name[start + len(text) :]
            start = name.find(text, start + 1)


def misplaced(names: Sequence[Label], wanted: Sequence[Label]) -> list[str]:
    """Return the column names that match labels, if only some do and some are in the position of another label.

    A single name may contain a label by chance; two names with the same prefix and suffix are evidence.

    Examples
    --------
    >>> misplaced(["p_b", "p_c", "p_d"], ["a", "b", "c"]), misplaced(["p_x", "p_b", "p_c"], ["a", "b", "c"])
    (['p_b', 'p_c'], [])
    """
    labels = [str(value) for value in wanted]
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, name in enumerate(names):
        for j, before, after in _within(str(name), labels):
            found.setdefault((before, after), []).append((i, j))
    for pairs in found.values():
        if len(pairs) > 1 and any(i != j for i, j in pairs):
            return [str(names[i]) for i, _ in pairs]
    return []
