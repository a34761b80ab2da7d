"""Costs, and measures of the agreement between decisions and classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from metricfit.data.column_names import column_labels, order_of, row_labels
from metricfit.data.columns import is_frame
from metricfit.data.labels import distinct_labels
from metricfit.exceptions import UndefinedError
from metricfit.functions.atoms import SpreadRoot
from metricfit.functions.binding import Binding
from metricfit.functions.functionals import everything
from metricfit.functions.linear import Linear, of_matrix
from metricfit.messages import brief, some
from metricfit.metrics.base import Divided, Metric
from metricfit.metrics.rates import COVERAGES, Composed, Named, Rates
from metricfit.metrics.recorded import recorded
from metricfit.types import FloatArray, Label

# A table by position, or with names for its rows, its columns or both; data frames have no common type.
CostTable = Sequence[Sequence[float] | Mapping[Label, float]] | Mapping[Label, Any] | FloatArray


@recorded
def cost(matrix: CostTable) -> Metric:
    r"""Mean cost, :math:`\sum_{ij} L_{ij} C_{ij}`: rows are true classes, columns decisions.

    Parameters
    ----------
    matrix : array-like of shape (n, k), frame or mapping
        The cost of each decision for each class. A list or array is in the order of the classes and decisions. A frame
        is read by its names: its columns are the decisions, and its index the classes, unless it is only numbered. A
        mapping has classes as keys, and its rows may be mappings with decisions as keys.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.cost([[0, 1], [5, 0]])(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    1.25
    >>> import pandas as pd
    >>> costs = pd.DataFrame({"ok": [0, 9], "fraud": [1, 0]}, index=["ok", "fraud"])
    >>> mf.cost(costs)(mf.Confusion.from_predictions(["ok", "fraud"], ["ok", "ok"]))
    4.5
    >>> print(mf.cost(costs))
    cost({'ok': {'ok': 0.0, 'fraud': 1.0}, 'fraud': {'ok': 9.0, 'fraud': 0.0}})
    """
    table, rows, columns = _cost_table(matrix)
    text = f"cost({_cost_text(table, rows, columns)})"

    def over(b: Binding) -> Linear:
        if table.shape != (b.axes.n, b.axes.k):
            raise ValueError(
                f"cost: matrix has shape {table.shape}, but there are {b.axes.n} classes (rows) and "
                f"{b.axes.k} decisions (columns)"
            )
        by_class = _placed(rows, b.axes.classes, "rows", "classes")
        by_decision = _placed(columns, b.axes.decisions, "columns", "decisions")
        return of_matrix(table[np.ix_(by_class, by_decision)], b.axes.match)

    return Rates(text, over, everything, ratio=False, direction=-1)


def _placed(names: tuple[Label, ...] | None, labels: tuple[Label, ...], what: str, kind: str) -> list[int]:
    """Return the position of each label among the names of a table's rows or columns; without names, their order."""
    order = list(range(len(labels))) if names is None else order_of(names, labels)
    if order is None:
        raise ValueError(
            f"cost: the {what} of matrix are named {some(names or ())}, but the {kind} are {some(labels)}; use the "
            f"same names, or pass a list in the order of the {kind}"
        )
    return order


def _cost_table(matrix: Any) -> tuple[FloatArray, tuple[Label, ...] | None, tuple[Label, ...] | None]:
    """Return the costs, and the names of rows and columns if there are any."""
    rows = columns = None
    if isinstance(matrix, Mapping):
        rows, matrix = distinct_labels(matrix, "the rows of cost"), list(matrix.values())
    elif is_frame(matrix):
        columns, rows = column_labels(matrix), row_labels(matrix)
        matrix = np.asarray(matrix)
    if isinstance(matrix, list | tuple) and matrix and all(isinstance(row, Mapping) for row in matrix):
        columns = distinct_labels(matrix[0], "the columns of cost")
        if any(set(row) != set(columns) for row in matrix):
            raise ValueError("cost: matrix must name the same decisions in each row")
        matrix = [[row[name] for name in columns] for row in matrix]
    try:
        table = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"cost: matrix must be a table of numbers with rows of equal length, got {brief(matrix)}"
        ) from None
    if table.ndim != 2 or not np.all(np.isfinite(table)):
        raise ValueError(
            f"cost: matrix must be a table of finite numbers, classes x decisions, got shape {table.shape}"
        )
    return table, rows, columns


def _cost_text(table: FloatArray, rows: Sequence[Label] | None, columns: Sequence[Label] | None) -> str:
    """Return how a table is written: lists, and mappings where there are names."""
    written = [row if columns is None else dict(zip(columns, row, strict=True)) for row in table.tolist()]
    return repr(written if rows is None else dict(zip(rows, written, strict=True)))


def distances(b: Binding, power: int, what: str) -> FloatArray:
    """Return ``abs(i - j) ** power`` between classes and the classes that decisions name."""
    if np.any(b.axes.match < 0):
        extra = [d for d, m in zip(b.axes.decisions, b.axes.match, strict=True) if m < 0]
        raise ValueError(
            f"{what} compares classes with classes, but decision {extra[0]!r} is not a class; use cost(matrix)"
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

    The weights :math:`w_{ij}` are 1 off the diagonal, :math:`|i - j|` ("linear") or :math:`(i - j)^2` ("quadratic").
    The class priors do not depend on the decisions, so this is a ratio of linear functions and is solved exactly.
    Without weights, a decision that is not a class agrees with no class.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.cohen_kappa()(mf.Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    0.5
    """
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"cohen_kappa: weights must be None, 'linear' or 'quadratic', got {brief(weights)}")
    text = f"cohen_kappa({'' if weights is None else f'weights={weights!r}'})"

    def table(b: Binding) -> FloatArray:
        if weights is None:
            return (~b.axes.right).astype(float)
        return distances(b, 2 if weights == "quadratic" else 1, text)

    def over(b: Binding) -> Linear:
        return of_matrix(table(b), b.axes.match)

    def under(b: Binding) -> Linear:
        return Linear(column=sp.csr_array((b.prior / b.mass @ table(b))[None]))

    return Named(text, 1 - Rates("disagreement", over, under, ratio=True, direction=-1, most=np.inf))


@recorded
def mcc() -> Metric:
    r"""Matthews correlation of class and decision: 1 if all rows are decided right, 0 if all are decided alike.

    It is 0, as in scikit-learn, on rows of one class too, which no policy can be fitted on.

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
        variance = 1 - prior @ prior
        if not variance > 0:  # 0 in all but name if other classes have hardly any weight
            there = " there" if b.where() else ""
            raise UndefinedError(
                f"undefined{b.where()}, because all rows{there} are of one class. Give rows of two or more "
                "classes, or merge the groups"
            )
        spread = np.sqrt(variance)
        chance = np.where(b.axes.match >= 0, prior[b.axes.match], 0.0)
        return Linear(
            diagonal=sp.csr_array(np.full((1, b.axes.k), 1 / spread)),
            column=sp.csr_array(-chance[None] / spread),
        )

    agreement = Rates("agreement", over, everything, ratio=False)
    spread = Composed("spread", lambda b: SpreadRoot(), SpreadRoot, COVERAGES, direction=0)
    return Named("mcc()", Divided(agreement, spread), undefined=0.0)
