"""A sample of the rows that answers for all of them: cheap to ask, and set right by what is known of some rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.calibration.recalibration import shifted
from metricfit.data.layout import Layout, statistic
from metricfit.data.rows import Rows
from metricfit.kernels import counting as kernels
from metricfit.oracles.base import Vertex
from metricfit.types import FloatArray, IntArray


class SampledOracle:
    """Decides and counts the rows of a sample, and adds to the counts what they have been found to lack.

    Rows are counted by their probabilities, which where labels are counted are shifted to fit them: labels of so few
    rows say less about a rule.

    Parameters
    ----------
    whole : oracle
        The oracle of all rows; it has a ``sample``.
    """

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.rows: Rows = whole.sample()
        self.axes, self.margins, self.exact = whole.axes, whole.margins, whole.exact
        self.prior_shift = getattr(whole, "prior_shift", np.zeros(whole.axes.n))
        self.threads = getattr(whole, "threads", 1)
        self.labels: IntArray | None = None
        self.lack: FloatArray = np.zeros(1)

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the plug-in rule of a loss and what its statistic should be on all rows."""
        return Vertex(loss, self.count(loss, layout) + self.lack)

    def count(self, loss: FloatArray, layout: Layout) -> FloatArray:
        """Return the statistic of a rule on the sample."""
        rows, match, threads = self.rows, self.axes.match, self.threads
        if self.exact or self.labels is not None:
            data = rows.proba, self.labels, rows.cells, rows.weights
            return kernels.count(*data, loss, match, layout=layout, threads=threads)
        decided = kernels.decide(rows.proba, rows.cells, loss, match, layout=layout, threads=threads)
        data = self._shifted, None, rows.cells, rows.weights
        tensor = kernels.confusion(*data, decided, *self.axes.shape[::2], threads=threads)
        return statistic(tensor, layout, self.axes)

    @cached_property
    def _shifted(self) -> FloatArray:
        proba = self.rows.proba
        return shifted(proba, self.rows.shift).astype(proba.dtype, copy=False)

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules, on all rows."""
        return np.asarray(self.whole.confusion(losses, weights, layout))

    def correct(self, vertices: Sequence[Vertex], weights: FloatArray, layout: Layout) -> None:
        """Let counts lack nothing for a mixture of rules that all rows have counted, (cells, rules) of weights."""
        self.lack = np.zeros(1)
        for t in np.flatnonzero(weights.any(axis=0)).tolist():
            missed = vertices[t].statistic - self.count(vertices[t].loss, layout)
            self.lack = self.lack + weights[:, t, None, None] * missed


class CountedSample(SampledOracle):
    """The same by counted labels, with the sample's own rows to scan weights on."""

    def __init__(self, whole: Any) -> None:
        super().__init__(whole)
        self.labels = self.rows.labels

    def sample(self) -> Rows:
        """Return the rows."""
        return self.rows
