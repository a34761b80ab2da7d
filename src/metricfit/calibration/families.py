"""The parametric families: masks of what is free, from simple to rich, fitted to all rows and without each fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from metricfit.calibration.linear_logits import Core, Full, Mask, evaluate, minimise
from metricfit.calibration.model import Calibration
from metricfit.calibration.settings import Settings
from metricfit.types import FloatArray

# Newton's method ends after a step with this expected gain in summed log loss: while families are compared, and for
# the family that is kept.
ROUGH, FINE = 0.5, 1e-6


@dataclass(frozen=True)
class Family:
    """A family with its ridge."""

    name: str
    ridge: float = 0.0

    def mask(self, core: Core, settings: Settings) -> Mask:
        """Return which parameters of a core are free, and their ridges."""
        ridge = np.zeros(core.size)
        if "temperature" in self.name or self.name in ("vector", "dirichlet"):
            ridge[0] = settings.steepness_ridge
        if self.name == "vector":
            ridge[core.own] = self.ridge
        if self.name == "dirichlet":
            ridge[1:] = self.ridge
        if self.name != "temperature":
            ridge[core.bias] = settings.bias_ridge
        free = np.flatnonzero(ridge)
        return Mask(free, ridge[free])


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters of a core: where the fit of a family starts, or ends.

    ``same`` is a point of another core that gives every row the same probabilities, if one is known.
    """

    core: Core
    params: FloatArray
    same: Point | None = None

    @cached_property
    def evaluated(self) -> tuple[FloatArray, FloatArray]:
        """The losses and the probabilities of the rows here."""
        if self.same is not None:
            return self.same.evaluated
        return evaluate(self.core.logits(self.params), self.core.data.labels)

    @cached_property
    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian of the summed loss here, whatever the family."""
        return self.core.derivatives(self.evaluated[1])

    def outlook(self, family: Family, settings: Settings) -> tuple[float, float]:
        """Return a family's effective number of parameters, and the gain in summed log loss that its step promises.

        On new rows the gain is smaller by about the number of parameters (Akaike): half of that is promised by chance
        even where there is nothing to gain, and half is lost because the parameters follow chance.
        """
        if family not in self._outlooks:
            mask = family.mask(self.core, settings)
            self._outlooks[family] = mask.outlook(*self.derivatives, self.params)
        return self._outlooks[family]

    @cached_property
    def _outlooks(self) -> dict[Family, tuple[float, float]]:
        """The outlooks that were asked for: before a family is fitted, and for the one that comes after it."""
        return {}

    def within(self, richer: Core) -> Point:
        """Return the parameters of a richer core that are equivalent to this steepness and these biases."""
        made = np.zeros(richer.size)
        made[0] = self.params[0]
        made[richer.bias] = self.params[self.core.bias] + self.params[0] * (richer.centre - self.core.centre)
        return Point(richer, made, same=self)


def fitted(start: Point, family: Family, settings: Settings, tolerance: float) -> FloatArray:
    """Return the parameters of a family fitted to all rows.

    If the steepness leaves its limits, as when labels contradict the model and would turn it upside down, it is set
    to the limit and the biases are fitted alone.
    """
    core, mask = start.core, family.mask(start.core, settings)
    params = minimise(core, mask, start.params, tolerance, known=(start.evaluated[0], start.derivatives))
    steepness = np.clip(params[0], settings.flattest - 1, settings.steepest - 1)
    if steepness == params[0]:
        return params
    params = np.zeros(core.size)
    params[0] = steepness
    kept = mask.free != 0
    return (
        minimise(core, Mask(mask.free[kept], mask.ridge[kept]), params, tolerance) if kept.any() else params
    )


def without_each_fold(
    fit: Point, family: Family, folds: list[slice], settings: Settings
) -> Iterator[FloatArray]:
    """Yield the parameters fitted without each fold, by Newton's step from those of all rows.

    The sums of a fold are subtracted from those of all rows, so that all folds cost one pass over the rows. With few
    rows per parameter one step is too short, which would favour rich families; more steps are cheap there.
    """
    core, params, (_, q) = fit.core, fit.params, fit.evaluated
    mask, labels = family.mask(core, settings), core.data.labels
    sums = [core.derivatives(q[fold], fold) for fold in folds]
    gradient, hessian = sum(g for g, _ in sums), sum(h for _, h in sums)
    few = len(labels) < settings.rows_per_parameter * len(mask.free)
    for fold, (g, h) in zip(folds, sums, strict=True):
        new: FloatArray = params + mask.step(gradient - g, hessian - h, params)
        if few:
            rest = core.of(core.data.without(fold))
            new = minimise(rest, mask, new, ROUGH / 10, steps=5)
        new[0] = np.clip(new[0], settings.flattest - 1, settings.steepest - 1)
        yield new


def upright(fit: Point) -> bool:
    """Return whether, averaged over classes, a class gets likelier where the model says so.

    Labels that contradict the model would turn matrices and factors of classes upside down.
    """
    core, params, n = fit.core, fit.params, fit.core.data.n
    if isinstance(core, Full):
        change = params[1:].reshape(n, n + 1)[:, :n]
        others = (change.sum() - np.trace(change)) / (n * (n - 1))
        return bool(1 + params[0] + np.trace(change) / n > others)
    return bool((1 + params[0] + params[core.own] > 0).all())


def calibration_of(family: Family, core: Core, params: FloatArray, floor: float) -> Calibration:
    """Return the calibration that parameters stand for."""
    n, centre = core.data.n, core.centre
    if isinstance(core, Full):
        change = params[1:].reshape(n, n + 1)[:, :n] + params[0] * np.eye(n)
        bias = params[core.bias] - change @ centre
        return Calibration(family.name, bias[None] - bias.mean(), np.eye(n) + change, floor=floor)
    bias = params[core.bias]
    if family.name == "vector":
        change = params[0] + params[core.own]
        bias = bias - change * centre
        return Calibration(family.name, bias[None] - bias.mean(), 1 + change, floor=floor)
    bias = np.zeros(n) if family.name == "temperature" else bias - bias.mean()
    return Calibration(family.name, bias[None], steepness=np.array([1 + params[0]]), floor=floor)
