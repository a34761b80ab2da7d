"""The calibrations to choose from: every family, from simple to rich, on the same rows and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from metricfit.calibration import families
from metricfit.calibration.families import FINE, ROUGH, Family
from metricfit.calibration.folds import FoldedRows
from metricfit.calibration.linear_logits import Core, Data, Diagonal, Full, evaluate
from metricfit.calibration.model import Calibration
from metricfit.calibration.settings import Settings
from metricfit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate: its logits and losses on held-out rows, and how it is fitted to all rows.

    ``without`` gives the logits of all rows by the parameters that were fitted without a fold (None: to all rows);
    None for a candidate that nothing comes after.
    """

    name: str
    ridge: float
    logits: FloatArray
    losses: FloatArray
    final: Callable[[FoldedRows], Calibration]
    without: Callable[[int | None], FloatArray] | None = None


def _data(rows: FoldedRows, floor: float, settings: Settings) -> Data:
    kind = np.float32 if rows.proba.size > settings.single_precision else np.float64
    return Data(np.log(np.maximum(rows.proba, floor).astype(kind)), rows.labels, rows.weights)


def none_of(rows: FoldedRows, settings: Settings) -> Entry:
    """Return the candidate that leaves probabilities as they are."""
    z, n = _data(rows, settings.floors[0], settings).z, rows.proba.shape[1]
    losses = evaluate(z, rows.labels)[0]
    return Entry("none", 0.0, z, losses, lambda _: Calibration.identity(n), lambda _: z)


@dataclass(frozen=True, eq=False)
class Fit:
    """A candidate with its parameters on all rows, and its effective number of parameters."""

    entry: Entry
    point: families.Point
    freedom: float
    loss: float

    def promises(self, family: Family, settings: Settings) -> bool:
        """Whether a family that starts here may gain on new rows, judged before it is fitted."""
        freedom, promise = self.point.outlook(family, settings)
        return promise > settings.promised * (freedom - self.freedom)


def candidates(rows: FoldedRows, settings: Settings) -> Iterator[Entry]:
    """Yield the candidates without cells; weaker ridges are tried only where stronger ones help."""
    none = none_of(rows, settings)
    yield none
    n, floor = none.logits.shape[1], settings.floors[0]
    simple = Diagonal(Data(none.logits, rows.labels, rows.weights), own=False)
    nothing = families.Point(simple, np.zeros(simple.size))
    first = best = Fit(none, nothing, 0.0, float(rows.weights @ none.losses))
    for name in ("temperature", "bias")[: 2 if n <= settings.bias_classes else 1]:
        if name in settings.families and first.promises(Family(name), settings):
            fit = _fitted(Family(name), floor, first.point, rows, settings)
            yield fit.entry
            best = min(best, fit, key=_loss)
    # The family with temperature and bias starts from the better of the two, and shows what a floor does.
    plain, both, floors = best, Family("temperature_bias"), _floors(rows, settings)
    if floors or (both.name in settings.families and best.promises(both, settings)):
        plain = _fitted(both, floor, best.point, rows, settings)
        yield plain.entry
    for higher in floors:
        lifted = Diagonal(_data(rows, higher, settings), own=False)
        fit = _fitted(both, higher, families.Point(lifted, plain.point.params), rows, settings)
        yield fit.entry
        if fit.loss >= plain.loss:
            break
        plain, floor = fit, higher
    best = min(best, plain, key=_loss)
    makers: tuple[tuple[str, type[Core], tuple[float, ...], int, int], ...] = (
        ("vector", Diagonal, settings.vector_ridges, settings.vector_classes if n > 2 else 0, n),
        ("dirichlet", Full, settings.matrix_ridges, settings.matrix_classes, n * n),
    )
    for name, make, ridges, most, size in makers:
        if n > most or name not in settings.families or rows.effective < settings.rows_per_entry * size:
            continue
        start = replace(plain, point=plain.point.within(make(plain.point.core.data)))
        for place, ridge in enumerate(ridges):
            if not start.promises(Family(name, ridge), settings):
                continue
            fit = _fitted(Family(name, ridge), floor, start.point, rows, settings)
            if not families.upright(fit.point):
                break
            yield fit.entry
            worse, best = fit.loss >= best.loss, min(best, fit, key=_loss)
            if place and worse:
                break
            start = fit


def _loss(fit: Fit) -> float:
    return fit.loss


def _floors(rows: FoldedRows, settings: Settings) -> list[float]:
    """Return the floors that are worth a try: labels have smaller probabilities more often than these predict."""
    mine = rows.proba[np.arange(len(rows.labels)), rows.labels]
    made = []
    for floor in settings.floors[1:]:
        seen = rows.weights @ (mine < floor)
        if seen > 0.5:
            told = (rows.weights @ np.where(rows.proba < floor, rows.proba, 0.0)).sum()
            if seen > told + 3 * np.sqrt(told) + 0.5:
                made.append(floor)
    return made


def _fitted(family: Family, floor: float, start: families.Point, rows: FoldedRows, settings: Settings) -> Fit:
    """Return the candidate of a family."""
    core, freedom = start.core, start.outlook(family, settings)[0]
    point = families.Point(core, families.fitted(start, family, settings, ROUGH))
    logits = np.empty_like(core.data.z)
    without = list(families.without_each_fold(point, family, rows.folds, settings))
    for fold, other in zip(rows.folds, without, strict=True):
        logits[fold] = core.logits(other, fold)

    def final(all_rows: FoldedRows) -> Calibration:
        known = all_rows is rows
        here = point if known else replace(point, core=core.of(_data(all_rows, floor, settings)))
        return families.calibration_of(
            family, here.core, families.fitted(here, family, settings, FINE), floor
        )

    def logits_without(fold: int | None) -> FloatArray:
        return core.logits(point.params if fold is None else without[fold])

    losses = evaluate(logits, rows.labels)[0]
    entry = Entry(family.name, family.ridge, logits, losses, final, logits_without)
    return Fit(entry, point, freedom, float(rows.weights @ entry.losses))
