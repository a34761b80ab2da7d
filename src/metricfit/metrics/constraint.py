"""Constraints: a metric compared with a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

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
    >>> floor = mf.precision("fraud") >= 0.9
    >>> str(floor), floor.side, floor.excess(0.75) > 0
    ("precision('fraud') >= 0.9", 'at least', True)
    """

    metric: Metric
    sense: Sense
    limit: float

    @property
    def inward(self) -> int:
        """The direction from the limit to values that keep it: 1 for ``>=``, -1 for ``<=``."""
        return 1 if self.sense == ">=" else -1

    @property
    def side(self) -> str:
        """The sense in words."""
        return "at least" if self.sense == ">=" else "at most"

    def excess(self, value: Any) -> Any:
        """Return by how much a value, or each of an array of them, misses the limit; at most 0 if it keeps it."""
        return self.limit - value if self.sense == ">=" else value - self.limit

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
