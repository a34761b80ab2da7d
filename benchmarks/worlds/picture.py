"""The picture of README.md: G-mean against a precision floor, promised and on rows not used, in each way of counting.

    METRICFIT_DATA=... python benchmarks/worlds/picture.py [--data satimage] [--kind linear] [--seeds 0 1 2 3 4]

Every point is a mean over the splits. Levels at which some split has no policy that keeps the floor are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from floors import WAYS, judged, solved
from rows import split

import metricfit as mf

mpl.use("svg")
import matplotlib.pyplot as plt

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
# Hues of Okabe and Ito, and marks, so that colours are not needed to tell the lines apart.
DRAWN = {
    "default": ('"labels", the default', "#0072b2", "o"),
    "calibrated": ('"calibrated"', "#00805d", "s"),
    "model": ('"model"', "#c25100", "^"),
}
ABOVE = np.linspace(-0.02, 0.14, 9)


def curves(
    data: str, kind: str, seeds: list[int], c: int | None
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Return floors, for each way (levels, [promised, new value, new precision]), and the same of plain argmax."""
    found = {way: [] for way in DRAWN}
    plain, levels = [], None
    for seed in seeds:
        s = split(data, kind, seed)
        classes = list(range(s.P.shape[1]))
        told = [
            mf.Confusion.from_predictions(y, p.argmax(axis=1), classes=classes)
            for p, y in ((s.P, s.y), (s.Q, s.z))
        ]
        if c is None:  # the class that is found least precisely
            c = min(classes, key=lambda i: mf.precision(i)(told[0]))
        if levels is None:
            levels = np.round(mf.precision(c)(told[0]) + ABOVE, 3)
        plain.append([mf.g_mean()(told[0]), mf.g_mean()(told[1]), mf.precision(c)(told[1])])
        for way, lines in found.items():
            lines.append([])
            for floor in levels:
                result = solved(s, "g_mean", [mf.precision(c) >= floor], **WAYS[way])
                value, new, margin = [np.nan] * 3 if result is None else judged(result, s, c, floor)
                lines[-1].append([value, new, margin + floor])
    return levels, {way: np.mean(lines, axis=0) for way, lines in found.items()}, np.mean(plain, axis=0)


def draw(path: Path, levels: np.ndarray, found: dict[str, np.ndarray], plain: np.ndarray, title: str) -> None:
    """Draw value on tuning rows, value on new rows and precision on new rows side by side."""
    mpl.rcParams.update({"svg.hashsalt": "metricfit", "font.size": 10, "svg.fonttype": "path"})
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.7))
    fig.patch.set_facecolor("white")
    titles = ("G-mean reported on the tuning rows", "G-mean on new rows", "Precision on new rows")
    for place, (ax, heading) in enumerate(zip(axes, titles, strict=True)):
        for way, (label, hue, mark) in DRAWN.items():
            ax.plot(
                levels,
                found[way][:, place],
                color=hue,
                marker=mark,
                markersize=4.5,
                linewidth=1.6,
                label=label,
            )
        ax.axhline(plain[place], color="#57606a", linewidth=1.1, linestyle=":", label="most probable class")
        ax.set_title(heading, fontsize=10.5)
        ax.set_xlabel("precision floor asked for")
        ax.grid(color="#d9dee3", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes[2].plot(levels, levels, color="#1b1f24", linewidth=1.1, linestyle="--", label="the floor")
    low = min(ax.get_ylim()[0] for ax in axes[:2])
    high = max(ax.get_ylim()[1] for ax in axes[:2])
    for ax in axes[:2]:
        ax.set_ylim(low, high)
    handles, labels = axes[2].get_legend_handles_labels()
    fig.legend(handles, labels, loc="lower center", ncols=5, frameon=False)
    fig.suptitle(title, fontsize=11)
    fig.tight_layout(rect=(0, 0.07, 1, 1))
    fig.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="satimage")
    parser.add_argument("--kind", default="linear")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--c", type=int)
    parser.add_argument("--out", type=Path, default=FIGURES / "worlds.svg")
    given = parser.parse_args()
    levels, found, plain = curves(given.data, given.kind, given.seeds, given.c)
    for way, lines in found.items():
        print(way, *(" ".join(f"{value:.3f}" for value in line) for line in lines.T), sep="\n  ")
    title = (
        f"G-mean under a floor on the precision of one class: {given.data}, mean of {len(given.seeds)} splits"
    )
    draw(given.out, levels, found, plain, title)


if __name__ == "__main__":
    main()
