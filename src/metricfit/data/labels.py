"""Labels of classes and decisions: read from the user's input and turned into codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from metricfit.data.column_names import column_labels, misplaced, order_of
from metricfit.data.columns import factorize, frame_columns, is_frame
from metricfit.data.validation import label
from metricfit.messages import count, rows_text, some
from metricfit.types import IntArray, Label


def distinct_labels(labels: Iterable[object], name: str) -> tuple[Label, ...]:
    """Return labels as plain Python scalars, all different.

    Examples
    --------
    >>> distinct_labels(["ok", "fraud"], "classes")
    ('ok', 'fraud')
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        kind = "the string " if isinstance(labels, str) else ""
        raise ValueError(f"{name} must be a list of labels; got {kind}{labels!r}")
    if isinstance(labels, set | frozenset):
        raise ValueError(
            f"{name} must be a list of labels, because their order counts; got a {type(labels).__name__}"
        )
    plain = tuple(label(value, f"an entry of {name}") for value in labels)
    if not plain:
        raise ValueError(f"{name} is empty; name at least one")
    if len(set(plain)) < len(plain):
        twice = [value for value, count in Counter(plain).items() if count > 1]
        raise ValueError(f"{name} holds the same label twice: {some(twice)}")
    return plain


def class_labels(y: Any, classes: Iterable[object] | None, n_columns: int) -> tuple[Label, ...]:
    """Return the class of each column of the probabilities.

    Parameters
    ----------
    y : array-like of shape (N,) or None
        The labels.
    classes : iterable of labels or None
        The classes in the order of the columns. ``None`` means 0..n-1 if `y` is integer (or None), else the sorted
        distinct labels, of which there must be as many as columns.
    n_columns : int
        The number of columns of the probabilities.

    Returns
    -------
    tuple of str, int, float or bool

    Examples
    --------
    >>> class_labels(["ok", "fraud", "ok"], None, 2)
    ('fraud', 'ok')
    >>> class_labels([0, 2], None, 3)
    (0, 1, 2)
    """
    if classes is not None:
        named = distinct_labels(classes, "classes")
        if len(named) != n_columns:
            raise ValueError(
                f"classes names {len(named)} classes but proba has {n_columns} columns; name one class per "
                f"column, in the order of the columns"
            )
        return named
    values = [] if y is None else factorize(y, "y")[0]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return tuple(range(n_columns))
    if len(values) != n_columns:
        raise ValueError(
            f"y has {count(len(values), 'distinct label')} ({some(values)}) but proba has "
            f"{count(n_columns, 'column')}; pass classes=[...] with one label per column, in the order of the columns"
        )
    return tuple(values)


def in_class_order(proba: Any, classes: Sequence[Label], name: str = "proba") -> Any:
    """Return a frame of probabilities with its columns in the order of the classes; other data unchanged.

    A frame whose columns are numbered, or have names unrelated to the classes, is unchanged too.

    Parameters
    ----------
    proba : frame or array
        Class probabilities.
    classes : sequence of labels
        The classes.
    name : str, default="proba"
        The argument's name, for messages.

    Returns
    -------
    frame or array

    Raises
    ------
    ValueError
        If columns are named after some classes but not all of them, or if two have the same name.

    Examples
    --------
    >>> import pandas as pd
    >>> list(in_class_order(pd.DataFrame({"ok": [0.9], "fraud": [0.1]}), ("fraud", "ok")).columns)
    ['fraud', 'ok']
    """
    order = _order_by_name(proba, classes, name)
    if order is None or order == sorted(order):
        return proba
    if hasattr(proba, "iloc"):  # by place: names that are True and False would choose rows
        return proba.iloc[:, order]
    columns = frame_columns(proba)
    return proba.select([columns[i] for i in order])


def _order_by_name(proba: Any, classes: Sequence[Label], name: str) -> list[int] | None:
    """Return the position of each class among the columns of a frame; None if they are not named after classes."""
    names = column_labels(proba) if is_frame(proba) and not isinstance(proba, Mapping) else None
    if names is None or len(names) != len(classes):
        return None  # without names, or refused for its shape
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise ValueError(
            f"{name} has more than one column named {twice!r}; name each column after its class, or pass "
            f"{name}.to_numpy() and classes=[...] in the order of the columns"
        )
    order = order_of(names, classes)
    if order is not None:
        return order
    shared = sorted(set(map(str, names)) & set(map(str, classes))) or misplaced(names, classes)
    if shared:
        raise ValueError(
            f"{name} has the columns {some(names)}, of which {some(shared)} are named after classes and others are "
            f"not; the classes are {some(classes)}. Name the columns after the classes, or pass {name}.to_numpy() and "
            "classes=[...] in the order of the columns"
        )
    return None


def same_order(proba: Any, classes: Sequence[Label]) -> bool:
    """Return whether the columns of some probabilities are in the order of the classes, judged by their names.

    Examples
    --------
    >>> import pandas as pd
    >>> same_order(pd.DataFrame({"ok": [0.9], "fraud": [0.1]}), ("fraud", "ok"))
    False
    """
    order = _order_by_name(proba, classes, "proba")
    return order is None or order == sorted(order)


def encode_labels(y: Any, classes: Sequence[Label], name: str = "y") -> IntArray:
    """Return the index of each label among the classes.

    Parameters
    ----------
    y : array-like of shape (N,)
        Labels.
    classes : sequence of labels
        The classes, or the decisions, in order.
    name : str, default="y"
        The argument's name, for messages.

    Returns
    -------
    int32 ndarray of shape (N,)

    Raises
    ------
    ValueError
        If labels are missing or are not classes; the error says which, in how many rows, and lists the first rows.

    Examples
    --------
    >>> encode_labels(["ok", "fraud", "ok"], ("fraud", "ok"))
    array([1, 0, 1], dtype=int32)
    """
    return place_values(*factorize(y, name), classes, name)


def place_values(
    values: Sequence[Label], codes: IntArray, classes: Sequence[Label], name: str = "y"
) -> IntArray:
    """Return the index among the classes of each row's value, ``values[codes[i]]``; see `encode_labels`.

    Examples
    --------
    >>> import numpy as np
    >>> place_values(["fraud"], np.array([0, 0]), ("ok", "fraud"))
    array([1, 1], dtype=int32)
    """
    index = {value: i for i, value in enumerate(classes)}
    table = np.array([index.get(value, -1) for value in values], dtype=np.int32)
    if (table < 0).any():
        outside = some(value for value in values if value not in index)
        rows = rows_text(np.flatnonzero(table[codes] < 0))
        raise ValueError(
            f"{name} has labels that are not classes in {rows}: {outside}. The classes are "
            f"{some(classes, limit=10)}; pass classes=[...] in the order of the columns, or drop these rows"
        )
    return table[codes]
