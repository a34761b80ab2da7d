"""The report on a calibration: `result.calibration`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from metricfit.calibration.candidates import Entry
from metricfit.calibration.folds import FoldedRows
from metricfit.calibration.linear_logits import evaluate
from metricfit.calibration.model import Calibration
from metricfit.messages import count
from metricfit.types import FloatArray, IntArray

# Equally wide bins of the calibration error, as is usual.
BINS = 15


@dataclass(frozen=True)
class Candidate:
    """A family that was tried, with its log loss on held-out rows."""

    name: str
    ridge: float
    log_loss: float


@dataclass(frozen=True)
class CellFacts:
    """The calibration of one cell: its rows, its log loss before and after, its steepness and class biases."""

    rows: int
    log_loss_before: float
    log_loss_after: float
    steepness: float
    bias: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Report:
    """The chosen calibration and its effect on held-out rows.

    Attributes
    ----------
    family : str
        The family chosen.
    ridge : float
        Its ridge; 0 if it has none.
    cells_differ : bool
        Whether the calibration differs between cells.
    rows : int
        Rows it was fitted on.
    effective_rows : float
        How many equally weighted rows carry the same information.
    log_loss_before, log_loss_after : float
        Cross-validated; for each fold the family is chosen again without it.
    class_error_before, class_error_after : array of shape (n,)
        The mean distance between probabilities and frequencies of each class, in 15 equally wide bins.
    cells : tuple of CellFacts
        One for each cell.
    candidates : tuple of Candidate
        In the order in which they were tried, from simple to rich.
    held_out : tuple of arrays
        The positions of the rows among those given, and their probabilities by the chosen family, fitted without them.
    """

    family: str
    ridge: float
    cells_differ: bool
    rows: int
    effective_rows: float
    log_loss_before: float
    log_loss_after: float
    class_error_before: FloatArray
    class_error_after: FloatArray
    cells: tuple[CellFacts, ...]
    candidates: tuple[Candidate, ...]
    held_out: tuple[IntArray, FloatArray] = field(repr=False)

    def __str__(self) -> str:
        on = f"on {count(self.rows, 'row')}"
        before, after = self.class_error_before.mean(), self.class_error_after.mean()
        # For each fold the family is chosen again without it, so the loss after may differ though nothing is changed.
        if self.family == "none":
            return (
                f"calibration: none, because no family gains more than noise; log loss {self.log_loss_before:.4f}, "
                f"calibration error {before:.4f} {on}"
            )
        what = self.family + (", cells differ" if self.cells_differ else "")
        return (
            f"calibration: {what}; log loss {self.log_loss_before:.4f} -> {self.log_loss_after:.4f}, "
            f"calibration error {before:.4f} -> {after:.4f} {on}"
        )


def class_errors(proba: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """Return the calibration error of each class.

    Examples
    --------
    >>> class_errors(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([0, 0]), np.ones(2)).round(3)
    array([0.2, 0.2])
    """
    n = proba.shape[1]
    place = np.minimum((proba * BINS).astype(np.intp), BINS - 1) * n + np.arange(n)
    told = np.bincount(place.ravel(), (weights[:, None] * proba).ravel(), BINS * n)
    seen = np.bincount(place[np.arange(len(labels)), labels], weights, BINS * n)
    return np.asarray(np.abs(told - seen).reshape(BINS, n).sum(axis=0) / max(weights.sum(), 1e-300))


def report_on(
    rows: FoldedRows,
    n_cells: int,
    entries: Sequence[Entry],
    chosen: Entry,
    after: FloatArray,
    calibration: Calibration,
) -> Report:
    """Return the report on the candidate chosen; `after` are losses of rows that took no part in the choice."""
    share = rows.weights / max(rows.weights.sum(), 1e-300)
    before = entries[0].losses
    cell_share = np.maximum(np.bincount(rows.cells, share, n_cells), 1e-300)
    facts = zip(
        np.bincount(rows.cells, minlength=n_cells).tolist(),
        (np.bincount(rows.cells, share * before, n_cells) / cell_share).tolist(),
        (np.bincount(rows.cells, share * after, n_cells) / cell_share).tolist(),
        np.broadcast_to(calibration.steepness, n_cells).tolist(),
        map(tuple, np.broadcast_to(calibration.bias, (n_cells, calibration.n)).tolist()),
        strict=True,
    )
    made = evaluate(chosen.logits, rows.labels)[1]
    return Report(
        calibration.family,
        chosen.ridge,
        calibration.cells > 1,
        len(rows.labels),
        rows.effective,
        float(share @ before),
        float(share @ after),
        class_errors(rows.proba, rows.labels, rows.weights),
        class_errors(made, rows.labels, rows.weights),
        tuple(CellFacts(*each) for each in facts),
        tuple(Candidate(e.name, e.ridge, float(share @ e.losses)) for e in entries),
        (rows.places, made),
    )
