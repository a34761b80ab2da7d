"""What is watched of a policy: limits, the objective where it is a rate, shares of decisions, fit of probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from metricfit.data.axes import Axes
from metricfit.intervals.rates import Rate
from metricfit.metrics import Constraint
from metricfit.policy import Policy
from metricfit.policy.provenance import asked
from metricfit.trust.claims.claim import Claim, GapClaim, RateClaim, claims
from metricfit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Watched:
    """A rate, with the values between which it should be: a limit, or what it was at fit.

    ``kind`` is "limit", "objective", "group", "decision" or "probabilities". A rate of a group is only compared with
    another one and has no ends. ``rate`` is None for probabilities: what is watched is then the share of class
    ``column`` less its mean probability.
    """

    name: str
    kind: str
    rate: Rate | None
    column: int = -1
    least: float = -np.inf
    most: float = np.inf

    @property
    def labelled(self) -> bool:
        """Whether labels are needed."""
        return self.kind != "decision"

    def reach(self, values: FloatArray) -> FloatArray:
        """Return how far below 0 a row's gain can be when betting that the rate is above, or below, each value."""
        if self.rate is None:
            x, z = np.array([-1.0, 1.0]), np.ones(2)
        else:
            x, z = (part.ravel() for part in np.broadcast_arrays(self.rate.over, self.rate.under))
        gains = x[:, None] - z[:, None] * values
        return np.maximum([-gains.min(axis=0), gains.max(axis=0)], 1e-9)

    def range(self) -> tuple[float, float]:
        """Return the smallest and largest value of the rate."""
        if self.rate is None:
            return -1.0, 1.0
        over, under = np.broadcast_arrays(self.rate.over, self.rate.under)
        quotients = over[under > 0] / under[under > 0]
        return float(quotients.min()), float(quotients.max())


@dataclass(frozen=True, eq=False)
class Gap:
    """A limit on how much one watched rate exceeds another."""

    name: str
    first: int
    second: int
    most: float


@dataclass(frozen=True, eq=False)
class Plan:
    """All that is watched, and what cannot be, with the reason."""

    rates: tuple[Watched, ...]
    gaps: tuple[Gap, ...]
    unwatched: dict[str, str]


def plan_of(policy: Policy, level: float) -> Plan:
    """Return what can be watched of a policy; half of the error is for what is not known of the shares at fit."""
    objective, constraints = asked(policy.provenance)
    axes = policy.axes.seen
    rates: list[Watched] = []
    gaps: list[Gap] = []
    unwatched: dict[str, str] = {}
    wanted = [("limit", one) for one in constraints]
    promise = policy.provenance.get("expected_low"), policy.provenance.get("expected_high")
    if objective is not None and isinstance(promise[0], list) and isinstance(promise[1], list):
        least = policy.provenance.get("direction") != "minimize"
        end = promise[0][0] if least else promise[1][0]
        if end is not None:
            wanted.append(("objective", objective >= end if least else objective <= end))
    for kind, constraint in wanted:
        why = _add(rates, gaps, kind, constraint, axes)
        if why:
            unwatched[str(constraint.metric)] = why
    known = policy.at_fit
    if known is None:
        unwatched["decisions and probabilities"] = (
            "the policy file does not say what they were at fit; fit again"
        )
        return Plan(tuple(rates), tuple(gaps), unwatched)
    bonferroni = len(rates) + axes.k + axes.n
    for j, decision in enumerate(axes.decisions):
        over = np.tile(np.eye(axes.k)[j], (axes.n, 1))
        ends = _at_fit(float(known.decisions[j]), known.rows, (1 - level) / bonferroni / 2)
        rate = Rate(over, np.ones(over.shape), np.ones(len(axes.cells), bool))
        rates.append(Watched(f"share decided {decision!r}", "decision", rate, -1, *ends))
    for i, label in enumerate(axes.classes):
        share, error = float(known.classes[i]), (1 - level) / bonferroni / 2
        far = NormalDist().inv_cdf(1 - error / 2) * np.sqrt(
            max(share * (1 - share), 1 / known.rows) / known.rows
        )
        off = share - float(known.expected[i])
        name = f"share of class {label!r} above its probabilities"
        rates.append(Watched(name, "probabilities", None, i, off - far, off + far))
    return Plan(tuple(rates), tuple(gaps), unwatched)


def _at_fit(share: float, rows: float, error: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a share of rows."""
    from scipy import special

    hits = share * rows
    low = special.betaincinv(hits, rows - hits + 1, error / 2) if hits > 0 else 0.0
    high = special.betaincinv(hits + 1, rows - hits, 1 - error / 2) if hits < rows else 1.0
    return float(low), float(high)


def _add(rates: list[Watched], gaps: list[Gap], kind: str, constraint: Constraint, axes: Axes) -> str:
    """Add the rates of a constraint; return why it cannot be watched, if so."""
    even: FloatArray = np.full(axes.shape[:2], 1 / (axes.shape[0] * axes.shape[1]))
    try:
        found = claims(constraint, axes, even)
    except ValueError as error:
        return str(error)
    if not found or not all(isinstance(claim, RateClaim | GapClaim) for claim in found):
        return "it is no rate, no comparison of rates by groups and no mean over rows"
    for number, claim in enumerate(found):
        name = str(constraint) if len(found) == 1 else f"{constraint}, part {number + 1}"
        _add_claim(rates, gaps, name, kind, claim)
    return ""


def _add_claim(rates: list[Watched], gaps: list[Gap], name: str, kind: str, claim: Claim) -> None:
    if isinstance(claim, RateClaim):
        least, most = (claim.limit, np.inf) if claim.sense == ">=" else (-np.inf, claim.limit)
        rates.append(Watched(name, kind, claim.rate, -1, least, most))
    elif isinstance(claim, GapClaim):
        first, second = claim.first, claim.second
        # A difference times the other rows' share is the difference from all rows together.
        both = replace(first, mask=first.mask | second.mask)
        first = both if claim.share == "first" else first
        second = both if claim.share == "second" else second
        one, other = (
            _place(rates, f"{name}: {side}", rate) for side, rate in (("one", first), ("other", second))
        )
        gaps.append(Gap(name, one, other, claim.limit))


def _place(rates: list[Watched], name: str, rate: Rate) -> int:
    """Return the number of a rate that is watched already, or of a new one."""
    for place, one in enumerate(rates):
        known = one.rate
        if known is not None and one.kind == "group":
            same = np.array_equal(known.over, rate.over) and np.array_equal(known.under, rate.under)
            if same and np.array_equal(known.mask, rate.mask):
                return place
    rates.append(Watched(name, "group", rate))
    return len(rates) - 1
