"""Costs, and agreement of decisions and classes as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import Undefined
from metricfit.functions.atoms import SpreadRoot
from metricfit.functions.binding import Binding, Linear, of_matrix
from metricfit.functions.linear import everything
from metricfit.metrics.base import Divided, Metric
from metricfit.metrics.rates import COVERAGES, Composed, Named, Rates
from metricfit.metrics.recorded import recorded
from metricfit.types import FloatArray


@recorded
def cost(matrix: Sequence[Sequence[float]] | FloatArray) -> Metric:
    r"""Mean cost, :math:`\sum_{ij} L_{ij} C_{ij}`: rows are true classes, columns decisions.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.cost([[0, 1], [5, 0]])(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    1.25
    """
    try:
        table = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"cost: matrix must be a table of numbers with rows of equal length, got {matrix!r}"
        ) from None
    if table.ndim != 2 or not np.all(np.isfinite(table)):
        raise ValueError(
            f"cost: matrix must be a table of finite numbers, classes x decisions, got shape {table.shape}"
        )

    def over(b: Binding) -> Linear:
        if table.shape != (b.axes.n, b.axes.k):
            raise ValueError(
                f"cost: matrix has shape {table.shape}, but there are {b.axes.n} classes (rows) and "
                f"{b.axes.k} decisions (columns)"
            )
        return of_matrix(table, b.axes.match)

    return Rates(f"cost({table.tolist()})", over, everything, ratio=False, direction=-1)


def distances(b: Binding, power: int, what: str) -> FloatArray:
    """Return ``abs(i - j) ** power`` between classes and the classes that decisions name."""
    if np.any(b.axes.match < 0):
        extra = [d for d, m in zip(b.axes.decisions, b.axes.match, strict=True) if m < 0]
        raise ValueError(
            f"{what} compares classes with classes, but decision {extra[0]!r} is no class; use cost(matrix)"
        )
    return np.abs(np.arange(b.axes.n)[:, None] - b.axes.match[None, :]).astype(float) ** power


@recorded
def ordinal_error() -> Metric:
    r"""Mean distance of decision and class in the order of the classes, :math:`\sum_{ij} |i - j| C_{ij}`.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.ordinal_error()(mf.Confusion.from_predictions([0, 1, 2, 2], [0, 1, 2, 0]))
    0.5
    """
    return Rates(
        "ordinal_error()",
        lambda b: of_matrix(distances(b, 1, "ordinal_error"), b.axes.match),
        everything,
        ratio=False,
        direction=-1,
    )


@recorded
def cohen_kappa(weights: Literal["linear", "quadratic"] | None = None) -> Metric:
    r"""Agreement beyond chance, :math:`1 - \sum_{ij} w_{ij} C_{ij} / \sum_{ij} w_{ij} \pi_i \sum_l C_{lj}`.

    The weights :math:`w_{ij}` are 1 off the diagonal, :math:`|i - j|` ("linear") or :math:`(i - j)^2`
    ("quadratic"). Class priors are known, so this is a ratio of linear functions and is solved exactly.
    Without weights, a decision that is no class agrees with none.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.cohen_kappa()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"cohen_kappa: weights must be None, 'linear' or 'quadratic', got {weights!r}")
    text = f"cohen_kappa({'' if weights is None else f'weights={weights!r}'})"

    def table(b: Binding) -> FloatArray:
        if weights is None:
            return (np.arange(b.axes.n)[:, None] != b.axes.match[None, :]).astype(float)
        return distances(b, 2 if weights == "quadratic" else 1, text)

    def over(b: Binding) -> Linear:
        return of_matrix(table(b), b.axes.match)

    def under(b: Binding) -> Linear:
        return Linear(column=sp.csr_array((b.prior / b.mass @ table(b))[None]))

    return Named(text, 1 - Rates("disagreement", over, under, ratio=True, direction=-1, most=np.inf))


@recorded
def mcc() -> Metric:
    r"""Matthews correlation of class and decision: 1 if all rows are decided right, 0 if all are alike.

    In formulas :math:`(\sum_i C_{ii} - \pi_i q_i) / \sqrt{(1 - \sum_i q_i^2)(1 - \sum_i \pi_i^2)}`, where
    :math:`q_j = \sum_i C_{ij}` is the share of decision j.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mf.mcc()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0])), 4)
    0.5774
    """

    def over(b: Binding) -> Linear:
        prior = b.prior / b.mass
        if np.count_nonzero(prior) < 2:
            there = " there" if b.where() else ""
            raise Undefined(
                f"undefined{b.where()}, because all rows{there} are of one class. Give rows of two or more "
                "classes, or merge the groups"
            )
        spread = np.sqrt(1 - prior @ prior)
        chance = np.where(b.axes.match >= 0, prior[b.axes.match], 0.0)
        return Linear(
            diagonal=sp.csr_array(np.full((1, b.axes.k), 1 / spread)),
            column=sp.csr_array(-chance[None] / spread),
        )

    agreement = Rates("agreement", over, everything, ratio=False)
    spread = Composed("spread", lambda b: SpreadRoot(), SpreadRoot, COVERAGES, direction=0)
    return Named("mcc()", Divided(agreement, spread))
