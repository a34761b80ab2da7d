"""Expected confusion tensors on labelled rows: of the most probable class, and of a policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion
from metricfit.data.layout import shape_of
from metricfit.oracles import Oracle, PluginOracle
from metricfit.oracles.choice import oracle_for
from metricfit.policy import Policy
from metricfit.types import FloatArray


def even_margins(axes: Axes) -> FloatArray:
    """Return class priors with every class in every cell.

    On them nothing is undefined, so that a metric can only fail to bind because its text is wrong.

    Examples
    --------
    >>> even_margins(Axes(("no", "yes")))
    array([[0.5, 0.5]])
    """
    return np.full(axes.shape[:2], 1 / (axes.shape[0] * axes.shape[1]))


def of_most_probable(oracle: Oracle) -> Confusion | None:
    """Return the confusion of deciding the most probable class that has a decision; None when none has.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles import Rows
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.6, 0.4]]), [0, 1])
    >>> of_most_probable(PluginOracle(rows)).matrix
    array([[0.5, 0. ],
           [0.5, 0. ]])
    """
    axes = oracle.axes
    if (axes.match < 0).all():
        return None
    loss = np.zeros(shape_of("diagonal", axes))
    loss[:, 0, axes.match >= 0] = -1.0
    # A probability of 0 would tie with decisions that are no class.
    loss[:, 1, axes.match < 0] = 1.0
    return _confusion(oracle, loss[None], np.ones((len(axes.cells), 1)), "diagonal")


def of_policy(policy: Policy, oracle: PluginOracle, attributes: Any = None) -> Confusion:
    """Return the confusion of a policy, in expectation over its mixture.

    Parameters
    ----------
    policy : Policy
        Its attributes are among those of the rows; the rows may have more.
    oracle : PluginOracle
        The rows.
    attributes : dict of columns, optional
        The attributes of the rows.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.data.axes import Axes
    >>> from metricfit.oracles import Rows
    >>> from metricfit.policy import Policy, Rule
    >>> rows = Rows.of(np.array([[0.9, 0.1], [0.6, 0.4]]), [0, 1])
    >>> always = [Rule(0.25, [[0, 1], [0, 1]]), Rule(0.75, [[1, 0], [1, 0]])]
    >>> of_policy(Policy(Axes((0, 1)), "full", [always]), PluginOracle(rows)).matrix
    array([[0.125, 0.375],
           [0.125, 0.375]])
    """
    codes = policy.axes.cells.encode(attributes, len(oracle.rows))  # raises naming the rows of unknown cells
    if policy.calibration is not None:
        rows = replace(oracle.rows, proba=policy.calibration(oracle.rows.proba, codes))
        oracle = PluginOracle(rows, "model" if oracle.exact else "labels", oracle.threads)
    cells = oracle.axes.cells
    columns = {name: [value[i] for value in cells.values] for i, name in enumerate(cells.names)}
    mixtures = [policy.rules[a] for a in policy.axes.cells.encode(columns or None, len(cells))]
    most = max(map(len, mixtures))
    losses = np.zeros((most, *shape_of(policy.layout, oracle.axes)))
    weights = np.zeros((len(cells), most))
    for a, mixture in enumerate(mixtures):
        for r, rule in enumerate(mixture):
            losses[r, a], weights[a, r] = rule.loss, rule.weight
    return _confusion(oracle, losses, weights, policy.layout)


def rows_for(
    policy: Policy, proba: Any, y: Any, sensitive_features: Any = None, sample_weight: Any = None
) -> PluginOracle:
    """Return labelled rows in memory, to judge a policy by."""
    oracle = oracle_for(
        proba,
        y,
        classes=policy.axes.classes,
        decisions=policy.axes.decisions,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
    )
    assert isinstance(oracle, PluginOracle)
    return oracle


def _confusion(oracle: Oracle, losses: Any, weights: Any, layout: Any) -> Confusion:
    tensor = oracle.confusion(losses, weights, layout)
    return Confusion(tensor / tensor.sum(), oracle.axes)
