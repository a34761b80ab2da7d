"""The trade-off of an objective against a constraint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from metricfit.messages import count
from metricfit.metrics import Constraint
from metricfit.report.pictures.display import Display
from metricfit.report.pictures.style import Style, plain
from metricfit.report.words import named
from metricfit.result import ConstraintRecord, Result
from metricfit.tradeoff import Frontier, Point, trace
from metricfit.tradeoff.levels import rounded
from metricfit.tradeoff.monotone import monotone

# Levels that a picture of a result has, and lines that a picture of a grid has at most.
LEVELS, LINES = 25, 5
# The smallest distance between a mark and a curve that a reader can see.
SEEN = 2e-3
# Digits of a limit that was tightened, rounded to the side that is easier to keep.
DIGITS = 6


def _as_kept(constraint: Constraint, record: ConstraintRecord) -> Constraint:
    """Return a constraint as a policy keeps it: with the margin of a limit that was tightened, which has a price."""
    if record.price > 0 and constraint.inward * (record.value - constraint.limit) >= SEEN:
        return replace(constraint, limit=rounded(record.value, constraint.inward, DIGITS))
    return constraint


class FrontierDisplay(Display):
    """The best value of the objective at each level of a constraint, with its bound and what to expect on new rows.

    Parameters
    ----------
    frontier : Frontier
        With one traded constraint, or with two, which draws a line for each of some levels of the first.
    chosen : Point, optional
        A point to mark, such as the one in use.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.report import FrontierDisplay
    >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    >>> front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), [0.5, 0.6], counting="model")
    >>> FrontierDisplay.from_frontier(front).frontier is front
    True
    """

    def __init__(self, frontier: Frontier, chosen: Point | None = None) -> None:
        if len(frontier.traded) > 2:
            raise ValueError(
                f"a picture shows one or two traded constraints, not {len(frontier.traded)}; see to_frame()"
            )
        self.frontier, self.chosen = frontier, chosen

    @classmethod
    def from_frontier(cls, frontier: Frontier) -> Self:
        """Return the picture of a frontier."""
        return cls(frontier)

    @classmethod
    def from_result(cls, result: Result, constraint: int = 0, levels: Any = LEVELS) -> Self:
        """Return the trade-off of one of a result's constraints, with the result marked.

        Parameters
        ----------
        result : Result
            It must have its origin, which a pickled result has lost.
        constraint : int
            Which of its constraints is traded; the others stay as they are.
        levels : int or list of numbers
            As in `metricfit.frontier`.
        """
        if isinstance(result, Frontier):
            raise TypeError("this is a frontier, not a result: use FrontierDisplay.from_frontier(frontier)")
        if not result.constraints:
            raise ValueError("the result has no constraint to trade; call mf.frontier(..., mf.precision(c))")
        if result.origin is None:
            raise ValueError(
                "the result has lost its rows, because it was pickled; solve again, or call mf.frontier"
            )
        problem, record = result.origin.problem, result.constraints[constraint]
        traded = problem.constraints[constraint]
        others = [place for place in range(len(problem.constraints)) if place != constraint]
        kept = tuple(_as_kept(problem.constraints[place], result.constraints[place]) for place in others)
        shared = type(problem)(problem.objective, kept)
        options = replace(result.origin.options, derandomise=False)
        front = trace(shared, (traded,), levels, result.origin.oracle, options)
        at = traded.limit if np.isnan(record.value) else record.value
        chosen = Point((at,), result, (record.value,))
        # The result keeps looser limits too, so no looser level may be worse. On a frontier the traded constraint is
        # last.
        records = (*(result.constraints[place] for place in others), record)
        candidate = replace(result, constraints=records, expected=None)
        known = [*front.points, replace(chosen, result=candidate)]
        points = monotone(shared, front.traded, known, options.tol)
        front = replace(front, traded=(traded,), points=points)
        return cls(front, chosen)

    @classmethod
    def from_estimator(cls, estimator: Any, constraint: int = 0, levels: Any = LEVELS) -> Self:
        """Return the trade-off of one of the constraints of a fitted `MetricClassifier`."""
        return cls.from_result(estimator.result_, constraint, levels)

    def describe(self) -> str:
        """Return the ends of the frontier."""
        front = self.frontier
        kept = [point for point in front.ordered if point.result is not None]
        names = " and ".join(named(c.metric, short=True) for c in front.traded)
        if not kept:
            return f"No policy keeps any of the levels of the {names}."
        ends = [
            (point.levels, point.result.value) for point in (kept[0], kept[-1]) if point.result is not None
        ]
        told = [f"{value:.4f} at {', '.join(f'{level:.4g}' for level in levels)}" for levels, value in ends]
        lost = len(front.ordered) - len(kept)
        goal = named(front.problem.objective, short=True)
        found = "" if self._proven() else " found"
        text = f"Best {goal}{found} by the limit of the {names}: {', '.join(told)}"
        text += f"; {count(lost, 'stricter level')} cannot be kept." if lost else "."
        below = self._below()
        if below >= SEEN:
            text += (
                f" The policy is {below:.3f} away from the curve: it keeps a margin to its limits, so that new rows "
                "are likelier to keep them, and the curve does not."
            )
        return text

    def _proven(self) -> bool:
        """Return whether every value has a proven bound; without one, a better policy may exist."""
        return all(point.result is None or np.isfinite(point.result.bound) for point in self.frontier)

    def _below(self) -> float:
        """Return by how much the curve is better than the result at the limit asked for."""
        if self.chosen is None or self.chosen.result is None or len(self.frontier.traded) > 1:
            return 0.0
        traded, (asked,), own = self.frontier.traded[0], self.chosen.levels, self.chosen.result.value
        side = traded.inward
        gains = [
            -self.frontier.problem.sign * (point.result.value - own)
            for point in self.frontier
            if point.result is not None and side * point.levels[0] >= side * asked
        ]
        return max(gains, default=0.0)

    def _draw(self, axes: Any, style: Style) -> None:
        (ax,) = axes
        front = self.frontier
        *outer, inner = front.traded
        if outer:
            self._lines(ax, style)
        else:
            found = "best policy" if self._proven() else "best policy found"
            self._one(ax, style, list(front.ordered), style.after, found)
        if self.chosen is not None and self.chosen.result is not None:
            if len(front.traded) == 1:
                asked = front.traded[0].limit
                ax.axvline(
                    asked, color=style.before, linestyle=":", linewidth=1.2, label="the limit asked for"
                )
            ax.plot(
                [self.chosen.levels[-1]],
                [self.chosen.result.value],
                marker="D",
                color=style.before,
                markersize=8,
                linestyle="none",
                label="the policy",
            )
        ax.set(
            xlabel=f"{plain(named(inner.metric, short=True), 60)}, {inner.side}",
            ylabel=plain(named(front.problem.objective, short=True), 34),
        )
        ax.legend(loc="best")

    def _lines(self, ax: Any, style: Style) -> None:
        """Draw a line for each of some levels of the first constraint."""
        first = self.frontier.traded[0]
        levels = list(dict.fromkeys(point.levels[0] for point in self.frontier.ordered))
        places = np.unique(np.linspace(0, len(levels) - 1, min(LINES, len(levels))).round().astype(int))
        for number, place in enumerate(places):
            points = [point for point in self.frontier.ordered if point.levels[0] == levels[place]]
            side = "≥" if first.sense == ">=" else "≤"
            label = f"{plain(named(first.metric, short=True), 34)} {side} {levels[place]:.3g}"
            self._one(ax, style, points, style.hue(number), label, alone=False)

    def _one(
        self, ax: Any, style: Style, points: list[Point], colour: str, label: str, alone: bool = True
    ) -> None:
        levels = np.array([point.levels[-1] for point in points])
        values = np.array([np.nan if p.result is None else p.result.value for p in points])
        bounds = np.array([np.nan if p.result is None else p.result.bound for p in points])
        mark = "o" if len(points) <= 30 else None
        if alone and np.isfinite(bounds).any():
            # A level has its own bound, or that of a looser level, which says little in a picture.
            own = np.isfinite(bounds) & (np.diff(bounds, prepend=np.nan) != 0)
            text = "bound (proven)"
            ax.plot(
                levels[own], bounds[own], "_", color=style.bound, markersize=12, markeredgewidth=2, label=text
            )
        expected = [None if point.result is None else point.result.expected for point in points]
        if alone and any(one is not None for one in expected):
            table = np.array([[np.nan] * 3 if e is None else [e.value, e.low, e.high] for e in expected])
            ax.fill_between(levels, table[:, 1], table[:, 2], color=style.before, alpha=0.18, linewidth=0)
            ax.plot(
                levels, table[:, 0], color=style.before, linewidth=1.4, label="expected on new rows, 95 %"
            )
        ax.plot(levels, values, color=colour, marker=mark, markersize=4, label=label)
        lost = np.isnan(values)
        if alone and lost.any():
            edge = levels[lost]
            ax.axvspan(
                edge.min(), edge.max(), color=style.muted, alpha=0.15, linewidth=0, label="cannot be kept"
            )
