"""Names and colours of methods, and how pictures are saved."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from settings import AUTHORS_RADIUS

mpl.use("Agg")

LABELS = {
    "plugin": "Plugin[0-1]",
    "plugin_bal": "Plugin(bal)",
    "tfco": "TFCO (quoted)",
    "frank_wolfe": "Frank-Wolfe",
    "split_frank_wolfe": "SplitFW",
    "gda": "GDA",
    "ellipsoid": "Ellipsoid",
    AUTHORS_RADIUS: "Ellipsoid, radius 31.6",
    "bisection": "Bisection",
    "column_generation": "Column generation",
    "auto": "metricfit's default",
    "calibrated": 'metricfit, counting="calibrated"',
}
COLOURS = {
    "frank_wolfe": "tab:blue",
    "split_frank_wolfe": "tab:blue",
    "gda": "tab:orange",
    "ellipsoid": "tab:green",
    "column_generation": "tab:red",
    "auto": "tab:red",
    "tfco": "0.5",
}
SETS = {
    "abalone": "Abalone",
    "pageblocks": "PageBlock",
    "macho": "MACHO",
    "satimage": "SatImage",
    "covtype": "CovType",
    "compas": "COMPAS",
    "lawschool": "Law School",
    "adult": "Adult",
    "crimes": "Crime",
    "default": "Default",
}


def save(fig: object, path: Path, top: float = 1.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for ax in fig.axes:
        ax.spines[["top", "right"]].set_visible(False)
    fig.tight_layout(rect=(0, 0, 1, top))
    # No date or version in the file, so that an unchanged picture is an unchanged file.
    fig.savefig(path, dpi=90, metadata={"Software": None})
    mpl.pyplot.close(fig)
