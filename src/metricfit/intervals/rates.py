"""Rates as quotients of two means over rows, and what each row adds to them and to their comparison over groups.

All of this has a closed form: the slope of a quotient needs no values of the metric at other class shares, so that
hundreds of rates in hundreds of groups take no longer than a few passes over the patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metricfit.data.axes import Axes
from metricfit.exceptions import Undefined
from metricfit.functions.binding import Binding
from metricfit.functions.linear import Linear
from metricfit.functions.matrices import dense
from metricfit.intervals.evidence import Evidence
from metricfit.metrics.base import Metric, Sliced
from metricfit.metrics.comparison import Disparity, Worst, compared, strata_of
from metricfit.metrics.rates import Named, Rates
from metricfit.types import BoolArray, FloatArray

# Functions that are further apart than this many of their standard errors are in the same order in the population.
CLEARLY_BELOW = 4.0


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


LinearFunction = tuple[float, FloatArray]


def of_groups(metric: Metric, seen: Evidence) -> tuple[int, FloatArray, FloatArray] | None:
    """Return a sign, and values and influences of functions: the metric is the sign times the largest of these.

    None for other metrics than rates and comparisons of rates over groups. A rate is one function, a disparity the
    largest of differences, a worst rate that of all rates; functions clearly below another one are left out. Raises
    `Undefined` for a rate of no rows, such as the precision of a class that is never decided, which is not 0.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.data.axes import Axes
    >>> seen = Evidence.of(Axes((0, 1)), None, np.array([0, 1, 1]), np.eye(2)[[0, 1, 0]])
    >>> of_groups(mf.recall(1), seen)[1].tolist(), of_groups(mf.g_mean(), seen)
    ([0.5], None)
    """
    binding = Binding.of(seen.axes, seen.confusion.margins)
    metric, binding = _unwrapped(metric, binding)
    if isinstance(metric, Rates):
        rates = rates_of(metric, binding)
        if len(rates) != 1:
            return None
        found = rates[0].on(seen)
        if found is None:
            raise Undefined(f"undefined{binding.where()}: no rows to take a share of")
        return 1, np.array([found[0]]), found[1][None]
    if isinstance(metric, Worst):
        sign = -1 if metric.direction >= 0 else 1
        near = _near_the_largest(((sign * v, sign * i) for v, i in _of_each(metric, binding, seen)), seen)
        return None if near is None else (sign, *near)
    if not isinstance(metric, Disparity) or metric.as_ratio:
        return None
    parts = [part for part in metric.metric.parts(binding) if isinstance(part, Rates) and not part.ratio]
    if len(parts) < len(metric.metric.parts(binding)):
        return None
    near = _near_the_largest(_differences(metric, parts, binding, seen), seen)
    return None if near is None else (1, *near)


def ends_of(metric: Metric, seen: Evidence) -> tuple[float, float]:
    """Return the smallest and the largest value that a metric of `of_groups` can have.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.data.axes import Axes
    >>> seen = Evidence.of(Axes((0, 1, 2)), None, np.array([0, 0, 1, 2]), np.eye(3)[[0, 1, 1, 0]])
    >>> ends_of(mf.recall(1), seen), ends_of(mf.ordinal_error(), seen)
    ((0.0, 1.0), (0.0, 1.75))
    """
    binding = Binding.of(seen.axes, seen.confusion.margins)
    inner, slice_ = _unwrapped(metric, binding)
    compared = inner.metric if isinstance(inner, Worst | Disparity) else inner
    parts = [_unwrapped(part, slice_)[0] for part in compared.parts(slice_)]
    if all(rate.share for part in parts if isinstance(part, Rates) for rate in rates_of(part, slice_)):
        return 0.0, 1.0
    low, high = binding.take(metric).reach()
    return float(low[0]), float(high[0])


def _unwrapped(metric: Metric, binding: Binding) -> tuple[Metric, Binding]:
    """Return a metric without its name and its slice, and the rows of the slice."""
    while isinstance(metric, Sliced | Named):
        binding = binding.at(metric.where) if isinstance(metric, Sliced) else binding
        metric = metric.metric
    return metric, binding


def _of_each(metric: Worst, binding: Binding, seen: Evidence) -> Iterator[LinearFunction]:
    """Yield the rate of each group, if it is one rate and not a function of several."""
    for group in binding.groups(metric.over).values():
        part, slice_ = _unwrapped(metric.metric, group)
        rates = rates_of(part, slice_) if isinstance(part, Rates) else []
        found = rates[0].on(seen) if len(rates) == 1 and group.mass >= metric.min_share else None
        if found is not None:
            yield found


def _differences(
    metric: Disparity, parts: list[Rates], binding: Binding, seen: Evidence
) -> Iterator[LinearFunction]:
    """Yield each rate of each group minus what it is compared with, and the other way round."""
    for within, stratum in strata_of(metric, binding).items():
        for part in parts:
            groups = [group for _, group, _ in compared(metric, part, stratum, within)]
            for whole, *narrow in zip(*(rates_of(part, b) for b in (stratum, *groups)), strict=True):
                overall, found = (
                    whole.on(seen),
                    [f for f in (rate.on(seen) for rate in narrow) if f is not None],
                )
                if overall is None or not found:
                    continue
                values, influences = np.array([v for v, _ in found]), np.stack([i for _, i in found])
                if metric.to == "pairs":
                    high, low = int(values.argmax()), int(values.argmin())
                    yield values[high] - values[low], influences[high] - influences[low]
                    continue
                middle = overall if metric.to == "overall" else (values.mean(), influences.mean(axis=0))
                for value, influence in zip(values - middle[0], influences - middle[1], strict=True):
                    yield float(value), influence
                    yield -float(value), -influence


def _near_the_largest(
    found: Iterator[LinearFunction], seen: Evidence
) -> tuple[FloatArray, FloatArray] | None:
    """Return the functions that may be the largest in the population."""
    kept: list[tuple[float, LinearFunction]] = []
    highest = -np.inf
    for value, influence in found:
        reach = CLEARLY_BELOW * float(np.sqrt(influence**2 @ seen.squares)) / seen.total
        if value + reach >= highest:
            highest = max(highest, value - reach)
            kept.append((value + reach, (value, influence)))
    near = [function for high, function in kept if high >= highest]
    return (np.array([value for value, _ in near]), np.stack([i for _, i in near])) if near else None
