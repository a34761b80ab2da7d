"""What rows were like when a policy was fitted: shares of classes and decisions, and scores in bins.

New rows are compared with it. A bin is a range of the largest calibrated probability, for some of the most probable
classes, and holds at least `LEAST` rows, so that none of it tells of a single row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metricfit.exceptions import PolicyFileError
from metricfit.types import FloatArray, IntArray

# The ends of the ranges of the largest probability, in every policy: edges taken from rows would give them away.
EDGES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
# The fewest rows of a bin, and the most numbers in the table of bins and classes.
LEAST, NUMBERS = 20, 20_000


@dataclass(frozen=True, eq=False)
class AtFit:
    """Shares on the tuning rows.

    Attributes
    ----------
    rows : float
        The number of rows, or of equally weighted rows that carry as much information.
    decisions : ndarray of shape (k,)
        The share of each decision.
    expected : ndarray of shape (n,)
        The mean calibrated probability of each class.
    bins : int ndarray of shape (n, ranges)
        The bin of each most probable class and range of its probability.
    scores : ndarray of shape (bins, n)
        The share of rows of each bin and class; together 1.

    Examples
    --------
    >>> calibrated = np.repeat([[0.95, 0.05], [0.4, 0.6]], 30, axis=0)
    >>> known = AtFit.of(calibrated, np.repeat([0, 1], 30), np.eye(2)[np.repeat([0, 1], 30)])
    >>> [part.round(3).tolist() for part in (known.classes, known.decisions, known.scores)]
    [[0.5, 0.5], [0.5, 0.5], [[0.5, 0.0], [0.0, 0.5]]]
    """

    rows: float
    decisions: FloatArray
    expected: FloatArray
    bins: IntArray
    scores: FloatArray

    @classmethod
    def of(
        cls, calibrated: FloatArray, labels: IntArray, chances: FloatArray, weights: FloatArray | None = None
    ) -> Self:
        """Return the shares of rows with calibrated probabilities, labels and chances of decisions."""
        n_rows, n = calibrated.shape
        slot = _slot(calibrated)
        counts = np.bincount(slot, minlength=n * (len(EDGES) + 1))
        least = max(LEAST, n_rows * n // NUMBERS)
        bins, held = np.zeros(counts.size, np.intp), 0
        for j, count in enumerate(counts):
            bins[j] = bins[j - 1] + (held >= least) if j else 0
            held = count + (0 if held >= least else held)
        if held < least:  # the last rows are too few for a bin of their own
            bins[bins == bins[-1]] = max(bins[-1] - 1, 0)
        w = np.full(n_rows, 1 / n_rows) if weights is None else weights / weights.sum()
        table = np.zeros((bins[-1] + 1, n))
        np.add.at(table, (bins[slot], labels), w)
        return cls(float(1 / np.sum(w**2)), w @ chances, w @ calibrated, bins.reshape(n, -1), table)

    @property
    def classes(self) -> FloatArray:
        """The share of each class."""
        return np.asarray(self.scores.sum(axis=0))

    def bin_of(self, calibrated: FloatArray) -> IntArray:
        """Return the bin of each of other rows."""
        return np.asarray(self.bins.ravel()[_slot(calibrated)])

    def shares_of_bins(self, calibrated: FloatArray) -> FloatArray:
        """Return the share of other rows in each bin."""
        found = np.bincount(self.bin_of(calibrated), minlength=len(self.scores))
        return np.asarray(found / len(calibrated))

    def to_dict(self) -> dict[str, Any]:
        """Return it as a document of plain lists and numbers."""
        return {
            "rows": self.rows,
            "decisions": self.decisions.tolist(),
            "expected": self.expected.tolist(),
            "bins": self.bins.tolist(),
            "scores": self.scores.tolist(),
        }

    @classmethod
    def from_dict(cls, document: Any, n: int, k: int) -> Self:
        """Return what `to_dict` made, for some numbers of classes and decisions."""
        try:
            if set(document) != {"rows", "decisions", "expected", "bins", "scores"}:
                raise ValueError("its entries are rows, decisions, expected, bins and scores")
            rows = float(document["rows"])
            decisions, expected, scores = (
                np.array(document[name], dtype=float) for name in ("decisions", "expected", "scores")
            )
            bins = np.array(document["bins"])
            fits = decisions.shape == (k,) and bins.shape == (n, len(EDGES) + 1) and bins.dtype.kind == "i"
            fits = fits and expected.shape == (n,) and scores.ndim == 2 and scores.shape[1] == n
            fits = fits and rows > 0 and np.isfinite(rows)
            if not fits or set(bins.ravel().tolist()) != set(range(len(scores))):
                raise ValueError("its arrays do not fit the classes and decisions")
            for shares in (decisions, expected, scores):
                if not (np.all(shares >= 0) and abs(shares.sum() - 1) < 1e-6):
                    raise ValueError("its shares must be at least 0 and sum to 1")
        except (TypeError, ValueError, OverflowError) as error:
            raise PolicyFileError(f'"at_fit" cannot be read: {error}') from error
        return cls(rows, decisions, expected, bins, scores)


def _slot(calibrated: FloatArray) -> IntArray:
    """Return the number of each row's most probable class and range."""
    top = calibrated.argmax(axis=1)
    best = np.take_along_axis(calibrated, top[:, None], axis=1)[:, 0]
    return np.asarray(top * (len(EDGES) + 1) + np.searchsorted(EDGES, best, side="right"))
