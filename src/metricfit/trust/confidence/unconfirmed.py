"""The error if the held-out rows confirm no policy: which constraints, why, and how many rows would be needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.exceptions import UnconfirmedError
from metricfit.metrics.constraint import Constraint
from metricfit.trust.claims.claim import Claim, GapClaim, RateClaim, claims
from metricfit.trust.claims.p_values import Tested
from metricfit.trust.claims.room import room_by_row, room_of
from metricfit.trust.confidence.path import Path
from metricfit.trust.confidence.starts import SETTINGS, Rehearsal
from metricfit.trust.decided import Decided
from metricfit.types import FloatArray

# The number of rows is that with which a policy passes in this share of simulated samples.
LIKELY = 0.85
# With one claim, this many standard errors are subtracted from the room of the best policy: the same rows show which
# policy is best, so it seems better than it is. With several claims luck with one is no luck with the others. Chosen on
# eight problems on the populations of benchmarks/trust (300 to 1,500 rows, 6 draws each): the medians named are .5 to
# 3.5 times the number of rows with which 8 or 9 of 10 draws are confirmed; without it .1 times, for a precision floor.
FLATTERED = 0.5
# With fewer rows than this in a rate, its limit is not worth testing.
FEW = 20


def unconfirmed(path: Path, policy: Any, tests: Sequence[Tested], reached: float) -> UnconfirmedError:
    """Return the error that names the constraints of the policy that came closest.

    ``reached`` is the confidence that the held-out rows suffice for.
    """
    if path.deadline.passed:
        names = [f"{c} (p = {test.p:.3g})" for c, test in zip(path.problem.constraints, tests, strict=True)]
        return UnconfirmedError(names, path.level, len(path.kept), None, reached, late=True)
    total = len(path.all_rows)
    decided = [Decided.by(policy, rows) for rows in (path.tuning, path.kept)]
    kept, lines = 0.0, []
    for c, test in zip(path.problem.constraints, tests, strict=True):
        there, here = (_fewest(c, some) for some in decided)
        if here == 0:
            lines.append(f"{c} (no held-out row says anything about it)")
            kept = max(kept, FEW / max(there, 1) * total)
        else:
            lines.append(f"{c} (p = {test.p:.3g})")
    rows = max(kept or rows_to_keep(path, policy), 1.25 * len(path.kept)) * total / len(path.kept)
    needed = int(float(f"{rows:.2g}")) if np.isfinite(rows) else None  # not known more exactly
    return UnconfirmedError(lines, path.level, len(path.kept), needed, reached)


def rows_to_keep(path: Path, closest: Any) -> float:
    """Return how many held-out rows are likely to confirm one of the path's policies, infinite if none would.

    The margin of a policy to each limit (its room), in standard errors, grows with the root of the number of rows. It
    is read from all rows: the tuning rows, which chose the policy, flatter it, and the held-out rows, which refused
    it, do the opposite.
    """
    rehearsal = Rehearsal(path)
    policies = [closest, *(start.result.policy for start in rehearsal.centre())]
    return min(_rows_for(rehearsal, policy) for policy in policies)


def _rows_for(rehearsal: Rehearsal, policy: Any) -> float:
    rows = rehearsal.path.all_rows
    decided = Decided.by(policy, rows)
    confusion = decided.evidence().confusion
    least = _room_of_constant(rehearsal, confusion) / 2
    flattered = FLATTERED / np.sqrt(len(rows)) if len(rehearsal.claims) == 1 else 0.0
    rooms, wanted, noise = [], [], []
    for claim, z in zip(rehearsal.claims, rehearsal.needed(), strict=True):
        each, room = room_by_row(claim, decided, rows.proba), room_of(claim, confusion)
        by_row = np.zeros(len(rows)) if each is None else each.by_label
        at_limit = max(_error_at_limit(claim, decided), float(np.sqrt((by_row**2).mean())))
        rooms.append(max(room - flattered * at_limit, least))
        wanted.append(z * at_limit)
        noise.append(by_row)
    if min(rooms) <= 0:
        return np.inf
    spread = np.stack(noise) @ np.stack(noise).T / len(rows)
    worlds = np.random.default_rng(0).multivariate_normal(np.zeros(len(rooms)), spread, SETTINGS.worlds)
    roots = ((np.array(wanted) + worlds) / np.array(rooms)).max(axis=1)
    return float(max(np.quantile(roots, LIKELY), 0.0) ** 2)


def _error_at_limit(claim: Claim, decided: Decided) -> float:
    """Return the standard error, for one row, of the room of a share that just keeps its limit; 0 for other claims.

    A share of 1 that was seen on a few rows has no variance, but what its test needs does not get less by that.
    """
    if not (isinstance(claim, RateClaim) and claim.rate.counts and 0 < claim.limit < 1):
        return 0.0
    _, under, weights = decided.sums(claim.rate)
    return float(np.sqrt(claim.limit * (1 - claim.limit) * (weights * under).sum() / len(decided.rows)))


def _room_of_constant(rehearsal: Rehearsal, confusion: Confusion) -> float:
    """Return the largest room that one decision for all rows leaves to the limits, at least 0.

    With more rows a policy nearer to it passes. Several constraints may need different decisions, and others forbid
    them: there the policies themselves must show how much room there is.
    """
    if len(rehearsal.counts) > 1:
        return 0.0
    found = [0.0]
    for j in range(confusion.axes.k):
        constant: FloatArray = np.zeros(confusion.values.shape)
        constant[:, :, j] = confusion.margins
        found.append(min(room_of(claim, Confusion(constant, confusion.axes)) for claim in rehearsal.claims))
    return max(found)


def _fewest(constraint: Constraint, decided: Decided) -> int:
    """Return the number of rows of the rate with the fewest rows; all rows if the claims have no rates."""
    counts = [len(decided.rows)]
    for claim in claims(constraint, decided.rows.axes, decided.rows.margins()):
        if isinstance(claim, RateClaim):
            counts.append(decided.sums(claim.rate)[1].size)
        elif isinstance(claim, GapClaim):
            counts += [decided.sums(rate)[1].size for rate in (claim.first, claim.second)]
    return min(counts)
