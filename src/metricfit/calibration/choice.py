"""Fitting a calibration: the simplest family that is as good as any on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.calibration import within_cells
from metricfit.calibration.candidates import Entry, candidates, none_of
from metricfit.calibration.curves import curve_candidates
from metricfit.calibration.folds import FoldedRows, fold_rows
from metricfit.calibration.model import Calibration
from metricfit.calibration.report import Report, report_on
from metricfit.calibration.settings import SETTINGS, Settings
from metricfit.types import FloatArray


def fit(
    proba: Any,
    labels: Any,
    weights: Any = None,
    cells: Any = None,
    n_cells: int = 1,
    *,
    settings: Settings = SETTINGS,
    seed: int = 0,
) -> tuple[Calibration, Report]:
    """Return the calibration that fits the labels best, and a report on it.

    Families are compared by cross-validated log loss, from simple to rich; a richer family must gain more than the
    standard error of the difference. So with few rows a simple family is chosen, and probabilities that are already
    calibrated stay as they are.

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
        The tuned constants.
    seed : int, default=0
        Seed of the folds, and of the sample if there are many rows.

    Returns
    -------
    Calibration, Report

    Examples
    --------
    A model that is twice as sure as it should be:

    >>> rng = np.random.default_rng(0)
    >>> right = rng.dirichlet([1, 1, 1], 2000)
    >>> y = (rng.random((2000, 1)) > right.cumsum(axis=1)).sum(axis=1)
    >>> sure = right**2 / (right**2).sum(axis=1, keepdims=True)
    >>> calibration, report = fit(sure, y)
    >>> report.family, float(calibration.steepness[0].round(1))
    ('temperature', 0.5)
    """
    proba, n = np.asarray(proba), np.shape(proba)[1]
    few = settings.choosing_rows(n)
    data = proba, np.asarray(labels), weights, cells
    rows = fold_rows(*data, few, settings.folds, seed)
    if len(rows.labels) < 2 * settings.folds or n < 2:
        none = none_of(rows, settings)
        same = Calibration.identity(n)
        return same, report_on(rows, n_cells, [none], none, none.losses, same)
    entries = list(candidates(rows, settings))
    chosen = entries[walk(entries, rows.weights, settings)]
    if "curves" in settings.families and rows.effective >= settings.curve_rows:
        more = [chosen, *curve_candidates(rows, chosen, settings)]
        chosen = more[walk(more, rows.weights, settings)]
        entries += more[1:]
    if n_cells > 1 and n_cells * (n + 1) ** 2 <= settings.cell_entries:
        more = [chosen, *within_cells.cell_candidates(rows, chosen, n_cells, settings)]
        chosen = more[walk(more, rows.weights, settings)]
        entries += more[1:]
    enough = len(proba) <= few or chosen is entries[0]
    calibration = chosen.final(rows if enough else fold_rows(*data, settings.rows(n), seed=seed))
    return calibration, report_on(
        rows, n_cells, entries, chosen, honest(entries, rows, settings), calibration
    )


def walk(entries: Sequence[Entry], weights: FloatArray, settings: Settings, rows: Any = slice(None)) -> int:
    """Return the index of the chosen candidate, by the losses of some rows.

    Another family must beat the best so far by more than noise; another ridge of the same family must only be better.
    """
    best, share = 0, weights[rows] / weights[rows].sum()
    for c in range(1, len(entries)):
        gains = entries[best].losses[rows] - entries[c].losses[rows]
        gain = share @ gains
        noise = settings.errors * np.sqrt(share**2 @ (gains - gain) ** 2)
        if gain > (0 if entries[c].name == entries[best].name else noise):
            best = c
    return best


def honest(entries: Sequence[Entry], rows: FoldedRows, settings: Settings) -> FloatArray:
    """Return the losses of the rows of each fold, under the candidate chosen on the other folds."""
    made = np.empty(len(rows.labels))
    for fold in rows.folds:
        rest = np.ones(len(made), dtype=bool)
        rest[fold] = False
        made[fold] = entries[walk(entries, rows.weights, settings, rest)].losses[fold]
    return made
