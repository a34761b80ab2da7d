"""P-values for means of bounded variables that are valid with any number of rows.

The null hypothesis is that a mean is at most 0 (or a share on the wrong side of its limit), the alternative that it is
larger. A p-value is *valid* if, under the null hypothesis, it is at most a with probability at most a, for every a.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from metricfit.oracles.samples import SEED
from metricfit.types import FloatArray

# Bets are limited so that one row costs at most this part of the wealth.
BOLDEST = 0.75
# `binomial_gap` leaves out shares outside a confidence interval with this error, and tries this many of the others.
LEFT_OUT, GRID = 1e-10, 32
TINY = 1e-9


def binomial(hits: float, rows: float, share: float, coin: float = 1.0) -> float:
    """Return the exact p-value of "a row is a hit with probability at most ``share``": at least this many hits.

    The probability of exactly this many hits counts only by ``coin``. With a coin drawn uniformly from 0 to 1 the
    p-value of rows with probability ``share`` is uniform too, and a test at .05 is wrong in .05 of the cases. With a
    coin of 1 it is the usual p-value, wrong in .03 to .05 of the cases with some hundred rows.

    Examples
    --------
    >>> round(binomial(10, 10, 0.9), 4), round(binomial(10, 10, 0.9, coin=0.5), 4), binomial(0, 0, 0.9)
    (0.3487, 0.1743, 1.0)
    """
    from scipy import special

    if not rows:
        return 1.0
    more, as_many = special.bdtrc([round(hits), round(hits) - 1], round(rows), share)
    return float(more + coin * (as_many - more))


def at_most(hits: float, rows: float, share: float) -> float:
    """Return the exact p-value of "a row is a hit with probability at least ``share``": at most this many hits.

    Examples
    --------
    >>> round(at_most(0, 10, 0.1), 4)
    0.3487
    """
    from scipy import special

    return float(special.bdtr(round(hits), round(rows), share))


def binomial_gap(hits: tuple[float, float], rows: tuple[float, float], limit: float) -> float:
    """Return the p-value of "the first share exceeds the second by at least a limit": so small a difference.

    It is exact up to a grid: the largest probability over all pairs of shares that are ``limit`` apart. Shares outside
    a confidence interval are left out, and its error probability is added (Berger and Boos). The statistic is the
    difference in standard errors. The difference itself would have to be as small as for the shares where it varies
    most, which for shares around 0.8 needs 20 % more.

    Examples
    --------
    >>> round(binomial_gap((50, 50), (100, 100), 0.1), 3), binomial_gap((0, 0), (0, 0), 0.1)
    (0.089, 1.0)
    """
    from scipy import special

    (x, y), (n, m) = hits, rows
    if limit >= 1 - 2 * TINY:
        return 0.0  # shares are never further apart
    if not n or not m:
        return 1.0
    ends = special.betaincinv(
        [max(y, 1e-9), y + 1], [m - y + 1, max(m - y, 1e-9)], [LEFT_OUT / 2, 1 - LEFT_OUT / 2]
    )
    most = 1.0 - limit - TINY  # shares are at least TINY: binomials overflow next to 0
    low = min(max(float(ends[0]), TINY), most)
    high = min(max(float(ends[1]), low), most)
    second = np.linspace(low, high, GRID)[:, None]
    first_hits, first_chances = _likely(int(n), second + limit)
    second_hits, second_chances = _likely(int(m), second)
    seen = (x / n - y / m - limit) / _error_of_gap(x + y, n, m, limit)
    # The error depends on the sum of both hits alone: entry (i, j) of the view below is that of the sum number i + j.
    sums = first_hits[0] + second_hits[0] + np.arange(first_hits.size + second_hits.size - 1)
    largest = np.lib.stride_tricks.sliding_window_view(
        (seen + TINY) * _error_of_gap(sums, n, m, limit), second_hits.size
    )
    as_small = first_hits[:, None] / n - (second_hits / m + limit) <= largest
    # For each number of hits of the second sample, the differences as small as the one seen are those of the first few
    # numbers of hits of the first sample; ``few`` counts them. At the ends of the range there may be gaps among them,
    # which are filled: that makes the p-value larger, if anything.
    few = np.where(as_small.any(axis=0), first_hits.size - as_small[::-1].argmax(axis=0), 0)
    up_to = np.pad(np.cumsum(first_chances, axis=1), ((0, 0), (1, 0)))
    chances = (up_to[:, few] * second_chances).sum(axis=1)
    return float(min(1.0, chances.max() + LEFT_OUT))


def _error_of_gap(hits: Any, n: float, m: float, limit: float) -> Any:
    """Return the standard error of a difference of shares that are ``limit`` apart, given the hits of both together."""
    second = np.clip((hits - limit * n) / (n + m), 0.5 / (n + m), 1 - limit - 0.5 / (n + m))
    first = second + limit
    return np.sqrt(first * (1 - first) / n + second * (1 - second) / m)


def _likely(rows: int, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the numbers of hits that have all but 1e-11 of the probability, and the probability of each by share."""
    from scipy import special

    away = 7 * np.sqrt(rows * shares * (1 - shares)) + 8
    first, last = (rows * shares - away).min(), (rows * shares + away).max()
    hits = np.arange(max(0, math.floor(first)), min(rows, math.ceil(last)) + 1, dtype=float)
    ways = special.gammaln(rows + 1) - special.gammaln(hits + 1) - special.gammaln(rows - hits + 1)
    return hits, np.exp(ways + hits * np.log(shares) + (rows - hits) * np.log1p(-shares))


