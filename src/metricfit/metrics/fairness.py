"""The named comparisons of groups, each a short call of `disparity`.

Lower is better, except for ratios (1 is equality).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metricfit.data.validation import label
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import Node
from metricfit.functions.functionals import class_rows, decisions_in_class
from metricfit.functions.sums import Stack
from metricfit.metrics.base import Metric
from metricfit.metrics.comparison import Over, To, comparison
from metricfit.metrics.per_class import accuracy, coverage, precision, recall
from metricfit.metrics.rates import COVERAGES, Named, Rates, Written
from metricfit.metrics.recorded import recorded
from metricfit.types import Label


@dataclass(frozen=True, repr=False, eq=False)
class DecisionRates(Written):
    """For each class, the shares of its rows that get each decision, or decision c alone."""

    c: Label | None = None
    curvature = Curvature.LINEAR
    direction = 0

    def parts(self, binding: Binding) -> Sequence[Metric]:
        """Return one metric for each class, since a group may lack some of them."""
        decisions = range(binding.axes.k) if self.c is None else [binding.axes.decision_index(self.c)]
        return [
            Rates(f"{self} of class {name!r}", decisions_in_class(i, decisions), class_rows(i), False, 0)
            for i, name in enumerate(binding.axes.classes)
        ]

    def bind(self, binding: Binding) -> Node:
        return Stack(tuple(part.bind(binding) for part in self.parts(binding)))


def _named(name: str, rates: Metric, over: Over, c: Label | None, *how: object) -> Metric:
    """Return the disparity of rates under its own name."""
    apart = comparison(name, rates, over, *how)  # type: ignore[arg-type]
    which = "" if c is None else f", c={c!r}"
    return Named(f"{name}(over={apart.over!r}{which}{apart.how})", apart, direction=apart.direction)


@recorded
def demographic_parity(
    over: Over,
    c: Label | None = None,
    *,
    to: To = "overall",
    as_ratio: bool = False,
    given: Over | None = None,
    min_share: float = 0.0,
) -> Metric:
    r"""Largest distance of a group's share of a decision from the overall share, :math:`\max |q^a_j - q_j|`.

    Here :math:`q^a_j` is the share of decision j among the rows of group a.

    Parameters
    ----------
    over : str or list of str
        The attributes that define the groups.
    c : label, optional
        Compare the shares of this decision only. The 80 % rule is
        ``demographic_parity("sex", "hired", to="pairs", as_ratio=True) >= 0.8``.
    to, as_ratio, given, min_share
        As in `disparity`: compare with all rows, pairs or the mean; as a ratio; within the values of other
        attributes; without small groups.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 0, 1, 0], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> mf.demographic_parity(over="group")(confusion)
    0.25
    >>> mf.demographic_parity(over="group", to="pairs")(confusion)
    0.5
    """
    c = None if c is None else label(c, "demographic_parity: decision c")
    shares = COVERAGES if c is None else coverage(c)
    return _named("demographic_parity", shares, over, c, to, as_ratio, given, min_share)


@recorded
def equal_opportunity(
    over: Over,
    c: Label,
    *,
    to: To = "overall",
    as_ratio: bool = False,
    given: Over | None = None,
    min_share: float = 0.0,
) -> Metric:
    r"""Largest distance of a group's recall of class c from the overall recall.

    In formulas :math:`\max_a |C^a_{cc} / \pi^a_c - C_{cc} / \pi_c|`.

    Parameters
    ----------
    over : str or list of str
        The attributes that define the groups.
    c : label
        The class.
    to, as_ratio, given, min_share
        As in `disparity`: compare with all rows, pairs or the mean; as a ratio; within the values of other
        attributes; without small groups.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 1, 1, 1], [1, 0, 1, 1], ["a", "a", "b", "b"])
    >>> mf.equal_opportunity(over="group", c=1)(confusion)
    0.25
    """
    c = label(c, "equal_opportunity: class c")
    return _named("equal_opportunity", recall(c), over, c, to, as_ratio, given, min_share)


@recorded
def equalized_odds(
    over: Over,
    c: Label | None = None,
    *,
    to: To = "overall",
    as_ratio: bool = False,
    given: Over | None = None,
    min_share: float = 0.0,
) -> Metric:
    r"""Largest distance of a group's decision rates within a class from the overall ones.

    In formulas :math:`\max_{a,i,j} |C^a_{ij} / \pi^a_i - C_{ij} / \pi_i|`.

    Parameters
    ----------
    over : str or list of str
        The attributes that define the groups.
    c : label, optional
        Compare the rates of this decision only: with two classes, the true and the false positive rate.
    to, as_ratio, given, min_share
        As in `disparity`: compare with all rows, pairs or the mean; as a ratio; within the values of other
        attributes; without small groups.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions(
    ...     [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0], sensitive_features=["a", "a", "a", "b", "b", "b"])
    >>> mf.equalized_odds(over="group")(confusion)
    0.25
    """
    c = None if c is None else label(c, "equalized_odds: decision c")
    return _named(
        "equalized_odds", DecisionRates("decision rates", c), over, c, to, as_ratio, given, min_share
    )


@recorded
def equal_error_rates(
    over: Over,
    *,
    to: To = "overall",
    as_ratio: bool = False,
    given: Over | None = None,
    min_share: float = 0.0,
) -> Metric:
    r"""Largest distance of a group's share of wrong decisions from the overall share.

    In formulas :math:`\max_a |\sum_i C^a_{ii} - \sum_i C_{ii}|`.

    Parameters
    ----------
    over : str or list of str
        The attributes that define the groups.
    to, as_ratio, given, min_share
        As in `disparity`: compare with all rows, pairs or the mean; as a ratio; within the values of other
        attributes; without small groups.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 0, 1, 0], [1, 1, 1, 0], ["a", "a", "b", "b"])
    >>> mf.equal_error_rates(over="group")(confusion)
    0.25
    """
    return _named("equal_error_rates", 1 - accuracy(), over, None, to, as_ratio, given, min_share)


@recorded
def predictive_parity(
    over: Over,
    c: Label,
    *,
    to: To = "overall",
    as_ratio: bool = False,
    given: Over | None = None,
    min_share: float = 0.0,
) -> Metric:
    r"""Largest distance of a group's precision of class c from the overall precision.

    In formulas :math:`\max_a |C^a_{cc} / \sum_i C^a_{ic} - C_{cc} / \sum_i C_{ic}|`.

    Parameters
    ----------
    over : str or list of str
        The attributes that define the groups.
    c : label
        The class.
    to, as_ratio, given, min_share
        As in `disparity`: compare with all rows, pairs or the mean; as a ratio; within the values of other
        attributes; without small groups.

    Examples
    --------
    >>> import metricfit as mf
    >>> confusion = mf.Confusion.from_predictions([1, 0, 1, 1], [1, 1, 1, 1], ["a", "a", "b", "b"])
    >>> mf.predictive_parity(over="group", c=1)(confusion)
    0.25
    """
    c = label(c, "predictive_parity: class c")
    return _named("predictive_parity", precision(c), over, c, to, as_ratio, given, min_share)
