"""Affine functions of the generalised confusion vector: a whole tree of sums and parts as one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.functions.matrices import FEW_ENTRIES, matrix_of
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Affine:
    """``M @ u + constant``, where M is the sum of ``value`` at ``row`` and ``column``, triple by triple.

    A matrix of at most ``few`` entries is a dense array.
    """

    row: IntArray
    column: IntArray
    value: FloatArray
    constant: FloatArray
    few: int = FEW_ENTRIES

    def matrix(self, width: int) -> Any:
        """Return M for u of a width."""
        return matrix_of(self.row, self.column, self.value, (self.constant.size, width), self.few)

    @cached_property
    def _tables(self) -> tuple[Any, Any]:
        """M, only as wide as u is read, and its transpose, in the form that is applied fastest."""
        matrix = self.matrix(int(self.column.max(initial=-1)) + 1)
        return (matrix, matrix.T) if isinstance(matrix, np.ndarray) else (matrix, matrix.T.tocsr())

    @cached_property
    def _read(self) -> tuple[IntArray, Any]:
        """The entries of u that are read, and M for these alone: a group's rate reads few of them."""
        entries, places = np.unique(self.column, return_inverse=True)
        return entries, matrix_of(self.row, places, self.value, (self.constant.size, entries.size), self.few)

    def at(self, u: FloatArray) -> FloatArray:
        """Return the values at ``u``, one or many."""
        if u.ndim > 1:  # at many points it pays to gather the entries that are read
            entries, table = self._read
            return np.asarray((table @ u.T[entries] + self.constant[:, None]).T)
        table = self._tables[0]
        return np.asarray(table @ u[: table.shape[1]] + self.constant)

    def slope(self, u: FloatArray, weight: FloatArray) -> FloatArray:
        """Return the gradient of ``weight @ values``."""
        table, out = self._tables[1], np.zeros(u.size)
        out[: table.shape[0]] = table @ weight
        return out
