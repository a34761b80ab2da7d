"""The oracle protocol: a loss in, the cheapest rule's confusion statistics out (Definition 11 of the paper)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from metricfit.calibration import Calibration, Report
from metricfit.data.axes import Axes
from metricfit.data.layout import Layout
from metricfit.data.rows import Rows
from metricfit.kernels.scan import Scan
from metricfit.types import FloatArray, IntArray

# How the confusion of a rule is counted: by labels, or by probabilities, calibrated first or as given; or as rows that
# were not seen prefer.
Counting = Literal["auto", "labels", "calibrated", "model"]

# The ways of counting by probabilities, for which the oracle is exact.
SOFT = ("calibrated", "model")


@dataclass(frozen=True, eq=False)
class Vertex:
    """The answer of an oracle: a rule and its statistic on the rows.

    Parameters
    ----------
    loss : array of shape (cells, s, decisions)
        The loss that the oracle minimised, in the layout of the problem.
    statistic : array of the same shape
        The shares of rows by cell, class and decision under the rule, in the same layout (see `metricfit.data.layout`).
    rule : object, optional
        The rule itself, if it is not just the plug-in rule of the loss.
    """

    loss: FloatArray
    statistic: FloatArray
    rule: Any = None


def mixed(vertices: Sequence[Vertex], weights: FloatArray) -> FloatArray:
    """Return the statistic of a mixture of vertices, its weights given for each cell (cells, vertices)."""
    used = np.flatnonzero(weights.any(axis=0))
    return np.asarray(sum(weights[:, t, None, None] * vertices[t].statistic for t in used.tolist()))


@runtime_checkable
class Oracle(Protocol):
    """Linear minimisation over the achievable confusion tensors: what every oracle must have.

    ``exact`` says whether the answer is the minimum over all randomised classifiers on the rows, so that bounds
    computed from it are proofs. ``margins`` are the class priors in each cell, which do not depend on the rule.
    """

    axes: Axes
    margins: FloatArray
    exact: bool

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the best rule for a loss."""
        ...

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full confusion tensor of a mixture of plug-in rules.

        ``losses`` has shape (rules, cells, s, decisions), ``weights`` has shape (cells, rules).
        """
        ...


class OracleBase(ABC):
    """Further abilities of an oracle; an oracle that has one overrides the default.

    Attributes
    ----------
    costly : bool
        Whether a pass takes so long that rules found on a sample of the rows save time.
    n_rows : int or None
        The number of rows, if it is known.
    counting : {"auto", "labels", "calibrated", "model"}
        How the confusion of a rule is counted. Until the solve has decided, "auto" counts labels.
    calibration : Calibration or None
        The calibration of the model's probabilities before rules are applied; None if they are used as given.
    report : Report or None
        How that calibration was chosen, and its effect.
    """

    axes: Axes
    margins: FloatArray
    exact: bool
    costly: bool = False
    n_rows: int | None = None
    threads: int = 1
    counting: Counting
    calibration: Calibration | None = None
    report: Report | None = None

    @abstractmethod
    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the best rule for a loss."""

    @abstractmethod
    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full confusion tensor of a mixture of plug-in rules."""

    @property
    def effective_rows(self) -> float:
        """The effective number of rows: how many equally weighted rows carry the same information."""
        rows = self.sample()
        if rows is None or rows.weights is None or len(rows) != self.n_rows:
            return float(self.n_rows or 0)
        return 1 / float(np.sum(rows.weights**2))

    @property
    def class_counts(self) -> IntArray:
        """The number of rows of each class in each cell, (cells, classes); from their shares by default."""
        return np.round(self.margins * (self.n_rows or 0)).astype(np.int64)

    @property
    def calibrates(self) -> bool:
        """Whether the problem is to be solved on calibrated probabilities."""
        return self.counting == "calibrated"

    def by(self, counting: Counting) -> OracleBase:
        """Return the oracle that counts the same rows in another way."""
        if counting != self.counting:
            raise ValueError(f"counting: {type(self).__name__} counts by {self.counting}, not by {counting}")
        return self

    def many(self, losses: Sequence[FloatArray], layout: Layout) -> list[Vertex]:
        """Return the best rules for several losses; one pass after the other by default."""
        return [self(loss, layout) for loss in losses]

    def expect(self, calls: int) -> None:  # noqa: B027, a hook that most oracles do not need
        """Prepare for many calls; nothing by default."""

    def sample(self) -> Rows | None:
        """Return some of the rows in memory, stratified by class and cell, all if they are few; None by default."""
        return None

    def scan(self, loss: FloatArray, layout: Layout) -> Scan | None:
        """Return the rule of a loss prepared for scans of its weights, on the sample by default."""
        rows = self.sample()
        return None if rows is None else Scan(rows, float(self.exact), loss, layout)

    def inmost(self) -> OracleBase:
        """Return the oracle that reads the rows: the inner one, if this one only wraps another."""
        return self

    def soft(self) -> OracleBase | None:
        """Return the oracle that counts the same rows by their probabilities, which is exact; None by default."""
        return None

    def calibrated(self) -> OracleBase | None:
        """Return this oracle on calibrated probabilities; None if it has no probabilities to calibrate."""
        return None


class Adapted(OracleBase):
    """A user's oracle, which has the members of `Oracle` and none of the further abilities."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.axes, self.margins, self.exact = oracle.axes, oracle.margins, oracle.exact
        self.counting = "model" if oracle.exact else "labels"

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the best rule for a loss."""
        return self.oracle(loss, layout)

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full confusion tensor of a mixture of plug-in rules."""
        return self.oracle.confusion(losses, weights, layout)


def adapted(oracle: Oracle | OracleBase) -> OracleBase:
    """Return an oracle with all abilities declared, whatever class it is of."""
    return oracle if isinstance(oracle, OracleBase) else Adapted(oracle)
