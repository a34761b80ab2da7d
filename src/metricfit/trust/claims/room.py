"""The margin of a policy to the limit of a claim (its room): as a mean over rows, and as a metric in constraints.

A claim holds if its room is not negative. Rooms of rates and of differences between groups are linear in the decisions,
so a constraint can ask a policy for more room than the limit itself does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.confusion import Confusion
from metricfit.functions.binding import Binding
from metricfit.functions.curvature import Curvature
from metricfit.functions.expression import Node
from metricfit.functions.linear import of_matrix
from metricfit.functions.sums import Sum
from metricfit.intervals.evidence import Evidence
from metricfit.intervals.influence import taken_apart
from metricfit.intervals.rates import Rate
from metricfit.metrics.rates import Written
from metricfit.trust.claims.claim import Claim, GapClaim, RateClaim, SmoothClaim
from metricfit.trust.decided import Decided
from metricfit.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, repr=False, eq=False)
class Room(Written):
    """``constant`` plus the mean over all rows of ``adds``, by the row's cell, its class and the decision."""

    adds: FloatArray
    constant: float = 0.0
    direction = 1
    curvature = Curvature.LINEAR

    def bind(self, binding: Binding) -> Node:
        """Return the room as a sum over cells; cells with the same table form one slice."""
        terms: list[tuple[float, Node]] = []
        left: BoolArray = binding.mask & self.adds.any(axis=(1, 2))
        while left.any():
            table = self.adds[int(np.argmax(left))]
            alike = left & (self.adds == table).all(axis=(1, 2))
            terms.append((1.0, replace(binding, mask=alike).bind(of_matrix(table, binding.axes.match))))
            left = left & ~alike
        return Sum(tuple(terms), self.constant)


def room_metric(claim: Claim, axes: Axes, margins: FloatArray) -> Room | None:
    """Return the room of a claim as a metric, given the class shares; None if it is not linear.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.trust.claims.claim import claims
    >>> axes, margins = Axes((0, 1)), np.array([[0.5, 0.5]])
    >>> room = room_metric(claims(mf.precision(1) >= 0.5, axes, margins)[0], axes, margins)
    >>> confusion = mf.Confusion.from_predictions([0, 0, 1, 1], [0, 1, 1, 1])
    >>> room(confusion)  # two hits and one mistake, each by half, of four rows
    0.125
    """
    if isinstance(claim, RateClaim):
        sign = 1.0 if claim.sense == ">=" else -1.0
        return Room(
            "room", sign * _spread(claim.rate, claim.rate.over - claim.limit * claim.rate.under, axes)
        )
    if isinstance(claim, GapClaim):
        first, second = (_mass(rate, margins) for rate in (claim.first, claim.second))
        if not (first > 0 and second > 0):
            return None
        one = _spread(claim.first, claim.first.over / first, axes)
        apart = one - _spread(claim.second, claim.second.over / second, axes)
        return Room("room", -_share(claim, first, second) * apart, claim.limit)
    return None


@dataclass(frozen=True, eq=False)
class RowRooms:
    """What each row contributes to the room of a claim, by its label and by its class probabilities."""

    by_label: FloatArray
    by_proba: FloatArray

    @property
    def error(self) -> float:
        """The root mean square of the contributions: the standard error of the room for a sample of one row."""
        return float(np.sqrt((self.by_label**2).mean()))


def room_by_row(claim: Claim, decided: Decided, proba: FloatArray) -> RowRooms | None:
    """Return what each labelled row contributes to the room of a claim; None if no row contributes.

    The contributions to rates, without denominators, are not centred: if all rows are hits, the variance that matters
    is that of rows which just keep the limit, not 0.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.oracles import Rows
    >>> from metricfit.trust.claims.claim import claims
    >>> rows = Rows.of(np.eye(2)[[0, 1, 1, 1]], np.array([0, 0, 1, 1]))
    >>> claim = claims(mf.precision(1) >= 0.5, rows.axes, rows.margins())[0]
    >>> each = room_by_row(claim, Decided(rows, rows.proba), rows.proba)
    >>> each.by_label.tolist(), each.by_proba.tolist()
    ([0.0, -0.5, 0.5, 0.5], [0.0, 0.5, 0.5, 0.5])
    """
    rows = decided.rows
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights / rows.weights.mean()
    cells = np.zeros(len(rows), np.int64) if rows.cells is None else rows.cells
    if isinstance(claim, SmoothClaim):
        each = _smooth_by_row(claim, decided, cells, weights)
        return None if each is None else RowRooms(each, each)
    metric = room_metric(claim, rows.axes, rows.margins())
    if metric is None:
        return None
    adds = metric.adds
    if isinstance(claim, GapClaim):
        values = [rate.on(decided.evidence()) for rate in (claim.first, claim.second)]
        if values[0] is None or values[1] is None:
            return None
        first, second = (
            replace(rate, over=rate.over - value[0] * rate.under)
            for rate, value in zip((claim.first, claim.second), values, strict=True)
            if value is not None
        )
        centred = room_metric(replace(claim, first=first, second=second), rows.axes, rows.margins())
        adds = adds if centred is None else centred.adds
    by_label = np.einsum("rk,rk->r", adds[cells, rows.labels], decided.chances)
    by_proba = np.einsum("ri,rik,rk->r", proba, adds[cells], decided.chances, optimize=True)
    return RowRooms(weights * by_label, weights * by_proba)


def _smooth_by_row(
    claim: SmoothClaim, decided: Decided, cells: IntArray, weights: FloatArray
) -> FloatArray | None:
    rows, inside = decided.rows, claim.mask[cells]
    if not inside.any():
        return None
    w = weights[inside]
    seen = Evidence(rows.axes, cells[inside], rows.labels[inside], decided.chances[inside], w, w**2)
    pieces = taken_apart(claim.metric, seen)
    each = np.zeros(len(rows))
    each[inside] = pieces.largest * w * (len(rows) / w.sum())
    return each if claim.sense == ">=" else -each


def room_of(claim: Claim, confusion: Confusion) -> float:
    """Return the room of a claim by a confusion tensor; minus infinity if a group to compare has no rows."""
    if isinstance(claim, SmoothClaim):
        away = claim.metric(confusion) - claim.limit
        return away if claim.sense == ">=" else -away
    metric = room_metric(claim, confusion.axes, confusion.margins)
    if metric is None:
        return -np.inf
    # The value of the metric, without binding it: this is called for many policies, and a room is just one sum.
    return metric.constant + float((metric.adds * confusion.values).sum())


def _spread(rate: Rate, table: FloatArray, axes: Axes) -> FloatArray:
    """Return a table of contributions to a rate as a tensor, 0 outside the rate's cells."""
    whole = np.broadcast_to(table, axes.shape)
    return np.where(rate.mask[:, None, None], whole, 0.0)


def _mass(rate: Rate, margins: FloatArray) -> float:
    """Return the share of rows in the denominator of a rate, which must not depend on the decisions."""
    counted = np.broadcast_to(rate.under[..., 0], margins.shape)
    return float((margins * counted)[rate.mask].sum())


def _share(claim: GapClaim, first: float, second: float) -> float:
    return {"": 1.0, "first": first / (first + second), "second": second / (first + second)}[claim.share]
