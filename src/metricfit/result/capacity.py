"""What a capacity costs on the tuning rows, and how often decisions without it would exceed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.rows import Rows
from metricfit.exceptions import UndefinedError
from metricfit.metrics import Metric
from metricfit.policy import Policy
from metricfit.policy.capacity import limits_of
from metricfit.problem import Problem

# Batches that are drawn: enough for a share of days to within .05.
DRAWS = 400


@dataclass(frozen=True)
class CapacityCost:
    """What a policy does in batches of some rows, without a capacity and within it.

    Attributes
    ----------
    batch : int
        Rows of a batch.
    exceeded : float
        The share of batches in which the policy alone would give some decision more often than the capacity allows.
    moved : float
        The share of all rows that lose their decision to the capacity.
    metrics : tuple of (name, without, within)
        Objective and constraints' metrics, counted by labels over all batches.

    Examples
    --------
    >>> print(CapacityCost(1000, 0.42, 0.0031, (("g_mean()", 0.702, 0.7),)))
    in 42.0 % of batches of 1,000 rows the capacity would be exceeded; 0.31 % of rows lose their decision to it
      g_mean(): 0.702 without, 0.700 within
    """

    batch: int
    exceeded: float
    moved: float
    metrics: tuple[tuple[str, float, float], ...]

    def __str__(self) -> str:
        first = (
            f"in {self.exceeded:.1%} of batches of {self.batch:,} rows the capacity would be exceeded; "
            f"{self.moved:.2%} of rows lose their decision to it"
        ).replace("%", " %")
        lines = [
            f"  {name}: {without:.3f} without, {within:.3f} within" for name, without, within in self.metrics
        ]
        return "\n".join([first, *lines])


def cost_of_capacity(
    problem: Problem, policy: Policy, rows: Rows, capacity: Mapping[Any, int], batch: int, seed: int
) -> CapacityCost:
    """Return what a capacity costs in batches that are drawn from labelled rows."""
    limits = limits_of(capacity, policy.axes, batch)
    axes, cells, labels = rows.seen
    place = labels if cells is None else cells.astype(np.int64) * axes.n + labels
    counts = np.zeros((2, axes.shape[0] * axes.n * axes.k))
    rng, exceeded, moved = np.random.default_rng(seed), 0, 0
    columns = rows.attributes
    for _ in range(DRAWS):
        drawn = rng.choice(len(rows), batch, p=rows.weights)
        some = None if columns is None else {name: np.asarray(c)[drawn] for name, c in columns.items()}
        capped = policy.capped(rows.proba[drawn], capacity, some)
        asked = np.bincount(capped.wanted, minlength=axes.k)
        exceeded += any(asked[j] > most for j, most in limits.items())
        moved += int(np.sum(capped.wanted != capped.made))
        for side, made in zip(counts, (capped.wanted, capped.made), strict=True):
            side += np.bincount(place[drawn] * axes.k + made, minlength=side.size)
    without, within = (Confusion((c / c.sum()).reshape(axes.shape), axes) for c in counts)
    wanted = [problem.objective, *(constraint.metric for constraint in problem.constraints)]
    told = {str(metric): (_value(metric, without), _value(metric, within)) for metric in wanted}
    metrics = tuple((name, *values) for name, values in told.items())
    return CapacityCost(batch, exceeded / DRAWS, moved / (DRAWS * batch), metrics)


def _value(metric: Metric, confusion: Confusion) -> float:
    try:
        return metric(confusion)
    except UndefinedError:
        return float("nan")
