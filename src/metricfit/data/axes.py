"""The names along the axes of the confusion tensor: cells, classes and decisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.data.cells import Cells
from metricfit.data.labels import distinct_labels
from metricfit.data.validation import label
from metricfit.messages import pairs_text, some, unknown
from metricfit.types import BoolArray, FloatArray, IntArray, Label


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

    @classmethod
    def of(cls, classes: Iterable[object], decisions: Iterable[object] | None, cells: Cells) -> Axes:
        """Return the axes of labels as users give them; decisions of None are the classes."""
        named = distinct_labels(classes, "classes")
        chosen = () if decisions is None else distinct_labels(decisions, "decisions")
        if len(chosen) == 1 and chosen[0] not in named:
            raise ValueError(
                f"decisions has only {chosen[0]!r}, so there is nothing to decide: it names all decisions, those that "
                f"are classes too. Pass decisions=[{some([*named, *chosen], limit=10)}], or those that may be made"
            )
        return Axes(named, chosen, cells)

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
    def even_margins(self) -> FloatArray:
        """Class priors with every class in every cell, on which no rate is undefined.

        A metric can then fail to bind only because its text is wrong.

        Examples
        --------
        >>> Axes(("no", "yes")).even_margins
        array([[0.5, 0.5]])
        """
        return np.full(self.shape[:2], 1 / (self.shape[0] * self.shape[1]))

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
        return JointAxes.of_pairs(self)

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
    def of_pairs(cls, axes: Axes) -> JointAxes:
        """Return the axes of the pairs."""
        cells = axes.cells
        if not cells.names:
            raise ValueError(
                "blind=True needs the attributes that the decisions are not to see: pass sensitive_features"
            )
        where = [pairs_text(cells.names, cell) for cell in cells.values]
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
