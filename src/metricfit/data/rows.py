"""The rows a problem is solved on: probabilities, label codes, cell codes and weights, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.data.axes import distinct_labels, in_class_order
from metricfit.data.columns import is_frame
from metricfit.data.confusion import Axes, Cells, class_labels, encode_labels
from metricfit.data.validation import check_lengths, check_proba, check_weights
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Checked data; ``labels`` and ``cells`` are codes, None stands for one cell and for equal weights."""

    axes: Axes
    proba: FloatArray
    labels: IntArray
    cells: IntArray | None
    weights: FloatArray | None

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
        """Check what the user handed in; nothing of it is changed or copied unless its type has to be.

        With ``blind`` the probabilities are those of the pairs of cell and class, and so are the labels.
        """
        y = y if hasattr(y, "__len__") else np.asarray(y)  # a list may hold labels of several types
        cells, codes = Cells.observe(sensitive_features, len(y), missing)
        checked = check_proba(flat_pairs(proba, len(cells)) if blind else proba)
        check_lengths(proba=checked, y=y)
        names = class_labels(y, classes, checked.shape[1] // len(cells) if blind else checked.shape[1])
        if is_frame(proba) and not blind:
            checked = check_proba(in_class_order(proba, names))
        if len(names) < 2:
            raise ValueError(
                "proba has one column, so there is one class and nothing to decide; give two or more"
            )
        axes = Axes(names, distinct_labels(decisions, "decisions") if decisions is not None else (), cells)
        weights = check_weights(sample_weight, checked.shape[0])
        shares = None if weights is None else weights / weights.sum()
        labels = encode_labels(y, names)
        if blind:
            return cls(axes.blind(), checked, codes * np.int32(axes.n) + labels, None, shares)
        return cls(
            axes,
            checked,
            labels,
            codes if len(cells) > 1 else None,
            shares,
        )

    @property
    def seen(self) -> tuple[Axes, IntArray | None, IntArray]:
        """Axes, cells and labels that metrics speak of; labels of pairs are taken apart."""
        axes = self.axes.seen
        if axes is self.axes:
            return axes, self.cells, self.labels
        cells, labels = np.divmod(self.labels, axes.n)
        return axes, cells, labels

    def __len__(self) -> int:
        return int(self.proba.shape[0])

    def take(self, places: IntArray, renormalise: bool = True) -> Rows:
        """Return some of the rows, with the same axes; weights add up to 1 again unless told otherwise."""
        weights = None if self.weights is None else self.weights[places]
        if weights is not None and renormalise:
            weights = weights / weights.sum()
        cells = None if self.cells is None else self.cells[places]
        return Rows(self.axes, self.proba[places], self.labels[places], cells, weights)

    @property
    def attributes(self) -> dict[str, Any] | None:
        """The attributes of each row as columns; None without attributes."""
        codes = np.zeros(len(self), np.int32) if self.cells is None else self.cells
        return self.axes.cells.columns(codes)

    def margins(self) -> FloatArray:
        """Return the class priors of each cell, counted by labels."""
        counts = strata(self.labels, self.cells, self.weights, len(self.axes.cells), self.axes.n)
        return np.asarray(counts / counts.sum())


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
