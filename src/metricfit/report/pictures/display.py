"""What all pictures share: new or given axes, and a style."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from metricfit.policy import Policy
from metricfit.report.pictures.style import Style, drawn_in, pyplot, style_of
from metricfit.result import Result


class Display(ABC):
    """A picture with scikit-learn's conventions: made by ``from_...``, drawn by `plot`.

    Attributes
    ----------
    figure_, ax_ : matplotlib objects
        Once drawn: the figure, and its axes (an array if there are several).
    """

    figure_: Any
    ax_: Any

    @property
    def panels(self) -> int:
        """How many axes the picture has."""
        return 1

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the panels; what is left over stays empty."""
        return 1, self.panels

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return 5.6, 3.7

    @abstractmethod
    def describe(self) -> str:
        """Return in words what the picture shows, for those who cannot see it."""

    def plot(self, ax: Any = None, *, style: str | Style = "light") -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib axes, or as many as `panels`, optional
            Where to draw; a new figure by default.
        style : {"light", "dark"}
            The colours.

        Returns
        -------
        self
        """
        chosen = style_of(style)
        with drawn_in(chosen):
            if ax is None:
                figure = pyplot().figure(figsize=self.size, layout="constrained")
                axes = self.axes_on(figure)
            else:
                axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
                figure = axes[0].figure
            if len(axes) != self.panels:
                raise ValueError(f"ax must be {self.panels} axes, one for each panel; got {len(axes)}")
            for one in axes:
                paint(one, chosen)
            self._draw(axes, chosen)
        self.figure_, self.ax_ = figure, axes if len(axes) > 1 else axes[0]
        return self

    def axes_on(self, figure: Any) -> Any:
        """Return the axes of all panels on an empty figure."""
        every = figure.subplots(*self.grid, squeeze=False).ravel()
        for left in every[self.panels :]:
            left.remove()
        return every[: self.panels]

    @abstractmethod
    def _draw(self, axes: Any, style: Style) -> None:
        """Draw on axes that have the colours of a style."""


def paint(ax: Any, style: Style) -> None:
    """Give axes that were made elsewhere the colours of a style."""
    ax.set_facecolor(style.surface)
    for spine in ax.spines.values():
        spine.set_edgecolor(style.grid)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(color=style.grid, labelcolor=style.ink)
    ax.grid(True, color=style.grid, linewidth=0.7)
    ax.set_axisbelow(True)


def bare(ax: Any) -> None:
    """Take grid and frame away, for tables of coloured cells."""
    ax.grid(False)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


class PolicyDisplay(Display):
    """A picture of a policy alone, independent of any rows."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    @classmethod
    def from_policy(cls, policy: Policy) -> Self:
        """Return the picture of a policy."""
        return cls(policy)

    @classmethod
    def from_result(cls, result: Result) -> Self:
        """Return the picture of a result's policy."""
        return cls(result.policy)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Return the picture of the policy of a fitted `MetricClassifier`."""
        return cls(estimator.policy_)
