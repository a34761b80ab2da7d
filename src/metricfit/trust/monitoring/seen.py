"""A batch of rows as a monitor sees it: kinds of rows, their numbers, and hashes by which it is known again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metricfit.data.validation import check_lengths
from metricfit.policy import Policy
from metricfit.policy.row_hash import mix, row_words
from metricfit.trust.monitoring.watched import Watched
from metricfit.types import FloatArray, IntArray

# Distances between labels and probabilities are rounded to this, against the bettor: there are few kinds of rows then.
ROUNDING = 1 / 256
Sums = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows with chances of decisions, calibrated probabilities, cells, and labels (-1 where missing)."""

    chances: FloatArray
    calibrated: FloatArray
    cells: IntArray
    labels: IntArray
    rows_hash: str
    labels_hash: str

    @classmethod
    def of(
        cls, policy: Policy, proba: Any, labels: IntArray | None, sensitive_features: Any, name: str | None
    ) -> Self:
        """Return a batch of checked rows."""
        chances = policy.decision_proba(proba, sensitive_features)
        if not len(chances):
            raise ValueError("the batch has no rows; send at least one")
        n_rows, seen = len(chances), policy.axes.seen
        labels = np.full(n_rows, -1) if labels is None else labels
        check_lengths(proba=chances, y=labels)
        unseen = "error" if policy.overall is None else "overall"
        cells = np.asarray(seen.cells.encode(sensitive_features, n_rows, unseen), np.intp)
        calibrated = policy.calibrated(proba, sensitive_features)
        words = mix(row_words(np.column_stack([calibrated, cells]).astype(np.float32)))
        told = mix(words ^ (labels + 1).astype(np.uint64))
        return cls(
            chances,
            calibrated,
            cells,
            labels,
            _hash_of(words.tobytes() if name is None else name.encode()),
            _hash_of(told.tobytes()) if (labels >= 0).any() else "",
        )

    def sums(self, one: Watched) -> Sums:
        """Return numerators, rounded down and up, denominators and numbers of the kinds of rows that a rate counts."""
        if one.rate is None:
            rows = np.flatnonzero(self.labels >= 0)
            apart = (self.labels[rows] == one.column) - self.calibrated[rows, one.column]
            kinds, mass = np.unique(np.floor(apart / ROUNDING), return_counts=True)
            low = np.clip(kinds * ROUNDING, -1.0, 1.0)
            return low, np.clip(low + ROUNDING, -1.0, 1.0), np.ones(kinds.size), mass.astype(float)
        mask = np.append(one.rate.mask, one.rate.mask.all() and one.rate.over.ndim == 2)[self.cells]
        rows = np.flatnonzero(mask & (self.labels >= 0 if one.labelled else True))
        # Shares of decisions do not depend on the class, so any will do.
        place: Any = np.maximum(self.labels[rows], 0)
        place = (self.cells[rows], place) if one.rate.over.ndim == 3 else (place,)
        x, z = (
            np.einsum("rk,rk->r", table[place], self.chances[rows])
            for table in (one.rate.over, one.rate.under)
        )
        used = (z != 0) | (x != 0)
        kinds, mass = np.unique(np.column_stack([x, z])[used], axis=0, return_counts=True)
        return kinds[:, 0], kinds[:, 0], kinds[:, 1], mass.astype(float)


def _hash_of(told: bytes) -> str:
    return hashlib.sha256(told).hexdigest()[:32]
