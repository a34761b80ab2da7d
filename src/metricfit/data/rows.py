"""Rows as arrays: probabilities, label codes, cell codes and weights, checked once and then used everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.column_order import warn_of_another_order
from metricfit.data.columns import is_frame
from metricfit.data.labels import class_labels, encode_labels, in_class_order
from metricfit.data.row_order import check_row_order
from metricfit.data.validation import check_lengths, check_proba, check_several_classes, check_weights
from metricfit.messages import brief
from metricfit.types import FloatArray, IntArray

# The most probabilities that are copied to leave rows out.
MOST_COPIED = 10_000_000
# Smaller shares of the weight count as none: 1 / share, or what a loss makes of it, would be infinite.
SMALLEST = 1e-290


@dataclass(frozen=True, eq=False)
class RowArrays:
    """Some rows: all of a problem, or a block of them.

    Parameters
    ----------
    proba : array of shape (rows, n)
        Class probabilities, float32 or float64.
    labels : int array of shape (rows,) or None
        Codes of the classes; None if the probabilities are used as soft labels.
    cells : int array of shape (rows,) or None
        Codes of the cells; None if there is only one.
    weights : float64 array of shape (rows,) or None
        Weights; None if all rows count the same.

    Examples
    --------
    >>> import numpy as np
    >>> rows = RowArrays(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]), None, None)
    >>> len(rows), rows[1:].labels
    (2, array([1]))
    """

    proba: FloatArray
    labels: IntArray | None
    cells: IntArray | None
    weights: FloatArray | None

    def __len__(self) -> int:
        return int(self.proba.shape[0])

    def __getitem__(self, places: slice | IntArray) -> Self:
        """Return some of the rows, with their weights unchanged."""
        # `take` gathers whole rows in a quarter of the time of an index.
        proba = (
            self.proba[places] if isinstance(places, slice) else np.asarray(self.proba).take(places, axis=0)
        )
        return replace(
            self,
            proba=proba,
            labels=None if self.labels is None else self.labels[places],
            cells=None if self.cells is None else self.cells[places],
            weights=None if self.weights is None else self.weights[places],
        )

    def soft(self) -> RowArrays:
        """Return the rows without labels, so that their probabilities are used as soft labels."""
        return RowArrays(self.proba, None, self.cells, self.weights)


@dataclass(frozen=True, eq=False)
class Rows(RowArrays):
    """The labelled rows of a problem, with the names of their codes; weights sum to 1."""

    labels: IntArray
    axes: Axes

    @classmethod
    def of(
        cls,
        proba: Any,
        y: Any,
        *,
        classes: Iterable[object] | None = None,
        decisions: Iterable[object] | None = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        blind: bool = False,
        missing: str = "error",
    ) -> Rows:
        """Check the user's input; nothing is changed, or copied unless its type requires it.

        Rows of weight 0 are left out, because they count for nothing and no search should stop at their scores; large
        data stay as they are, as a copy would take as much memory again. With ``blind`` the probabilities and the
        labels are those of pairs of cell and class.
        """
        y = y if hasattr(y, "__len__") else np.asarray(y)  # a list may hold labels of several types
        if isinstance(y, np.ndarray) and not y.ndim:
            raise ValueError(f"y must be one-dimensional, one value per row; got {brief(y)}")
        check_row_order(proba=proba, y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        cells, codes = Cells.observe(sensitive_features, len(y), missing)
        cells.check_filled(len(y))
        checked = check_proba(flat_pairs(proba, len(cells)) if blind else proba)
        check_lengths(proba=checked, y=y)
        names = class_labels(y, classes, checked.shape[1] // len(cells) if blind else checked.shape[1])
        if is_frame(proba) and not blind:
            checked = check_proba(in_class_order(proba, names))
        check_several_classes(len(names))
        axes = Axes.of(names, decisions, cells)
        weights = check_weights(sample_weight, checked.shape[0])
        shares = None if weights is None else priors(weights, weights.sum())
        labels = encode_labels(y, names)
        if classes is None and not blind and not is_frame(proba):
            warn_of_another_order(checked, labels, names)
        if blind:
            rows = cls(checked, codes * np.int32(axes.n) + labels, None, shares, axes.blind())
        else:
            rows = cls(checked, labels, codes if len(cells) > 1 else None, shares, axes)
        if shares is None or checked.size > MOST_COPIED or np.all(shares > 0):
            return rows
        return rows[np.flatnonzero(shares > 0)]

    @property
    def seen(self) -> tuple[Axes, IntArray | None, IntArray]:
        """Axes, cells and labels that metrics use; labels of pairs are split into cell and class."""
        axes = self.axes.seen
        if axes is self.axes:
            return axes, self.cells, self.labels
        cells, labels = np.divmod(self.labels, axes.n)
        return axes, cells, labels

    def take(self, places: IntArray) -> Rows:
        """Return some of the rows as separate rows, whose weights sum to 1 again."""
        some = self[places]
        return some if some.weights is None else replace(some, weights=some.weights / some.weights.sum())

    def joined(self, other: Rows) -> Rows:
        """Return these rows together with others of the same axes, each set weighted by its number of rows."""
        total = len(self) + len(other)
        parts = [
            rows if rows.weights is None else replace(rows, weights=rows.weights * (len(rows) / total))
            for rows in (self, other)
        ]
        both = joined(parts)
        assert both.labels is not None
        return replace(self, proba=both.proba, labels=both.labels, cells=both.cells, weights=both.weights)

    @property
    def attributes(self) -> dict[str, Any] | None:
        """The attributes of each row as columns; None without attributes."""
        codes = np.zeros(len(self), np.int32) if self.cells is None else self.cells
        return self.axes.cells.columns(codes)

    def margins(self) -> FloatArray:
        """Return the class priors of each cell, counted by labels."""
        counts = strata(self.labels, self.cells, self.weights, len(self.axes.cells), self.axes.n)
        return priors(counts, counts.sum())


def joined(blocks: Sequence[RowArrays]) -> RowArrays:
    """Return the rows of several blocks, one after the other; either all or none have labels, cells and weights.

    Examples
    --------
    >>> import numpy as np
    >>> one = RowArrays(np.array([[0.5, 0.5]]), np.array([1]), None, None)
    >>> joined([one, one]).labels
    array([1, 1])
    """
    if len(blocks) == 1:
        return blocks[0]
    labels = [block.labels for block in blocks if block.labels is not None]
    cells = [block.cells for block in blocks if block.cells is not None]
    weights = [block.weights for block in blocks if block.weights is not None]
    return RowArrays(
        np.concatenate([block.proba for block in blocks]),
        np.concatenate(labels) if labels else None,
        np.concatenate(cells) if cells else None,
        np.concatenate(weights) if weights else None,
    )


def flat_pairs(proba: Any, cells: int) -> Any:
    """Return probabilities of pairs of cell and class with one column for each pair, cell by cell.

    Examples
    --------
    >>> import numpy as np
    >>> flat_pairs(np.array([[[0.1, 0.2], [0.3, 0.4]]]), 2)
    array([[0.1, 0.2, 0.3, 0.4]])
    """
    array = np.asarray(proba)
    if array.ndim == 3 and array.shape[1] == cells:
        return array.reshape(len(array), -1)
    if array.ndim != 2 or array.shape[1] % cells:
        raise ValueError(
            f"proba must have shape (N, cells, classes) with blind=True, or (N, cells * classes), cell by cell: there "
            f"are {cells} cells, got shape {array.shape}. Pass P(cell, class | x) in the order of the sorted cells"
        )
    return array


def priors(totals: FloatArray, whole: float) -> FloatArray:
    """Return shares of the whole weight, of classes in cells or of rows; one that cannot be divided by is 0.

    Examples
    --------
    >>> priors(np.array([[3.0, 1.0, 1e-310]]), 4.0)
    array([[0.75, 0.25, 0.  ]])
    """
    shares: FloatArray = np.asarray(totals / whole)
    shares[shares < SMALLEST] = 0.0
    return shares


def strata(labels: IntArray, cells: IntArray | None, weights: FloatArray | None, n_cells: int, n: int) -> Any:
    """Return the weight of each class in each cell, or without weights the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> strata(np.array([0, 1, 1]), np.array([0, 0, 1]), None, 2, 2)
    array([[1, 1],
           [0, 1]])
    """
    place = labels if cells is None else cells.astype(np.int64) * n + labels
    return np.bincount(place, weights, n_cells * n).reshape(n_cells, n)
