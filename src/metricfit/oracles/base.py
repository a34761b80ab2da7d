"""The oracle protocol: a loss in, the cheapest rule's confusion statistics out (Definition 11 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from metricfit.data.confusion import Axes
from metricfit.data.layout import Layout
from metricfit.data.rows import Rows
from metricfit.types import FloatArray


@dataclass(frozen=True, eq=False)
class Vertex:
    """What an oracle answers: a rule and the statistic it reaches on the rows.

    Parameters
    ----------
    loss : array of shape (cells, s, decisions)
        The loss the oracle was asked to minimise, in the layout of the problem.
    statistic : array of the same shape
        The share of rows that the rule moves where (see `metricfit.data.layout`).
    rule : object, optional
        The rule itself where it is more than the plug-in rule of the loss.
    """

    loss: FloatArray
    statistic: FloatArray
    rule: Any = None


@runtime_checkable
class Sampling(Protocol):
    """An oracle that can show rows: all of them if they are few, else a sample stratified by class and cell."""

    axes: Axes
    exact: bool

    def sample(self) -> Rows:
        """Return the rows."""
        ...


@runtime_checkable
class Oracle(Protocol):
    """Linear minimisation over the achievable confusion tensors.

    ``exact`` says whether the answer is the minimum over all randomised classifiers on the rows, so that bounds
    made of it are proofs. ``margins`` are the class priors in each cell, which no rule changes.
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
