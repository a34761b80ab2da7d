"""Write docs/theory.md and its picture from the studies' rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from style import save

DOCS = Path(__file__).parents[2] / "docs"
Rows = list[dict[str, object]]
# Smaller gaps are drawn here: they are the rounding of solvers.
LEAST = 1e-7


def write(gaps: Rows, rules: Rows, matrices: Rows, regrets: Rows) -> None:
    """Write the page whole."""
    frame, regret = pd.DataFrame(gaps), pd.DataFrame(regrets)
    draw(frame, regret)
    parts = [
        "# The paper's theory, measured",
        "`python benchmarks/theory` writes this page in two minutes. The distributions are the "
        "paper's examples, whose class "
        "probabilities are known: 4,001 points of a quadrature along the line of the means, with "
        '`counting="model"`, so that '
        "the oracle is exact and every optimum is proven. All methods but column generation run "
        "with `as_published=True`.",
        "![Gap against calls, and regret against the error of the probabilities](figures/theory.png)",
        "## Gap against calls of the oracle",
        "Gauss3, three classes with priors .85, .1 and .05. A cell is the gap to the optimum, under"
        " the constraint with the "
        "violation behind it; a gap may be negative while the constraint is broken. Steps, radius "
        "and sets are those of the "
        "theorems where nothing else is said, with L = 1 / sqrt(3) for the Q-mean and r = .01, by "
        "which deciding by the priors "
        "keeps the constraint.",
        *(_gaps(name, part) for name, part in frame.groupby("problem", sort=False)),
        "Frank-Wolfe is faster than the proven 1 / t, GDA about as fast as the proven 1 / sqrt(t), "
        "the ellipsoid exponential. "
        "Under the constraint the constants of Theorem 17 (r = .01, so that its multipliers may "
        "reach 200) make GDA slower "
        "than steps from the appendix's grid; SplitFW with the step of line 11, divided by t, stays"
        " .03 outside the constraint.",
        "## The loss matrix that a metric amounts to",
        "Propositions 8 and 9: some loss matrix has the best rule of the metric as its own best "
        "rule. It is the slope of the "
        "metric at the optimum, here as the cost of missing each class (nothing is paid for hits). "
        "The best rule of these costs "
        "is found anew, and reaches the metric's optimum:",
        _table(pd.DataFrame(matrices), 4),
        "## How many rules the best classifier mixes",
        "Proposition 10: d + 1 rules are enough, where d entries of the confusion matrix matter; "
        "with continuous class "
        "probabilities two. The quadrature makes the distribution discrete, which may cost a rule more.",
        _table(pd.DataFrame(rules), 0),
        "## Regret against the error of the probabilities",
        "Theorem 20: for a linear loss whose largest entry is 1 the regret of the plug-in rule is "
        "at most the error, the "
        "expected sum of absolute differences between the probabilities given and the right ones. "
        "For the H-mean, whose rule is "
        "tuned on the wrong probabilities too, no such constant holds with L = 1.",
        _table(regret, 4),
    ]
    (DOCS / "theory.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _gaps(name: object, part: pd.DataFrame) -> str:
    budgets = sorted(part["asked"].unique())
    rows = []
    for method, cells in part.groupby("method", sort=False):
        shown = []
        for _, cell in cells.sort_values("asked").iterrows():
            text = f"{cell['gap']:.1e}" if abs(cell["gap"]) > LEAST else "0"
            limited = np.isfinite(cell["violation"])
            shown.append(f"{text} ({max(cell['violation'], 0.0):.1e})" if limited else text)
        rows.append([str(method), *shown])
    best = part.iloc[0]
    head = f"**{name}**, optimum {best['optimum']:.6f}, proven bound {best['proven']:.6f}:"
    header = ["method", *(f"{calls:,}" for calls in budgets)]
    return head + "\n\n" + _lines([header, ["---"] * len(header), *rows])


def _table(frame: pd.DataFrame, digits: int) -> str:
    shown = [
        [f"{v:.{digits}f}" if isinstance(v, float) else str(v) for v in row] for row in frame.to_numpy(object)
    ]
    return _lines([list(frame.columns), ["---"] * len(frame.columns), *shown])


def _lines(rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def draw(frame: pd.DataFrame, regret: pd.DataFrame) -> None:
    """Draw gaps with the proven rates, and regrets."""
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    for ax, problem in zip(axes, ("Q-mean", "Q-mean, coverage within .01"), strict=False):
        part = frame[frame["problem"] == problem]
        for method, rows in part.groupby("method", sort=False):
            away = np.maximum(rows["gap"], 0) + np.maximum(rows["violation"], 0)
            ax.loglog(rows["calls"], np.maximum(away, LEAST), "o-", ms=3, lw=1.3, label=method)
        calls = np.array([3.0, 3000.0])
        for power, style in ((1.0, ":"), (0.5, "--")):
            rate = "1 / t" if power == 1 else "1 / sqrt(t)"
            ax.loglog(calls, 0.1 * (calls / 3) ** -power, style, color="0.6", lw=1, label=rate)
        ax.set(title=problem, xlabel="oracle calls")
        ax.legend(fontsize=6, frameon=False, loc="lower left" if problem == "Q-mean" else "upper right")
    axes[0].set_ylabel("gap")
    axes[1].set_ylabel("gap + violation")
    for kind, rows in regret.groupby("kind", sort=False):
        axes[2].loglog(rows["error"], rows["cost"], "o-", ms=3, label=f"costs, {kind}")
        axes[2].loglog(rows["error"], rows["H-mean"], "s--", ms=3, label=f"H-mean, {kind}")
    ends = np.array([0.01, 1.0])
    axes[2].loglog(ends, ends, ":", color="0.6", lw=1, label="Theorem 20")
    axes[2].set(title="Regret", xlabel="error of the probabilities")
    axes[2].legend(fontsize=6, frameon=False)
    save(fig, DOCS / "figures" / "theory.png")
