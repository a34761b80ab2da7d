"""P-values of claims on rows that the policy has not seen: how likely such rows would be if the claim were wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metricfit.data.rows import Rows
from metricfit.intervals import Evidence
from metricfit.intervals.estimate import standard_error
from metricfit.intervals.rates import Rate
from metricfit.policy.evaluation import Judged
from metricfit.trust.bounded_means import (
    SEED,
    bentkus,
    betting,
    binomial,
    binomial_gap,
    normal,
    share_at_least,
)
from metricfit.trust.claims import Claim, GapClaim, RateClaim, SmoothClaim
from metricfit.types import FloatArray

# The part of the level that goes to not knowing how large a group is in the population.
SHARE_PART = 0.1
# Where a quick test is so sure on the rows used before, no stronger one is looked for.
SURELY = 1e-4


@dataclass(frozen=True, eq=False)
class Decided:
    """Labelled rows with the chances of their decisions, row by row."""

    rows: Rows
    chances: FloatArray

    @classmethod
    def by(cls, policy: Judged, rows: Rows) -> Decided:
        """Return rows as a policy decides them."""
        return cls(rows, policy.decision_proba(rows.proba, rows.attributes))

    @property
    def evidence(self) -> Evidence:
        """The same as patterns."""
        rows = self.rows
        return Evidence.of(rows.axes, rows.cells, rows.labels, self.chances, rows.weights)

    def sums(self, rate: Rate) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x, z and weight of the rows that a rate is about; weights have a largest one of 1."""
        rows = self.rows
        cells = np.zeros(len(rows), np.int64) if rows.cells is None else rows.cells
        inside = np.flatnonzero(rate.mask[cells])
        places = (cells[inside], rows.labels[inside]) if rate.over.ndim == 3 else (rows.labels[inside],)
        x, z = (np.einsum("rk,rk->r", part[places], self.chances[inside]) for part in (rate.over, rate.under))
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights / rows.weights.max()
        used = (z > 0) | (x != 0)
        return x[used], z[used], weights[inside][used]


class Tested(NamedTuple):
    """A p-value, and by which test; ``approximate`` says why it is one, where it is."""

    p: float
    test: str
    approximate: str = ""


def p_value(claim: Claim, kept: Decided, before: Decided, level: float) -> Tested:
    """Return the p-value of a claim.

    Parameters
    ----------
    claim : Claim
        What one wants to show.
    kept : Decided
        Rows that have not been used.
    before : Decided
        Rows that have: they say which test to use and how much to bet.
    level : float
        The confidence asked for. Up to one half no caution is asked for, and estimates decide.

    Returns
    -------
    Tested
    """
    if isinstance(claim, SmoothClaim):
        return _smooth(claim, kept)
    plain = level <= 0.5
    if isinstance(claim, RateClaim):
        return _rate_by_normal(claim, kept) if plain else _rate(claim, kept, before)
    if plain or kept.rows.weights is not None:
        why = "" if plain else "weights have no sound test of differences between groups"
        return Tested(_gap_by_normal(claim, kept), "normal", why)
    return _gap(claim, kept, before, level)


def _rate(claim: RateClaim, kept: Decided, before: Decided) -> Tested:
    x, z, w = kept.sums(claim.rate)
    sign, t = (1.0, claim.limit) if claim.sense == ">=" else (-1.0, claim.limit)
    reach = sign * (claim.rate.over - t * claim.rate.under)
    low, high = float(min(reach.min(), 0.0)), float(max(reach.max(), 0.0))
    if low >= 0:
        return Tested(0.0, "always true")
    if kept.rows.weights is None and np.isin(x, (0.0, 1.0)).all() and (z == 1.0).all() and 0 < t < 1:
        hits = float(x.sum()) if sign > 0 else float((z - x).sum())
        return Tested(binomial(hits, z.sum(), t if sign > 0 else 1 - t), "exact binomial")
    values = sign * w * (x - t * z)
    x0, z0, w0 = before.sums(claim.rate)
    known = sign * w0 * (x0 - t * z0)
    tests: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float]] = {
        "betting": lambda a, x, z: betting(a, low, known),
        "Bentkus": lambda a, x, z: bentkus(a, low, high),
    }
    if kept.rows.weights is None and claim.rate.counts and 0 < t < 1:
        tests["binomial of drawn decisions"] = lambda a, x, z: _drawn_rate(x, z, sign, t)
    # Rows that are no part of the test say which of the valid tests is the strongest one.
    name = min(tests, key=lambda name: tests[name](known, x0, z0))
    return Tested(tests[name](values, x, z), name)


def _drawn_rate(x: FloatArray, z: FloatArray, sign: float, t: float) -> float:
    """Draw the decisions of a mixture once; hits among the rows decided are then binomial."""
    lots = np.random.default_rng(SEED).random(z.size)
    made, hits = lots < z, float((lots < x).sum())  # a hit is one of the rows counted
    return binomial(hits, made.sum(), t) if sign > 0 else binomial(made.sum() - hits, made.sum(), 1 - t)


def _rate_by_normal(claim: RateClaim, kept: Decided) -> Tested:
    x, z, w = kept.sums(claim.rate)
    values = (1.0 if claim.sense == ">=" else -1.0) * w * (x - claim.limit * z)
    if not values.size:
        return Tested(1.0, "normal")
    return Tested(normal(float(values.sum()), float(np.sqrt((values**2).sum()))), "normal")


def _gap(claim: GapClaim, kept: Decided, before: Decided, level: float) -> Tested:
    first, second = (kept.sums(rate)[0] for rate in (claim.first, claim.second))
    if not first.size or not second.size:
        return Tested(1.0, "two-sample betting")
    spent, most = 0.0, 1.0
    if claim.share:
        spent = SHARE_PART * (1 - level)
        other = first.size if claim.share == "second" else second.size
        most = 1 - share_at_least(other, first.size + second.size, 1 - spent)
    known = [before.sums(rate)[0] for rate in (claim.first, claim.second)]
    limit = claim.limit / most
    gaps = limit - _differences(*known)
    foretold = betting(gaps, limit - 1.0, gaps)
    if foretold > SURELY and claim.first.counts and _drawn_gap(known[0], known[1], limit) < foretold:
        name, p = "two binomials of drawn decisions", _drawn_gap(first, second, limit)
    else:
        name, p = (
            "two-sample betting",
            betting(limit - _differences(first, second), limit - 1.0, gaps),
        )
    return Tested(min(1.0, p + spent), name)


def _drawn_gap(first: FloatArray, second: FloatArray, limit: float) -> float:
    """Draw the decisions of a mixture once; both groups' hits are then binomial."""
    random = np.random.default_rng(SEED)
    x, y = (float((random.random(sample.size) < sample).sum()) for sample in (first, second))
    return binomial_gap((x, y), (first.size, second.size), limit)


def _differences(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return independent differences between two samples: each row of the smaller, and a mean of rows of the larger."""
    rng = np.random.default_rng(0)
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
    seen = kept.evidence.where(claim.mask)
    if seen is None:
        return Tested(1.0, "normal", claim.why)
    away = claim.metric(seen.confusion) - claim.limit
    error = standard_error(claim.metric, seen)
    return Tested(normal(away if claim.sense == ">=" else -away, error), "normal", claim.why)
