"""Matrices of coefficients: dense arrays where they are small, sparse ones where they are large.

What an array does in a microsecond or two takes a sparse matrix 20 to 100, however small it is, and solving a problem
of two groups is made of thousands of such steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from metricfit.types import FloatArray, IntArray

# A matrix of at most this many entries is a dense array.
FEW_ENTRIES = 10_000


def matrix_of(
    row: IntArray, column: IntArray, value: FloatArray, shape: tuple[int, int], few: int = FEW_ENTRIES
) -> Any:
    """Return the matrix with the sum of ``value`` at ``row`` and ``column``, triple by triple.

    Examples
    --------
    >>> import numpy as np
    >>> places = np.array([0, 1, 1]), np.array([2, 0, 0])
    >>> matrix_of(*places, np.array([1.0, 2.0, 3.0]), (2, 3)).tolist()
    [[0.0, 0.0, 1.0], [5.0, 0.0, 0.0]]
    """
    if shape[0] * shape[1] > few:
        return sp.csr_array((value, (row, column)), shape=shape)
    return np.bincount(row * shape[1] + column, value, shape[0] * shape[1]).astype(float).reshape(shape)


def dense(matrix: Any) -> FloatArray:
    """Return a matrix as a dense array."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


class ByColumns(NamedTuple):
    """A matrix whose entries are listed column by column, rows ascending: what Clarabel reads of a sparse matrix.

    Clarabel reads number by number, lists in half the time of arrays.
    """

    data: list[float]
    indices: list[int]
    indptr: list[int]
    shape: tuple[int, int]
    nnz: int
    has_canonical_format: bool = True


def by_columns(matrix: Any) -> ByColumns:
    """Return a matrix in the form that lists its entries column by column.

    Examples
    --------
    >>> import numpy as np
    >>> listed = by_columns(np.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> listed.indptr, listed.indices, listed.data
    ([0, 1, 3], [1, 0, 1], [3.0, 2.0, 4.0])
    """
    if isinstance(matrix, ByColumns):
        return matrix
    if isinstance(matrix, np.ndarray):
        column, row = np.nonzero(matrix.T)
        starts, values = np.searchsorted(column, np.arange(matrix.shape[1] + 1)), matrix[row, column]
    else:
        listed = sp.csc_matrix(matrix)
        listed.sum_duplicates()
        row, starts, values = listed.indices, listed.indptr, listed.data
    return ByColumns(values.tolist(), row.tolist(), starts.tolist(), matrix.shape, row.size)


def quick(matrix: Any) -> Any:
    """Return a matrix in the form that is applied fastest."""
    return dense(matrix) if matrix.shape[0] * matrix.shape[1] <= FEW_ENTRIES else matrix


def widened(matrix: Any, width: int) -> Any:
    """Return a matrix with columns of zeros added after its own."""
    rows, own = matrix.shape
    if own == width:
        return matrix
    if not isinstance(matrix, np.ndarray):
        return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(rows, width))
    wide = np.zeros((rows, width))
    wide[:, :own] = matrix
    return wide


def above(matrices: Sequence[Any]) -> Any:
    """Return matrices one above the other."""
    if all(isinstance(matrix, np.ndarray) for matrix in matrices):
        return np.concatenate(matrices)
    return sp.vstack(list(map(sp.csr_array, matrices)), format="csr")


def beside(matrices: Sequence[Any]) -> Any:
    """Return matrices side by side."""
    if all(isinstance(matrix, np.ndarray) for matrix in matrices):
        return np.concatenate(matrices, axis=1)
    return sp.hstack(list(map(sp.csr_array, matrices)), format="csr")


def plus(left: Any, right: Any) -> Any:
    """Return the sum of two matrices, of which one may have fewer columns.

    Examples
    --------
    >>> import numpy as np
    >>> plus(np.ones((1, 2)), np.ones((1, 3))).tolist()
    [[2.0, 2.0, 1.0]]
    """
    width = max(left.shape[1], right.shape[1])
    total = widened(left, width) + widened(right, width)
    return total if isinstance(total, np.ndarray) else sp.csr_array(total)


def used_columns(matrix: Any) -> IntArray:
    """Return the columns that have an entry."""
    if isinstance(matrix, np.ndarray):
        return np.flatnonzero(matrix.any(axis=0))
    return np.unique(matrix.indices)


def row_lists(matrix: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """Return where each row starts, and columns and values of the entries, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in row_lists(np.array([[0.0, 2.0], [3.0, 4.0]]))]
    [[0, 1], [1, 0, 1], [2.0, 3.0, 4.0]]
    """
    if not isinstance(matrix, np.ndarray):
        table = sp.csr_array(matrix)
        return table.indptr[:-1].astype(np.int32), table.indices.astype(np.int32), table.data.astype(float)
    row, column = np.nonzero(matrix)
    starts = np.searchsorted(row, np.arange(len(matrix)))
    return starts.astype(np.int32), column.astype(np.int32), matrix[row, column].astype(float)
