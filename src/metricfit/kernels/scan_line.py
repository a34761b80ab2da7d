"""One line of a scan: the rows that a weight moves, in the order in which they enter its decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from metricfit.kernels.moving_rows import Moving
from metricfit.types import BoolArray, FloatArray

Kind = Literal["slope", "offset"]


@dataclass(frozen=True, eq=False)
class Line:
    """The rows that one weight moves, and the order in which they enter its decision.

    Parameters
    ----------
    decision, kind, cell
        Which weight: the factor of the probability ("slope") or the constant ("offset") of a decision's score,
        in one cell or in all (None).
    entering : Moving
        The rows in this order, the decision of each below its breakpoint, and what it counts. A row takes the decision
        when the weight is larger than its breakpoint.
    here : int
        How many rows have the decision now.
    apart : bool array of shape (rows + 1,)
        Whether some weight lets in just 0, 1, 2, ... rows: breakpoints may coincide.
    low, high : float
        Between these weights no other rows change.
    """

    decision: int
    kind: Kind
    cell: int | None
    entering: Moving
    here: int
    apart: BoolArray
    low: float
    high: float

    def __len__(self) -> int:
        return self.at.size

    @property
    def at(self) -> FloatArray:
        """The breakpoints, ascending."""
        return self.entering.at

    def part(self, first: int, last: int | None = None) -> Moving:
        """Return some of the rows, in order."""
        return self.entering.some(slice(first, last))

    def weight_for(self, count: int) -> float:
        """Return a weight that lets the first ``count`` rows in."""
        if 0 < count < len(self):
            return float(self.at[count - 1] + self.at[count]) / 2
        end = float(self.at[0]) if count == 0 else float(self.at[-1])
        limit = self.low if count == 0 else self.high
        if np.isfinite(limit):
            return (end + limit) / 2
        far = max(1.0, abs(end))
        return end - far if count == 0 else end + far
