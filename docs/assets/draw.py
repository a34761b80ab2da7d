"""Draw the pictures of the documentation: python docs/assets/draw.py. They are drawn by metricfit's own displays.

The data are generated, so that anybody draws the same pictures: `make_fraud_triage`, and a model of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import metricfit as mf
from metricfit.commands import demo
from metricfit.commands.demo import Demo
from metricfit.report import (
    AchievableDisplay,
    ConfusionDisplay,
    ConvergenceDisplay,
    FrontierDisplay,
    GroupsDisplay,
    RegionsDisplay,
    ReliabilityDisplay,
    WeightsDisplay,
)
from metricfit.report.pictures.style import Style, style_of

FIGURES = Path(__file__).parents[1] / "figures"
FLOOR = mf.precision("fraud") >= 0.8
PARITY = mf.demographic_parity(over="region") <= 0.02


def displays() -> dict[str, Any]:
    """Return each picture by its name."""
    data = mf.datasets.make_fraud_triage(n_rows=6000, random_state=0)
    sure = data.proba**2 / (data.proba**2).sum(
        axis=1, keepdims=True
    )  # a model that is surer than it should be
    given = {"sensitive_features": data.X[["region"]], "counting": "calibrated"}
    result = mf.optimize(sure, data.y, "g_mean", [FLOOR, PARITY], **given)
    front = mf.frontier(sure, data.y, "g_mean", FLOOR, 20, constraints=[PARITY], expect=True, **given)
    three = data.proba[:, :3] / data.proba[:, :3].sum(axis=1, keepdims=True)
    kept = data.y != data.classes[3]
    small = mf.optimize(
        three[kept],
        data.y[kept],
        "accuracy",
        [mf.recall("fraud") >= 0.85, mf.recall("chargeback") >= 0.5],
        classes=list(data.classes[:3]),
        counting="calibrated",
    )
    return {
        "confusion": ConfusionDisplay.from_result(result),
        "frontier": FrontierDisplay.from_frontier(front),
        "groups": GroupsDisplay.from_result(result, decision="fraud"),
        "achievable": AchievableDisplay.from_result(result, "recall('fraud')", "precision('fraud')"),
        "convergence": ConvergenceDisplay.from_result(result),
        "reliability": ReliabilityDisplay.from_result(result),
        "weights": WeightsDisplay.from_result(small),
        "regions": RegionsDisplay.from_result(small),
    }


def first(shown: Demo, style: str) -> Any:
    """Return the picture of the README: what is found before and after, and what more capacity would add.

    The panels are stacked and the letters large, so that it can be read on a phone.
    """
    look = style_of(style)
    with plt.rc_context({"font.size": 12, "text.color": look.ink, "axes.labelcolor": look.ink}):
        figure, (top, below) = plt.subplots(
            2, 1, figsize=(6.4, 6.6), layout="constrained", facecolor=look.surface, height_ratios=[1, 1.1]
        )
        for axes in (top, below):
            axes.set_facecolor(look.surface)
            axes.tick_params(colors=look.muted, length=0)
            for side in axes.spines.values():
                side.set_visible(False)
        _found(top, shown, look)
        _capacity(below, shown, look)
    return figure


def _found(axes: Any, shown: Demo, look: Style) -> None:
    """Draw the recalls of the rare classes on the held-out payments, of the most probable class and of the policy."""
    sides = (shown.held_out.argmax, shown.held_out.policy(shown.result.policy))
    legit = sides[0].classes.index("legit")
    rare = [i for i in range(len(sides[0].classes)) if i != legit]
    told = ("the most probable class", "the policy")
    for side, confusion, name, colour in zip((-1, 1), sides, told, (look.before, look.after), strict=True):
        matrix = confusion.matrix
        recall = (matrix.diagonal() / matrix.sum(axis=1))[rare]
        acted = 1000 * (1 - matrix.sum(axis=0)[legit])
        places = np.arange(len(rare)) + 0.19 * side
        axes.barh(places, recall, 0.36, color=colour, label=f"{name}: acts on {acted:.0f} of 1,000 payments")
        for place, share in zip(places, recall, strict=True):
            axes.text(share + 0.01, place, f"{share:.0%}", va="center", color=look.ink)
    axes.set_yticks(range(len(rare)), [sides[0].classes[i] for i in rare], color=look.ink)
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    axes.set_ylim(len(rare) + 0.3, -0.5)
    axes.legend(loc="lower left", frameon=False, labelcolor=look.ink, borderaxespad=0, fontsize=11)
    axes.set_title("found of each kind, on held-out payments", loc="left", fontweight="bold")


def _capacity(axes: Any, shown: Demo, look: Style) -> None:
    """Draw the best G-mean at each capacity, by calibrated probabilities, and what the policy has held out."""
    acted = np.linspace(0.02, 0.2, 19)
    front = mf.frontier(
        shown.fitted.oracle.rows.proba,
        np.array(shown.result.policy.axes.classes)[shown.fitted.oracle.rows.labels],
        "g_mean",
        mf.coverage("legit") >= 0.9,
        (1 - acted).tolist(),
        counting="calibrated",
    )
    x, y = zip(*sorted((1000 * (1 - point.level), point.result.value) for point in front), strict=True)
    axes.plot(x, y, color=look.bound, linewidth=2.5)
    axes.text(
        x[-1],
        y[-1] + 0.015,
        "best possible, if the calibrated probabilities are right",
        color=look.bound,
        ha="right",
        va="bottom",
    )
    objective, legit = shown.problem.objective, shown.held_out.argmax.classes.index("legit")
    for confusion, name, colour in (
        (shown.held_out.argmax, "the most probable class", look.before),
        (shown.held_out.policy(shown.result.policy), "the policy", look.after),
    ):
        at, value = 1000 * (1 - confusion.matrix.sum(axis=0)[legit]), objective(confusion)
        axes.plot(at, value, "o", color=colour, markersize=10, zorder=3)
        axes.text(at + 5, value - 0.015, f"{name}: {value:.2f}", color=look.ink, va="top")
    axes.set_xlabel("payments acted on, of 1,000")
    axes.set_ylim(0.3, 0.9)
    axes.grid(color=look.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title("G-mean: what each capacity allows", loc="left", fontweight="bold")


def main() -> None:
    """Draw them all, in the style and into the folder that the command names, if it does."""
    plt.rcParams["svg.hashsalt"] = (
        "metricfit"  # equal names of parts each time, so that only changes are changes
    )
    style = sys.argv[1] if len(sys.argv) > 1 else "light"
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FIGURES
    pictures = displays()
    for name, display in pictures.items():
        display.plot(style=style).figure_.savefig(folder / f"display_{name}.svg", metadata={"Date": None})
        print(f"{name}: {display.describe()}")
    shown = demo.compute()
    for name, chosen in (("first", "light"), ("first-dark", "dark")):
        first(shown, chosen).savefig(folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
