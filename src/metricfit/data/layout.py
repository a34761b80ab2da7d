"""The two layouts of statistics and losses: the whole confusion tensor, or its diagonal and columns only.

Section 7.2 of the paper. In the layout ``"full"`` a statistic is the tensor C[a, i, j]. In ``"diagonal"`` it has shape
(cells, 2, decisions): ``[a, 0, j]`` is the entry where decision j is right, ``[a, 1, j]`` the sum of column j. A loss
has the shape of the statistic, so the cost is the sum of their elementwise product in both layouts.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from metricfit.data.axes import Axes
from metricfit.types import FloatArray

Layout = Literal["diagonal", "full"]


def shape_of(layout: Layout, axes: Axes) -> tuple[int, int, int]:
    """Return the shape of statistics and losses."""
    return len(axes.cells), 2 if layout == "diagonal" else axes.n, axes.k


def statistic(tensor: FloatArray, layout: Layout, axes: Axes) -> FloatArray:
    """Reduce a full tensor, or one cell's tensors under several rules, to a layout."""
    if layout == "full":
        return tensor
    kept = np.zeros((len(tensor), *shape_of(layout, axes)[1:]))
    named = np.flatnonzero(axes.match >= 0)
    kept[:, 0, named] = tensor[:, axes.match[named], named]
    kept[:, 1] = tensor.sum(axis=1)
    return kept


def expand(loss: FloatArray, layout: Layout, axes: Axes) -> FloatArray:
    """Return a loss of either layout as a full tensor (cells, classes, decisions)."""
    if layout == "full":
        return loss
    tensor = np.repeat(loss[:, 1:2], axes.n, axis=1)
    named = np.flatnonzero(axes.match >= 0)
    tensor[:, axes.match[named], named] += loss[:, 0, named]
    return tensor
