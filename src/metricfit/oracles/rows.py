"""The rows a problem is solved on: probabilities, label codes, cell codes and weights, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.axes import distinct_labels
from metricfit.confusion import Axes, Cells, class_labels, encode_labels
from metricfit.oracles import kernels
from metricfit.types import FloatArray, IntArray
from metricfit.validation import check_lengths, check_proba, check_weights


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
    ) -> Rows:
        """Check what the user handed in; nothing of it is changed or copied unless its type has to be."""
        checked = check_proba(proba)
        y = np.asarray(y) if not hasattr(y, "__array__") and not hasattr(y, "shape") else y
        check_lengths(proba=checked, y=y)
        names = class_labels(y, classes, checked.shape[1])
        if len(names) < 2:
            raise ValueError(
                "proba has one column, so there is one class and nothing to decide; give two or more"
            )
        cells, codes = Cells.observe(sensitive_features, checked.shape[0])
        axes = Axes(names, distinct_labels(decisions, "decisions") if decisions is not None else (), cells)
        weights = check_weights(sample_weight, checked.shape[0])
        return cls(
            axes,
            checked,
            encode_labels(y, names),
            codes if len(cells) > 1 else None,
            None if weights is None else weights / weights.sum(),
        )

    def __len__(self) -> int:
        return int(self.proba.shape[0])

    def margins(self, soft: bool, threads: int | None = None) -> FloatArray:
        """Return the class priors of each cell, from labels or from the probabilities."""
        if soft:
            nothing = np.zeros(len(self), np.int32)
            tensor = kernels.confusion(
                self.proba, None, self.cells, self.weights, nothing, len(self.axes.cells), 1, threads=threads
            )
            return np.asarray(tensor[:, :, 0])
        cells, n = len(self.axes.cells), self.axes.n
        place = self.labels if self.cells is None else self.cells * n + self.labels
        counts = np.bincount(place, self.weights, minlength=cells * n).reshape(cells, n)
        return counts / counts.sum()
