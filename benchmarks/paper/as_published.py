"""The tables of the paper's configuration: rows as published, and rows of the default, with calls and time."""

from __future__ import annotations

import pandas as pd
from frames import authors, paper, read, two_errors
from published import OURS, PROBLEMS
from report import Section, number, violation
from settings import Settings
from style import LABELS, SETS

TITLES = {
    "hmean": "H-mean loss (`tab:hmean-uncon`)",
    "microf1": "micro-F1 loss (`tab:fmeasure-uncon`)",
    "coverage": "H-mean loss, coverage within .01 (`fig:hmean-cov`)",
    "equalopp": "G-mean loss, equal opportunity within .05 (`fig:gmean-eqopp`)",
    "equalopp01": "G-mean loss, equal opportunity within .01 (`fig:app-gmean-eqopp-2`)",
}
TEXT = (
    "`as_published=True`: GDA's steps are from the grid {.001, .01, .1}^2 by the paper's rule (lowest "
    "training loss among the runs that keep the constraint), and all its runs count in calls and time. "
    "Under constraints the linear program of section 8.2 prunes, for the ellipsoid the last line of "
    "Algorithm 7. SplitFW divides its step by t as line 11 does; the row below it does not. Beside "
    'them metricfit: its default, which chooses what it counts, and `counting="labels"`, which like '
    "the paper holds limits to counted labels. Time is processor time, in calls of Algorithm 1 in "
    "plain NumPy on the same rows, measured before each cell; - where it was not measured."
)
HEADER = [
    "data set",
    "method",
    "authors, test",
    "test",
    "train",
    "train viol. (max)",
    "test viol.",
    "steps",
    "calls",
    "time",
    "splits",
]
NAMES = {
    **LABELS,
    "split_frank_wolfe, eta": "SplitFW, step not divided",
    "labels": 'metricfit, counting="labels"',
}


def sections(settings: Settings) -> list[Section]:
    frame = read(settings.results, "published")
    if frame is None:
        return []
    return [made for problem in PROBLEMS if (made := _section(settings, frame, problem)) is not None]


def _section(settings: Settings, frame: pd.DataFrame, problem: str) -> Section | None:
    frame = frame[frame["problem"] == problem]
    if not len(frame):
        return None
    rows = []
    for dataset in [name for name in SETS if name in set(frame["dataset"])]:
        here = frame[frame["dataset"] == dataset]
        rows += [_row(problem, dataset, method, part) for method, part in here.groupby("method", sort=False)]
    missing = [SETS[name] for name in PROBLEMS[problem].sets if name not in set(frame["dataset"])]
    done = f"Not run: {', '.join(missing)}." if missing else ""
    return Section(
        f"As published: {TITLES[problem]}",
        f"{TEXT} {done}" if problem == "hmean" else done,
        HEADER,
        rows,
    )


def _row(problem: str, dataset: str, method: str, part: pd.DataFrame) -> list[str]:
    known = (
        paper(problem, dataset, method)
        if problem in ("hmean", "microf1")
        else authors(problem, dataset, method, "test_loss")
    )
    steps = sorted({str(step) for step in part["step"].dropna()})
    limited = part["train_violation"].max() > -1
    name = NAMES[method]
    return [
        SETS[dataset],
        f"**{name}**" if method in OURS else f"{name}, as published" if "not divided" not in name else name,
        number(*known) if method not in OURS else "-",
        number(part["test_loss"].mean(), two_errors(part["test_loss"])),
        number(part["train_loss"].mean()),
        violation(part["train_violation"]) if limited else "-",
        number(part["test_violation"].mean()) if limited else "-",
        "; ".join(steps) or "-",
        f"{part['calls'].mean():,.0f}",
        f"{part['time'].mean():,.0f}" if part["time"].notna().all() else "-",
        str(len(part)),
    ]
