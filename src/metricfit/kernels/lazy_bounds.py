"""How far a loss may move from a reference before a row's decision can change.

Let ``s_j = D_j p_j + W_j`` be the scores of a row at the reference, less a shift that is the same for all j.
At another loss (D', W') with ``D'_j = c r_j D_j`` the scores are, up to a positive factor and a shift,

    s'_j = r_j s_j + e_j,    e_j = W'_j / c - r_j W_j - h,

for any c > 0 and h. Take both such that the r_j are around 1 and the e_j around 0, and let the *drift* be the
least δ with ``|r_j - 1| <= δ`` and ``|e_j| <= δ w`` for a fixed w. The smallest score b then rises by at most
``δ (|b| + w)``, and no other falls below ``s - δ (|s| + w)``, where s is the second smallest. So the decision
stands while δ is below the row's *radius* ``(s - b) / (|b| + |s| + 2 w)``. An allowance for rounding makes
this hold of the scores as computed. Equal scores have radius 0: such rows are always decided anew.

The rule of a loss does not change when the loss is scaled, and neither does this drift; where W = 0 it is the
change of the slopes relative to each other, whatever the probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.types import FloatArray, IntArray

# Rows with a radius below 2**LEAST always count as near; a drift above LARGEST is none worth bounding.
LEAST, LARGEST = -20, 0.25
FLOOR = int(np.float32(2.0**LEAST).view(np.int32) >> 21) - 1
BUCKETS = int(np.float32(LARGEST).view(np.int32) >> 21) - FLOOR + 1

# In the units of the loss, more than what underflow can do to a score; see also `Reference.drift`.
UNDERFLOW = 1e-34

# More than the rounding of the two scores, in float32, at the reference and at the other loss: relative to
# the size of the scores, and to that of the offsets.
ALLOWANCE, ROUNDING = 2.0**-18, 2.0**-19

# Beyond, scores could overflow.
LARGE = 1e30

# Keeps a row of equal scores from a division by zero.
TINY = 1e-300

# Share of the mean slope that offsets are measured by at the least: near zero, a relative change says little.
OFFSET = 2.0**-8


@dataclass(frozen=True, eq=False)
class Reference:
    """A diagonal loss, rounded as the kernels round it, that others are measured from.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.kernels.lazy_bounds import Reference
    >>> loss = np.array([[[-1.0, -2.0], [0.0, 0.0]]])
    >>> reference = Reference.of(loss, np.array([0, 1]), np.dtype("float64"))
    >>> reference.drift(3 * loss), reference.drift(loss * [1.0, 1.5])
    (array([0.]), array([0.2]))
    """

    slope: FloatArray
    offset: FloatArray
    span: FloatArray
    match: IntArray
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, loss: FloatArray, match: IntArray, dtype: np.dtype[Any]) -> Reference | None:
        """Return the reference of a loss; None if its scores could overflow or there is nothing to choose."""
        slope, offset = _rounded(loss, match, dtype)
        if slope.shape[1] < 2 or not max(np.abs(slope).max(), np.abs(offset).max()) < LARGE:
            return None
        spread = (offset.max(axis=1) - offset.min(axis=1)) / 2
        least = OFFSET * np.abs(slope).mean(axis=1) * offset.any(axis=1)
        return cls(slope, offset, np.maximum(spread, least), match, dtype)

    @property
    def shift(self) -> FloatArray:
        """For each cell, what is taken off its scores."""
        return (self.offset.max(axis=1) + self.offset.min(axis=1)) / 2

    @property
    def terms(self) -> FloatArray:
        """For each cell the shift, 2 w, and the part of the allowance that does not depend on the row."""
        allowance = ROUNDING * np.abs(self.offset).max(axis=1) + UNDERFLOW
        return np.stack([self.shift, 2 * self.span, allowance], axis=1)

    def drift(self, loss: FloatArray) -> FloatArray:
        """Return the drift of each cell from here to a loss; infinity where there is no bound."""
        slope, offset = _rounded(loss, self.match, self.dtype)
        if not max(np.abs(slope).max(), np.abs(offset).max()) < LARGE:
            return np.full(len(slope), np.inf)
        bounded = (np.sign(slope) == np.sign(self.slope)).all(axis=1)
        used = (slope != 0) & bounded[:, None]
        constant = ~used.any(axis=1)
        old = self.offset - self.shift[:, None]
        with np.errstate(all="ignore"):  # what is not a number ends as no bound
            ratio = np.where(used, slope / self.slope, 1.0)
            low = np.where(used, ratio, np.inf).min(axis=1)
            high = np.where(used, ratio, -np.inf).max(axis=1)
            by_offset = np.ptp(offset, axis=1) / np.ptp(old, axis=1)
            scale = np.where(constant, np.where(by_offset > 0, by_offset, 1.0), (low + high) / 2)
            turned = np.where(constant, 0.0, (high - low) / (high + low))
            factor = np.where(used, ratio / scale[:, None], 1.0)
            moved = np.ptp(offset / scale[:, None] - factor * old, axis=1) / 2
            error = moved + ROUNDING * np.abs(offset).max(axis=1) / scale
            drift = np.maximum(turned, np.where(error == 0, 0.0, error / self.span))
            # At scales far apart, the underflow of one loss is not small beside that of the other.
            bounded &= (scale > 1e-6) & (scale < 1e6) & (drift >= 0)
        return np.where(bounded, drift, np.inf)


def remember_numpy(
    reference: Reference, scores: FloatArray, cell: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return the decision and the bucket of each row, from its scores at the reference: the slow twin."""
    k, terms = scores.shape[1], reference.terms[0 if cell is None else cell]
    decisions = k - 1 - scores[:, ::-1].argmin(axis=1)
    best, second = np.partition(scores, 1, axis=1)[:, :2].astype(np.float64).T
    shift, span, allowance = terms.T
    size = np.abs(best - shift) + np.abs(second - shift)
    slack = np.maximum(second - best - ALLOWANCE * size - allowance, 0.0)
    radius = (slack / (size + span + TINY)).astype(np.float32)
    return decisions, np.clip((radius.view(np.int32) >> 21) - FLOOR, 0, 255)


def near(drift: FloatArray) -> IntArray:
    """Return, for each cell, the number of buckets whose rows a drift can reach; BUCKETS + 1 if all rows."""
    place = (drift.astype(np.float32).view(np.int32) >> 21) - FLOOR
    return np.where(drift < LARGEST, np.maximum(place, 0) + 1, BUCKETS + 1)


def _rounded(loss: FloatArray, match: IntArray, dtype: np.dtype[Any]) -> tuple[FloatArray, FloatArray]:
    with np.errstate(over="ignore"):
        rounded = loss.astype(dtype).astype(np.float64)
    return np.where(match >= 0, rounded[:, 0], 0.0), rounded[:, 1]
