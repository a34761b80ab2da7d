"""Where slack variables live: the box, or the simplex, that contains every confusion vector.

Section 8.2 of the paper: normalised diagonals lie in [0, 1]^n, full confusion matrices in the simplex. In
one representation, every entry of ``u`` has a range that no rule leaves, and a block of entries with the
same sum for all rules (coverages, all entries of a matrix) is a simplex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.data.layout import shape_of
from metricfit.functions.expression import Entries, nodes_of
from metricfit.problem import Program
from metricfit.types import FloatArray


@dataclass(frozen=True)
class Simplex:
    """Entries ``start:stop`` always sum to ``total``."""

    start: int
    stop: int
    total: float


@dataclass(frozen=True, eq=False)
class Domain:
    """A product of intervals and simplices that contains u of every classifier, achievable or not."""

    low: FloatArray
    high: FloatArray
    simplices: tuple[Simplex, ...]

    @classmethod
    def of(cls, program: Program, margins: FloatArray) -> Domain:
        """Return the domain of a problem; ``margins`` are the class priors in each cell."""
        blocks = {}
        for node in (program.objective, *(limit.metric for limit in program.limits)):
            for part in nodes_of(node):
                if isinstance(part, Entries) and part.size > 1:
                    blocks[part.start] = part.stop
        found = []
        for start, stop in blocks.items():
            total = _fixed_total(program, margins, start, stop)
            if total is not None:
                found.append(Simplex(start, stop, total))
        return cls(program.low, program.high, tuple(found))

    def project(self, u: FloatArray) -> FloatArray:
        """Return the nearest point of the domain."""
        near = np.clip(u, self.low, self.high)
        for s in self.simplices:
            part = slice(s.start, s.stop)
            near[part] = _onto_simplex(u[part], self.low[part], self.high[part], s.total)
        return near

    def cheapest(self, direction: FloatArray) -> FloatArray:
        """Return the point with the smallest ``direction @ u``."""
        best = np.where(direction > 0, self.low, self.high)
        for s in self.simplices:
            order = s.start + np.argsort(direction[s.start : s.stop], kind="stable")
            room = (self.high - self.low)[order]
            left = s.total - self.low[order].sum() - (np.cumsum(room) - room)
            best[order] = self.low[order] + np.clip(left, 0.0, room)
        return best

    def sums(self) -> tuple[Any, FloatArray]:
        """Return the simplices as equations ``matrix @ u = right``."""
        rows = sp.lil_array((len(self.simplices), self.low.size))
        for k, s in enumerate(self.simplices):
            rows[k, s.start : s.stop] = 1.0
        return sp.csr_array(rows), np.array([s.total for s in self.simplices])


def _fixed_total(program: Program, margins: FloatArray, start: int, stop: int) -> float | None:
    """Return the sum of some entries of u when no rule changes it."""
    cells, height, k = shape_of(program.layout, program.axes)
    gain = np.asarray(program.matrix[start:stop].sum(axis=0)).reshape(cells, height, k)
    if not np.allclose(gain, gain[:, :, :1], rtol=0, atol=1e-12):
        return None
    if program.layout == "diagonal":
        if np.abs(gain[:, 0]).max() > 1e-12:
            return None
        mass = (gain[:, 1, 0] * margins.sum(axis=1)).sum()
    else:
        mass = (gain[:, :, 0] * margins).sum()
    return float(mass + program.constant[start:stop].sum())


def _onto_simplex(v: FloatArray, low: FloatArray, high: FloatArray, total: float) -> FloatArray:
    """Return the nearest point to v between low and high with a given sum: ``v`` less a shift, clipped."""
    # The sum is piecewise linear and falling in the shift, with kinks where an entry meets an end.
    kinks = np.sort(np.concatenate([v - high, v - low]))
    sums = np.clip(v[None] - kinks[:, None], low, high).sum(axis=1)
    after = int(np.clip(np.searchsorted(-sums, -total), 1, kinks.size - 1))
    (left, right), (above, below) = kinks[after - 1 : after + 1], sums[after - 1 : after + 1]
    share = (above - total) / (above - below) if above > below else 0.0
    return np.clip(v - (left + share * (right - left)), low, high)


def onto_ball(x: FloatArray, radius: float) -> FloatArray:
    """Return the nearest point of a ball around zero."""
    size = float(np.linalg.norm(x))
    return x if size <= radius else x * (radius / size)


def onto_corner(x: FloatArray, total: float) -> FloatArray:
    """Return the nearest point with ``x >= 0`` and a sum of at most ``total``."""
    kept = np.maximum(x, 0.0)
    return kept if kept.sum() <= total else _onto_simplex(x, np.zeros(x.size), np.full(x.size, total), total)
