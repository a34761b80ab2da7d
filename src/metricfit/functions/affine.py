"""Affine functions of the generalised confusion vector: a whole tree of sums and parts as one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.types import FloatArray, IntArray

# With at most this many entries, a dense matrix is applied faster than a sparse one.
FEW_ENTRIES = 10_000


@dataclass(frozen=True, eq=False)
class Affine:
    """``M @ u + constant``, where M is the sum of ``value`` at ``row`` and ``column``, triple by triple.

    A matrix of at most ``few`` entries is kept as a dense one.
    """

    row: IntArray
    column: IntArray
    value: FloatArray
    constant: FloatArray
    few: int = FEW_ENTRIES

    def matrix(self, width: int) -> Any:
        """Return M as a sparse matrix for u of a width."""
        return sp.csr_array((self.value, (self.row, self.column)), shape=(self.constant.size, width))

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        """M, only as wide as u is read, and its transpose, in the form that is applied fastest."""
        matrix = self.matrix(int(self.column.max(initial=-1)) + 1)
        if np.prod(matrix.shape) <= self.few:
            table = matrix.toarray()
            return table, table.T
        return matrix, matrix.T.tocsr()

    def at(self, u: FloatArray) -> FloatArray:
        """Return the values at ``u``, one or many."""
        table = self._tables[0]
        return np.asarray((table @ u[..., : table.shape[1]].T).T + self.constant)

    def slope(self, u: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the gradient of ``weight @ values``."""
        table, out = self._tables[1], np.zeros(u.size)
        out[: table.shape[0]] = table @ weight
        return out
