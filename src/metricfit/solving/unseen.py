"""Rows with attribute values that did not occur in fit: the rule that is best for all rows together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.exceptions import InfeasibleError
from metricfit.functions.binding import Binding
from metricfit.messages import warn
from metricfit.metrics import Constraint, Metric
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import OracleBase
from metricfit.problem import Problem
from metricfit.result import Result

# The single value of each attribute if all rows are one group.
EVERYBODY = "overall"

Again = Callable[[Sequence[Constraint], dict[str, str]], Result]


def with_overall(result: Result, problem: Problem, again: Again) -> Result:
    """Return the result with a policy that also decides rows of cells not seen in fit.

    Constraints on groups do not apply to a row of no known group, so the rule is the best for all rows together, under
    the constraints that need no attributes.

    Parameters
    ----------
    result : Result
        What was solved.
    problem : Problem
        Its objective and constraints.
    again : callable
        Solves the problem with other constraints, as if all rows had the same attributes.
    """
    policy, axes = result.policy, result.policy.axes
    if not axes.cells.names:
        return result
    same = dict.fromkeys(axes.cells.names, EVERYBODY)
    alone = Axes(axes.classes, axes.decisions)
    kept = [c for c in problem.constraints if _makes_sense(c.metric, alone)]
    try:
        found = again(kept, same)
    except InfeasibleError:
        warn(
            "unseen='overall': no single rule for all rows keeps the constraints "
            f"{', '.join(map(str, kept))}, so rows of unseen values are decided without them",
        )
        found = again((), same)
    return replace(result, policy=replace(policy, overall=replace(found.policy, axes=alone)))


def check_overall(problem: Problem, oracle: OracleBase, plugin: OracleBase) -> None:
    """Raise if there is no rule that is best for all rows together, before a problem is solved."""
    axes = plugin.axes
    if oracle is not plugin:
        raise ValueError(
            "unseen='overall' needs the plug-in oracle; an oracle that retrains, or of your own, has no such rule"
        )
    if not axes.cells.names:
        return
    if not isinstance(plugin, PluginOracle):
        raise ValueError("unseen='overall' needs rows in memory; use unseen='error'")
    same = dict.fromkeys(axes.cells.names, EVERYBODY)
    if not _makes_sense(problem.objective, axes_of_all(axes, same)):
        raise ValueError(
            f"unseen='overall': the objective {problem.objective} refers to certain values of attributes, so there is "
            "no rule that is best for all rows together; use unseen='error'"
        )


def axes_of_all(axes: Axes, same: dict[str, str]) -> Axes:
    """Return axes of one cell, in which all rows have the same attributes."""
    return Axes(axes.classes, axes.decisions, Cells(tuple(same), (tuple(same.values()),)))


def _makes_sense(metric: Metric, axes: Axes) -> bool:
    """Whether a metric can be computed if all rows are in one cell."""
    try:
        metric.bind(Binding.of(axes, np.full((1, axes.n), 1 / axes.n)))
    except ValueError:
        return False
    return True
