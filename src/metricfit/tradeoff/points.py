"""The outcome of a trade-off: a `Point` for each level of the traded constraints, and all of them as a `Frontier`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from metricfit.messages import count
from metricfit.metrics import Constraint
from metricfit.oracles.base import Counting
from metricfit.policy import Policy
from metricfit.problem import Problem
from metricfit.result import Result


@dataclass(frozen=True, eq=False)
class Point:
    """One level of each traded constraint, and its result.

    ``value``, ``bound``, ``status`` and ``policy`` are those of its result, which has everything else. If no policy
    keeps the limits, ``feasible`` is False and ``result`` is None; then ``achievable`` says what can be kept.

    Attributes
    ----------
    levels : tuple of float
        The limit of each traded constraint.
    result : Result or None
        None if no policy keeps the limits.
    achievable : tuple of float
        The values of the traded metrics in the result; if no policy keeps the limits, the closest values that are
        achievable together.

    Examples
    --------
    >>> import metricfit as mf
    >>> proba, y = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1]
    >>> rare = [mf.coverage(1) <= 0.25]
    >>> front = mf.frontier(proba, y, "accuracy", mf.recall(1), [0.2, 0.9], constraints=rare, counting="model")
    >>> [(point.level, round(point.value, 2) if point.feasible else None) for point in front]
    [(0.2, 0.7), (0.9, None)]
    """

    levels: tuple[float, ...]
    result: Result | None
    achievable: tuple[float, ...]

    @property
    def value(self) -> float:
        """The value of the objective."""
        return self._kept.value

    @property
    def bound(self) -> float:
        """The proven bound on the value; infinite without one."""
        return self._kept.bound

    @property
    def status(self) -> str:
        """How the search ended."""
        return self._kept.status

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._kept.policy

    @property
    def _kept(self) -> Result:
        if self.result is None:
            raise AttributeError(
                "no policy keeps the limits of this point, so it has no result; see achievable"
            )
        return self.result

    @property
    def level(self) -> float:
        """The limit asked for; in a grid, where there are several, see ``levels``."""
        if len(self.levels) > 1:
            raise ValueError(f"level: there are {len(self.levels)} traded constraints; see levels")
        return self.levels[0]

    @property
    def feasible(self) -> bool:
        """Whether a policy keeps the limits."""
        return self.result is not None


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best value of the objective at each level of one or more constraints.

    It is a sequence of `Point`, one for each level in the order in which levels were given, or from the loosest to the
    strictest where only their number was given (in a grid, the last constraint varies fastest).

    Attributes
    ----------
    problem : Problem
        The objective and the constraints that all levels share.
    traded : tuple of Constraint
        The constraints whose limits vary; their own limits are the first levels.
    points : tuple of Point
    passes : int
        How often the rows were read to count a rule, in all levels together.
    counting : {"calibrated", "labels", "model"}
        What all points count by.
    choice : str
        Why, in one sentence, if the default has chosen that.

    Examples
    --------
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=1000, random_state=0)
    >>> front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), [0.5, 0.7, 0.9], counting="model")
    >>> len(front), front.to_frame()["value"].is_monotonic_decreasing
    (3, True)
    >>> front[2].result.policy.decide(data.proba).shape
    (1000,)
    """

    problem: Problem
    traded: tuple[Constraint, ...]
    points: tuple[Point, ...]
    passes: int
    counting: Counting = "labels"
    choice: str = ""

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, place: int) -> Point:
        return self.points[place]

    @property
    def ordered(self) -> tuple[Point, ...]:
        """The points of the distinct levels, from the loosest to the strictest, as a curve needs them."""
        known = {point.levels: point for point in self.points}

        def strictness(levels: tuple[float, ...]) -> list[float]:
            return [c.inward * level for c, level in zip(self.traded, levels, strict=True)]

        return tuple(known[levels] for levels in sorted(known, key=strictness))

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each level as given, including those that cannot be kept.

        Columns: the level and the value of each traded metric, the objective's value, its bound and the price of each
        traded constraint, the status (``"infeasible"`` if no policy keeps the level), and, if asked for, what to expect
        on new rows: ``expected``, ``low`` and ``high``.

        Examples
        --------
        >>> import metricfit as mf
        >>> data = mf.datasets.make_fraud_triage(n_rows=1000, random_state=0)
        >>> front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), [0.7, 0.8], counting="model")
        >>> front.to_frame()["level"].tolist()
        [0.7, 0.8]
        """
        import pandas as pd

        return pd.DataFrame([self._row(point) for point in self.points])

    def _row(self, point: Point) -> dict[str, Any]:
        result, nan = point.result, float("nan")
        names = [""] if len(self.traded) == 1 else [f" {c.metric}" for c in self.traded]
        prices = [nan] * len(self.traded)
        if result is not None:
            prices = [record.price for record in result.constraints[-len(self.traded) :]]
        row: dict[str, Any] = {f"level{n}": level for n, level in zip(names, point.levels, strict=True)}
        row |= {
            "value": nan if result is None else result.value,
            "bound": nan if result is None else result.bound,
        }
        row |= {f"reached{n}": value for n, value in zip(names, point.achievable, strict=True)}
        row |= {f"price{n}": price for n, price in zip(names, prices, strict=True)}
        row["status"] = "infeasible" if result is None else result.status
        expected = None if result is None else result.expected
        if expected is not None:
            row |= {"expected": expected.value, "low": expected.low, "high": expected.high}
        return row

    def plot(self, ax: Any = None, style: str = "light") -> Any:
        """Draw the frontier; return its `metricfit.report.FrontierDisplay`. It needs matplotlib."""
        from metricfit.report import FrontierDisplay

        return FrontierDisplay.from_frontier(self).plot(ax=ax, style=style)

    def __repr__(self) -> str:
        kept = [point for point in self.points if point.feasible]
        lost = len(self.points) - len(kept)
        traded = " and ".join(f"{c.metric} {c.sense} level" for c in self.traded)
        text = f"Frontier({self.problem}; {traded}; {count(len(self.points), 'level')}"
        return text + (f", {lost} of them cannot be kept)" if lost else ")")
