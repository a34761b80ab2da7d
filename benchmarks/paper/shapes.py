"""The tables of data sets: classes, rows, features, imbalance and groups, as loaded here and as printed."""

from __future__ import annotations

import numpy as np
from probabilities import FAIRNESS, MULTICLASS
from report import Section
from settings import Settings
from style import SETS

from metricfit import datasets
from metricfit.exceptions import DatasetError

# Rows of training and test, features, and the smallest prior over the largest or the share of the protected group.
PRINTED = {
    "abalone": (2923, 1254, 8, 0.149),
    "pageblocks": (3831, 1642, 10, 0.0057),
    "macho": (4241, 1818, 64, 0.0148),
    "satimage": (4504, 1931, 36, 0.408),
    "covtype": (406708, 174304, 14, 0.0097),
    "crimes": (1395, 599, 132, 0.49),
    "compas": (4320, 1852, 32, 0.19),
    "lawschool": (14558, 6240, 16, 0.06),
    "default": (21000, 9000, 23, 0.40),
    "adult": (34189, 14653, 123, 0.10),
}


def section(settings: Settings) -> Section | None:
    try:
        rows = [_row(name) for name in (*MULTICLASS, *FAIRNESS)]
    except DatasetError as error:
        print(f"no table of data sets: {error}")
        return None
    header = [
        "data set",
        "classes",
        "training rows",
        "test rows",
        "features",
        "prior ratio or group",
        "printed",
    ]
    return Section(
        "The data sets (`tab:multi-datasets`, `tab:fair-datasets`)",
        "`metricfit datasets build FOLDER` makes them from public files. The last number is the "
        "smallest class prior over the "
        "largest, for data sets with groups the share of the smaller group. Printed: rows, features "
        "and that number in the "
        "paper. The share of women in Adult is .33 in the original data; the paper prints .10.",
        header,
        rows,
    )


def _row(name: str) -> list[str]:
    data = datasets.load(name)
    counts = np.bincount(data.y if data.group is None else data.group)
    ratio = counts.min() / (counts.max() if data.group is None else counts.sum())
    test = int(np.ceil(0.3 * len(data.y)))
    known = PRINTED[name]
    return [
        SETS[name],
        str(data.y.max() + 1),
        str(len(data.y) - test),
        str(test),
        str(data.X.shape[1]),
        f"{ratio:.3g}",
        f"{known[0]} + {known[1]}, {known[2]}, {known[3]}",
    ]
