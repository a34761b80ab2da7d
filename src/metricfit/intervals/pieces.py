"""A metric taken apart: the smooth functions that it is the largest or smallest of, and how they vary together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.intervals.evidence import Evidence
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Pieces:
    """``value`` is ``sign`` times the largest of some smooth functions; just one if the metric is smooth itself.

    With ``logs`` it is e to that power. ``values`` are those of the functions, ``middles`` and ``errors`` the middles
    and standard errors of their intervals. The influences of the patterns on a function are row ``first`` of ``slopes``
    less row ``second`` (nothing where it is -1). ``low`` and ``high`` are the ends of the metric over all decisions;
    ``share`` says that it is a single share of rows.
    """

    sign: int
    value: float
    values: FloatArray
    middles: FloatArray
    errors: FloatArray
    slopes: Any
    first: IntArray
    second: IntArray
    low: float
    high: float
    share: bool = False
    logs: bool = False

    @classmethod
    def of(
        cls, sign: int, value: float, values: FloatArray, influences: FloatArray, seen: Evidence, **ends: Any
    ) -> Pieces:
        """Return the pieces of functions whose influences are known."""
        count = len(values)
        errors = np.sqrt(variances(influences, seen))
        places = np.arange(count), np.full(count, -1)
        return cls(sign, value, values, values, errors, influences, *places, **ends)

    @classmethod
    def joined(cls, parts: Sequence[Any], **others: Any) -> Pieces:
        """Return the pieces of several sets of functions."""
        starts = np.cumsum([0, *(part.slopes.shape[0] for part in parts)])[:-1]
        moved = [
            [np.where(side >= 0, side + start, -1) for side in (part.first, part.second)]
            for part, start in zip(parts, starts, strict=True)
        ]
        first, second = (np.concatenate(side) for side in zip(*moved, strict=True))
        slopes = sp.csr_array(sp.vstack([part.slopes for part in parts]))
        values, middles, errors = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("values", "middles", "errors")
        )
        return cls(
            values=values, middles=middles, errors=errors, slopes=slopes, first=first, second=second, **others
        )

    def influences(self, which: Any) -> FloatArray:
        """Return the influences on some of the functions."""
        first, second = self.first[which], self.second[which]
        made = _dense(self.slopes[first])
        paired = np.flatnonzero(second >= 0)
        if paired.size:
            made[paired] -= _dense(self.slopes[second[paired]])
        return made

    @property
    def largest(self) -> FloatArray:
        """The influence on the metric, by the function that is the largest."""
        slope = self.sign * self.influences([int(self.values.argmax())])[0]
        return self.value * slope if self.logs else slope


def _dense(slopes: Any) -> FloatArray:
    return np.array(slopes.todense() if sp.issparse(slopes) else slopes)


def covariance(influences: FloatArray, seen: Evidence) -> FloatArray:
    """Return the covariances of functions whose patterns have these influences."""
    return np.asarray((influences * seen.squares) @ influences.T / seen.total**2)


def variances(influences: Any, seen: Evidence) -> FloatArray:
    """Return the variances of functions whose patterns have these influences, a matrix that may be sparse."""
    return np.asarray(influences**2 @ seen.squares / seen.total**2)
