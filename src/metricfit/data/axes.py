"""Labels of classes and decisions, and the names along the axes of the confusion tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.data.cells import Cells
from metricfit.data.columns import column_labels, factorize, is_frame, order_of
from metricfit.data.validation import label
from metricfit.messages import rows_text, some, unknown
from metricfit.types import BoolArray, IntArray, Label


def distinct_labels(labels: Iterable[object], name: str) -> tuple[Label, ...]:
    """Return labels as plain Python scalars, all different.

    Examples
    --------
    >>> distinct_labels(["ok", "fraud"], "classes")
    ('ok', 'fraud')
    """
    if isinstance(labels, str):
        raise ValueError(f"{name} must be a list of labels; got the string {labels!r}")
    plain = tuple(label(value, f"an entry of {name}") for value in labels)
    if not plain:
        raise ValueError(f"{name} is empty; name at least one")
    if len(set(plain)) < len(plain):
        twice = [value for value, count in Counter(plain).items() if count > 1]
        raise ValueError(f"{name} holds the same label twice: {some(twice)}")
    return plain


def class_labels(y: Any, classes: Iterable[object] | None, n_columns: int) -> tuple[Label, ...]:
    """Return the class that each column of the probabilities stands for.

    Parameters
    ----------
    y : array-like of shape (N,) or None
        The labels.
    classes : iterable of labels or None
        The classes in the order of the columns. ``None`` means 0..n-1 when `y` is integer (or None), else the
        sorted distinct labels, which must be as many as there are columns.
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
            f"y has {len(values)} distinct labels ({some(values)}) but proba has {n_columns} columns; pass "
            f"classes=[...] with one label per column, in the order of the columns"
        )
    return tuple(values)


def in_class_order(proba: Any, classes: Sequence[Label], name: str = "proba") -> Any:
    """Return a frame of probabilities with its columns in the order of the classes; other data as it is.

    A frame whose columns are numbered, or have names that say nothing of the classes, is taken as it is too.

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
        If columns are named after some classes, and not after all of them.

    Examples
    --------
    >>> import pandas as pd
    >>> list(in_class_order(pd.DataFrame({"ok": [0.9], "fraud": [0.1]}), ("fraud", "ok")).columns)
    ['fraud', 'ok']
    """
    order = _order_by_name(proba, classes, name)
    if order is None or order == sorted(order):
        return proba
    columns = list(proba.column_names if hasattr(proba, "column_names") else proba.columns)
    wanted = [columns[i] for i in order]
    return proba.select(wanted) if hasattr(proba, "column_names") else proba[wanted]


def _order_by_name(proba: Any, classes: Sequence[Label], name: str) -> list[int] | None:
    """Return the place of each class among the columns of a frame; None where these have no names of classes."""
    names = column_labels(proba) if is_frame(proba) and not isinstance(proba, Mapping) else None
    if names is None or len(names) != len(classes):
        return None  # without names, or refused for its shape
    order = order_of(names, classes)
    shared = sorted(set(map(str, names)) & set(map(str, classes)))
    if order is None and shared:
        raise ValueError(
            f"{name} has the columns {some(names)}, of which {some(shared)} are named after classes and others not; "
            f"the classes are {some(classes)}. Name the columns after the classes, or pass {name}.to_numpy() and "
            "classes=[...] in the order of the columns"
        )
    return order


