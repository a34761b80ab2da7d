"""Curves: for each class a smooth rising function of its probability, which comes after another family.

What a family with few parameters leaves over is in one place: probabilities between .8 and .9 of which .88 are right. A
curve adds to the logit of a class's probability a function that is straight between a few bends. Each class is fitted
against all others, on rows counted by bins of its probability, so that all folds cost a few passes over the rows; then
each row is scaled to a sum of 1, and the log loss of held-out rows decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metricfit.calibration.candidates import Entry
from metricfit.calibration.folds import FoldedRows
from metricfit.calibration.linear_logits import evaluate
from metricfit.calibration.model import Calibration, Curves
from metricfit.calibration.settings import Settings
from metricfit.types import FloatArray

# Logits beyond this belong to probabilities that single precision does not tell from 0 or 1.
FAR = 16.0
# Where a curve may bend, the logits at which it is kept, and bins of logits in which rows are alike.
BENDS = np.linspace(-6.0, 6.0, 13)
KNOTS = np.linspace(-FAR, FAR, 65)
BINS = 160
# Newton's steps, and the expected gain in summed log loss after which the last one is made.
STEPS, FINE = 12, 1e-3


@dataclass(frozen=True, eq=False)
class Binned:
    """The rows of each fold by bins of the logit of each class's probability.

    Attributes
    ----------
    at : array of shape (n, bins)
        The mean logit of the rows of a bin.
    rows, hits : arrays of shape (n, folds, bins)
        The weight of the rows, and of those of the class.
    """

    at: FloatArray
    rows: FloatArray
    hits: FloatArray

    @classmethod
    def of(cls, rows: FoldedRows, q: FloatArray) -> Binned:
        """Return the rows by bins of their probabilities q."""
        n, folds = q.shape[1], len(rows.folds)
        logits, weights = _logits(q), rows.weights
        fold = np.repeat(np.arange(folds), [part.stop - part.start for part in rows.folds])
        place = ((logits + FAR) * (BINS / (2 * FAR))).astype(np.int32)
        np.minimum(place, BINS - 1, out=place)
        sums = np.zeros((3, n, folds, BINS))
        for i in range(n):
            bin_of = fold * BINS + place[:, i]
            mine = np.flatnonzero(rows.labels == i)
            for made, some, each in zip(
                sums,
                (bin_of, bin_of, bin_of[mine]),
                (weights, weights * logits[:, i], weights[mine]),
                strict=True,
            ):
                made[i] = np.bincount(some, each, folds * BINS).reshape(folds, BINS)
        total = sums[0].sum(axis=1)
        middle = np.broadcast_to((np.arange(BINS) + 0.5) * (2 * FAR / BINS) - FAR, total.shape)
        mean = np.where(total > 0, sums[1].sum(axis=1) / np.where(total > 0, total, 1.0), middle)
        return cls(mean, sums[0], sums[2])

    @cached_property
    def design(self) -> FloatArray:
        """What each parameter adds to the logit in each bin, (n, bins, parameters)."""
        return _design(self.at)

    def without(self, fold: int | None) -> tuple[FloatArray, FloatArray]:
        """Return the weights of rows and of hits, (n, bins), without those of a fold."""
        rows, hits = self.rows.sum(axis=1), self.hits.sum(axis=1)
        if fold is None:
            return rows, hits
        return np.maximum(rows - self.rows[:, fold], 0.0), np.maximum(hits - self.hits[:, fold], 0.0)

    def step(
        self, params: FloatArray, ridge: FloatArray, fold: int | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Newton's step for each class, the gain that it promises, and the effective number of parameters."""
        rows, hits = self.without(fold)
        q = 1 / (1 + np.exp(-self.at - np.einsum("ibp,ip->ib", self.design, params)))
        gradient = np.einsum("ibp,ib->ip", self.design, rows * q - hits) + ridge * params
        hessian = self.design.swapaxes(1, 2) @ (self.design * (rows * q * (1 - q))[:, :, None])
        curved = hessian + np.diag(ridge)
        step = -np.linalg.solve(curved, gradient[:, :, None])[:, :, 0]
        freedom = np.trace(np.linalg.solve(curved, hessian), axis1=1, axis2=2)
        return step, -0.5 * np.einsum("ip,ip->i", gradient, step), freedom

    def fitted(
        self, ridge: FloatArray, fold: int | None = None, start: FloatArray | None = None
    ) -> FloatArray:
        """Return the parameters of each class, (n, parameters), fitted to the rows outside a fold."""
        params = np.zeros((len(self.at), ridge.size)) if start is None else start.copy()
        for _ in range(STEPS):
            step, promise, _ = self.step(params, ridge, fold)
            # A step of one class too long to be trusted is cut; the next one goes on from there.
            params += step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True) / 2)
            if promise.max() < FINE:
                break
        return params

    def curves(self, params: FloatArray, settings: Settings, fold: int | None = None) -> Curves:
        """Return the curves that parameters stand for.

        Where labels let one fall, isotonic regression levels it: a few rows at an end must not move the many beside
        them. It still rises a little, so that rows keep their order.
        """
        from scipy.optimize import isotonic_regression  # deciding with curves needs NumPy alone

        logits = self.at + np.einsum("ibp,ip->ib", self.design, params)
        q = 1 / (1 + np.exp(-logits))
        weights = self.without(fold)[0] * q * (1 - q) + 1e-9
        x, made = 1 / (1 + np.exp(-KNOTS)), []
        for at, fitted, weight in zip(self.at, logits - settings.flattest * self.at, weights, strict=True):
            level = isotonic_regression(fitted, weights=weight).x + settings.flattest * at
            # Beyond all bins the logit grows as that of the probability.
            beyond = np.minimum(KNOTS - at[0], 0.0) + np.maximum(KNOTS - at[-1], 0.0)
            y = 1 / (1 + np.exp(-np.clip(np.interp(KNOTS, at, level) + beyond, -2 * FAR, 2 * FAR)))
            y = np.concatenate([y[:1] / 2, y, (1 + y[-1:]) / 2])
            made.append((np.concatenate([[0.0], x, [1.0]]), y))
        return tuple(made)


