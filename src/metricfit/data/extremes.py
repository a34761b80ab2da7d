"""The largest entry of each row, fast where rows are short."""

from __future__ import annotations

import numpy as np

from metricfit.types import FloatArray

# Up to this many columns, column by column is faster than row by row, which NumPy does one short loop at a time.
SHORT = 48


def row_max(values: FloatArray) -> FloatArray:
    """Return the largest entry of each row of a matrix.

    Examples
    --------
    >>> row_max(np.array([[1.0, 3.0], [5.0, 2.0]]))
    array([3., 5.])
    """
    if values.shape[1] > SHORT:
        return np.asarray(values.max(axis=1))
    most = values[:, 0].copy()
    for column in values.T[1:]:
        np.maximum(most, column, out=most)
    return most
