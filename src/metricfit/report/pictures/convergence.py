"""How a search went: the value, and the bound closing in on it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from metricfit.messages import count
from metricfit.report.pictures.display import Display
from metricfit.report.pictures.style import Style, plain
from metricfit.report.words import named
from metricfit.result import Result
from metricfit.types import FloatArray


class ConvergenceDisplay(Display):
    """The value and the bound after each oracle call.

    Parameters
    ----------
    calls : array
        Oracle calls so far.
    values, bounds : array
        In the objective's natural sign; an unknown bound is infinite.
    kept : array of bool
        Whether all constraints were kept by then.
    objective : str
        The objective, as text.
    proven : bool
        Whether the bound is a proof.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.report import ConvergenceDisplay
    >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    >>> result = mf.optimize(data.proba, data.y, "g_mean", counting="model")
    >>> bool(ConvergenceDisplay.from_result(result).calls[-1] == result.n_oracle_calls)
    True
    """

    def __init__(
        self, calls: Any, values: Any, bounds: Any, kept: Any, objective: str = "value", proven: bool = False
    ) -> None:
        self.calls, self.values = np.asarray(calls, float), np.asarray(values, float)
        self.bounds, self.kept = np.asarray(bounds, float), np.asarray(kept, bool)
        self.objective, self.proven = objective, proven

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Return the picture of a result's history."""
        history = result.history
        objective = "value" if result.origin is None else named(result.origin.problem.objective, short=True)
        return cls(
            [record.calls for record in history],
            [record.value for record in history],
            [record.bound for record in history],
            [record.violation <= 1e-9 for record in history],
            objective,
            result.certified,
        )

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Return the picture of a fitted `MetricClassifier`."""
        return cls.from_result(estimator.result_)

    def describe(self) -> str:
        """Return where it ended."""
        if not self.calls.size:
            return "No iterations were recorded."
        text = f"After {count(int(self.calls[-1]), 'oracle call')} {self.objective} is {self.values[-1]:.4f}"
        if np.isfinite(self.bounds[-1]):
            text += f"; the proven bound is {self.bounds[-1]:.4f}"
        return text + "."

    def _draw(self, axes: Any, style: Style) -> None:
        (ax,) = axes
        shown: FloatArray = np.where(self.kept, self.values, np.nan)
        bounds = np.where(np.isfinite(self.bounds), self.bounds, np.nan)
        known = np.isfinite(bounds) & np.isfinite(shown)
        if known.any():
            label = "bound (proven)"
            ax.step(self.calls, bounds, where="post", color=style.bound, linestyle="--", label=label)
            ax.fill_between(
                self.calls,
                shown,
                bounds,
                where=known,
                step="post",
                color=style.bound,
                alpha=0.15,
                linewidth=0,
            )
        ax.step(self.calls, shown, where="post", color=style.after, label="value, constraints met")
        ax.plot(self.calls[self.kept][-1:], shown[self.kept][-1:], "o", color=style.after, markersize=6)
        if not self.kept.all():
            ax.plot(
                self.calls[~self.kept],
                self.values[~self.kept],
                "x",
                color=style.before,
                markersize=6,
                label="constraints not met yet",
            )
        seen = np.concatenate([shown[np.isfinite(shown)], bounds[known]])
        if seen.size:
            low, high = float(np.quantile(seen, 0.05)), float(np.quantile(seen, 0.95))
            room = max(0.12 * (high - low), 2e-4)
            ax.set_ylim(low - room, high + room)
        ax.set(xlabel="oracle calls (looks at the rows)", ylabel=plain(self.objective, 40))
        ax.legend(loc="best")