def bentkus(values: FloatArray, low: float, high: float) -> float:
    """Return Bentkus' p-value, e times the binomial tail: close to exact for values at the ends of their range.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.repeat([0.1, -0.9], [99, 1])  # a share of .99 where .9 is asked for
    >>> round(bentkus(values, -0.9, 0.1), 4)
    0.0009
    """
    rows = values.size
    if not rows or high <= low:
        return 1.0
    scaled = (values - low) / (high - low)
    # A whole number must stay one in spite of rounding errors in the sum.
    hits = math.floor(float(scaled.sum()) + 1e-9)
    from scipy import special

    return min(1.0, math.e * float(special.bdtrc(hits - 1, rows, -low / (high - low))))


def betting(values: FloatArray, low: float, before: FloatArray) -> float:
    """Return the p-value of a bettor who starts with 1 and bets on each value being above 0 (Waudby-Smith and Ramdas).

    In a fair game the wealth ever reaches 20 with probability at most 1/20, so 1 over the largest wealth is a p-value.
    The bet on a row depends only on the rows before it and on the values ``before``, which are not part of the test.

    Parameters
    ----------
    values : ndarray of shape (N,)
        The variables, in an order that does not depend on them.
    low : float
        The smallest value that they can have, below 0.
    before : ndarray
        The same variable on other rows, by which the first bets are chosen.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.repeat([0.1, -0.9], [99, 1])
    >>> betting(values, -0.9, values) < 0.05 < betting(-values, -0.1, -values)
    True
    """
    if not values.size or low >= 0:
        return 1.0
    mixed = values[np.random.default_rng(SEED).permutation(values.size)]
    count = before.size + 1 + np.arange(mixed.size)
    sums = before.sum() + np.concatenate([[0.0], np.cumsum(mixed)[:-1]])
    squares = (before**2).sum() + low**2 / 4 + np.concatenate([[0.0], np.cumsum(mixed**2)[:-1]])
    bet = np.clip((sums / count) / (squares / count), 0.0, BOLDEST / -low)
    wealth = np.cumsum(np.log1p(bet * mixed))
    return float(min(1.0, np.exp(-max(wealth.max(), 0.0))))


def normal(value: float, error: float) -> float:
    """Return the p-value of an approximately normal estimate; 0 (value above 0) or 1 if its standard error is 0.

    Examples
    --------
    >>> round(normal(1.645, 1.0), 3)
    0.05
    """
    if error <= 0:
        return 0.0 if value > 0 else 1.0
    from scipy import stats

    return float(stats.norm.sf(value / error))


def both(first: float, second: float, weight: float) -> float:
    """Return the weighted combination of two independent p-values (Stouffer), which is valid if both are.

    Examples
    --------
    >>> round(both(0.05, 0.05, 0.5), 3), round(both(0.3, 0.01, 1.0), 3)
    (0.01, 0.01)
    """
    from scipy import special

    one, two = special.ndtri(np.clip([first, second], 1e-300, 1 - 1e-16))
    return float(special.ndtr(((1 - weight) * one + weight * two) / np.hypot(1 - weight, weight)))
