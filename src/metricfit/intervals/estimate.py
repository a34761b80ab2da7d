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

from metricfit.exceptions import Undefined
from metricfit.intervals.evidence import Evidence
from metricfit.intervals.influence import Pieces, covariance, taken_apart, variances
from metricfit.metrics.base import Metric
from metricfit.types import FloatArray

LEVEL = 0.95
# Draws from the joint distribution of several functions, which give the factor of their standard errors.
DRAWS = 4000
# For more functions than this Bonferroni's correction replaces the draws: those of 30 groups by 8 classes (3,840) are
# hardly correlated, so that the factor is only a few per cent larger.
MANY = 1000


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its 95 % interval; all NaN for a rate of no rows.

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
    try:
        pieces = taken_apart(metric, seen)
    except Undefined:
        return Estimate(np.nan, np.nan, np.nan)
    if pieces.values.size > 1:
        return _of_several(pieces, seen, level)
    found = _of_one(pieces, float(variances(pieces.influences, seen)[0]), seen, level)
    variance = 0.0 if more is None else more()
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
    except Undefined:
        return 0.0
    chosen = pieces.influences[[int(np.argmax(pieces.values))]]
    return float(np.sqrt(variances(chosen, seen)[0]))


def _of_one(pieces: Pieces, spread: float, seen: Evidence, level: float) -> Estimate:
    value = pieces.value
    if pieces.low >= -1e-9 and pieces.high <= 1 + 1e-9:
        share = min(max(value, 0.0), 1.0)
        return Estimate(value, *wilson(share, _rows_behind(share, spread, seen), level))
    half = NormalDist().inv_cdf(0.5 + level / 2) * float(np.sqrt(spread))
    return Estimate(value, max(value - half, pieces.low), min(value + half, pieces.high))


def _rows_behind(share: float, spread: float, seen: Evidence) -> float:
    """Return how many rows of 0/1 outcomes would have this variance."""
    if spread > 1e-14 and 0 < share < 1:
        return max(share * (1 - share) / spread, 1.0)
    # Outcomes that are all equal have no variance; the number of rows of the smallest class is a cautious answer.
    totals = np.bincount(seen.labels, seen.mass, seen.axes.n)
    squares = np.bincount(seen.labels, seen.squares, seen.axes.n)
    used = totals > 0
    return max(float((totals[used] ** 2 / squares[used]).min()), 1.0)


def _of_several(pieces: Pieces, seen: Evidence, level: float) -> Estimate:
    errors = np.sqrt(variances(pieces.influences, seen))
    one = NormalDist().inv_cdf(0.5 + level / 2)
    # Functions that lie clearly below another one are not the largest in the population either.
    near = pieces.values + 2 * one * errors >= (pieces.values - 2 * one * errors).max()
    values, errors = pieces.values[near], errors[near]
    factor = _factor(pieces.influences[near], errors, seen, 0.5 + level / 2)
    ends = sorted(
        (pieces.sign * (values - factor * errors).max(), pieces.sign * (values + factor * errors).max())
    )
    # A largest of differences both ways, as parity is, is never negative.
    both_ways = pieces.sign > 0 and np.allclose(np.sort(pieces.values), np.sort(-pieces.values))
    low = max(pieces.low, 0.0) if both_ways else pieces.low
    return Estimate(
        pieces.value,
        float(np.clip(ends[0], low, pieces.high)),
        float(np.clip(ends[1], pieces.low, pieces.high)),
    )


def _factor(influences: FloatArray, errors: FloatArray, seen: Evidence, level: float) -> float:
    """Return how many standard errors all of several estimates stay within, on one side."""
    used = errors > 0
    if not used.any():
        return 0.0
    if used.sum() > MANY:
        return NormalDist().inv_cdf(1 - (1 - level) / float(used.sum()))
    scaled = covariance(influences[used], seen) / np.outer(errors[used], errors[used])
    values, vectors = np.linalg.eigh(scaled)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = np.random.default_rng(0).standard_normal((DRAWS, root.shape[0])) @ root.T
    return float(np.quantile(drawn.max(axis=1), level))
