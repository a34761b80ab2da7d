"""Labelled rows with the probabilities of a policy's decisions: the input of judgements and tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.data.rows import Rows
from metricfit.intervals import Evidence
from metricfit.intervals.rates import Rate
from metricfit.policy import Policy
from metricfit.policy.evaluation import Judged
from metricfit.types import FloatArray, IntArray

EVERYTHING = slice(None)


@dataclass(frozen=True, eq=False)
class Decided:
    """Validated rows with the probabilities of their decisions, of shape (rows, k)."""

    rows: Rows
    chances: FloatArray

    @classmethod
    def by(cls, policy: Judged, rows: Rows) -> Decided:
        """Return the rows with the decisions of a policy."""
        if isinstance(policy, Policy):
            return cls(rows, policy.chances(rows))
        return cls(rows, policy.decision_proba(rows.proba, rows.attributes))

    def evidence(self, places: IntArray | slice = EVERYTHING) -> Evidence:
        """Return the evidence of some of the rows about the policy."""
        some = self.rows[places]
        return Evidence.of(*some.seen, self.chances[places], some.weights)

    def sums(self, rate: Rate) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return numerator, denominator and weight (at most 1) of each row that contributes to a rate."""
        rows = self.rows
        cells = np.zeros(len(rows), np.int64) if rows.cells is None else rows.cells
        inside = np.flatnonzero(rate.mask[cells])
        places = (cells[inside], rows.labels[inside]) if rate.over.ndim == 3 else (rows.labels[inside],)
        x, z = (np.einsum("rk,rk->r", part[places], self.chances[inside]) for part in (rate.over, rate.under))
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights / rows.weights.max()
        used = (z > 0) | (x != 0)
        return x[used], z[used], weights[inside][used]
