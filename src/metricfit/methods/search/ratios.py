"""Sums of one ratio per decision, such as macro-F1: a row that changes its decision changes only two of the ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metricfit.functions.expression import Constant, Entries, Node
from metricfit.functions.nonlinear import Quotient
from metricfit.functions.sums import Sum, Total
from metricfit.kernels.engine import Engine
from metricfit.kernels.scan_line import Line
from metricfit.kernels.sums_along_line import ratio, ratio_sums
from metricfit.problem import Program
from metricfit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Ratios:
    """``constant`` plus one ratio per decision, of affine functions of its number of rows and of its hits."""

    terms: FloatArray
    constant: float

    @classmethod
    def of(cls, node: Node, program: Program) -> Ratios | None:
        """Return a weighted sum of quotients in this form, or None if it does not have it."""
        match node:
            case Total(weights, Quotient(Entries() as over, Entries() as under)):
                if program.layout != "diagonal" or {over.size, under.size} != {weights.size}:
                    return None
            case _:
                return None
        table = np.stack([_coefficients(part, program) for part in (over, under)])
        if not np.all(table == table[:, :, :1]):  # cells are told apart
            return None
        both = table[:, :, 0]
        constants = np.stack([program.constant[part.start : part.stop] for part in (over, under)])
        used = (both != 0).any(axis=(0, 2))
        if np.any(used.sum(axis=1) > 1) or np.any(used.sum(axis=0) > 1):
            return None
        terms, constant = np.zeros((2, 3, program.axes.k)), 0.0
        terms[1, 0] = 1.0
        for i, weight in enumerate(weights):
            place = np.flatnonzero(used[i])
            if place.size:
                j = place[0]
                terms[:, 0, j], terms[:, 1:, j] = constants[:, i], both[:, i, :, j]
                terms[0, :, j] *= weight
            elif constants[1, i] != 0:
                constant += weight * constants[0, i] / constants[1, i]
        return cls(terms, float(constant))

    def along(self, line: Line, statistic: FloatArray, engine: Engine) -> FloatArray:
        """Return the sum after 0, 1, ... rows have entered; ``statistic`` is that before the first one."""
        hit, made = statistic.sum(axis=0)
        sums = ratio_sums(line.entering, line.decision, hit, made, self.terms, engine)
        return sums + self.constant

    def ends(self, j: int, hit: FloatArray, made: FloatArray) -> tuple[float, float]:
        """Return the smallest and the largest ratio of decision j over given sets of rows."""
        series = ratio(self.terms, j, hit, made)
        return float(series.min()), float(series.max())


class RatioCombination(NamedTuple):
    """``constant`` plus multiples of sums of ratios."""

    constant: float
    terms: tuple[tuple[float, Ratios], ...]

    @classmethod
    def of(cls, node: Node, program: Program, scale: float = 1.0) -> RatioCombination | None:
        """Return a node of size one in this form, or None if it does not have it."""
        ratios = Ratios.of(node, program)
        if ratios is not None:
            return cls(scale * ratios.constant, ((scale, ratios),))
        if isinstance(node, Constant) and node.size == 1:
            return cls(scale * float(node.values[0]), ())
        if not isinstance(node, Sum) or node.size != 1:
            return None
        parts = [cls.of(part, program, scale * coefficient) for coefficient, part in node.terms]
        if any(part is None for part in parts):
            return None
        return cls(
            scale * node.constant + sum(part.constant for part in parts if part),
            tuple(term for part in parts if part for term in part.terms),
        )


def _coefficients(part: Entries, program: Program) -> FloatArray:
    rows = program.matrix[part.start : part.stop].toarray()
    return rows.reshape(part.size, len(program.axes.cells), 2, program.axes.k)
