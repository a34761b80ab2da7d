"""An oracle on a sample that stands for all rows: cheap, and corrected by rules that were counted on all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metricfit.data.layout import Layout
from metricfit.oracles.base import OracleBase, Vertex
from metricfit.oracles.in_memory import PluginOracle
from metricfit.types import FloatArray


class SampledOracle(OracleBase):
    """Decides and counts the rows of a sample by their probabilities, and adds a correction found on all rows.

    Parameters
    ----------
    whole : oracle
        The exact oracle of all rows; it has a sample.
    """

    def __init__(self, whole: OracleBase) -> None:
        sample = whole.sample()
        assert sample is not None
        self.whole, self.counted = whole, PluginOracle(sample, "model")
        self.axes, self.margins, self.exact = whole.axes, whole.margins, whole.exact
        self.counting = whole.counting
        self.correction: FloatArray = np.zeros(1)

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the plug-in rule of a loss and what its statistic should be on all rows."""
        return Vertex(loss, self.counted(loss, layout).statistic + self.correction)

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules, on all rows."""
        return self.whole.confusion(losses, weights, layout)

    def correct(self, vertices: Sequence[Vertex], weights: FloatArray, layout: Layout) -> None:
        """Correct the counts by a mixture (cells, rules) of rules counted on all rows: its own counts become exact."""
        self.correction = np.zeros(1)
        for t in np.flatnonzero(weights.any(axis=0)).tolist():
            missed = vertices[t].statistic - self.counted(vertices[t].loss, layout).statistic
            self.correction = self.correction + weights[:, t, None, None] * missed
