"""The judge of policies: their objective and limits by counted labels, and what to expect of both on new rows.

A limit that is kept by little may be missed on new rows, and the fewer rows it rests on, the likelier. So policies are
compared by one number: the objective, less the price of what each limit is expected to be missed by on new rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from metricfit.data.layout import statistic
from metricfit.data.rows import Rows
from metricfit.functions.expression import Node
from metricfit.policy import Policy
from metricfit.problem import Program
from metricfit.types import FloatArray

#: How much of the objective is paid for one unit less of expected shortfall from a limit.
PRICE = 2.0


@dataclass(frozen=True)
class Merit:
    """A policy by counted labels: its (minimised) objective and the margin to each limit, with their standard errors.

    ``margins`` are positive where limits are met, in units of each limit's metric.
    """

    value: float
    error: float
    margins: FloatArray
    errors: FloatArray
    units: FloatArray

    @classmethod
    def of(cls, program: Program, made: FloatArray, rows: float) -> Merit:
        """Return the merit of a policy with this statistic, counted on ``rows`` (effective) rows."""
        u, limits = program.vector(made), program.limits
        return cls(
            program.value(u),
            sampling_error(program, program.objective, made, rows),
            np.array([-limit.violation(u) for limit in limits]),
            np.array([sampling_error(program, limit.metric, made, rows) for limit in limits]),
            np.array([unit(limit.constraint.limit) for limit in limits]),
        )

    @property
    def cost(self) -> float:
        """The objective plus the price of what the limits are expected to be missed by on new rows."""
        missed = float(np.sum(shortfall(self.margins, self.errors) / self.units))
        return self.value + PRICE * unit(self.value) * missed


def shortfall(margins: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the mean of how far limits are missed, if margins are normally distributed around these.

    Examples
    --------
    >>> shortfall(np.array([0.0, 0.02, -0.02]), np.array([0.01, 0.01, 0.0])).round(4)
    array([0.004 , 0.0001, 0.02  ])
    """
    sure = np.maximum(-margins, 0.0)
    z = np.divide(margins, errors, out=np.zeros_like(margins), where=errors > 0)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.where(errors > 0, errors * density - margins * ndtr(-z), sure)


def shrunk(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Return values moved towards 0 as far as their errors allow (the positive part of James and Stein's rule).

    Examples
    --------
    >>> shrunk(np.array([0.04, 0.04, 0.0]), np.array([0.02, 0.05, 0.0])).round(3)
    array([0.03, 0.  , 0.  ])
    """
    share = np.divide(errors, values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(values * np.maximum(1 - share**2, 0.0))


def unit(value: float) -> float:
    """Return 1, or the size of a value where that is larger, as costs may be."""
    return max(1.0, abs(value))


def sampling_error(program: Program, metric: Node, made: FloatArray, rows: float) -> float:
    """Return the standard error of a metric on ``rows`` new rows, for a policy with the statistic ``made``.

    A row adds to one entry of the statistic (in the diagonal layout to the count of its decision, and to its hits if it
    is one), so to first order the error is that of a mean over a multinomial draw.
    """
    slope, share = program.loss(metric.gradient(program.vector(made))), made
    if program.layout == "diagonal":
        share = np.stack([made[:, 0], made[:, 1] - made[:, 0]])
        slope = np.stack([slope[:, 0] + slope[:, 1], slope[:, 1]])
    mean = float((share * slope).sum())
    return float(np.sqrt(max(float((share * slope**2).sum()) - mean**2, 0.0) / max(rows, 1.0)))


def counted(program: Program, rows: Rows, policy: Policy) -> FloatArray:
    """Return the statistic of a policy by the labels of some rows, which adds up to their weight or number."""
    n, k, cells = rows.axes.n, rows.axes.k, len(rows.axes.cells)
    key = rows.labels if rows.cells is None else rows.cells * n + rows.labels
    chances = policy.chances(rows)
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    tensor = np.stack([np.bincount(key, weights * chances[:, j], cells * n) for j in range(k)], axis=1)
    return statistic(tensor.reshape(cells, n, k).astype(float), program.layout, rows.axes)
