"""The usual linear functions of a confusion matrix, by name: hits, rows of a class, rows that get a decision.

Each is a function of a `Binding`, because labels become places only when data is there. A class that no
decision names has no hits; a decision that names no class is never right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.functions.binding import Binding
from metricfit.functions.linear import Linear
from metricfit.functions.matrices import matrix_of
from metricfit.types import FloatArray, Label

Functional = Callable[[Binding], Linear]


def unit(size: int, place: int) -> FloatArray:
    """Return one row with a one at the given place; a place of -1 (no such class or decision) stays zero."""
    row = np.zeros((1, size))
    row[0, [place] if place >= 0 else []] = 1.0
    return row


def decision_of(b: Binding, c: Label) -> int:
    """Return the decision that names class c, or -1 when none does."""
    named = np.flatnonzero(b.axes.match == b.axes.class_index(c))
    return int(named[0]) if named.size else -1


def everything(b: Binding) -> Linear:
    """All rows of the slice."""
    return Linear(row=np.ones((1, b.axes.n)))


def rows_of(c: Label) -> Functional:
    """Rows of class c."""
    return lambda b: Linear(row=unit(b.axes.n, b.axes.class_index(c)))


def rows_not_of(c: Label) -> Functional:
    """Rows of every other class."""
    return lambda b: Linear(row=1 - unit(b.axes.n, b.axes.class_index(c)))


def given(c: Label) -> Functional:
    """Rows that get decision c, which may be no class."""
    return lambda b: Linear(column=unit(b.axes.k, b.axes.decision_index(c)))


def decided(c: Label) -> Functional:
    """Rows decided as class c."""
    return lambda b: Linear(column=unit(b.axes.k, decision_of(b, c)))


def hits(c: Label) -> Functional:
    """Rows of class c decided as c."""
    return lambda b: Linear(diagonal=unit(b.axes.k, decision_of(b, c)))


def false_alarms(c: Label) -> Functional:
    """Rows of other classes decided as c."""

    def linear(b: Binding) -> Linear:
        column = unit(b.axes.k, decision_of(b, c))
        return Linear(column=column, diagonal=-column)

    return linear


def all_hits(b: Binding) -> Linear:
    """Rows decided right."""
    return Linear(diagonal=np.ones((1, b.axes.k)))


def each_hit(b: Binding) -> Linear:
    """For each class, its rows decided right."""
    return Linear(diagonal=_classes_by_decisions(b))


def each_class(b: Binding) -> Linear:
    """For each class, its rows."""
    return Linear(row=sp.eye_array(b.axes.n, format="csr"))


def each_decided(b: Binding) -> Linear:
    """For each class, the rows decided as that class."""
    return Linear(column=_classes_by_decisions(b))


def each_decision(b: Binding) -> Linear:
    """For each decision, the rows that get it."""
    return Linear(column=sp.eye_array(b.axes.k, format="csr"))


def decisions_in_class(i: int, decisions: Sequence[int]) -> Functional:
    """For each of some decisions, the rows of the class in place i that get it."""

    def linear(b: Binding) -> Linear:
        n, k, match = b.axes.n, b.axes.k, b.axes.match
        rows, places = np.arange(len(decisions)), np.asarray(decisions)
        if n != 2 or np.any(match < 0):
            shape = places.size, n * k
            return Linear(full=matrix_of(rows, i * k + places, np.ones(places.size), shape))
        # With two classes, what is not on the diagonal of a column is its sum less the diagonal.
        right, shape = match[places] == i, (places.size, k)
        sign, wrong = np.where(right, 1.0, -1.0), ~right
        return Linear(
            diagonal=matrix_of(rows, places, sign, shape),
            column=matrix_of(rows[wrong], places[wrong], np.ones(wrong.sum()), shape),
        )

    return linear


def class_rows(i: int) -> Functional:
    """Rows of the class in place i."""
    return lambda b: Linear(row=unit(b.axes.n, i))


def all_decided(b: Binding) -> Linear:
    """Rows decided as some class, not put off."""
    if np.all(b.axes.match >= 0):
        return everything(b)
    return Linear(column=(b.axes.match >= 0).astype(float)[None])


def rows_decided(c: Label) -> Functional:
    """Rows of class c decided as some class, not put off."""

    def linear(b: Binding) -> Linear:
        if np.all(b.axes.match >= 0):
            return rows_of(c)(b)
        row = unit(b.axes.n, b.axes.class_index(c))
        decided = (b.axes.match >= 0).astype(float)[None]
        return Linear(full=sp.kron(sp.csr_array(row), sp.csr_array(decided), format="csr"))

    return linear


def _classes_by_decisions(b: Binding) -> Any:
    named = np.flatnonzero(b.axes.match >= 0)
    return matrix_of(b.axes.match[named], named, np.ones(named.size), (b.axes.n, b.axes.k))
