"""What each rule of a policy does: the weight of every decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.data.layout import expand
from metricfit.policy import Policy
from metricfit.report.pictures.display import PolicyDisplay, bare
from metricfit.report.pictures.style import Style, plain
from metricfit.types import FloatArray

# Rules and decisions that a picture shows at most.
SHOWN_RULES, SHOWN_DECISIONS = 14, 14


@dataclass(frozen=True, eq=False)
class Scores:
    """One rule as scores: the highest of ``gain[j] * probability + bonus[j]`` decides.

    Attributes
    ----------
    cell : int
    share : float
        The part of the cell's rows that the rule decides.
    gain : array of shape (k,)
        What the probability of the class that a decision names is multiplied by; the largest is 1.
    bonus : array of shape (k,)
        What is added; that of most decisions is 0.
    """

    cell: int
    share: float
    gain: FloatArray
    bonus: FloatArray


def scores(policy: Policy) -> list[Scores] | None:
    """Return the rules of a policy as scores, the largest share of each cell first.

    None if a rule has a price for each pair of class and decision that scores cannot express.

    Examples
    --------
    >>> from metricfit.data.axes import Axes
    >>> from metricfit.policy import Policy, Rule
    >>> (rule,) = scores(Policy(Axes((0, 1)), "diagonal", [[Rule(1, [[-1, -4], [0, 0]])]]))
    >>> rule.gain.tolist(), rule.bonus.tolist()
    ([0.25, 1.0], [0.0, 0.0])
    """
    axes, found = policy.axes, []
    for cell, mixture in enumerate(policy.rules):
        for rule in sorted(mixture, key=lambda rule: -rule.weight):
            full = expand(rule.loss[None], policy.layout, axes)[0]
            other = full[(axes.match + 1) % axes.n, np.arange(axes.k)]  # of a class that j does not name
            named = np.where(axes.match >= 0, full[axes.match, np.arange(axes.k)], other)
            rebuilt = np.repeat(other[None], axes.n, axis=0)
            places = np.flatnonzero(axes.match >= 0)
            rebuilt[axes.match[places], places] = named[places]
            if not np.allclose(rebuilt, full, rtol=1e-9, atol=1e-12):
                return None
            gain, bonus = other - named, np.median(other) - other
            size = np.abs(gain).max()
            scale = size if size > 0 else max(float(np.abs(bonus).max()), 1.0)
            found.append(Scores(cell, rule.weight, gain / scale + 0.0, bonus / scale + 0.0))
    return [one for one in found if one.share > 0]


class WeightsDisplay(PolicyDisplay):
    """The weight of each decision in each rule: the highest of weight times probability plus bonus decides.

    Parameters
    ----------
    policy : Policy
        Any policy but one whose rules price pairs of class and decision.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.report import WeightsDisplay
    >>> data = mf.datasets.make_fraud_triage(n_rows=500, random_state=0)
    >>> result = mf.optimize(data.proba, data.y, "g_mean", counting="model")
    >>> len(WeightsDisplay.from_result(result).rules) == result.policy.n_rules
    True
    """

    def __init__(self, policy: Policy) -> None:
        rules = scores(policy)
        if rules is None:
            raise ValueError(
                "the policy's rules price pairs of class and decision, which weights cannot show; for two or three "
                "classes see RegionsDisplay"
            )
        super().__init__(policy)
        self.rules = rules

    @property
    def size(self) -> tuple[float, float]:
        """As large as the table."""
        rows, columns = min(len(self.rules), SHOWN_RULES), min(self.policy.axes.k, SHOWN_DECISIONS)
        return 2.4 + 0.95 * max(columns, 3), 1.1 + 0.46 * rows

    def describe(self) -> str:
        """Return the weights and bonuses of the first rules."""
        texts = []
        for one in self.rules[:4]:
            told = ", ".join(
                f"{d} × {_number(g)}{_added(b)}"
                for d, g, b in zip(self.policy.axes.decisions[:8], one.gain, one.bonus, strict=False)
            )
            texts.append(f"{self._name(one)}: {told}")
        more = f" and {len(self.rules) - 4} more rules" if len(self.rules) > 4 else ""
        bonus = (
            " What follows + or − is added."
            if any(_added(b) for one in self.rules for b in one.bonus)
            else ""
        )
        return f"Weights by which probabilities are multiplied.{bonus} " + "; ".join(texts) + more + "."

    def _name(self, one: Scores) -> str:
        where = ", ".join(map(str, self.policy.axes.cells.values[one.cell]))
        return f"{where} {one.share:.0%}" if where else f"{one.share:.0%} of rows"

    def _draw(self, axes: Any, style: Style) -> None:
        from matplotlib.patches import Rectangle

        (ax,) = axes
        bare(ax)
        rules, decisions = self.rules[:SHOWN_RULES], self.policy.axes.decisions[:SHOWN_DECISIONS]
        for row, one in enumerate(rules):
            for j in range(len(decisions)):
                density = float(np.sqrt(min(abs(one.gain[j]), 1.0)))
                colour = style.after if one.gain[j] >= 0 else style.before
                place = (j - 0.48, row - 0.46)
                ax.add_patch(Rectangle(place, 0.96, 0.92, facecolor=style.grid, alpha=0.3, linewidth=0))
                ax.add_patch(Rectangle(place, 0.96, 0.92, facecolor=colour, alpha=0.9 * density, linewidth=0))
                ink = style.surface if density > 0.6 else style.ink
                told = _number(one.gain[j]) + _added(one.bonus[j])
                ax.text(j, row, told, ha="center", va="center", fontsize=8.5, color=ink)
        ax.set(xlim=(-0.55, len(decisions) - 0.45), ylim=(len(rules) - 0.45, -0.55))
        ax.set_xticks(range(len(decisions)), [plain(d, 12) for d in decisions])
        ax.xaxis.tick_top()
        ax.set_yticks(range(len(rules)), [plain(self._name(one), 26) for one in rules])


def _added(bonus: float) -> str:
    """Return a bonus with its sign; empty if it is too small to be told."""
    return f" {'+' if bonus > 0 else '−'} {_number(abs(bonus))}" if abs(bonus) > 5e-4 else ""


def _number(value: float) -> str:
    if abs(value) < 1e-12:
        return "0"
    # Small weights matter too: an overconfident model gives some classes tiny probabilities.
    form = (
        ".2f"
        if abs(value) >= 0.1
        else ".2g"
        if abs(value) >= 0.01
        else ".3f"
        if abs(value) >= 5e-4
        else ".0e"
    )
    return f"{value:{form}}"