def same_order(proba: Any, classes: Sequence[Label]) -> bool:
    """Return whether the columns of some probabilities are in the order of the classes, as far as they have names.

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
        If labels are missing or are no class: which, in how many rows, and in which first.

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
            f"{name} has labels that are no class in {rows}: {outside}. The classes are "
            f"{some(classes, limit=10)}; pass classes=[...] in the order of the columns, or drop these rows"
        )
    return table[codes]


@dataclass(frozen=True)
class Axes:
    """The names along the three axes of the confusion tensor.

    Parameters
    ----------
    classes : sequence of labels
        The n true classes.
    decisions : sequence of labels, optional
        The k decisions; the classes by default. A decision need not be a class.
    cells : Cells, optional
        The A cells; one by default.

    Examples
    --------
    >>> axes = Axes(("ok", "fraud"), ("ok", "fraud", "review"))
    >>> axes.shape, axes.match.tolist()
    ((1, 2, 3), [0, 1, -1])
    >>> axes.class_index("fruad")
    Traceback (most recent call last):
    ...
    ValueError: unknown class 'fruad'; did you mean 'fraud'? Known: 'ok', 'fraud'
    """

    classes: tuple[Label, ...]
    decisions: tuple[Label, ...] = ()
    cells: Cells = field(default_factory=Cells)

    def __post_init__(self) -> None:
        """Turn the labels into plain scalars and refuse repeated ones."""
        classes = distinct_labels(self.classes, "classes")
        object.__setattr__(self, "classes", classes)
        decisions = tuple(self.decisions) or classes
        object.__setattr__(self, "decisions", distinct_labels(decisions, "decisions"))

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def k(self) -> int:
        """Number of decisions."""
        return len(self.decisions)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells, classes and decisions."""
        return len(self.cells), self.n, self.k

    @cached_property
    def match(self) -> IntArray:
        """For each decision the index of the class it names, or -1."""
        index = {value: i for i, value in enumerate(self.classes)}
        match = np.array([index.get(value, -1) for value in self.decisions], dtype=np.int32)
        match.flags.writeable = False
        return match

    @cached_property
    def decision_labels(self) -> Any:
        """The decisions as an array that keeps their types."""
        plain = np.array(self.decisions)
        # NumPy turns 1 into a text beside a text, large whole numbers into floats, and drops zeros that end a text.
        if [(type(d), d) for d in plain.tolist()] == [(type(d), d) for d in self.decisions]:
            return plain
        labels = np.empty(self.k, dtype=object)
        labels[:] = self.decisions
        return labels

    @property
    def seen(self) -> Axes:
        """The axes that metrics are bound to: these, but for policies that do not see the cells."""
        return self

    @cached_property
    def right(self) -> BoolArray:
        """For each class and decision, whether the decision is right."""
        return np.arange(self.n)[:, None] == self.match[None, :]

    def blind(self) -> JointAxes:
        """Return the axes of a decision that does not see the cell: one cell, whose classes are the pairs.

        Examples
        --------
        >>> joint = Axes((0, 1), cells=Cells(("sex",), (("F",), ("M",)))).blind()
        >>> joint.shape, joint.classes[1]
        ((1, 4, 2), "1 where sex='F'")
        """
        return JointAxes.of(self)

    def class_index(self, value: object) -> int:
        """Return the index of a class.

        Examples
        --------
        >>> Axes(("ok", "fraud")).class_index("fraud")
        1
        """
        return _index("class", value, self.classes)

    def decision_index(self, value: object) -> int:
        """Return the index of a decision.

        Examples
        --------
        >>> Axes((0, 1), (0, 1, "review")).decision_index("review")
        2
        """
        return _index("decision", value, self.decisions)


@dataclass(frozen=True)
class JointAxes(Axes):
    """Axes of policies that do not see the cell of a row, only probabilities of all pairs of cell and class.

    The tensor of cells, classes and decisions is that of pairs and decisions, read in the same order. So a metric of
    the former is a metric of the latter, and a loss for each cell and class is a loss for each pair.
    """

    pairs_of: Axes = field(kw_only=True)

    @classmethod
    def of(cls, axes: Axes) -> JointAxes:
        """Return the axes of the pairs."""
        cells = axes.cells
        if not cells.names:
            raise ValueError(
                "blind=True needs the attributes that the decisions are not to see: pass sensitive_features"
            )
        where = [
            ", ".join(f"{name}={value!r}" for name, value in zip(cells.names, cell, strict=True))
            for cell in cells.values
        ]
        pairs = tuple(f"{c!r} where {text}" for text in where for c in axes.classes)
        return cls(pairs, axes.decisions, pairs_of=axes)

    @property
    def seen(self) -> Axes:
        """The cells and classes that the pairs are made of."""
        return self.pairs_of

    @cached_property
    def right(self) -> BoolArray:
        """For each pair and decision, whether the decision is right: a class counts in every cell."""
        return np.tile(self.seen.right, (len(self.seen.cells), 1))


def _index(what: str, value: object, known: tuple[Label, ...]) -> int:
    plain = label(value, f"a {what}")
    if plain not in known:
        raise ValueError(unknown(what, plain, known))
    return known.index(plain)
