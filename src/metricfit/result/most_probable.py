"""The confusion of deciding the most probable class: what a result is compared with."""

from __future__ import annotations

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.layout import Layout, shape_of
from metricfit.oracles.base import Oracle


def of_most_probable(oracle: Oracle) -> Confusion | None:
    """Return the confusion of deciding the most probable class that has a decision; None when none has.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import PluginOracle, Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.6, 0.4]]), [0, 1])
    >>> of_most_probable(PluginOracle(rows)).matrix
    array([[0.5, 0. ],
           [0.5, 0. ]])
    """
    axes, seen = oracle.axes, oracle.axes.seen
    named = seen.match >= 0
    if not named.any():
        return None
    layout: Layout = "diagonal" if seen is axes else "full"
    loss = np.zeros(shape_of(layout, axes))
    if layout == "diagonal":
        loss[:, 0, named] = -1.0
    else:  # the probabilities are those of pairs of cell and class
        loss[:, axes.right] = -1.0
    # A probability of 0 would tie with decisions that are no class.
    loss[:, -1 if layout == "diagonal" else slice(None), ~named] = 1.0
    tensor = oracle.confusion(loss[None], np.ones((len(axes.cells), 1)), layout).reshape(seen.shape)
    return Confusion(tensor / tensor.sum(), seen)
