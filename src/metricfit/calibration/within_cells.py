"""What cells differ by from the common calibration: biases and a steepness of each, shrunken by a ridge.

Within a cell the logits u of the common calibration become ``u + t (m - centre) + d``: m are the logits without the
bias, t the change of the steepness and d that of the biases. Cells do not touch each other, so that sums over the
rows of each cell and fold are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.calibration.folds import Sample
from metricfit.calibration.linear_logits import PAIRS, evaluate
from metricfit.types import BoolArray, FloatArray, IntArray

# Newton's steps, and the largest change of a parameter in one of them.
STEPS, LONGEST = 8, 2.0


@dataclass(frozen=True)
class Shrinkage:
    """How cells may differ: the ridge, and whether in steepness too."""

    ridge: float
    steep: bool

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{'bias and steepness' if self.steep else 'bias'} of each cell"


@dataclass(frozen=True, eq=False)
class Groups:
    """Gradient and Hessian of the summed loss in (t, d), for each cell and fold; unlikely pairs of classes left out.

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


def sums(rows: Sample, q: FloatArray, slopes: FloatArray, n_cells: int) -> Groups:
    """Return the sums over the rows of each cell and fold, where probabilities are q and t multiplies slopes."""
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
    return Groups(gradient, hessian)


def change(params: FloatArray, slopes: FloatArray, which: tuple[IntArray, ...]) -> FloatArray:
    """Return what (t, d) of each row's group add to its logits."""
    mine = params[which]
    return np.asarray(mine[:, :1] * slopes + mine[:, 1:])


def fold_of(rows: Sample) -> IntArray:
    """Return the fold of each row."""
    return np.repeat(np.arange(len(rows.folds)), [f.stop - f.start for f in rows.folds])


def fitted(
    rows: Sample, logits: FloatArray, slopes: FloatArray, shrinkage: Shrinkage, n_cells: int
) -> FloatArray:
    """Return (t, d) of each cell, fitted to all its rows by Newton's method with clipped steps."""
    params = np.zeros((n_cells, 1 + logits.shape[1]))
    for _ in range(STEPS):
        q = evaluate(logits + change(params, slopes, (rows.cells,)), rows.labels)[1]
        step = sums(rows, q, slopes, n_cells).step(shrinkage, params, leave_out=False)
        params += step
        if np.abs(step).max() < 1e-6:
            break
    return params


def used(rows: Sample, n_cells: int) -> BoolArray:
    """Return which cells have rows."""
    return np.bincount(rows.cells, minlength=n_cells) > 0
