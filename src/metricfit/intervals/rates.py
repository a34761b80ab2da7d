"""Rates as quotients of two means over rows, and what each row adds to them.

All of this has a closed form: the slope of a quotient needs no values of the metric at other class shares, so that
hundreds of rates in hundreds of groups take no longer than a few passes over the patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.data.axes import Axes
from metricfit.functions.binding import Binding
from metricfit.functions.linear import Linear
from metricfit.functions.matrices import dense
from metricfit.intervals.evidence import Evidence
from metricfit.metrics.rates import Rates
from metricfit.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Rate:
    """``E[x] / E[z]`` over the cells of a mask.

    ``over`` and ``under`` are what a row of a class adds to x and z, by its decision: (n, k), or (cells, n, k).
    """

    over: FloatArray
    under: FloatArray
    mask: BoolArray

    @property
    def fixed(self) -> bool:
        """Whether no decision changes the denominator, which then counts rows."""
        return bool(np.ptp(self.under, axis=-1).max() == 0) and bool(np.isin(self.under, (0.0, 1.0)).all())

    @property
    def counts(self) -> bool:
        """Whether it is a share of some rows among others: rows of the numerator count in the denominator too."""
        whole = np.isin(self.over, (0.0, 1.0)) & np.isin(self.under, (0.0, 1.0))
        return bool(np.all(whole & (self.over <= self.under)))

    @property
    def share(self) -> bool:
        """Whether no decisions can make it negative or larger than 1, as they can a cost."""
        return bool(np.all((self.over >= 0) & (self.over <= self.under)))

    def denominator(self, seen: Evidence) -> tuple[float, float]:
        """Return the weight of the rows in the denominator, and how many rows of equal weight tell as much."""
        place = (seen.labels,) if self.over.ndim == 2 else (seen.cells, seen.labels)
        z = np.einsum("pk,pk->p", self.under[place], seen.chances) * self.mask[seen.cells]
        whole, squares = float(seen.mass @ z), float(seen.squares @ z**2)
        return whole, whole**2 / squares if squares > 0 else 0.0

    def on(self, seen: Evidence) -> tuple[float, FloatArray] | None:
        """Return the rate and the influence of each pattern on it; None for a rate of no rows.

        Examples
        --------
        >>> import numpy as np
        >>> from metricfit.data.axes import Axes
        >>> seen = Evidence.of(Axes((0, 1)), None, np.array([0, 1, 1]), np.eye(2)[[0, 1, 0]])
        >>> recall = Rate(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 1.0]]), np.ones(1, bool))
        >>> value, influence = recall.on(seen)
        >>> value, sorted(influence.tolist())
        (0.5, [-0.75, 0.0, 0.75])
        """
        inside = self.mask[seen.cells]
        place = (seen.labels,) if self.over.ndim == 2 else (seen.cells, seen.labels)
        x, z = (np.einsum("pk,pk->p", table[place], seen.chances) for table in (self.over, self.under))
        whole = float((seen.mass * inside) @ z)
        if not whole > 0:
            return None
        value = float((seen.mass * inside) @ x) / whole
        return value, np.where(inside, (x - value * z) * (seen.total / whole), 0.0)


def rates_of(metric: Rates, binding: Binding) -> list[Rate]:
    """Return the rates of a metric in the slice that a binding looks at."""
    over, under = (_coefficients(part(binding), binding.axes) for part in (metric.over, metric.under))
    under = np.broadcast_to(under, over.shape)
    return [Rate(x, z, binding.mask) for x, z in zip(over, under, strict=True)]


def _coefficients(linear: Linear, axes: Axes) -> FloatArray:
    """Return what a row of each class with each decision adds to each of some functions, (functions, n, k)."""
    made = np.zeros((linear.size, axes.n, axes.k))
    diagonal, column, row, full = linear.parts
    if diagonal is not None:
        made += axes.right * dense(diagonal)[:, None, :]
    if column is not None:
        made += dense(column)[:, None, :]
    if row is not None:
        made += dense(row)[:, :, None]
    if full is not None:
        made += dense(full).reshape(made.shape)
    return made
