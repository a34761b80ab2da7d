"""The calibrations to choose from: every family, from simple to rich, on the same rows and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from metricfit.calibration import curves, families
from metricfit.calibration.families import FINE, ROUGH, Family
from metricfit.calibration.folds import FoldedRows
from metricfit.calibration.linear_logits import Core, Data, Diagonal, Full, evaluate
from metricfit.calibration.model import Calibration
from metricfit.calibration.settings import Settings
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate: its logits and losses on rows it was not fitted on, and how it is fitted to all of them."""

    name: str
    ridge: float
    logits: FloatArray
    losses: FloatArray
    final: Callable[[FoldedRows], Calibration]


def _data(rows: FoldedRows, floor: float, settings: Settings) -> Data:
    kind = np.float32 if rows.proba.size > settings.single_precision else np.float64
    return Data(np.log(np.maximum(rows.proba, floor).astype(kind)), rows.labels, rows.weights)


def none_of(rows: FoldedRows, settings: Settings) -> Entry:
    """Return the candidate that leaves probabilities as they are."""
    z, n = _data(rows, settings.floors[0], settings).z, rows.proba.shape[1]
    return Entry("none", 0.0, z, evaluate(z, rows.labels)[0], lambda _: Calibration.identity(n))


def candidates(rows: FoldedRows, settings: Settings) -> Iterator[Entry]:
    """Yield the candidates without cells; weaker ridges only where stronger ones are of use."""
    none = none_of(rows, settings)
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
        yield from _isotonic(
            rows, min(entries, key=lambda entry: float(rows.weights @ entry.losses)), settings
        )


def _floors(rows: FoldedRows, settings: Settings) -> list[float]:
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
    core: Core, family: Family, floor: float, start: FloatArray, rows: FoldedRows, settings: Settings
) -> tuple[Entry, FloatArray]:
    """Return the candidate of a family, and its parameters on all rows."""
    params = families.fitted(core, family, start, settings, ROUGH)
    logits = np.empty_like(core.data.z)
    without = families.without_each_fold(core, family, params, rows.folds, settings)
    for fold, other in zip(rows.folds, without, strict=True):
        logits[fold] = core.logits(other, fold)

    def final(all_rows: FoldedRows) -> Calibration:
        whole = core if all_rows is rows else core.of(_data(all_rows, floor, settings))
        return families.calibration_of(
            family, whole, families.fitted(whole, family, params, settings, FINE), floor
        )

    return Entry(family.name, family.ridge, logits, evaluate(logits, rows.labels)[0], final), params


def _isotonic(rows: FoldedRows, best: Entry, settings: Settings) -> Iterator[Entry]:
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

    def final(all_rows: FoldedRows) -> Calibration:
        order: list[IntArray] = [np.argsort(column, kind="stable") for column in all_rows.proba.T]
        made = curves.fitted(all_rows.proba, all_rows.labels, all_rows.weights, order, None)
        return curves.calibration_of(made, settings.floors[0])

    yield Entry("isotonic", 0.0, logits, losses, final)
