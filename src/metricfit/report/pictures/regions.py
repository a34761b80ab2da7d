"""Which decision a policy takes where: along a line for two classes, on a triangle for three."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from metricfit.messages import count
from metricfit.policy import Policy
from metricfit.report.pictures.display import PolicyDisplay, bare
from metricfit.report.pictures.style import Style, plain
from metricfit.types import FloatArray

# Cells shown at most, and in a row; steps along a side of the triangle, or along the line.
SHOWN, COLUMNS, SIDE, LINE = 12, 4, 120, 501
# Shares of a decision within one of these bands are drawn with the same density.
BANDS = (0.05, 0.3, 0.55, 0.8, 1.01)
# Where the names of the corners of the triangle stand.
CORNERS = ((-0.08, -0.08, "left"), (0.08, -0.08, "right"), (0.0, 0.03, "center"))


class RegionsDisplay(PolicyDisplay):
    """The decisions of a policy over all probabilities of two or three classes, in each cell.

    Where rules are mixed, their colours are mixed too. Of more than 12 cells, those are shown first in which a decision
    is taken at the largest, or at the smallest, part of all probabilities.

    Parameters
    ----------
    policy : Policy
        Of two or three classes.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.report import RegionsDisplay
    >>> random = np.random.default_rng(0)
    >>> proba = random.dirichlet([1, 1, 1], 300)
    >>> y = [random.choice(3, p=row) for row in proba]
    >>> result = mf.optimize(proba, y, "g_mean", counting="model")
    >>> RegionsDisplay.from_result(result).panels
    1
    """

    def __init__(self, policy: Policy) -> None:
        if policy.axes.n not in (2, 3):
            raise ValueError(
                f"regions can be drawn for two or three classes, not {policy.axes.n}; see WeightsDisplay"
            )
        super().__init__(policy)
        points = _line() if policy.axes.n == 2 else _triangle()[0]
        #: The part of all probabilities at which each decision is taken, in each cell.
        self.parts = np.array([self.chances(cell, points).mean(axis=0) for cell in range(len(policy.rules))])
        extremes = [*self.parts.argmax(axis=0), *self.parts.argmin(axis=0)]
        #: The cells that are shown.
        self.cells = sorted(list(dict.fromkeys([*map(int, extremes), *range(len(policy.rules))]))[:SHOWN])

    @property
    def panels(self) -> int:
        """One for each cell that is shown."""
        return len(self.cells)

    @property
    def grid(self) -> tuple[int, int]:
        """Up to four panels side by side."""
        return -(-self.panels // COLUMNS), min(self.panels, COLUMNS)

    @property
    def size(self) -> tuple[float, float]:
        """As large as the panels."""
        rows, columns = self.grid
        return (1.0 + 3.0 * columns, 0.6 + 3.0 * rows) if self.panels > 1 else (5.2, 4.2)

    def chances(self, cell: int, proba: FloatArray) -> FloatArray:
        """Return the probability of each decision at given probabilities, in one cell."""
        cells = self.policy.axes.cells
        value = cells.values[cell]
        columns = {name: [value[i]] * len(proba) for i, name in enumerate(cells.names)} or None
        return self.policy.decision_proba(proba, columns)

    def describe(self) -> str:
        """Return at which part of all probabilities each decision is taken, in each cell, and where most and least."""
        decisions, texts = self.policy.axes.decisions, []
        for cell in self.cells:
            told = ", ".join(f"{d} {s:.0%}" for d, s in zip(decisions, self.parts[cell], strict=True))
            texts.append(f"{self._name(cell)}: {told}" if len(self.parts) > 1 else told)
        ends = []
        for j, decision in enumerate(decisions if len(self.parts) > 1 else ()):
            most, least = int(self.parts[:, j].argmax()), int(self.parts[:, j].argmin())
            if self.parts[most, j] - self.parts[least, j] > 5e-3:
                ends.append(f" {decision} most in {self._name(most)}, least in {self._name(least)}.")
        hidden = len(self.parts) - self.panels
        more = f"; and {count(hidden, 'cell')} between these" if hidden else ""
        start = "Part of all possible probabilities at which each decision is taken. "
        return f"{start}{'; '.join(texts)}{more}.{''.join(ends)}"

    def _name(self, cell: int) -> str:
        return ", ".join(map(str, self.policy.axes.cells.values[cell]))

    def _draw(self, axes: Any, style: Style) -> None:
        for cell, ax in zip(self.cells, axes, strict=True):
            (self._line if self.policy.axes.n == 2 else self._triangle)(ax, cell, style)
            if len(self.policy.rules) > 1:
                ax.set_title(plain(self._name(cell)))
        handles, labels = axes[0].get_legend_handles_labels()
        # As many side by side as fit: a letter takes about a twelfth of an inch, the patch beside it as much as six.
        room = int(self.size[0] * 12 / (max(map(len, labels)) + 6))
        columns = max(1, min(len(labels), 4, room))
        axes[0].figure.legend(handles, labels, loc="outside lower center", ncols=columns)

    def _line(self, ax: Any, cell: int, style: Style) -> None:
        points = _line()
        chances = self.chances(cell, points)
        floor = np.zeros(len(points))
        for j, decision in enumerate(self.policy.axes.decisions):
            top = floor + chances[:, j]
            ax.fill_between(
                points[:, 1], floor, top, color=style.hue(j), alpha=0.75, linewidth=0, label=plain(decision)
            )
            floor = top
        name = plain(self.policy.axes.classes[1])
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"probability of {name}", ylabel="share decided so")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    def _triangle(self, ax: Any, cell: int, style: Style) -> None:
        from matplotlib.tri import Triangulation

        points, triangles = _triangle()
        chances = self.chances(cell, points)
        x, y = _flat(points).T
        mesh = Triangulation(x, y, triangles)
        for j, decision in enumerate(self.policy.axes.decisions):
            # Colours are drawn over one another, each as dense as its share.
            for low, high in pairwise(BANDS):
                if ((chances[:, j] > low) & (chances[:, j] <= high)).any():
                    density = 0.8 * min(high, 1.0)
                    ax.tricontourf(mesh, chances[:, j], [low, high], colors=[style.hue(j)], alpha=density)
            ax.fill([], [], color=style.hue(j), alpha=0.8, linewidth=0, label=plain(decision))
        if ((chances > BANDS[0]) & (chances < 1 - BANDS[0])).any():
            ax.fill([], [], color="none", linewidth=0, label="in between: mixed")
        bare(ax)
        ax.set(xlim=(-0.1, 1.1), ylim=(-0.14, 0.97), xticks=[], yticks=[], aspect="equal")
        corners = _flat(np.eye(3))
        ax.plot(*corners[[0, 1, 2, 0]].T, color=style.muted, linewidth=1)
        for corner, name, (dx, dy, side) in zip(corners, self.policy.axes.classes, CORNERS, strict=True):
            ax.text(corner[0] + dx, corner[1] + dy, f"sure: {plain(name, 14)}", ha=side, fontsize=9)


def _line() -> FloatArray:
    p = np.linspace(0, 1, LINE)
    return np.stack([1 - p, p], axis=1)


def _triangle() -> tuple[FloatArray, Any]:
    """Return points on the simplex and the small triangles between them."""
    places = [(i, j) for i in range(SIDE + 1) for j in range(SIDE + 1 - i)]
    index = {place: t for t, place in enumerate(places)}
    points = np.array([(SIDE - i - j, i, j) for i, j in places]) / SIDE
    triangles = []
    for i, j in places:
        if i + j < SIDE:
            triangles.append((index[i, j], index[i + 1, j], index[i, j + 1]))
        if i + j < SIDE - 1:
            triangles.append((index[i + 1, j + 1], index[i + 1, j], index[i, j + 1]))
    return points, np.array(triangles)


def _flat(points: FloatArray) -> FloatArray:
    """Return points of the simplex in the plane."""
    return points @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
