"""The smooth parts of an objective as the master problem sees them: value, gradient and Hessian over u."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from metricfit.functions.atoms import TINY, Separable
from metricfit.functions.expression import Entries, Node
from metricfit.functions.nonlinear import Smooth
from metricfit.functions.sums import Sum
from metricfit.methods.master.polyhedron import Polyhedron, is_polyhedral
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class CurvedAndLinear:
    """``sum of weight * smooth + flat``; ``flat`` is a maximum of affine functions, or absent."""

    smooth: tuple[tuple[float, Smooth], ...]
    flat: Node | None

    @cached_property
    def stand_in(self) -> Separable | None:
        """The atom, if the objective is one separable atom: the sum of its inner functions stands in for it.

        The sum has the same minimiser and a diagonal Hessian, which is what keeps a thousand classes cheap.
        """
        if self.flat is not None or len(self.smooth) != 1:
            return None
        atom = self.smooth[0][1].atom
        return atom if isinstance(atom, Separable) else None

    def stand_in_scale(self, u: FloatArray) -> float:
        """Return what multipliers of the stand-in are worth in units of the objective: a ratio of slopes."""
        if self.stand_in is None:
            return 1.0
        weight, smooth = self.smooth[0]
        v = smooth.part.value(u)
        slope = float(np.linalg.norm(self.stand_in.inner(v)[1]))
        return abs(weight) * float(np.linalg.norm(smooth.atom.gradient(v)) / max(slope, TINY))


def smooth_parts(goal: Node, weight: float = 1.0) -> CurvedAndLinear | None:
    """Split an objective into smooth atoms of affine functions and a polyhedral rest; None if impossible."""
    if is_polyhedral(goal, 1 if weight > 0 else -1):
        return CurvedAndLinear((), Sum(((weight, goal),)))
    match goal:
        case Smooth() if is_polyhedral(goal.part, 1) and is_polyhedral(goal.part, -1):
            return CurvedAndLinear(((weight, goal),), None)
        case Sum(terms, _):
            found = [smooth_parts(part, weight * c) for c, part in terms]
            whole = [part for part in found if part is not None]
            if len(whole) < len(found):
                return None
            flats = tuple((1.0, part.flat) for part in whole if part.flat is not None)
            return CurvedAndLinear(
                tuple(pair for part in whole for pair in part.smooth), Sum(flats) if flats else None
            )
    return None


class Hessian(NamedTuple):
    """A sparse matrix as lists of places and values; cheaper to put together than scipy's own."""

    row: IntArray
    column: IntArray
    value: FloatArray

    def times(self, u: FloatArray) -> FloatArray:
        """Return the matrix times a vector."""
        return np.asarray(np.bincount(self.row, self.value * u[self.column], minlength=u.size), float)


FLAT = Hessian(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


class Curve:
    """Value, gradient and Hessian of an objective's parts, or of the stand-in where there is one."""

    def __init__(self, parts: CurvedAndLinear, width: int) -> None:
        self.parts, self.width = parts, width
        self.forms = [Polyhedron(width).form(smooth.part)[0] for _, smooth in parts.smooth]

    def merit(self, u: FloatArray) -> float:
        """Return what the master minimises."""
        if self.parts.stand_in is not None:
            return float(self.parts.stand_in.inner(self.parts.smooth[0][1].part.value(u))[0].sum())
        flat = self.parts.flat.scalar(u) if self.parts.flat is not None else 0.0
        return flat + sum(weight * smooth.scalar(u) for weight, smooth in self.parts.smooth)

    def surprise(
        self, change: float, u: FloatArray, move: FloatArray, gradient: FloatArray, hessian: Hessian
    ) -> float:
        """Return by how much a move's change of the merit is more than its linear parts and the model at u say."""
        flat = self.parts.flat
        bent = 0.0 if flat is None else flat.scalar(u + move) - flat.scalar(u)
        told = float(gradient @ move + move @ hessian.times(move) / 2)
        return change - bent - told

    def model(self, u: FloatArray) -> tuple[FloatArray, Hessian]:
        """Return gradient and Hessian of the smooth parts."""
        gradient, pieces = np.zeros(self.width), []
        for (weight, smooth), form in zip(self.parts.smooth, self.forms, strict=True):
            v = smooth.part.value(u)
            if self.parts.stand_in is not None:
                _, slope, bend = self.parts.stand_in.inner(v)
                middle: Any = bend
            else:
                slope, h = weight * smooth.atom.gradient(v), smooth.atom.hessian(v)
                middle = weight * (np.diag(h.diagonal) + h.scale * np.outer(h.ray, h.ray))
            gradient += smooth.part.slope(u, slope)
            pieces.append(_pulled_back(middle, smooth.part, form))
        return gradient, Hessian(*map(np.concatenate, zip(FLAT, *pieces, strict=True)))


def _pulled_back(middle: FloatArray, part: Node, form: Any) -> Hessian:
    """Return ``form' middle form``, where a middle of one dimension is a diagonal."""
    if isinstance(part, Entries):
        places = np.arange(part.start, part.stop)
        if middle.ndim == 1:
            return Hessian(places, places, middle)
        return Hessian(np.repeat(places, places.size), np.tile(places, places.size), middle.ravel())
    whole = sp.coo_array(form.T @ sp.csc_array(np.diag(middle) if middle.ndim == 1 else middle) @ form)
    return Hessian(whole.row, whole.col, whole.data)
