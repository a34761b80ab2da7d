"""Maxima of affine functions as rows of a linear program: a `Largest` becomes a variable above its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.functions.expression import Constant, Entries, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.types import FloatArray


def is_polyhedral(node: Node, sign: int = 1) -> bool:
    """Whether ``sign * node`` is a maximum of affine functions, however nested."""
    match node:
        case Entries() | Constant():
            return True
        case Sum(terms, _):
            return all(is_polyhedral(part, sign if c > 0 else -sign) for c, part in terms if c != 0)
        case Total(weights, part):
            signs = {int(s) for s in np.sign(weights[weights != 0])}
            return all(is_polyhedral(part, sign * s) for s in signs)
        case Stack(parts):
            return all(is_polyhedral(part, sign) for part in parts)
        case Largest(part):
            return sign > 0 and is_polyhedral(part, sign)
    return False


@dataclass
class LinearRows:
    """``matrix @ (u, t) + constant <= 0``, belonging to one maximum or one constraint."""

    owner: object
    matrix: Any
    constant: FloatArray


@dataclass
class Polyhedron:
    """Rows over u and over one extra variable t for each maximum met."""

    width: int
    rows: list[LinearRows] = field(default_factory=list)
    maxima: list[Largest] = field(default_factory=list)

    def copy(self) -> Polyhedron:
        """Return a copy to which rows can be added."""
        return Polyhedron(self.width, list(self.rows), list(self.maxima))

    def row(self, node: Node) -> FloatArray:
        """Return a node of size one as a row of coefficients over (u, t)."""
        return np.asarray(self.form(node)[0].toarray().ravel())

    def limit(self, owner: object, node: Node) -> None:
        """Demand that all values of a node are <= 0."""
        matrix, constant = self.form(node)
        self.rows.append(LinearRows(owner, matrix, constant))

    def form(self, node: Node) -> tuple[Any, FloatArray]:
        """Return a node as affine functions of (u, t), adding a t and its rows for each maximum."""
        if node.affine is not None:
            return node.affine.matrix(self.width), node.affine.constant
        match node:
            case Sum(terms, constant):
                total: Any = sp.csr_array((node.size, self.width))
                offset = np.full(node.size, constant)
                for coefficient, part in terms:
                    matrix, shift = self.form(part)
                    if part.size < node.size:
                        matrix = sp.csr_array(np.ones((node.size, 1))) @ matrix
                    total = _add(total, coefficient * matrix)
                    offset = offset + coefficient * shift
                return total, offset
            case Total(weights, part):
                matrix, shift = self.form(part)
                return sp.csr_array(weights[None]) @ matrix, np.array([weights @ shift])
            case Stack(parts):
                forms = [self.form(part) for part in parts]
                width = max(matrix.shape[1] for matrix, _ in forms)
                stacked = sp.vstack([_widened(matrix, width) for matrix, _ in forms], format="csr")
                return stacked, np.concatenate([shift for _, shift in forms])
            case Largest(part):
                matrix, shift = self.form(part)
                self.maxima.append(node)
                place = self.width + len(self.maxima) - 1
                above = sp.csr_array(
                    (np.full(shift.size, -1.0), (np.arange(shift.size), np.full(shift.size, place)))
                )
                self.rows.append(LinearRows(node, _add(matrix, above), shift))
                return sp.csr_array((np.ones(1), ([0], [place]))), np.zeros(1)
        raise TypeError(f"{type(node).__name__} is not a maximum of affine functions")

    def system(self) -> tuple[Any, FloatArray]:
        """Return all rows as one system over (u, t)."""
        width = self.width + len(self.maxima)
        if not self.rows:
            return sp.csr_array((0, width)), np.zeros(0)
        matrix = sp.vstack([_widened(rows.matrix, width) for rows in self.rows], format="csr")
        return matrix, np.concatenate([rows.constant for rows in self.rows])

    def belongs_to(self, kind: type) -> FloatArray:
        """Return, for each row, 1 if its owner is of a kind and 0 otherwise."""
        parts = [np.full(r.constant.size, 1.0 * isinstance(r.owner, kind)) for r in self.rows]
        return np.concatenate([np.zeros(0), *parts])

    def split(self, multipliers: FloatArray) -> dict[object, FloatArray]:
        """Return the multipliers of each owner's rows."""
        ends = np.cumsum([rows.constant.size for rows in self.rows], dtype=int)
        return {
            rows.owner: multipliers[end - rows.constant.size : end]
            for rows, end in zip(self.rows, ends, strict=True)
        }


def _widened(matrix: Any, width: int) -> Any:
    return sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def _add(left: Any, right: Any) -> Any:
    width = max(left.shape[1], right.shape[1])
    return sp.csr_array(_widened(left, width) + _widened(right, width))
