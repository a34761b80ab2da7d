"""Fitting a calibration: every family on the same rows and folds, the simplest one that is as good as any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricfit.calibration import curves, families, within_cells
from metricfit.calibration.families import FINE, ROUGH, Family
from metricfit.calibration.folds import Sample, sample
from metricfit.calibration.linear_logits import Core, Data, Diagonal, Full, evaluate
from metricfit.calibration.model import Calibration
from metricfit.calibration.report import Candidate, CellFacts, Report, class_errors
from metricfit.calibration.settings import SETTINGS, Settings
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate: its logits and losses on rows it was not fitted on, and how it is fitted to all of them."""

    name: str
    ridge: float
    logits: FloatArray
    losses: FloatArray
    final: Callable[[Sample], Calibration]


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
    """Return the calibration that the labels ask for, and a report on it.

    Families are compared by cross-validated log loss, from simple to rich; a richer one must gain more than the
    noise of the difference. So few rows choose little, and calibrated probabilities stay as they are.

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
        What was tuned.
    seed : int, default=0
        Of the folds, and of the sample where there are many rows.

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
    most = settings.rows(n)
    data = proba, np.asarray(labels), weights, cells
    rows = sample(*data, settings.choosing_rows(n), settings.folds, seed)
    if len(rows.labels) < 2 * settings.folds or n < 2:
        none = _none(rows, settings)
        return Calibration.identity(n), _report(
            rows, n_cells, [none], none, none.losses, Calibration.identity(n)
        )
    entries = list(candidates(rows, settings))
    chosen = entries[walk(entries, rows.weights, settings)]
    if n_cells > 1 and n_cells * (n + 1) ** 2 <= settings.cell_entries:
        more = [chosen, *candidates_in_cells(rows, chosen, n_cells, settings)]
        chosen = more[walk(more, rows.weights, settings)]
        entries += more[1:]
    calibration = chosen.final(
        rows if len(rows.labels) < settings.choice_rows else sample(*data, most, seed=seed)
    )
    return calibration, _report(rows, n_cells, entries, chosen, honest(entries, rows, settings), calibration)


def walk(entries: Sequence[Entry], weights: FloatArray, settings: Settings, rows: Any = slice(None)) -> int:
    """Return the place of the candidate chosen, by the losses of some rows.

    Another family must beat the best before it by more than noise; another ridge of the same family by anything.
    """
    best, share = 0, weights[rows] / weights[rows].sum()
    for c in range(1, len(entries)):
        gains = entries[best].losses[rows] - entries[c].losses[rows]
        gain = share @ gains
        noise = settings.errors * np.sqrt(share**2 @ (gains - gain) ** 2)
        if gain > (0 if entries[c].name == entries[best].name else max(noise, settings.gain)):
            best = c
    return best


def honest(entries: Sequence[Entry], rows: Sample, settings: Settings) -> FloatArray:
    """Return the losses of each fold under the candidate that the other folds choose."""
    made = np.empty(len(rows.labels))
    for fold in rows.folds:
        rest = np.ones(len(made), dtype=bool)
        rest[fold] = False
        made[fold] = entries[walk(entries, rows.weights, settings, rest)].losses[fold]
    return made


def _data(rows: Sample, floor: float, settings: Settings) -> Data:
    kind = np.float32 if rows.proba.size > settings.single_precision else np.float64
    return Data(np.log(np.maximum(rows.proba, floor).astype(kind)), rows.labels, rows.weights)


def _none(rows: Sample, settings: Settings) -> Entry:
    z, n = _data(rows, settings.floors[0], settings).z, rows.proba.shape[1]
    return Entry("none", 0.0, z, evaluate(z, rows.labels)[0], lambda _: Calibration.identity(n))


def candidates(rows: Sample, settings: Settings) -> Iterator[Entry]:
    """Yield the candidates without cells; weaker ridges only where stronger ones are of use."""
    none = _none(rows, settings)
    yield none
    n, floor = none.logits.shape[1], settings.floors[0]
    simple = Diagonal(Data(none.logits, rows.labels, rows.weights), own=False)
    entries: list[Entry] = [none]
    starts: list[FloatArray] = [np.zeros(simple.size)]
    for name in ("temperature", "bias", "temperature_bias"):
        if name == "bias" and n > settings.bias_classes:
            continue
        # Both simple families lead to the one with both; the nearer one is the better start.
        nearest = int(np.argmin([rows.weights @ entry.losses for entry in entries]))
        start = starts[nearest] if name == "temperature_bias" else starts[0]
        entry, params = _parametric(simple, Family(name), floor, start, rows, settings)
        entries.append(entry)
        starts.append(params)
        yield entry
    for higher in _floors(rows, settings):
        core = Diagonal(_data(rows, higher, settings), own=False)
        entry, params = _parametric(core, Family("temperature_bias"), higher, starts[-1], rows, settings)
        yield entry
        if rows.weights @ entry.losses >= rows.weights @ entries[-1].losses:
            break
        entries[-1], starts[-1], simple, floor = entry, params, core, higher
    least = min(rows.weights @ entry.losses for entry in entries)
    makers: tuple[tuple[str, type[Core], tuple[float, ...], int, int], ...] = (
        ("vector", Diagonal, settings.vector_ridges, settings.vector_classes if n > 2 else 0, n),
        ("dirichlet", Full, settings.matrix_ridges, settings.matrix_classes, n * n),
    )
    for name, make, ridges, most, size in makers:
        if n > most or rows.effective < settings.rows_per_entry * size:
            continue
        richer = make(simple.data)
        params = families.embedded(starts[-1], simple, richer)
        for place, ridge in enumerate(ridges):
            entry, params = _parametric(richer, Family(name, ridge), floor, params, rows, settings)
            if not families.upright(richer, params):
                break
            entries.append(entry)
            yield entry
            if place and rows.weights @ entry.losses >= least:
                break
            least = min(least, rows.weights @ entry.losses)
    if rows.effective >= settings.isotonic_rows * n and n <= settings.matrix_classes:
        yield from _isotonic(rows, min(entries, key=lambda entry: float(rows.weights @ entry.losses)), settings)


def _floors(rows: Sample, settings: Settings) -> list[float]:
    """Return the floors that are worth a try: labels are below them more often than the probabilities say."""
    mine = rows.proba[np.arange(len(rows.labels)), rows.labels]
    made = []
    for floor in settings.floors[1:]:
        seen = rows.weights @ (mine < floor)
        if seen > 0.5:
            told = rows.weights @ np.where(rows.proba < floor, rows.proba, 0.0).sum(axis=1)
            if seen > told + 3 * np.sqrt(told) + 0.5:
                made.append(floor)
    return made


def _parametric(
    core: Core, family: Family, floor: float, start: FloatArray, rows: Sample, settings: Settings
) -> tuple[Entry, FloatArray]:
    """Return the candidate of a family, and its parameters on all rows."""
    params = families.fitted(core, family, start, settings, ROUGH)
    logits = np.empty_like(core.data.z)
    without = families.without_each_fold(core, family, params, rows.folds, settings)
    for fold, other in zip(rows.folds, without, strict=True):
        logits[fold] = core.logits(other, fold)

    def final(all_rows: Sample) -> Calibration:
        whole = core if all_rows is rows else core.of(_data(all_rows, floor, settings))
        return families.calibration_of(
            family, whole, families.fitted(whole, family, params, settings, FINE), floor
        )

    return Entry(family.name, family.ridge, logits, evaluate(logits, rows.labels)[0], final), params


def _isotonic(rows: Sample, best: Entry, settings: Settings) -> Iterator[Entry]:
    """Yield the candidate with curves, unless it is worse than the best so far in the first fold."""
    orders: list[IntArray] = [np.argsort(column, kind="stable") for column in rows.proba.T]
    logits, losses = np.empty_like(rows.proba), np.empty(len(rows.labels))
    for fold in rows.folds:
        rest = np.ones(len(logits), dtype=bool)
        rest[fold] = False
        made = curves.fitted(rows.proba, rows.labels, rows.weights, orders, rest)
        logits[fold] = curves.logits(made, rows.proba[fold])
        losses[fold] = evaluate(logits[fold], rows.labels[fold])[0]
        if fold.start == 0 and rows.weights[fold] @ (losses[fold] - best.losses[fold]) > 0:
            return

    def final(all_rows: Sample) -> Calibration:
        order: list[IntArray] = [np.argsort(column, kind="stable") for column in all_rows.proba.T]
        made = curves.fitted(all_rows.proba, all_rows.labels, all_rows.weights, order, None)
        return curves.calibration_of(made, settings.floors[0])

    yield Entry("isotonic", 0.0, logits, losses, final)


def candidates_in_cells(rows: Sample, base: Entry, n_cells: int, settings: Settings) -> Iterator[Entry]:
    """Yield candidates in which cells differ from the best common calibration, from strong to weak ridges."""
    slopes = base.logits - rows.weights @ base.logits / rows.weights.sum()
    q = evaluate(base.logits, rows.labels)[1]
    groups = within_cells.sums(rows, q, slopes, n_cells)
    where = (rows.cells, within_cells.fold_of(rows))
    nothing = np.zeros(1 + q.shape[1])
    for steep in (False, True) if base.name != "isotonic" else (False,):
        for ridge in settings.cell_ridges:
            shrinkage = within_cells.Shrinkage(ridge, steep)
            params = groups.step(shrinkage, nothing, leave_out=True)
            logits = base.logits + within_cells.change(params, slopes, where)

            def final(all_rows: Sample, shrinkage: within_cells.Shrinkage = shrinkage) -> Calibration:
                return _cell_calibration(base.final(all_rows), all_rows, shrinkage, n_cells, settings)

            losses = evaluate(logits, rows.labels)[0]
            yield Entry(f"{base.name}, {shrinkage.name}", ridge, logits, losses, final)


def _cell_calibration(
    common: Calibration, rows: Sample, shrinkage: within_cells.Shrinkage, n_cells: int, settings: Settings
) -> Calibration:
    """Return the common calibration with the changes of each cell, fitted to all its rows."""
    if common.family == "none":
        logits = np.log(np.maximum(rows.proba, settings.floors[0]))
    else:
        logits = np.log(np.maximum(common(rows.proba), 1e-300))
    mean = rows.weights @ logits / rows.weights.sum()
    params = within_cells.fitted(rows, logits, logits - mean, shrinkage, n_cells)
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


def _report(
    rows: Sample,
    n_cells: int,
    entries: list[Entry],
    chosen: Entry,
    after: FloatArray,
    calibration: Calibration,
) -> Report:
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
    )
