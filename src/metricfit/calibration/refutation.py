"""Do the labels refute the probabilities? A test that needs no fit, of each class and of the steepness.

If the probabilities are right, the number of rows of each class, and the mean log-probability of the labels, are what
they predict, up to chance. Both deviations are sums of independent bounded terms with mean 0, whose tails Bennett's
inequality bounds for any number of rows, so rare classes and uneven weights need no special treatment. These sums are
the derivatives of the log likelihood with respect to the class biases and the steepness, so this is a score test of
both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.calibration.folds import fold_rows
from metricfit.calibration.settings import SETTINGS, Settings
from metricfit.data.extremes import row_max
from metricfit.types import FloatArray


@dataclass(frozen=True)
class Refutation:
    """One way in which the labels refute the probabilities.

    Attributes
    ----------
    label : int or None
        The code of the class whose share is wrong; None if it is the steepness.
    cell : int or None
        The code of the cell in which it is wrong; None for all rows.
    p_value : float
        A bound on the chance of such labels if the probabilities are right, times the number of tests.
    expected, observed : float
        The share of the class by the probabilities and by the labels. For the steepness: the mean log-probability of
        the labels, expected and observed; observed is smaller if the model is overconfident.
    effect : float
        Roughly, the change of the class bias or of the steepness that would fit the labels.
    """

    label: int | None
    cell: int | None
    p_value: float
    expected: float
    observed: float
    effect: float

    @property
    def direction(self) -> str:
        """What is wrong with the probabilities, in words."""
        if self.label is None:
            return "too sure" if self.effect < 0 else "too modest"
        return "too large" if self.effect < 0 else "too small"


def refuted(
    proba: Any,
    labels: Any,
    weights: Any = None,
    cells: Any = None,
    n_cells: int = 1,
    *,
    settings: Settings = SETTINGS,
    seed: int = 0,
) -> tuple[Refutation, ...]:
    """Return what the labels refute, surest first; correct probabilities are refuted in at most 1 of 1,000 cases.

    Parameters
    ----------
    proba : array of shape (N, n)
        Probabilities of rows that the model was not trained on.
    labels : int array of shape (N,)
        Codes of the classes.
    weights : array of shape (N,), optional
        Weights of any scale.
    cells : int array of shape (N,), optional
        Each row's cell.
    n_cells : int, default=1
        Number of cells.
    settings : Settings
        The tuned constants: the level of the test, and the smallest effect that matters.
    seed : int, default=0
        Seed of the sample, if there are many rows.

    Returns
    -------
    tuple of Refutation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = rng.dirichlet([1, 1, 1], 2000)
    >>> y = (rng.random((2000, 1)) > right.cumsum(axis=1)).sum(axis=1)
    >>> refuted(right, y)
    ()
    >>> sure = right**3 / (right**3).sum(axis=1, keepdims=True)
    >>> found = refuted(sure, y)[0]
    >>> found.label, found.direction
    (None, 'too sure')
    """
    proba = np.asarray(proba)
    rows = fold_rows(proba, np.asarray(labels), weights, cells, settings.rows(proba.shape[1]), seed=seed)
    n, size = proba.shape[1], len(rows.labels)
    if not size or n < 2:
        return ()
    weights = rows.weights / rows.weights.max()
    z = np.log(np.maximum(rows.proba, settings.floors[0]))
    told = rows.proba / rows.proba.sum(axis=1, keepdims=True)
    mean = np.einsum("ij,ij->i", told, z)
    # The steepness is tested like one more class: expected and observed sum, and how far a row can move it.
    spread = np.einsum("ij,ij,ij->i", told, z, z) - mean**2
    expected = np.column_stack((told, mean)) * weights[:, None]
    variance = np.column_stack((told * (1 - told), spread)) * weights[:, None] ** 2
    slope = np.column_stack((told * (1 - told), spread)) * weights[:, None]
    mine = np.arange(size), rows.labels
    up = np.append(np.full(n, weights.max()), (weights * (row_max(z) - mean)).max())
    down = np.append(np.full(n, weights.max()), (weights * (mean + row_max(-z))).max())

    groups = [(None, slice(None))] if n_cells == 1 else [(None, slice(None)), *_of_cells(rows.cells, n_cells)]
    found = []
    for cell, some in groups:
        w = weights[some]
        got = np.append(np.bincount(rows.labels[some], w, n), w @ z[mine][some])
        wanted, total = expected[some].sum(axis=0), w.sum()
        off, v = got - wanted, np.maximum(variance[some].sum(axis=0), 1e-12)
        bound = np.where(off > 0, up, down)
        p_values = 2 * len(groups) * (n + 1) * np.exp(-_bennett(np.abs(off), v, np.maximum(bound, 1e-12)))
        # The change of a bias that would fit the labels; the logarithm of the ratio where the change is large.
        effects = off / np.maximum(slope[some].sum(axis=0), 1e-300)
        tiny = 1e-9 * total
        effects[:n] = np.log(np.maximum(got[:n], tiny) / np.maximum(wanted[:n], tiny))
        for i in np.flatnonzero(
            (p_values < settings.refute_level) & (np.abs(effects) > settings.refute_effect)
        ):
            numbers = map(float, (p_values[i], wanted[i] / total, got[i] / total, effects[i]))
            found.append(Refutation(int(i) if i < n else None, cell, *numbers))
    return tuple(sorted(found, key=lambda each: each.p_value))


def _of_cells(cells: Any, n_cells: int) -> list[tuple[Any, Any]]:
    order = np.argsort(cells, kind="stable")
    cuts = np.searchsorted(cells[order], np.arange(n_cells + 1))
    return [(a, order[cuts[a] : cuts[a + 1]]) for a in range(n_cells) if cuts[a + 1] > cuts[a]]


def _bennett(off: FloatArray, variance: FloatArray, bound: FloatArray) -> FloatArray:
    """Return minus the logarithm of the bound on the chance that a sum deviates by ``off`` to one side.

    Examples
    --------
    >>> _bennett(np.array([3.0]), np.array([1.0]), np.array([1e-6])).round(3)  # nearly a normal tail: 9/2
    array([4.5])
    """
    u = bound * off / variance
    # For small u the exact formula would lose its digits to cancellation.
    rate = np.where(u < 1e-4, np.minimum(u, 1e-4) ** 2 / 2, (1 + u) * np.log1p(u) - u)
    return np.asarray(variance / bound**2 * rate)
