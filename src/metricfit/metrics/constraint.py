"""Constraints: a metric compared with a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from metricfit.messages import brief, cut
from metricfit.metrics.text.words import finite, number

if TYPE_CHECKING:
    from metricfit.metrics.base import Metric

Sense = Literal["<=", ">="]


@dataclass(frozen=True)
class Constraint:
    """``metric <= limit`` or ``metric >= limit``.

    Examples
    --------
    >>> import metricfit as mf
    >>> str(mf.precision("fraud") >= 0.9)
    "precision('fraud') >= 0.9"
    """

    metric: Metric
    sense: Sense
    limit: float

    def __str__(self) -> str:
        return f"{self.metric} {self.sense} {number(self.limit)}"

    def __repr__(self) -> str:
        return f"<Constraint {self}>"

    def __bool__(self) -> bool:
        # `a <= m <= b` evaluates the truth of its first half, and would silently drop it.
        raise TypeError(
            f"a constraint is neither true nor false, so '{self}' cannot be chained or used in an if; "
            "write two constraints instead of a <= metric <= b"
        )


def compare(metric: Metric, sense: Sense, limit: float) -> Constraint:
    """Return the constraint that compares a metric with a finite number."""
    checked = finite(limit)
    if checked is None:
        raise ValueError(
            f"the limit of a constraint on {cut(str(metric))} must be a finite number, got {brief(limit)}"
        )
    return Constraint(metric, sense, checked)
