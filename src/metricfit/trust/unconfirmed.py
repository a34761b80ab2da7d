"""The error if the held-out rows confirm no policy: which constraints, why, and how many rows would be needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.exceptions import UnconfirmedError
from metricfit.intervals import Evidence, estimate
from metricfit.metrics.constraint import Constraint
from metricfit.trust.claims import GapClaim, RateClaim, claims
from metricfit.trust.decided import Decided
from metricfit.trust.p_values import Tested
from metricfit.trust.path import Path, sampling_error

# With this many standard errors more than a test needs, four of five samples pass.
FOUR_OF_FIVE = 0.84
# With fewer rows than this in a rate, its limit is not worth testing.
FEW = 20


def unconfirmed(path: Path, policy: Any, tests: Sequence[Tested], reached: float) -> UnconfirmedError:
    """Return the error that names the constraints of the policy that came closest.

    ``reached`` is the confidence that the held-out rows suffice for.
    """
    z = float(np.sqrt(2 * np.log(1 / (1 - path.level)))) + FOUR_OF_FIVE  # what betting needs
    alone = len(path.problem.constraints) == 1
    decided = [Decided.by(policy, rows) for rows in (path.tuning, path.kept)]
    seen = Evidence.joined([one.evidence() for one in decided])
    total = len(path.tuning) + len(path.kept)
    grown = np.sqrt(total / len(path.kept))
    factor, lines = 1.0, []
    for c, test, end in zip(path.problem.constraints, tests, path.limits.ends, strict=True):
        there, kept = (_fewest(c, some) for some in (decided[0], decided[1]))
        if kept == 0:
            lines.append(f"{c} (no held-out row says anything about it)")
            factor = max(factor, FEW / max(there, 1) * total / len(path.kept))
            continue
        away = estimate(c.metric, seen).value - c.limit
        room = away if c.sense == ">=" else -away
        if alone:  # with more rows a more cautious policy may pass, as no other limit stands against it
            room = max(room, abs(end - c.limit) / 2)
        factor = max(factor, (z * sampling_error(c, seen) * grown / room) ** 2 if room > 0 else np.inf)
        lines.append(f"{c} (p = {test.p:.3g})")
    rows = float(f"{max(factor, 1.25) * total:.2g}")  # not known more exactly
    return UnconfirmedError(
        lines, path.level, len(path.kept), int(rows) if np.isfinite(rows) else None, reached
    )


def _fewest(constraint: Constraint, decided: Decided) -> int:
    """Return the number of rows of the rate with the fewest rows; all rows if the claims have no rates."""
    counts = [len(decided.rows)]
    for claim in claims(constraint, decided.rows.axes, decided.rows.margins()):
        if isinstance(claim, RateClaim):
            counts.append(decided.sums(claim.rate)[1].size)
        elif isinstance(claim, GapClaim):
            counts += [decided.sums(rate)[1].size for rate in (claim.first, claim.second)]
    return min(counts)
