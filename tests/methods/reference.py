"""An oracle in plain NumPy, one row at a time: nothing but the protocol."""

from __future__ import annotations

import numpy as np
from methods.truth import Sample

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.layout import expand, statistic
from metricfit.oracles import Vertex


class ReferenceOracle:
    """The cheapest decision for every row of a sample, on soft labels."""

    exact = True

    def __init__(self, sample: Sample, decisions: tuple[object, ...] | None = None) -> None:
        self.proba = sample.proba
        cells, self.codes = Cells.observe(sample.groups, len(sample.y))
        self.axes = Axes(tuple(range(sample.proba.shape[1])), decisions or (), cells)
        weight = np.ones(len(sample.y)) if sample.weight is None else sample.weight
        self.weight = weight / weight.sum()
        self.margins = self.tensor(np.full((len(self.proba), self.axes.k), 1 / self.axes.k)).sum(axis=2)
        self.asked = 0

    def decided(self, loss: np.ndarray) -> np.ndarray:
        """Return the probability of each decision, 0 or 1; ties go to the larger index."""
        scores = np.einsum("ri,rij->rj", self.proba, loss[self.codes])
        return np.eye(self.axes.k)[self.axes.k - 1 - np.argmin(scores[:, ::-1], axis=1)]

    def tensor(self, chances: np.ndarray) -> np.ndarray:
        """Return the confusion tensor of decision probabilities."""
        found = np.zeros(self.axes.shape)
        for a, p, d, w in zip(self.codes, self.proba, chances, self.weight, strict=True):
            found[a] += w * np.outer(p, d)
        return found

    def __call__(self, loss, layout):
        self.asked += 1
        found = self.tensor(self.decided(expand(loss, layout, self.axes)))
        return Vertex(loss, statistic(found, layout, self.axes))

    def confusion(self, losses, weights, layout):
        chances = sum(
            weights[self.codes, t][:, None] * self.decided(expand(loss, layout, self.axes))
            for t, loss in enumerate(losses)
        )
        return self.tensor(chances)
