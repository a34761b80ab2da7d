"""Maxima of affine functions as rows of a linear program: a `Largest` becomes a variable above its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metricfit.functions.expression import Node
from metricfit.functions.extremes import Largest
from metricfit.functions.matrices import above, dense, matrix_of, plus, widened
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.types import FloatArray


def is_polyhedral(node: Node, sign: int = 1) -> bool:
    """Whether ``sign * node`` is a maximum of affine functions, however nested."""
    if node.affine is not None:
        return True
    match node:
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
        return dense(self.form(node)[0]).ravel()

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
                total: Any = None
                offset = np.full(node.size, constant)
                for coefficient, part in terms:
                    matrix, shift = self.form(part)
                    if part.size < node.size:
                        matrix = matrix[np.zeros(node.size, np.int64)]
                    total = coefficient * matrix if total is None else plus(total, coefficient * matrix)
                    offset = offset + coefficient * shift
                return total, offset
            case Total(weights, part):
                matrix, shift = self.form(part)
                return weights[None] @ matrix, np.array([weights @ shift])
            case Stack(parts):
                forms = [self.form(part) for part in parts]
                width = max(matrix.shape[1] for matrix, _ in forms)
                stacked = above([widened(matrix, width) for matrix, _ in forms])
                return stacked, np.concatenate([shift for _, shift in forms])
            case Largest(part):
                matrix, shift = self.form(part)
                self.maxima.append(node)
                place = self.width + len(self.maxima) - 1
                self.rows.append(LinearRows(node, plus(matrix, _column(shift.size, place, -1.0)), shift))
                return _column(1, place, 1.0), np.zeros(1)
        raise TypeError(f"{type(node).__name__} is not a maximum of affine functions")

    def system(self) -> tuple[Any, FloatArray]:
        """Return all rows as one system over (u, t)."""
        width = self.width + len(self.maxima)
        if not self.rows:
            return np.zeros((0, width)), np.zeros(0)
        matrix = above([widened(rows.matrix, width) for rows in self.rows])
        return matrix, np.concatenate([rows.constant for rows in self.rows])

    def belongs_to(self, kind: type) -> FloatArray:
        """Return, for each row, 1 if its owner is of a kind and 0 otherwise."""
        parts = [np.full(r.constant.size, 1.0 * isinstance(r.owner, kind)) for r in self.rows]
        return np.concatenate([np.zeros(0), *parts])

    def theta(self, split: dict[object, FloatArray]) -> dict[Largest, FloatArray]:
        """Return shares of the parts of each maximum that has multipliers."""
        return {m: split[m] / split[m].sum() for m in self.maxima if split[m].sum() > 0}

    def split(self, multipliers: FloatArray) -> dict[object, FloatArray]:
        """Return the multipliers of each owner's rows."""
        ends = np.cumsum([rows.constant.size for rows in self.rows], dtype=int)
        return {
            rows.owner: multipliers[end - rows.constant.size : end]
            for rows, end in zip(self.rows, ends, strict=True)
        }


def _column(rows: int, place: int, value: float) -> Any:
    """Return a matrix that is zero except for its last column."""
    return matrix_of(np.arange(rows), np.full(rows, place), np.full(rows, value), (rows, place + 1))
