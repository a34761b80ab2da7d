"""How cells differ from the common calibration: biases and a steepness for each, shrunk by a ridge.

Within a cell the logits u of the common calibration become ``u + t (m - centre) + d``: m are the logits without the
bias, t the change of the steepness and d that of the biases. Cells do not affect each other, so that sums over the
rows of each cell and fold are all that is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from metricfit.calibration.candidates import Entry
from metricfit.calibration.folds import FoldedRows
from metricfit.calibration.linear_logits import PAIRS, evaluate
from metricfit.calibration.model import Calibration
from metricfit.calibration.settings import Settings
from metricfit.types import FloatArray, IntArray

# Newton's steps, and the largest change of a parameter in one of them.
STEPS, LONGEST = 8, 2.0


@dataclass(frozen=True)
class Shrinkage:
    """How cells may differ: the ridge, and whether the steepness may differ too."""

    ridge: float
    steep: bool

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{'bias and steepness' if self.steep else 'bias'} of each cell"


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Gradient and Hessian of the summed loss in (t, d), for each cell and fold, without unlikely pairs of classes.

    Attributes
    ----------
    gradient : array of shape (cells, folds, 1 + n)
    hessian : array of shape (cells, folds, 1 + n, 1 + n)
    """

    gradient: FloatArray
    hessian: FloatArray

    def step(self, shrinkage: Shrinkage, params: FloatArray, leave_out: bool) -> FloatArray:
        """Return Newton's step of each cell, or of each cell and left-out fold."""
        gradient, hessian = self.gradient.sum(axis=1), self.hessian.sum(axis=1)
        if leave_out:
            gradient = gradient[:, None] - self.gradient
            hessian = hessian[:, None] - self.hessian
        gradient = gradient + shrinkage.ridge * params
        curved = hessian + shrinkage.ridge * np.eye(params.shape[-1])
        if not shrinkage.steep:
            gradient, curved = gradient[..., 1:], curved[..., 1:, 1:]
        made = np.zeros(gradient.shape[:-1] + params.shape[-1:])
        step = -np.linalg.solve(curved, gradient[..., None])[..., 0]
        made[..., -step.shape[-1] :] = np.clip(step, -LONGEST, LONGEST)
        return made


def sums(rows: FoldedRows, q: FloatArray, slopes: FloatArray, n_cells: int) -> Derivatives:
    """Return the sums over the rows of each cell and fold; q are their probabilities, and t multiplies ``slopes``."""
    n, folds = q.shape[1], len(rows.folds)
    gradient = np.zeros((n_cells, folds, 1 + n))
    hessian = np.zeros((n_cells, folds, 1 + n, 1 + n))
    mean = np.einsum("ij,ij->i", q, slopes)
    for k, fold in enumerate(rows.folds):
        order = fold.start + np.argsort(rows.cells[fold], kind="stable")
        cuts = np.searchsorted(rows.cells[order], np.arange(n_cells + 1))
        for a in np.flatnonzero(np.diff(cuts)):
            some = order[cuts[a] : cuts[a + 1]]
            part, slope, weights, labels = q[some], slopes[some], rows.weights[some], rows.labels[some]
            weighted = weights[:, None] * part
            total = weighted.sum(axis=0)
            own = slope[np.arange(len(some)), labels]
            gradient[a, k, 0] = weights @ (mean[some] - own)
            gradient[a, k, 1:] = total - np.bincount(labels, weights, n)
            block = hessian[a, k]
            if n <= PAIRS:
                block[1:, 1:] = -(weighted.T @ part)
            block[np.arange(1, n + 1), np.arange(1, n + 1)] += total
            across = np.einsum("ij,ij->j", weighted, slope) - mean[some] @ weighted
            block[0, 1:] = block[1:, 0] = across
            block[0, 0] = np.einsum("ij,ij,ij->", weighted, slope, slope) - weights @ mean[some] ** 2
    return Derivatives(gradient, hessian)


def change(params: FloatArray, slopes: FloatArray, which: tuple[IntArray, ...]) -> FloatArray:
    """Return what (t, d) of each row's group add to its logits."""
    mine = params[which]
    return np.asarray(mine[:, :1] * slopes + mine[:, 1:])


def fold_of(rows: FoldedRows) -> IntArray:
    """Return the fold of each row."""
    return np.repeat(np.arange(len(rows.folds)), [f.stop - f.start for f in rows.folds])


def fitted(
    rows: FoldedRows, logits: FloatArray, slopes: FloatArray, shrinkage: Shrinkage, n_cells: int
) -> FloatArray:
    """Return (t, d) of each cell, fitted to all its rows by Newton's method with clipped steps."""
    params = np.zeros((n_cells, 1 + logits.shape[1]))
    rows = replace(rows, folds=[slice(0, len(rows.labels))])  # separate sums for folds are not needed here
    for _ in range(STEPS):
        q = evaluate(logits + change(params, slopes, (rows.cells,)), rows.labels)[1]
        step = sums(rows, q, slopes, n_cells).step(shrinkage, params, leave_out=False)
        params += step
        if np.abs(step).max() < 1e-6:
            break
    return params


def cell_candidates(rows: FoldedRows, base: Entry, n_cells: int, settings: Settings) -> Iterator[Entry]:
    """Yield candidates in which cells differ from the best common calibration, from strong to weak ridges."""
    slopes = base.logits - rows.weights @ base.logits / rows.weights.sum()
    q = evaluate(base.logits, rows.labels)[1]
    groups = sums(rows, q, slopes, n_cells)
    where = (rows.cells, fold_of(rows))
    nothing = np.zeros(1 + q.shape[1])
    for steep in (False, True) if base.name != "curves" else (False,):
        for ridge in settings.cell_ridges:
            shrinkage = Shrinkage(ridge, steep)
            params = groups.step(shrinkage, nothing, leave_out=True)
            logits = base.logits + change(params, slopes, where)

            def final(all_rows: FoldedRows, shrinkage: Shrinkage = shrinkage) -> Calibration:
                return _cell_calibration(base.final(all_rows), all_rows, shrinkage, n_cells, settings)

            losses = evaluate(logits, rows.labels)[0]
            yield Entry(f"{base.name}, {shrinkage.name}", ridge, logits, losses, final)


def _cell_calibration(
    common: Calibration, rows: FoldedRows, shrinkage: Shrinkage, n_cells: int, settings: Settings
) -> Calibration:
    """Return the common calibration with the changes of each cell, fitted to all its rows."""
    if common.family == "none":
        logits = np.log(np.maximum(rows.proba, settings.floors[0]))
    else:
        logits = np.log(np.maximum(common(rows.proba), 1e-300))
    mean = rows.weights @ logits / rows.weights.sum()
    params = fitted(rows, logits, logits - mean, shrinkage, n_cells)
    t = np.clip(params[:, :1], settings.flattest - 1, settings.steepest - 1)
    bias = (1 + t) * common.bias - t * mean + params[:, 1:]
    family = common.family
    if family == "none":
        family = "temperature_bias" if shrinkage.steep else "bias"
    return replace(
        common,
        family=family,
        bias=bias - bias.mean(axis=1, keepdims=True),
        steepness=common.steepness * (1 + t[:, 0]) if shrinkage.steep else common.steepness,
    )
