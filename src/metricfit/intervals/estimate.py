"""A metric of labelled rows with a confidence interval of the kind that suits it.

- A rate, or another smooth metric between 0 and 1: Wilson's interval for as many rows as would have the variance found
  (with 0/1 outcomes of equal weight, the rows of the rate; weights and mixtures of rules change the number).
- Another smooth metric: the value plus and minus 1.96 standard errors.
- A largest or smallest of several (parity, worst group): ends that hold simultaneously for all that may be the largest,
  from their joint distribution. (Resampling was tried: it covers .67 to .98 where parity is near 0.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from metricfit.exceptions import UndefinedError
from metricfit.intervals.evidence import Evidence
from metricfit.intervals.influence import taken_apart
from metricfit.intervals.pieces import Pieces, covariance, variances
from metricfit.metrics.base import Combination, Metric, Sliced
from metricfit.metrics.rates import Named
from metricfit.types import IntArray

LEVEL = 0.95
# Draws from the joint distribution of several functions, which give the factor of their standard errors.
DRAWS = 4000
# For more functions than this Bonferroni's correction replaces the draws: those of 30 groups by 8 classes (3,840) are
# hardly correlated, so that the factor is only a few per cent larger.
MANY = 1000


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its 95 % interval, which are NaN for a rate of no rows.

    The value of such a rate is that of its metric by convention, 0 for the precision of a decision that is never made,
    and NaN where the metric has none, as for the recall of a class without rows.

    Examples
    --------
    >>> print(Estimate(0.702, 0.68, 0.725))
    0.702 [0.680, 0.725]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def wilson(share: float, rows: float, level: float = LEVEL) -> tuple[float, float]:
    """Return the ends of Wilson's interval for a share of ``rows`` rows.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(1.0, 20)]
    [0.839, 1.0]
    """
    z = NormalDist().inv_cdf(0.5 + level / 2)
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return float(max(0.0, min(middle - half, share))), float(min(1.0, max(middle + half, share)))


def estimate(
    metric: Metric, seen: Evidence, level: float = LEVEL, more: Callable[[], float] | None = None
) -> Estimate:
    """Return the value of a metric and the ends of its interval.

    Parameters
    ----------
    metric : Metric
        Any function of the confusion tensor.
    seen : Evidence
        Labelled rows and the chances of their decisions.
    level : float
        How often such intervals contain the true value.
    more : callable, optional
        Returns a variance of the value that these rows do not show, such as that of the policy itself. It is left out
        for a largest of several, whose ends hold for all of them simultaneously: on draws of benchmarks/trust they
        contained parity and opportunity in .92 to .99 of cases without it, and in all of 200 with it.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.data.axes import Axes
    >>> decided = np.eye(2)[(np.arange(100) % 10 > 0).astype(int)]
    >>> print(estimate(mf.recall(1), Evidence.of(Axes((0, 1)), None, np.ones(100, int), decided)))
    0.900 [0.826, 0.945]
    """
    if (line := _line_of(metric)) is not None:
        scale, inner, constant = line
        found = estimate(inner, seen, level, None if more is None else lambda: more() / scale**2)
        low, high = sorted((scale * found.low + constant, scale * found.high + constant))
        return Estimate(scale * found.value + constant, low, high)
    try:
        pieces = taken_apart(metric, seen)
    except UndefinedError:
        return Estimate(_by_convention(metric, seen), np.nan, np.nan)
    near = _near_the_largest(pieces, level)
    found = _of_one(pieces, seen, level) if pieces.share else _of_several(pieces, near, seen, level)
    variance = 0.0 if more is None or len(near) > 1 else more()
    if not variance:
        return found
    far = NormalDist().inv_cdf(0.5 + level / 2) * np.sqrt(variance)
    low = found.value - float(np.hypot(found.value - found.low, far))
    high = found.value + float(np.hypot(found.high - found.value, far))
    return Estimate(found.value, max(low, pieces.low), min(high, pieces.high))


def standard_error(metric: Metric, seen: Evidence) -> float:
    """Return the standard error of a metric's value; for a largest of several, that of the largest one.

    It is 0 for a rate of no rows, which nothing varies.
    """
    try:
        pieces = taken_apart(metric, seen)
    except UndefinedError:
        return 0.0
    return float(np.sqrt(variances(pieces.largest[None], seen)[0]))


def _by_convention(metric: Metric, seen: Evidence) -> float:
    """Return the value that a metric has on rows that tell nothing about it; NaN if it has none."""
    try:
        return metric(seen.confusion)
    except ValueError:
        return np.nan


def _line_of(metric: Metric) -> tuple[float, Metric, float] | None:
    """Return scale, metric and constant if this is another metric times a number plus a number."""
    where = None
    while isinstance(metric, Named | Sliced):
        where = metric.where if isinstance(metric, Sliced) else where
        metric = metric.metric
    if not isinstance(metric, Combination) or len(metric.terms) != 1:
        return None
    (scale, inner), constant = metric.terms[0], metric.constant
    return scale, inner if where is None else inner.at(**where), constant


def _of_one(pieces: Pieces, seen: Evidence, level: float) -> Estimate:
    share = min(max(pieces.value, 0.0), 1.0)
    rows = _rows_behind(share, float(pieces.errors[0]) ** 2, seen)
    return Estimate(pieces.value, *wilson(share, rows, level))


def _rows_behind(share: float, spread: float, seen: Evidence) -> float:
    """Return how many rows of 0/1 outcomes would have this variance."""
    if spread > 1e-14 and 0 < share < 1:
        return max(share * (1 - share) / spread, 1.0)
    # Outcomes that are all equal have no variance; the number of rows of the smallest class is a cautious answer.
    totals = np.bincount(seen.labels, seen.mass, seen.axes.n)
    squares = np.bincount(seen.labels, seen.squares, seen.axes.n)
    used = totals > 0
    return max(float((totals[used] ** 2 / squares[used]).min()), 1.0)


def _near_the_largest(pieces: Pieces, level: float) -> IntArray:
    """Return the functions that may be the largest in the population: the others lie clearly below one of them."""
    reach = 2 * NormalDist().inv_cdf(0.5 + level / 2) * pieces.errors
    return np.flatnonzero(pieces.middles + reach >= (pieces.middles - reach).max())


def _of_several(pieces: Pieces, near: IntArray, seen: Evidence, level: float) -> Estimate:
    """Return an interval from what all functions that may be the largest contain.

    The largest in the population is at least each function, so its lower end must hold for all of them simultaneously.
    Its upper end need only hold for the one that is the largest. Where several are, the upper end is never too low, so
    that the lower one may fail as often as both together; where one is, each end fails half as often.
    """
    middles, errors = pieces.middles[near], pieces.errors[near]
    if not errors.any() and pieces.low >= -1e-9 and pieces.high <= 1 + 1e-9:
        return _of_one(pieces, seen, level)  # such as the lowest of recalls that are all 1
    one = NormalDist().inv_cdf(0.5 + level / 2)
    low = float((middles - max(one, _factor(pieces, near, seen, level)) * errors).max())
    high = float((middles + one * errors).max())
    ends = np.array([low, high] if pieces.sign > 0 else [-high, -low])
    low, high = np.clip(np.exp(ends) if pieces.logs else ends, pieces.low, pieces.high)
    return Estimate(pieces.value, float(min(low, pieces.value)), float(max(high, pieces.value)))


def _factor(pieces: Pieces, near: IntArray, seen: Evidence, level: float) -> float:
    """Return how many standard errors all of several estimates stay within, on one side."""
    if len(near) > MANY:
        return NormalDist().inv_cdf(1 - (1 - level) / len(near))
    together = covariance(pieces.influences(near), seen)
    scale = np.sqrt(np.diag(together))
    scale[scale == 0] = 1.0
    scaled = together / np.outer(scale, scale)
    np.fill_diagonal(scaled, 1.0)
    values, vectors = np.linalg.eigh(scaled)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = np.random.default_rng(0).standard_normal((DRAWS, root.shape[0])) @ root.T
    return float(np.quantile(drawn.max(axis=1), level))
