r"""The exact slack step of the ellipsoid method.

.. math:: \min_\xi \psi(\xi) - \langle \lambda, \xi \rangle + \langle \mu, \phi(\xi) \rangle

Harmonic, geometric and quadratic means of rates have a closed form: at the optimum every rate is a known
function of one number (a sum, a mean or a norm), which solves an equation that is linear between sorted
kinks. Maxima of linear functions make a linear program, anything else a cone program.

The closed forms are kept because the cone program takes 1.3 to 4 times as long for a whole solve of 3 to 10 classes,
and its solver fails on geometric means of 6 and 10 rates, which ends the walk early (gap 0.4 and 0.7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metricfit.functions.atoms import GeometricMean, HarmonicMean, RootMeanSquareLoss
from metricfit.functions.expression import Constant, Entries, Node, nodes_of
from metricfit.functions.extremes import Largest
from metricfit.functions.matrices import dense, used_columns
from metricfit.functions.nonlinear import Smooth
from metricfit.methods.dual.domain import Domain
from metricfit.methods.dual.inner import CheapestPoint, ConeProgram, LinearStep
from metricfit.methods.master.curve import smooth_parts
from metricfit.methods.master.polyhedron import Polyhedron, is_polyhedral
from metricfit.problem import Program
from metricfit.types import FloatArray

Step = Callable[[FloatArray, FloatArray], CheapestPoint]


def slack_step(program: Program, domain: Domain) -> Step:
    """Return the function ``(lambda, mu) -> minimiser, value, lower bound``.

    ``mu`` has one entry for each constraint, whose function is the largest of its functions.
    """
    limits = [Largest(node) for node in program.bounds]
    mean = MeanOfRates.of(program.objective, domain, limits)
    if mean is None:
        return _solver(program.objective, limits, domain)
    rest = _solver(Constant(np.zeros(1)), limits, domain)

    def step(lam: FloatArray, mu: FloatArray) -> CheapestPoint:
        gain = lam - mean.cost
        others = gain.copy()
        others[mean.rates] = 0.0
        u, value, bound = rest(others, mu)
        u[mean.rates] = CLOSED[type(mean.smooth.atom)](
            -gain[mean.rates] / mean.weight, domain.high[mean.rates]
        )
        own = mean.weight * mean.loss(u) + mean.constant - float(gain[mean.rates] @ u[mean.rates])
        return CheapestPoint(u, own + value, own + bound)

    return step


@dataclass(frozen=True, eq=False)
class MeanOfRates:
    """An objective ``weight * loss + cost @ u + constant``, for a mean of rates with a closed form."""

    weight: float
    smooth: Smooth
    cost: FloatArray
    constant: float

    @classmethod
    def of(cls, objective: Node, domain: Domain, limits: list[Largest]) -> MeanOfRates | None:
        """Return an objective in that form, or None if it has another one or something else reads the rates."""
        parts = smooth_parts(objective)
        if parts is None or len(parts.smooth) != 1:
            return None
        weight, smooth = parts.smooth[0]
        weight *= 1.0 if smooth.atom.curvature.is_convex else -1.0
        flat = parts.flat or Constant(np.zeros(1))
        if weight <= 0 or not is_polyhedral(flat, -1) or type(smooth.atom) not in CLOSED:
            return None
        mean = cls(weight, smooth, Polyhedron(domain.low.size).row(flat), 0.0)
        if not isinstance(smooth.part, Entries) or not mean._alone(domain, limits):
            return None
        at = domain.high
        return replace(mean, constant=objective.scalar(at) - weight * mean.loss(at) - float(mean.cost @ at))

    @property
    def rates(self) -> slice:
        """Where the rates are in u."""
        assert isinstance(self.smooth.part, Entries)
        return slice(self.smooth.part.start, self.smooth.part.stop)

    def loss(self, u: FloatArray) -> float:
        """Return the loss: a concave mean counts negative."""
        value = self.smooth.scalar(u)
        return value if self.smooth.atom.curvature.is_convex else -value

    def _alone(self, domain: Domain, limits: list[Largest]) -> bool:
        low, high = domain.low[self.rates], domain.high[self.rates]
        boxed = bool(np.all(low == 0) and np.all(high > 0))
        if isinstance(self.smooth.atom, RootMeanSquareLoss):
            boxed = boxed and np.allclose(high, 1.0, rtol=0, atol=1e-12)
        others: list[Any] = [
            part for limit in limits for part in nodes_of(limit) if isinstance(part, Entries)
        ]
        shared = [
            p for p in (*others, *domain.simplices) if p.start < self.rates.stop and self.rates.start < p.stop
        ]
        return boxed and not shared


def harmonic(direction: FloatArray, high: FloatArray) -> FloatArray:
    """Minimise ``direction @ v - n / sum(1 / v)`` over ``0 <= v <= high``.

    At the optimum 1 / v_i is the larger of 1 / high_i and s sqrt(price_i / n), and s is their sum.
    """
    q = np.sqrt(np.maximum(direction, 0.0) / direction.size)
    if q.sum() >= 1:
        return np.where(direction > 0, 0.0, high)
    order = np.argsort(-q * high)
    free = np.concatenate([[0.0], np.cumsum(q[order])])
    held = (1 / high).sum() - np.concatenate([[0.0], np.cumsum(1 / high[order])])
    # If the first m rates in this order are below their upper ends, s = held / (1 - free). The right m is the first for
    # which the next rate stays at its end.
    s = held[:-1] / (1 - free[:-1])
    m = int(np.argmax(s * (q * high)[order] <= 1)) if np.any(s * (q * high)[order] <= 1) else q.size - 1
    return 1 / np.maximum(1 / high, s[m] * q)


def geometric(direction: FloatArray, high: FloatArray) -> FloatArray:
    """Minimise ``direction @ v - prod(v) ** (1 / n)`` over ``0 <= v <= high``.

    At the optimum v_i is the smaller of high_i and G / (n price_i), and G is their geometric mean.
    """
    n = direction.size
    with np.errstate(divide="ignore"):
        cost = np.log(n * np.maximum(direction, 0.0))
    if cost.sum() >= 0:
        return np.zeros(n)
    end = np.log(high)
    order = np.argsort(-(end + cost))
    free = np.concatenate([[0.0], np.cumsum(cost[order])])
    held = end.sum() - np.concatenate([[0.0], np.cumsum(end[order])])
    m = np.arange(n)
    level = (held[:-1] - free[:-1]) / (n - m)
    fits = level >= (end + cost)[order]
    chosen = level[int(np.argmax(fits))] if fits.any() else level[-1]
    return np.exp(np.minimum(end, chosen - cost))


def quadratic(direction: FloatArray, high: FloatArray) -> FloatArray:
    """Minimise ``direction @ v + sqrt(mean((1 - v) ** 2))`` over ``0 <= v <= 1``.

    At the optimum 1 - v_i is the smaller of 1 and sqrt(n) r price_i, and r is their norm.
    """
    n = direction.size
    cost = np.sqrt(n) * np.maximum(direction, 0.0)
    if cost @ cost <= 1:
        return np.ones(n)
    order = np.argsort(-cost)
    rest = (cost @ cost) - np.cumsum(cost[order] ** 2)
    m = np.arange(1, n + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.sqrt(m / np.maximum(1 - rest, 0.0))
        after = np.append(cost[order][1:], 0.0)
        fits = (r * cost[order] >= 1 - 1e-12) & (r * after <= 1 + 1e-12)
    norm = r[int(np.argmax(fits))] if fits.any() else r[-1]
    return 1 - np.minimum(1.0, norm * cost)


CLOSED: dict[type, Callable[[FloatArray, FloatArray], FloatArray]] = {
    HarmonicMean: harmonic,
    GeometricMean: geometric,
    RootMeanSquareLoss: quadratic,
}


def _solver(goal: Node, limits: list[Largest], domain: Domain) -> Step:
    if isinstance(goal, Constant) and not limits:
        return lambda lam, mu: CheapestPoint(u := domain.cheapest(-lam), -float(lam @ u), -float(lam @ u))
    if not all(is_polyhedral(node) for node in (goal, *limits)):
        cone = ConeProgram(domain, goal, limits)
        return lambda lam, mu: cone(-lam, mu)
    body = Polyhedron(domain.low.size)
    row, constant = body.form(goal)
    tops = [int(used_columns(body.form(limit)[0])[0]) for limit in limits]
    solve = LinearStep(domain, body)
    base = np.zeros(solve.size)
    base[: row.shape[1]] = dense(row).ravel()

    def step(lam: FloatArray, mu: FloatArray) -> CheapestPoint:
        cost = base.copy()
        cost[: lam.size] -= lam
        cost[tops] += mu
        u, value, bound = solve(cost)
        return CheapestPoint(u, value + float(constant[0]), bound + float(constant[0]))

    return step
