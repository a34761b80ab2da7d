"""The judge of policies: their objective and limits by counted labels, and what to expect of both on new rows.

A limit that is kept by little may be missed on new rows, and the fewer rows it rests on, the likelier. So policies are
compared by one number: the objective, less the price of what each limit is expected to be missed by on new rows. All
policies are judged by the same rows, so the error of a difference is that of the rows that they decide differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from metricfit.data.layout import expand, statistic
from metricfit.data.rows import Rows
from metricfit.functions.expression import Node
from metricfit.problem import Program
from metricfit.types import FloatArray

#: How much of the objective is paid for one unit less of expected shortfall from a limit.
PRICE = 2.0


@dataclass(frozen=True, eq=False)
class Merit:
    """A policy by counted labels: its cost, and what each judged row adds to that.

    ``margins`` are positive where limits are met, in units of each limit's metric, with their standard ``errors``.
    ``effects`` are the changes of the cost for more rows like each of those judged, to first order.
    """

    value: float
    margins: FloatArray
    errors: FloatArray
    cost: float
    effects: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, program: Program, rows: Sequence[Rows], chances: Sequence[FloatArray]) -> Merit:
        """Return the merit of a policy with these chances of decisions on each set of rows."""
        made = np.sum(
            [counted(program, some, made) for some, made in zip(rows, chances, strict=True)], axis=0
        )
        weights = np.concatenate([weights_of(some) for some in rows])
        shares, u = weights / weights.sum(), program.vector(made / weights.sum())

        def effects(metric: Node) -> FloatArray:
            slope = expand(program.loss(metric.gradient(u)), program.layout, program.axes)
            return np.concatenate([_on(slope, some, made) for some, made in zip(rows, chances, strict=True)])

        by_limit = [limit.constraint.inward * effects(limit.metric) for limit in program.limits]
        margins = np.array([-limit.violation(u) for limit in program.limits])
        errors = np.array([spread(effect, shares) for effect in by_limit])
        units = np.array([unit(limit.constraint.limit) for limit in program.limits])
        value, price = program.value(u), PRICE * unit(program.value(u)) / units
        # The expected shortfall falls with the margin as often as the limit is missed.
        falls = price * missed_share(margins, errors)
        cost = value + float(price @ shortfall(margins, errors)) if margins.size else value
        whole = effects(program.objective) - sum(
            fall * one for fall, one in zip(falls, by_limit, strict=True)
        )
        return cls(value, margins, errors, cost, np.asarray(whole), shares)

    def beats(self, other: Merit, errors: float) -> bool:
        """Return whether the cost is lower than that of another policy by more than some standard errors."""
        return other.cost - self.cost > errors * spread(self.effects - other.effects, self.shares)


def spread(effects: FloatArray, shares: FloatArray) -> float:
    """Return the standard error of a mean of rows' effects.

    Examples
    --------
    >>> spread(np.array([0.0, 1.0, 0.0, 1.0]), np.full(4, 0.25))
    0.25
    """
    return float(np.sqrt(shares**2 @ (effects - shares @ effects) ** 2))


def missed_share(margins: FloatArray, errors: FloatArray) -> FloatArray:
    """Return how often limits are missed, if margins are normally distributed around these."""
    sure = np.where(margins < 0, 1.0, 0.0)
    z = np.divide(margins, errors, out=np.zeros_like(margins), where=errors > 0)
    return np.where(errors > 0, ndtr(-z), sure)


def shortfall(margins: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the mean of how far limits are missed, if margins are normally distributed around these.

    Examples
    --------
    >>> shortfall(np.array([0.0, 0.02, -0.02]), np.array([0.01, 0.01, 0.0])).round(4)
    array([0.004 , 0.0001, 0.02  ])
    """
    z = np.divide(margins, errors, out=np.zeros_like(margins), where=errors > 0)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return errors * density - margins * missed_share(margins, errors)


def unit(value: float) -> float:
    """Return 1, or the size of a value where that is larger, as costs may be."""
    return max(1.0, abs(value))


def weights_of(rows: Rows) -> FloatArray:
    """Return the weight of each row, 1 where none are given."""
    return np.ones(len(rows)) if rows.weights is None else rows.weights


def counted(program: Program, rows: Rows, chances: FloatArray) -> FloatArray:
    """Return the statistic of decisions by the labels of some rows, which adds up to their weight or number."""
    n, k, cells = rows.axes.n, rows.axes.k, len(rows.axes.cells)
    key = rows.labels if rows.cells is None else rows.cells * n + rows.labels
    weights = weights_of(rows)
    tensor = np.stack([np.bincount(key, weights * chances[:, j], cells * n) for j in range(k)], axis=1)
    return statistic(tensor.reshape(cells, n, k).astype(float), program.layout, rows.axes)


def _on(slope: FloatArray, rows: Rows, chances: FloatArray) -> FloatArray:
    """Return the slopes of the decisions that rows get, given for each cell, class and decision."""
    cells = 0 if rows.cells is None else rows.cells
    return np.einsum("ij,ij->i", slope[cells, rows.labels], chances)
