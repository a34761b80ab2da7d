"""The picture of README.md: G-mean against a precision floor, promised and on rows not used, in each way of counting.

    METRICFIT_DATA=... python benchmarks/worlds/picture.py [--seeds 0 1 2]

Every point is a mean over the splits; the floor is on the class that the most probable class finds least precisely.
Levels at which some split has no policy that keeps the floor are left out.
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
                value, new, margin = [np.nan] * 3 if result is None else judged(result, s, c, floor)[:3]
                lines[-1].append([value, new, margin + floor])
    return levels, {way: np.mean(lines, axis=0) for way, lines in found.items()}, np.mean(plain, axis=0)


def draw(path: Path, rows: list[tuple[str, tuple]]) -> None:
    """Draw value on tuning rows, value on new rows and precision on new rows side by side, a data set in each row."""
    mpl.rcParams.update({"svg.hashsalt": "metricfit", "font.size": 10, "svg.fonttype": "path"})
    fig, grid = plt.subplots(len(rows), 3, figsize=(10.5, 0.6 + 3.1 * len(rows)), squeeze=False)
    fig.patch.set_facecolor("white")
    for axes, (name, (levels, found, plain)) in zip(grid, rows, strict=True):
        headings = (
            f"{name}\nG-mean reported on the tuning rows",
            "G-mean on new rows",
            "Precision on new rows",
        )
        for place, (ax, heading) in enumerate(zip(axes, headings, strict=True)):
            for way, (label, hue, mark) in DRAWN.items():
                line = found[way][:, place]
                ax.plot(levels, line, color=hue, marker=mark, markersize=4.5, linewidth=1.6, label=label)
            ax.axhline(
                plain[place], color="#57606a", linewidth=1.1, linestyle=":", label="most probable class"
            )
            ax.set_title(heading, fontsize=10.5, loc="left")
            ax.set_xlabel("precision floor asked for")
            ax.grid(color="#d9dee3", linewidth=0.6)
            ax.spines[["top", "right"]].set_visible(False)
        axes[2].plot(levels, levels, color="#1b1f24", linewidth=1.1, linestyle="--", label="the floor")
        low, high = (limit([ax.get_ylim()[end] for ax in axes[:2]]) for end, limit in enumerate((min, max)))
        for ax in axes[:2]:
            ax.set_ylim(low, high)
    handles, labels = grid[0, 2].get_legend_handles_labels()
    fig.legend(handles, labels, loc="lower center", ncols=5, frameon=False)
    fig.tight_layout(rect=(0, 0.05, 1, 1))
    fig.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=FIGURES / "worlds.svg")
    given = parser.parse_args()
    rows = []
    for name, data in (
        ("A model twice as sure as it should be", "too_sure"),
        ("SatImage, logistic regression", "satimage"),
    ):
        rows.append((name, curves(data, "linear", given.seeds, None)))
        for way, lines in rows[-1][1][1].items():
            print(
                data,
                way,
                *(" ".join(f"{value:.3f}" for value in line) for line in lines.T),
                sep="\n  ",
                flush=True,
            )
    draw(given.out, rows)


if __name__ == "__main__":
    main()
