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

import metricfit as mf
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


def first(pictures: dict[str, Any], style: str) -> Any:
    """Return the picture of the README: what changes, and what the limit costs."""
    figure, axes = plt.subplots(
        1, 3, figsize=(11, 3.6), layout="constrained", gridspec_kw={"width_ratios": [1, 1, 1.25]}
    )
    pictures["confusion"].plot(ax=axes[:2], style=style)
    pictures["frontier"].plot(ax=axes[2], style=style)
    axes[2].set_title("what a precision floor costs", loc="left", fontweight="bold", fontsize=10)
    return figure


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
    first(pictures, style).savefig(folder / "first.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
