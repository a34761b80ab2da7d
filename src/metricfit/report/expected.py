"""The expected confusion tensor of a policy on labelled rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.layout import shape_of
from metricfit.oracles import PluginOracle
from metricfit.oracles.choice import oracle_for
from metricfit.policy import Policy


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
    tensor = oracle.confusion(losses, weights, policy.layout)
    return Confusion(tensor / tensor.sum(), oracle.axes)


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
