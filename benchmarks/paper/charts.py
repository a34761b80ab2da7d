"""Plots of results: loss against oracle calls, against rows, and both constrained problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from frames import authors, current, read
from matplotlib import pyplot as plt
from settings import Settings
from style import COLOURS, LABELS, SETS, save


def against_calls(settings: Settings) -> list[str]:
    """fig:min-max, fig:hmean-uncon, fig:lmo-cons-abalone and their companions in the appendix."""
    frame, made = read(settings.results, "curves"), []
    if frame is None:
        return made
    for objective, title in (("h_mean", "H-mean loss"), ("min_recall", "min-max loss")):
        part = frame[frame["objective"] == objective]
        names = [name for name in SETS if name in set(part["dataset"])]
        if not names:
            continue
        fig, axes = plt.subplots(2, len(names), figsize=(3.1 * len(names), 5), sharex=True, squeeze=False)
        for column, name in zip(axes.T, names, strict=True):
            for ax, rows in zip(column, ("train", "test"), strict=True):
                _lines(ax, part[part["dataset"] == name], f"{rows}_loss")
                ax.set_title(f"{SETS[name]}, {rows}", fontsize=10)
        for ax in axes[:, 0]:
            ax.set_ylabel(title)
        for ax in axes[1]:
            ax.set_xlabel("oracle calls")
        axes[0, 0].legend(fontsize=7, frameon=False)
        made.append(f"paper_calls_{objective}.png")
        save(fig, settings.figures / made[-1])
    part = frame[frame["objective"] == "coverage"]
    names = [name for name in SETS if name in set(part["dataset"])]
    if names:
        fig, axes = plt.subplots(3, len(names), figsize=(3.1 * len(names), 7), sharex=True, squeeze=False)
        for column, name in zip(axes.T, names, strict=True):
            here = part[part["dataset"] == name]
            _lines(column[0], here, "train_loss")
            column[0].set_title(f"{SETS[name]}, H-mean, train", fontsize=10)
            _lines(column[1], here, "test_loss")
            column[1].set_title("H-mean, test", fontsize=10)
            _lines(column[2], here, "test_violation")
            column[2].axhspan(min(-0.01, *column[2].get_ylim()), 0, color="tab:green", alpha=0.12, lw=0)
            column[2].set_title("coverage violation, test", fontsize=10)
            column[2].set_xlabel("oracle calls")
        axes[0, 0].legend(fontsize=7, frameon=False)
        made.append("paper_calls_coverage.png")
        save(fig, settings.figures / made[-1])
    return made


def _lines(ax: plt.Axes, part: pd.DataFrame, column: str) -> None:
    for method, rows in part.groupby("method", sort=False):
        rows = rows.sort_values("budget").drop_duplicates("calls")
        ax.plot(rows["calls"], rows[column], "o-", ms=3, lw=1.3, color=COLOURS[method], label=LABELS[method])
    ax.set_xscale("log")


def against_rows(settings: Settings) -> list[str]:
    """fig:q-mean-unconstraint: convergence to the Bayes optimum as the sample grows."""
    frame, optima = read(settings.results, "gaussians"), read(settings.results, "optima")
    if frame is None or optima is None:
        return []
    best = optima.set_index("problem")["loss"]
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.3))
    panels = (
        ("unconstrained", "test_loss", "Q-mean loss", best["unconstrained"]),
        ("coverage", "test_loss", "Q-mean loss, coverage <= 0.01", best["coverage"]),
        ("coverage", "test_violation", "coverage violation", 0.0),
    )
    for ax, (problem, column, title, target) in zip(axes, panels, strict=True):
        part = frame[frame["problem"] == problem]
        for method, rows in part.groupby("method", sort=False):
            spread = rows.groupby("rows")[column].agg(["mean", "sem"])
            ax.errorbar(
                spread.index, spread["mean"], 2 * spread["sem"], fmt="o-", ms=3, lw=1.3, capsize=2,
                color=COLOURS[method], label=LABELS[method],
            )  # fmt: skip
        ax.axhline(target, color="black", ls="--", lw=1, label="Bayes optimum")
        ax.set(xscale="log", xlabel="training rows", title=title)
    axes[0].legend(fontsize=7, frameon=False)
    save(fig, settings.figures / "paper_gaussians.png")
    return ["paper_gaussians.png"]


def constrained(settings: Settings) -> list[str]:
    """fig:hmean-cov and fig:gmean-eqopp: test loss and violation, the authors' stored results beside ours."""
    made = []
    problems = (
        ("coverage", "H-mean loss", ["test_loss", "test_violation"], "coverage violation"),
        ("equalopp", "G-mean loss", ["test_loss", "test_mean"], "equal opportunity violation"),
    )
    for problem, loss, columns, violation in problems:
        frame = read(settings.results, problem)
        if frame is None:
            continue
        frame = current(frame, {"frank_wolfe": settings.calls["frank_wolfe"], **settings.constrained_calls})
        if problem == "equalopp":
            frame = frame[frame["to"].fillna("none") != "overall"]
        names = [name for name in SETS if name in set(frame["dataset"])]
        methods = ["frank_wolfe", "tfco", "split_frank_wolfe", "gda", "ellipsoid", "auto"]
        fig, axes = plt.subplots(
            2, len(names), figsize=(2.5 * len(names) + 0.5, 5), sharex=True, squeeze=False
        )
        for row, (column, quantity) in enumerate(zip(columns, ("test_loss", "test_violation"), strict=True)):
            for ax, name in zip(axes[row], names, strict=True):
                for x, method in enumerate(methods):
                    mean, error = authors(problem, name, method, quantity)
                    ax.errorbar(x - 0.15, mean, error, fmt="o", color="0.55", ms=5, capsize=2)
                    ours = frame[(frame["dataset"] == name) & (frame["method"] == method)][column]
                    if len(ours):
                        ax.errorbar(
                            x + 0.15, ours.mean(), 2 * ours.sem(), fmt="D", color="tab:red", ms=5, capsize=2
                        )
                if row:
                    ax.axhline(0, color="black", lw=0.8, ls="--")
                    ax.set_xticks(
                        range(len(methods)),
                        ["FW (free)", "TFCO", "SplitFW", "GDA", "Ellips.", "default"],
                        rotation=60,
                        fontsize=8,
                    )
                else:
                    ax.set_title(SETS[name], fontsize=10)
        axes[0, 0].set_ylabel(f"{loss}, test")
        axes[1, 0].set_ylabel(f"{violation}, test", fontsize=9)
        handles = [
            plt.Line2D([], [], marker="o", ls="", color="0.55", label="authors' stored results"),
            plt.Line2D([], [], marker="D", ls="", color="tab:red", label="metricfit"),
        ]
        fig.legend(handles=handles, fontsize=8, ncols=2, loc="upper right", frameon=False)
        made.append(f"paper_{problem}.png")
        save(fig, settings.figures / made[-1], top=0.95)
    return made


def draw(settings: Settings) -> None:
    Path(settings.figures).mkdir(parents=True, exist_ok=True)
    for chart in (against_calls, against_rows, constrained):
        chart(settings)


__all__ = ["draw", "np"]