def _logits(q: FloatArray) -> FloatArray:
    """Return the logits of probabilities, in single precision and not beyond `FAR`."""
    q = np.clip(q.astype(np.float32), np.float32(1.2e-7), np.float32(1 - 1.2e-7))
    return np.clip(np.log(q) - np.log1p(-q), -FAR, FAR)


def _design(at: FloatArray) -> FloatArray:
    """Return a constant, a slope, and a change of the slope at each bend."""
    at = at[..., None]
    return np.concatenate([np.ones_like(at), at, np.maximum(at - BENDS, 0.0)], axis=-1)


def raised(curves: Curves, q: FloatArray) -> FloatArray:
    """Return the logarithms of the curves' values."""
    made = np.empty(q.shape)
    for i, (x, y) in enumerate(curves):
        made[:, i] = np.interp(q[:, i], x, y)
    return np.log(made)


def curve_candidates(rows: FoldedRows, base: Entry, settings: Settings) -> Iterator[Entry]:
    """Yield the candidate with curves after the best family without, if Newton's first step promises enough."""
    assert base.without is not None, "curves come after a family without curves"
    n = rows.proba.shape[1]
    ridge = np.full(2 + len(BENDS), settings.steepness_ridge)
    ridge[0] = settings.bias_ridge
    whole = Binned.of(rows, evaluate(base.without(None), rows.labels)[1])
    _, promise, freedom = whole.step(np.zeros((n, ridge.size)), ridge, None)
    if not promise.sum() > settings.promised * freedom.sum():
        return
    logits, start = np.empty(rows.proba.shape), whole.fitted(ridge)
    for k, fold in enumerate(rows.folds):
        q = evaluate(base.without(k), rows.labels)[1]
        binned = Binned.of(rows, q)
        logits[fold] = raised(binned.curves(binned.fitted(ridge, k, start), settings, k), q[fold])

    def final(all_rows: FoldedRows) -> Calibration:
        common = base.final(all_rows)
        q = all_rows.proba if common.is_identity else common(all_rows.proba)
        binned = Binned.of(all_rows, q)
        made = binned.curves(binned.fitted(ridge), settings)
        before = None if common.is_identity else common
        return Calibration("curves", np.zeros((1, n)), curves=made, before=before)

    yield Entry("curves", settings.steepness_ridge, logits, evaluate(logits, rows.labels)[0], final)
