"""Features: what a model is trained on, in whatever container it came."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.data.columns import is_arrow


def rows_at(X: Any, rows: Any) -> Any:
    """Return some rows of features: of anything that scikit-learn takes, and of tables of pyarrow.

    Parameters
    ----------
    X : array, sparse matrix, frame or pyarrow Table
        The features.
    rows : int or bool array
        Which rows.

    Returns
    -------
    the same kind of container

    Examples
    --------
    >>> import numpy as np
    >>> rows_at(np.array([[1], [2], [3]]), np.array([True, False, True])).tolist()
    [[1], [3]]
    """
    from sklearn.utils import _safe_indexing

    if is_arrow(X):  # which scikit-learn 1.6 does not know
        rows = np.asarray(rows)
        return X.take(np.flatnonzero(rows) if rows.dtype == bool else rows)
    return _safe_indexing(X, rows)
