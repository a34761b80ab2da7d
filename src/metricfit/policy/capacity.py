"""Capacity: how many rows of a batch may get a decision at most, kept exactly, where it matters least to lose it.

Each row has its rule, and the rule's loss says by how much every other decision is worse for the row than its own. The
decisions within the capacity are those whose sum of these regrets is smallest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.validation import row_blocks
from metricfit.messages import brief, count, unknown
from metricfit.policy.deciding import RuledRows
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Capped:
    """The decisions of a batch within a capacity.

    Attributes
    ----------
    wanted, made : ndarray of shape (N,)
        The index of each row's decision by its rule alone, and within the capacity.
    cost : float
        The sum of the regrets of all rows by their rules: what the capacity costs.
    """

    wanted: IntArray
    made: IntArray
    cost: float


def limits_of(capacity: Any, axes: Axes, n_rows: int) -> dict[int, int]:
    """Return the largest number of rows of each limited decision, by its index, for a batch of some rows.

    Examples
    --------
    >>> limits_of({"review": 200}, Axes(("no", "yes"), ("no", "yes", "review")), 1000)
    {2: 200}
    """
    if not isinstance(capacity, Mapping):
        raise ValueError(
            f"capacity must name decisions with the most rows that may get them, such as {{'review': 200}}; got "
            f"{brief(capacity)}"
        )
    limits = {}
    for decision, most in capacity.items():
        if decision not in axes.decisions:
            raise ValueError(unknown("decision in capacity", decision, axes.decisions))
        if isinstance(most, bool | np.bool_) or not isinstance(most, Integral) or most < 0:
            raise ValueError(
                f"capacity of {decision!r} must be a whole number of rows >= 0; got {brief(most)}"
            )
        limits[axes.decisions.index(decision)] = int(most)
    if len(limits) == axes.k and sum(limits.values()) < n_rows:
        raise ValueError(
            f"capacity limits all {axes.k} decisions to {count(sum(limits.values()), 'row')} together, but the batch "
            f"has {n_rows:,}; raise a limit, or leave one decision without"
        )
    return limits


def capped(parts: Sequence[RuledRows], capacity: Any, axes: Axes) -> Capped:
    """Return the decisions of a batch, whose rows come in parts, within a capacity."""
    n_rows = sum(len(part.rows) for part in parts)
    limits = limits_of(capacity, axes, n_rows)
    wanted: IntArray = np.empty(n_rows, dtype=np.intp)
    for part in parts:
        wanted[part.places] = part.decisions()
    asked = np.bincount(wanted, minlength=axes.k)
    over = [d for d, most in limits.items() if asked[d] > most]
    if not over:
        return Capped(wanted, wanted, 0.0)
    # Only rows that want a limited decision can lose anything: where others go costs no capacity.
    columns = np.array(list(limits))
    free = len(limits) < axes.k  # the best of the decisions without a limit is the last column
    regrets, elsewhere, tie = np.empty((n_rows, len(limits) + free)), wanted.copy(), np.empty(n_rows)
    for part in parts:
        tie[part.places] = part.ties()
        for block in row_blocks(len(part.rows), axes.n + axes.k):
            own = wanted[part.places][block]
            asking = np.flatnonzero(np.isin(own, columns))
            places = np.arange(n_rows)[part.places][block][asking]
            regret = part.regrets(block, asking, own[asking])
            regrets[places, : columns.size] = regret[:, columns]
            regret[:, columns] = np.inf
            elsewhere[places] = axes.k - 1 - regret[:, ::-1].argmin(axis=1)  # ties go to the larger index
            regrets[places, columns.size :] = regret.min(axis=1, keepdims=True)[:, :free]
    most = np.array([*limits.values(), *[n_rows] * free], dtype=np.intp)
    asking = np.flatnonzero(np.isin(wanted, columns))
    asking = asking[np.argsort(tie[asking], kind="stable")]
    given = _lost_by_one(regrets[asking], most)
    if given is None:
        # SciPy and HiGHS are imported only for several limits: everything else about deciding needs NumPy alone.
        from metricfit.policy.assignment import cheapest

        given = cheapest(regrets[asking], most)
    made = wanted.copy()
    made[asking] = np.where(given < len(columns), np.append(columns, axes.k)[given], elsewhere[asking])
    return Capped(wanted, made, float(regrets[asking, given].sum()))


def _lost_by_one(regrets: FloatArray, most: IntArray) -> IntArray | None:
    """Return the cheapest columns if one limit alone is exceeded, by sorting; None if rows that lose it exceed another.

    Rows that come first lose last among rows with the same regret.

    Examples
    --------
    >>> inf = float("inf")
    >>> _lost_by_one(np.array([[0.0, 0.2], [0.0, 0.1], [0.0, 0.2]]), np.array([1, 3]))
    array([0, 1, 1])
    """
    wanted = regrets.argmin(axis=1)
    over = np.flatnonzero(np.bincount(wanted, minlength=most.size) > most)
    if over.size > 1:
        return None
    rows = np.flatnonzero(wanted == over[0])
    others = regrets[rows].copy()
    others[:, over[0]] = np.inf
    second = others.argmin(axis=1)
    losing = np.argsort(-others.min(axis=1), kind="stable")[most[over[0]] :]
    wanted[rows[losing]] = second[losing]
    return wanted if np.all(np.bincount(wanted, minlength=most.size) <= most) else None
