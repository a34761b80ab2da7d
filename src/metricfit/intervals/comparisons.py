"""Comparisons over groups of rows: a difference, a ratio or a worst value is the largest of many functions.

Each function is one rate of one group, less that of another group or of all rows; for ratios, of their logarithms. What
is compared rests on few rows as soon as groups are small, and the usual standard error of a share of 0 or 1 is 0.
So, as Agresti and Caffo propose for the difference of two shares (American Statistician 54, 2000), the uncertainty is
that of shares to which a row of each outcome was added in each group: two for a share alone, half a row for logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import UndefinedError
from metricfit.functions.binding import Binding
from metricfit.intervals.evidence import Evidence
from metricfit.intervals.pieces import Pieces, variances
from metricfit.intervals.rates import rates_of
from metricfit.metrics.base import Metric, Sliced
from metricfit.metrics.comparison import Disparity, Worst, groups_of, strata_of
from metricfit.metrics.rates import Named, Rates
from metricfit.types import FloatArray, IntArray

# Functions that are further apart than this many of their standard errors are in the same order in the population.
CLEARLY_BELOW = 4.0
# Rows of each outcome that are added to a share: alone, in a difference, in the difference of logarithms.
ADDED = {"alone": 2.0, "difference": 1.0, "ratio": 0.5}


def _added(kind: str, functions: int) -> float:
    """Return how many rows of each outcome are added to a share.

    They are proportional to the standard errors that an interval reaches: where one of many functions is far out by
    chance, the normal distribution is not a good approximation to the tails of few rows. (Ten equal groups, 200 rows:
    without this the intervals of equalized odds contained the truth in .84 of 80 draws, so in .94, and with the square,
    as in Wilson's interval, in .98 to 1.)
    """
    reach, one = (NormalDist().inv_cdf(1 - share) for share in (0.05 / functions, 0.025))
    return ADDED[kind] * max(1.0, reach / one) if functions else ADDED[kind]


@dataclass(frozen=True, eq=False)
class Slope:
    """A metric of some rows, and the influence of each pattern on it.

    ``weight`` and ``rows`` are the weight of the rows that it is a mean of, and how many of equal weight tell as much;
    ``share`` says that it is a share of them, between 0 and 1.
    """

    value: float
    influence: FloatArray
    weight: float
    rows: float
    share: bool

    def smoothed(self, variance: float, added: float) -> tuple[float, float]:
        """Return value and variance as if there were so many more rows of each outcome."""
        if not self.share:
            return self.value, variance
        p, rows = min(max(self.value, 0.0), 1.0), self.rows
        if variance > 1e-14 and 0 < p < 1:
            rows = p * (1 - p) / variance
        rows = max(rows, 1.0)
        middle = (rows * p + added) / (rows + 2 * added)
        return middle, middle * (1 - middle) / (rows + 2 * added)


def unwrapped(metric: Metric, binding: Binding) -> tuple[Metric, Binding]:
    """Return a metric without its name and its slice, and the rows of the slice."""
    while isinstance(metric, Sliced | Named):
        binding = binding.at(metric.where) if isinstance(metric, Sliced) else binding
        metric = metric.metric
    return metric, binding


class Comparison:
    """The functions that a comparison over groups is the largest of, found group by group and rate by rate.

    ``of_metric`` gives value and influence of any metric on some rows; rates are handled here.
    """

    def __init__(self, metric: Disparity | Worst, seen: Evidence, of_metric: Any) -> None:
        self.metric, self.seen, self.of_metric = metric, seen, of_metric

    def pieces(self, binding: Binding, value: float, high: float) -> Pieces:
        """Return the functions that may be the largest in the population."""
        found = list(self._near(list(self._every(binding))))
        if not found:
            raise UndefinedError(f"undefined{binding.where()}: no group has rows to compare")
        ratio = isinstance(self.metric, Disparity) and self.metric.as_ratio
        worst = isinstance(self.metric, Worst)
        return Pieces.joined(
            found,
            sign=-1 if ratio or (worst and self.metric.direction >= 0) else 1,
            value=value,
            low=0.0 if not worst else -np.inf,
            high=1.0 if ratio else high,
            logs=ratio,
        )

    def _every(self, binding: Binding) -> Iterator[Functions]:
        metric, seen = self.metric, self.seen
        if isinstance(metric, Worst):
            groups = groups_of(metric, metric.metric, binding)
            alone = [f for g in groups.values() for f in self._on(metric.metric, g)[:1] if f is not None]
            if alone:
                sign = -1 if metric.direction >= 0 else 1
                yield Functions.alone(alone, sign, _added("alone", len(alone)), seen)
            return
        found = list(self._rates(metric, binding))
        each = [len(slopes) * (len(slopes) - 1 if metric.to == "pairs" else 2) for slopes, _ in found]
        added = _added("ratio" if metric.as_ratio else "difference", sum(each))
        for slopes, overall in found:
            yield Functions.apart(slopes, overall, metric, added, seen)

    def _rates(self, metric: Disparity, binding: Binding) -> Iterator[tuple[list[Slope], Slope]]:
        """Yield each rate that is compared, of the groups and of all rows."""
        for within, stratum in strata_of(metric, binding).items():
            for part in metric.metric.parts(stratum):
                groups = groups_of(metric, part, stratum, within)
                if not groups:  # all rates of a rare class may be of few rows
                    continue
                narrow = zip(*(self._on(part, g) for g in groups.values()), strict=True)
                for overall, each in zip(self._on(part, stratum), narrow, strict=True):
                    # A group that never gets a decision has the overall precision, see `Disparity`.
                    filled = [overall if f is None and getattr(part, "ratio", False) else f for f in each]
                    known = [f for f in filled if f is not None]
                    if overall is not None and len(known) > (metric.to == "pairs"):
                        yield known, overall

    def _on(self, metric: Metric, binding: Binding) -> list[Slope | None]:
        """Return each rate of a metric, or the metric itself, on the rows of a binding; None for a rate of no rows."""
        inner, slice_ = unwrapped(metric, binding)
        if not isinstance(inner, Rates):
            return [self.of_metric(inner, slice_, self.seen)]
        slopes: list[Slope | None] = []
        for rate in rates_of(inner, slice_):
            found = rate.on(self.seen)
            slopes.append(None if found is None else Slope(*found, *rate.denominator(self.seen), rate.share))
        return slopes

    def _near(self, every: Sequence[Functions]) -> Iterator[Functions]:
        if not every:
            return
        highest = max(float((f.middles - CLEARLY_BELOW * f.errors).max()) for f in every)
        for functions in every:
            near = functions.middles + CLEARLY_BELOW * functions.errors >= highest
            if near.any():
                yield functions.taken(np.flatnonzero(near))


@dataclass(frozen=True, eq=False)
class Functions:
    """Rows ``first`` of ``slopes`` less rows ``second`` (none where it is -1), with values, middles and errors."""

    values: FloatArray
    middles: FloatArray
    errors: FloatArray
    slopes: Any
    first: IntArray
    second: IntArray

    def taken(self, which: IntArray) -> Functions:
        """Return some of the functions."""
        values, middles, errors = (each[which] for each in (self.values, self.middles, self.errors))
        return Functions(values, middles, errors, self.slopes, self.first[which], self.second[which])

    @classmethod
    def alone(cls, groups: Sequence[Slope], sign: int, added: float, seen: Evidence) -> Functions:
        """Return the values of the groups, times a sign."""
        slopes = sp.csr_array(np.stack([sign * f.influence for f in groups]))
        raw = variances(slopes, seen)
        smooth = np.array([f.smoothed(v, added) for f, v in zip(groups, raw, strict=True)])
        values, places = sign * np.array([f.value for f in groups]), np.arange(len(groups))
        nothing = np.full(len(groups), -1)
        return cls(values, sign * smooth[:, 0], np.sqrt(smooth[:, 1]), slopes, places, nothing)

    @classmethod
    def apart(
        cls, groups: Sequence[Slope], overall: Slope, metric: Disparity, added: float, seen: Evidence
    ) -> Functions:
        """Return how far groups are from each other, or from all rows or their mean, both ways."""
        count = len(groups)
        own = sp.csr_array(np.stack([f.influence for f in groups]))
        raw = variances(own, seen)
        smooth = np.array([f.smoothed(v, added) for f, v in zip(groups, raw, strict=True)])
        values, more = np.array([f.value for f in groups]), smooth[:, 1] - raw
        shares = np.full(count, 1 / count)
        reference, influence = values.mean(), np.asarray(own.mean(axis=0)).ravel()
        if metric.to == "overall":
            shares = np.array([f.weight for f in groups]) / overall.weight
            reference, influence = overall.value, overall.influence
        values = np.append(values, reference)
        middles = np.append(smooth[:, 0], reference + shares @ (smooth[:, 0] - values[:-1]))
        slopes = sp.csr_array(sp.vstack([own, sp.csr_array(influence[None])]))
        # What each item is to the groups' rates: these change by what was added.
        parts = np.vstack([np.eye(count), shares])
        if metric.as_ratio:
            positive = np.maximum(middles, 1e-12)
            slopes = sp.csr_array(sp.diags_array(1 / positive) @ slopes)
            parts, values, middles = parts / positive[:, None], np.log(positive), np.log(positive)
        if metric.to == "pairs":
            first, second = (side.ravel() for side in np.nonzero(~np.eye(count, dtype=bool)))
            each = (raw + more) * np.diag(parts[:count]) ** 2
            variance = each[first] + each[second]
        else:
            places, all_rows = np.arange(count), np.full(count, count)
            first, second = np.r_[places, all_rows], np.r_[all_rows, places]
            one_way = sp.csr_array(slopes[:count] - sp.csr_array(np.ones((count, 1))) @ slopes[[count]])
            variance = np.tile(variances(one_way, seen) + (parts[:count] - parts[count]) ** 2 @ more, 2)
        errors = np.sqrt(np.maximum(variance, 0.0))
        return cls(
            values[first] - values[second], middles[first] - middles[second], errors, slopes, first, second
        )
