"""A batch of linear functions of one confusion matrix, as rows of coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True)
class Linear:
    """A batch of linear functions of one n x k matrix: ``q`` rows of coefficients on each of its parts.

    The parts are arrays, sparse ones where they are large. ``full`` stands alone; ``diagonal``, ``column`` and ``row``
    add up. Missing parts are zero.
    """

    diagonal: Any = None
    column: Any = None
    row: Any = None
    full: Any = None

    @property
    def size(self) -> int:
        """Number of functions."""
        return next(int(part.shape[0]) for part in self.parts if part is not None)

    @property
    def parts(self) -> tuple[Any, Any, Any, Any]:
        """The four parts."""
        return self.diagonal, self.column, self.row, self.full

    @property
    def constant(self) -> bool:
        """Whether only row sums are used, which no decision changes."""
        return self.diagonal is None and self.column is None and self.full is None

    def scaled(self, by: FloatArray) -> Linear:
        """Return the batch with each function multiplied by its own number."""
        scale = np.broadcast_to(np.asarray(by, float), self.size)
        return Linear(*(None if part is None else _scaled(part, scale) for part in self.parts))


def _scaled(part: Any, scale: FloatArray) -> Any:
    if isinstance(part, np.ndarray):
        return part * scale[:, None]
    table = part.tocsr()
    data = table.data * np.repeat(scale, np.diff(table.indptr))
    return sp.csr_array((data, table.indices, table.indptr), table.shape)


def of_matrix(coefficients: FloatArray, match: Any) -> Linear:
    """Return ``sum_ij coefficients[i, j] C[i, j]``, in terms of diagonal and columns when they suffice."""
    n, k = coefficients.shape
    off = np.ones((n, k), bool)
    named = np.flatnonzero(match >= 0)
    off[match[named], named] = False
    first = np.argmax(off, axis=0)
    column = np.where(off.any(axis=0), coefficients[first, np.arange(k)], 0.0)
    if not np.array_equal(coefficients[off], np.broadcast_to(column, (n, k))[off]):
        return Linear(full=sp.csr_array(coefficients.reshape(1, -1)))
    diagonal = np.zeros(k)
    diagonal[named] = coefficients[match[named], named] - column[named]
    return Linear(diagonal=sp.csr_array(diagonal[None]), column=sp.csr_array(column[None]))


Triplets = tuple[IntArray, IntArray, FloatArray]


NO_ENTRIES: Triplets = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)


def entries_of(part: Any) -> Triplets:
    """Return row, place and value of the coefficients that are not zero."""
    if part is None:
        return NO_ENTRIES
    if isinstance(part, np.ndarray):
        rows, places = np.nonzero(part)
        return rows, places, part[rows, places]
    table = part.tocsr()
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    return rows, table.indices.astype(np.int64), table.data
