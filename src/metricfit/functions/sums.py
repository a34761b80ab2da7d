"""Linear nodes: sums, weighted totals and stacks of others; one matrix computes them where all parts are affine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metricfit.functions.affine import Affine
from metricfit.functions.curvature import Curvature, of_sum
from metricfit.functions.expression import NO_THETA, Constant, Node, Theta, scaled_ends, shared
from metricfit.types import FloatArray

# Sums of more affine terms are evaluated by one matrix; with fewer the matrix takes longer.
FEW_TERMS = 4


@dataclass(frozen=True, eq=False)
class Sum(Node):
    """``constant + sum_t coefficient_t * part_t``, element by element."""

    terms: tuple[tuple[float, Node], ...]
    constant: float = 0.0

    @cached_property
    def size(self) -> int:
        return max(part.size for _, part in self.terms)

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(part for _, part in self.terms)

    @cached_property
    def curvature(self) -> Curvature:
        return of_sum((c, part.curvature) for c, part in self.terms if not isinstance(part, Constant))

    @cached_property
    def affine(self) -> Affine | None:
        rows, columns, values, constants = [], [], [], []
        for coefficient, part in self.terms:
            if (form := part.affine) is None:
                return None
            # A part of size one stands in every row.
            times = self.size if form.constant.size < self.size else 1
            rows.append(np.repeat(np.arange(times), form.row.size) if times > 1 else form.row)
            columns.append(np.tile(form.column, times))
            values.append(np.tile(coefficient * form.value, times))
            constants.append(form.constant)
        joined = np.concatenate(rows), np.concatenate(columns), np.concatenate(values)
        return Affine(*joined, self.added(constants))

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if len(self.terms) > FEW_TERMS and self.affine is not None:
            return self.affine.at(u)
        return self.added([part.value(u, theta) for _, part in self.terms])

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.added([part.level(u, theta) for _, part in self.terms])

    def added(self, values: list[FloatArray]) -> FloatArray:
        """Return the sum for given values of the parts."""
        if len(values) == 1:
            return self.constant + self.terms[0][0] * values[0]
        total = np.full((*values[0].shape[:-1], self.size), self.constant)
        for (coefficient, _), value in zip(self.terms, values, strict=True):
            total += coefficient * value
        return total

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = np.full(self.size, self.constant), np.full(self.size, self.constant)
        for coefficient, part in self.terms:
            ends = scaled_ends(coefficient, part)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if len(self.terms) > FEW_TERMS and self.affine is not None:
            return self.affine.slope(u, weight)
        total = np.zeros(u.size)
        for coefficient, part in self.terms:
            total += part.slope(u, coefficient * shared(weight, part), theta)
        return total


@dataclass(frozen=True, eq=False)
class Total(Node):
    """``weights @ part``."""

    weights: FloatArray
    part: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.part,)

    @property
    def curvature(self) -> Curvature:
        return of_sum((w, self.part.curvature) for w in self.weights)

    @cached_property
    def affine(self) -> Affine | None:
        form = self.part.affine
        if form is None:
            return None
        value, constant = self.weights[form.row] * form.value, np.array([self.weights @ form.constant])
        return Affine(np.zeros_like(form.row), form.column, value, constant)

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.asarray(self.part.value(u, theta) @ self.weights)[..., None]

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return np.array([self.weights @ self.part.level(u, theta)])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        low, high = scaled_ends(self.weights, self.part).sum(axis=1)
        return np.array([low]), np.array([high])

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        return self.part.slope(u, weight[0] * self.weights, theta)


@dataclass(frozen=True, eq=False)
class Stack(Node):
    """Several nodes, one after the other."""

    parts: tuple[Node, ...]

    @cached_property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def children(self) -> tuple[Node, ...]:
        return self.parts

    @cached_property
    def curvature(self) -> Curvature:
        kinds = {part.curvature for part in self.parts}
        if len(kinds) == 1:
            return kinds.pop()
        if all(kind.is_convex for kind in kinds):
            return Curvature.CONVEX
        return Curvature.CONCAVE if all(kind.is_concave for kind in kinds) else Curvature.UNKNOWN

    @cached_property
    def affine(self) -> Affine | None:
        forms = [part.affine for part in self.parts]
        known = [form for form in forms if form is not None]
        if len(known) < len(forms):
            return None
        starts = np.cumsum([0, *(form.constant.size for form in known)])
        return Affine(
            np.concatenate([form.row + start for form, start in zip(known, starts, strict=False)]),
            np.concatenate([form.column for form in known]),
            np.concatenate([form.value for form in known]),
            np.concatenate([form.constant for form in known]),
        )

    def value(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if self.affine is not None:
            return self.affine.at(u)
        return np.concatenate([part.value(u, theta) for part in self.parts], axis=-1)

    def level(self, u: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if self.affine is not None:
            return self.affine.at(u)
        return np.concatenate([part.level(u, theta) for part in self.parts])

    def reach(self) -> tuple[FloatArray, FloatArray]:
        lows, highs = zip(*(part.reach() for part in self.parts), strict=True)
        return np.concatenate(lows), np.concatenate(highs)

    def slope(self, u: FloatArray, weight: FloatArray, theta: Theta = NO_THETA) -> FloatArray:
        if self.affine is not None:
            return self.affine.slope(u, weight)
        total, start = np.zeros(u.size), 0
        for part in self.parts:
            total += part.slope(u, weight[start : start + part.size], theta)
            start += part.size
        return total


def negative(node: Node) -> Node:
    """Return ``-node``."""
    return Sum(((-1.0, node),))
