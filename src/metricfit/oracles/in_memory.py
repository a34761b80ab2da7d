"""The plug-in oracle on rows in memory (Algorithms 9 and 10 of the paper)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from metricfit.layout import Layout
from metricfit.oracles import kernels
from metricfit.oracles.base import Vertex
from metricfit.oracles.rows import Rows
from metricfit.types import FloatArray


class PluginOracle:
    """Decides every row by its post-shifted class probabilities and counts, in one pass.

    Parameters
    ----------
    rows : Rows
        The checked data.
    confusion : {"labels", "model"}
        Count labels, or use the probabilities as soft labels. With soft labels the rule is exactly optimal over all randomised
        classifiers on these rows.
    threads : int
        Number of threads that share a pass.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import PluginOracle, Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.4, 0.6]]), [0, 1])
    >>> loss = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    >>> PluginOracle(rows)(loss, "full").statistic
    array([[[0.5, 0. ],
            [0. , 0.5]]])
    """

    def __init__(self, rows: Rows, confusion: Literal["labels", "model"] = "labels", threads: int = 1) -> None:
        if confusion not in ("labels", "model"):
            raise ValueError(f"confusion must be 'labels' or 'model', got {confusion!r}")
        self.rows, self.axes, self.threads = rows, rows.axes, threads
        self.exact = confusion == "model"
        self.margins = rows.margins(soft=self.exact, threads=threads)
        self.labels = None if self.exact else rows.labels

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the plug-in rule of a loss and its statistic."""
        rows = self.rows
        counted = kernels.count(
            rows.proba,
            self.labels,
            rows.cells,
            rows.weights,
            loss,
            self.axes.match,
            layout=layout,
            threads=self.threads,
        )
        return Vertex(loss, counted)

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules, in one pass."""
        rows = self.rows
        tensor = kernels.mixture_confusion(
            rows.proba,
            self.labels,
            rows.cells,
            rows.weights,
            losses,
            weights,
            self.axes.match,
            layout=layout,
        )
        return np.asarray(tensor)
