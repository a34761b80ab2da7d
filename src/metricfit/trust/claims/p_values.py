"""P-values of claims on held-out rows: how likely rows like these would be if the claim were false."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappush, heapreplace
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from metricfit.intervals.estimate import standard_error
from metricfit.oracles.samples import SEED
from metricfit.trust.claims.bounded_means import (
    at_most,
    bentkus,
    betting,
    binomial,
    binomial_gap,
    both,
    normal,
)
from metricfit.trust.claims.claim import Claim, GapClaim, RateClaim, SmoothClaim
from metricfit.trust.claims.lots import Lots
from metricfit.trust.decided import Decided
from metricfit.types import FloatArray

# `_with_share` stops when its bound is at most CLOSE times the largest p-value found or NEGLIGIBLE times the allowed
# error probability, when the largest p-value found is HOPELESS or more, or after TRIES shares of a group.
CLOSE, NEGLIGIBLE, HOPELESS, TRIES = 1.05, 0.2, 0.7, 60
# The largest weight of the test of a group's share, beside that of the difference. It would be larger for groups
# so small that the limit allows any difference, for which the weight does not matter.
HEAVIEST = 0.3


class Tested(NamedTuple):
    """A p-value and the name of its test; ``approximate`` says why the test is approximate (empty if it is not)."""

    p: float
    test: str
    approximate: str = ""


NO_COIN = Lots()


def p_value(claim: Claim, kept: Decided, before: Decided, level: float, lots: Lots = NO_COIN) -> Tested:
    """Return the p-value of a claim.

    Parameters
    ----------
    claim : Claim
        The claim to confirm; the null hypothesis is that it is false.
    kept : Decided
        The held-out rows.
    before : Decided
        The tuning rows, which determine which test to use and how much to bet.
    level : float
        The confidence asked for, above one half: which test needs the smallest margin depends on it.
    lots : Lots
        Random numbers that do not depend on the held-out rows.

    Returns
    -------
    Tested
    """
    if isinstance(claim, SmoothClaim):
        return _smooth(claim, kept)
    if isinstance(claim, RateClaim):
        return _rate(claim, kept, before, level, lots)
    if kept.rows.weights is not None:
        why = "weights have no sound test of differences between groups"
        return Tested(_gap_by_normal(claim, kept), "normal", why)
    return _gap(claim, kept, before, level, lots)


def _rate(claim: RateClaim, kept: Decided, before: Decided, level: float, lots: Lots) -> Tested:
    x, z, w = kept.sums(claim.rate)
    sign, t = (1.0, claim.limit) if claim.sense == ">=" else (-1.0, claim.limit)
    reach = sign * (claim.rate.over - t * claim.rate.under)
    low, high = float(min(reach.min(), 0.0)), float(max(reach.max(), 0.0))
    if low >= 0:
        return Tested(0.0, "always true")
    if kept.rows.weights is None and np.isin(x, (0.0, 1.0)).all() and (z == 1.0).all() and 0 < t < 1:
        return Tested(_hits(x, z, sign, t, level, lots), "exact binomial")
    x0, z0, w0 = before.sums(claim.rate)
    # The tuning rows, which are not part of the test, determine which of the valid tests needs the smallest margin: the
    # quantile of the test times its standard deviation.
    needs = {
        "betting": _quantile("betting", level) * float(np.sqrt((w0**2 * (x0 - t * z0) ** 2).sum())),
        "Bentkus": _quantile("Bentkus", level) * float(np.sqrt(-low * high * x0.size)),
    }
    if kept.rows.weights is None and claim.rate.counts and 0 < t < 1:
        drawn = float(np.sqrt((x0 * (1 - t) ** 2 + (z0 - x0) * t**2).sum()))
        needs["binomial of drawn decisions"] = _quantile("binomial", level) * drawn
    name = min(needs, key=needs.__getitem__)
    if name == "binomial of drawn decisions":
        # Drawn once, the hits among the rows in the denominator are binomial; x <= z, so that every hit is among them.
        drawn_for = lots.each(z.size)[0]
        return Tested(_hits(drawn_for < x, drawn_for < z, sign, t, level, lots), name)
    values = sign * w * (x - t * z)
    if name == "Bentkus":
        return Tested(bentkus(values, low, high), name)
    return Tested(betting(values, low, sign * w0 * (x0 - t * z0)), name)


def _quantile(test: str, level: float) -> float:
    """Return approximately how many standard errors above 0 a mean must be to pass a test."""
    if test == "betting":
        return float(np.sqrt(-2 * np.log(1 - level)))
    return -NormalDist().inv_cdf((1 - level) / (np.e if test == "Bentkus" else 1.0))


def _hits(x: Any, z: Any, sign: float, t: float, level: float, lots: Lots) -> float:
    """Return the binomial p-value of 0/1 numerators and denominators.

    A coin alone confirms nothing: it is left out where the rows are so few that even hits only would not pass.
    """
    rows, share = float(z.sum()), t if sign > 0 else 1 - t
    hits = float(x.sum()) if sign > 0 else rows - float(x.sum())
    return binomial(hits, rows, share, lots.coin if share**rows <= 1 - level else 1.0)


def _gap(claim: GapClaim, kept: Decided, before: Decided, level: float, lots: Lots) -> Tested:
    first, second = (kept.sums(rate)[0] for rate in (claim.first, claim.second))
    if not first.size or not second.size:
        return Tested(1.0, "two-sample betting")
    known = [before.sums(rate)[0] for rate in (claim.first, claim.second)]
    # As for rates, the tuning rows determine which of two valid tests needs the smaller margin.
    apart = _differences(*known)
    bet = _quantile("betting", level) * _error_of_mean(apart)
    means = [float(sample.mean()) if sample.size else 0.5 for sample in known]
    drawn = sum(mean * (1 - mean) / max(sample.size, 1) for mean, sample in zip(means, known, strict=True))
    binomials = claim.first.counts and _quantile("binomial", level) * np.sqrt(drawn) < bet
    kind = "two binomials of drawn decisions" if binomials else "two-sample betting"
    one, two = lots.each(first.size, second.size)
    hits = float((one < first).sum()), float((two < second).sum())

    def tested(limit: float) -> float:
        if binomials:
            return binomial_gap(hits, (first.size, second.size), limit)
        return betting(limit - _differences(first, second), limit - 1.0, limit - apart)

    if not claim.share:
        return Tested(tested(claim.limit), kind)
    places = {"first": 0, "second": 1}[claim.share]
    rows = first.size + second.size
    share = (known[places].size + 1) / (known[0].size + known[1].size + 2)
    # The weight compares the error that the unknown share adds (``unknown``) with that of the difference (``error``).
    unknown = claim.limit / share**2 * np.sqrt(share * (1 - share) / rows)
    error = np.sqrt(drawn * (known[0].size + known[1].size) / rows)
    weight = min(unknown / (unknown + error), HEAVIEST) if unknown + error > 0 else 0.0
    return Tested(
        _with_share(
            claim.limit, (first, second)[places].size, rows, weight, tested, NEGLIGIBLE * (1 - level)
        ),
        kind,
    )


def _with_share(
    limit: float, named: int, rows: int, weight: float, tested: Callable[[float], float], small: float
) -> float:
    """Return the p-value of a difference times a group's share of some rows, which is estimated from the same rows.

    For each possible true share there are two p-values, of so few rows in the group and of so small a difference. They
    are independent given the numbers of rows, and are combined; the result is the largest combination over all shares.
    The first falls with the share and the second rises, so the ends of an interval of shares give an upper bound inside
    it. The interval with the largest bound is halved until that is close to the largest value found, or ``small``.
    """

    def at(share: float) -> tuple[float, float, float]:
        return share, tested(limit / share), at_most(named, rows, share)

    def between(low: tuple[float, float, float], high: tuple[float, float, float]) -> float:
        return both(max(low[1], high[1]), low[2], weight)

    ends = [at(share) for share in np.unique([1 / (2 * rows), max(named, 0.5) / rows, 1.0])]
    largest = max(both(*end[1:], weight) for end in ends)
    parts = [(-between(low, high), low, high) for low, high in pairwise(ends)]
    heapify(parts)
    for _ in range(TRIES):
        bound, low, high = parts[0]
        if -bound <= max(CLOSE * largest, small) or largest >= HOPELESS:
            break
        middle = at(float(np.sqrt(low[0] * high[0])))
        largest = max(largest, both(*middle[1:], weight))
        heapreplace(parts, (-between(low, middle), low, middle))
        heappush(parts, (-between(middle, high), middle, high))
    return -parts[0][0]


def _error_of_mean(values: FloatArray) -> float:
    return float(values.std() / np.sqrt(values.size)) if values.size else np.inf


def _differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return independent differences: each row of the smaller sample is paired with a mean of rows of the larger."""
    rng = np.random.default_rng(SEED)
    count = min(first.size, second.size)
    if not count:
        return np.zeros(0)
    means = []
    for sample in (first, second):
        each = sample.size // count
        means.append(sample[rng.permutation(sample.size)][: count * each].reshape(count, each).mean(axis=1))
    return np.asarray(means[0] - means[1])


def _gap_by_normal(claim: GapClaim, kept: Decided) -> float:
    (a, _, v), (b, _, w) = kept.sums(claim.first), kept.sums(claim.second)
    if not a.size or not b.size:
        return 1.0
    share = {"": 1.0, "first": v.sum() / (v.sum() + w.sum()), "second": w.sum() / (v.sum() + w.sum())}[
        claim.share
    ]
    means = [float(np.average(x, weights=y)) for x, y in ((a, v), (b, w))]
    spread = sum(
        float((y**2 * (x - m) ** 2).sum() / y.sum() ** 2)
        for (x, y), m in zip(((a, v), (b, w)), means, strict=True)
    )
    return normal(claim.limit - share * (means[0] - means[1]), share * float(np.sqrt(spread)))


def _smooth(claim: SmoothClaim, kept: Decided) -> Tested:
    seen = kept.evidence().where(claim.mask)
    if seen is None:
        return Tested(1.0, "normal", claim.why)
    away = claim.metric(seen.confusion) - claim.limit
    error = standard_error(claim.metric, seen)
    return Tested(normal(away if claim.sense == ">=" else -away, error), "normal", claim.why)
