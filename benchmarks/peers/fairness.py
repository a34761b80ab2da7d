"""Fairness against fairlearn, error-parity, OxonFair and LinearPost, on the paper's data sets and on generated rows.

    METRICFIT_DATA=... python benchmarks/peers/fairness.py [--sets adult compas] [--limit 0.05] [--splits 5]

A logistic regression without the attribute is trained on a third of the rows; tools that work on its probabilities
are tuned on the second third, and all are judged on the last. ExponentiatedGradient, which trains models of its own,
gets the first two thirds, and so does metricfit's blind policy, its rival: neither sees the attribute when it decides.
The objective is accuracy. Each tool is given the limit in its own meaning (ExponentiatedGradient: distance from
overall; the others: between pairs of groups; ThresholdOptimizer has no tolerance for equalized odds). Objectives are
then compared in two ways: metricfit is given the violation that the tool itself has on its tuning rows, in the same
meaning; and both are compared at the violation that the tool has on new rows, which is the honest one where tuning rows
flatter a tool, as the training rows of ExponentiatedGradient do. Seconds are processor time of one thread: on our side
without the base model, which is trained once for all constraints (for a blind policy its seconds stand in brackets).
Numbers are means over splits; of the violation on tuned rows the largest. ``--sets classes`` has more than two classes,
which only LinearPost can do.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

# Before NumPy is imported: idle threads of a linear algebra library spin, and that is counted as processor time.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from environment import run_rivals
from fairness_data import REAL, Rows, generated, real
from fairness_judged import CONSTRAINTS, Asked, Judged, at_equal_violation, counted, difference_with_error
from fairness_ours import Blind, Seeing
from sklearn.linear_model import LogisticRegression

import metricfit as mf

# The smaller a set, the more splits it takes to tell tools apart.
SPLITS = {"compas": 10, "crimes": 10, "lawschool": 3, "default": 2, "adult": 1, "generated": 2, "classes": 2}
GROUPS = (2, 5, 20)


def line(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def told(found: list[Judged]) -> tuple[str, ...]:
    mean = {
        name: np.mean([getattr(one, name) for one in found]) for name in ("accuracy", "new", "low", "high")
    }
    return (
        f"{mean['accuracy']:.4f}",
        f"{max(one.tuned for one in found):.4f}",
        f"{mean['new']:.3f} ({mean['low']:.3f} to {mean['high']:.3f})",
    )


@dataclass
class Line:
    """What one tool did for one constraint, split by split."""

    theirs: list[Judged] = field(default_factory=list)
    ours: list[Judged] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    our_seconds: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    curves: list[list[Judged]] = field(default_factory=list)
    model_seconds: list[float] = field(default_factory=list)
    refused: str = ""


def compare(rows: Rows, limit: float, seconds: int, lines: dict[str, Line]) -> None:
    """Let all tools decide one split, and add what they did to the lines."""
    X, y, _ = rows.of(0)
    model = LogisticRegression(max_iter=500).fit(X, y)
    (X_tune, y_tune, group_tune), (X_new, y_new, group_new) = rows.of(1), rows.of(2)
    seeing = Seeing(rows, (model.predict_proba(X_tune), model.predict_proba(X_new)))
    # What blind policies are compared with takes two classes.
    blind = Blind.of(rows) if len(model.classes_) == 2 else None
    for side in filter(None, (seeing, blind)):  # what is compiled or imported on first use
        side.judged(Asked("odds", "pairs", len(model.classes_)), limit)
    X_all, y_all, group_all = rows.of(0, 1)
    tables = {"X": X_all, "y": y_all, "group": group_all, "X_new": X_new}
    tables |= {"tune": seeing.proba[0], "y_tune": y_tune, "group_tune": group_tune}
    tables |= {"new": seeing.proba[1], "y_new": y_new, "group_new": group_new}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        np.savez(folder / "rows.npz", **tables)
        run_rivals(folder, limit, seconds, script="fairness_rivals.py")
        for key, spent in json.loads((folder / "told.json").read_text()).items():
            tool, constraint = key.rsplit(" ", 1)
            found = lines.setdefault(key, Line())
            sees = tool != "ExponentiatedGradient"
            side = seeing if sees else blind
            asked = Asked(constraint, "pairs" if sees else "overall", len(model.classes_))
            if side is not None:
                ours, our_seconds = side.judged(asked, limit)
                found.ours.append(ours)
                found.our_seconds.append(our_seconds)
            if side is blind and blind is not None:
                found.model_seconds.append(blind.seconds)
            if isinstance(spent, str):
                found.refused = spent
                continue
            made = np.load(folder / f"{key}.npz")
            y_fit, group_fit = (y_tune, group_tune) if sees else (y_all, group_all)
            tuned = counted(y_fit, made["tuned"].astype(int), group_fit)
            theirs = Judged.of(asked, tuned, counted(y_new, made["new"].astype(int), group_new), len(y_new))
            found.theirs.append(theirs)
            found.seconds.append(spent)
            found.gains.append(side.judged(asked, max(theirs.tuned, 1e-4))[0].accuracy - theirs.accuracy)
            found.curves.append(side.curve(asked))


def show(name: str, lines: dict[str, Line]) -> None:
    """Print for each constraint what we do at the limit, blind or not, and then each tool with the comparison."""
    shown = set()
    for constraint in CONSTRAINTS:
        for key, found in lines.items():
            tool, of = key.rsplit(" ", 1)
            if of != constraint:
                continue
            who = "metricfit, blind" if tool == "ExponentiatedGradient" else "metricfit"
            if found.ours and (who, constraint) not in shown:
                shown.add((who, constraint))
                model = f" (model {np.mean(found.model_seconds):.2f})" if found.model_seconds else ""
                spent = f"{np.mean(found.our_seconds):.2f}{model}"
                line(name, constraint, who, *told(found.ours), spent, "", "", "")
            if not found.theirs:
                line(name, constraint, tool, f"cannot: {found.refused}", "", "", "", "", "", "")
                continue
            seconds, gain = float(np.mean(found.seconds)), difference_with_error(found.gains)
            honest = at_equal_violation(found.curves, found.theirs)
            ratio = f"{seconds / np.mean(found.our_seconds):.2g}"
            line(name, constraint, tool, *told(found.theirs), f"{seconds:.2f}", ratio, gain, honest)


def sets_of(name: str) -> dict[str, Callable[[int], Rows]]:
    """Return what there is under a name: how to make the rows of a split."""
    if name == "generated":
        return {f"{g} groups": lambda split, g=g: generated(30_000, g, 2, split) for g in GROUPS}
    if name == "classes":
        return {f"{g} groups, 5 classes": lambda split, g=g: generated(30_000, g, 5, split) for g in GROUPS}
    return {name: lambda split: real(name, split)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*REAL, "generated", "classes"]
    parser.add_argument("--sets", nargs="*", default=names, choices=names)
    parser.add_argument("--limit", type=float, default=0.05)
    parser.add_argument(
        "--seconds", type=int, default=300, help="of processor time, after which a tool is stopped"
    )
    parser.add_argument("--splits", type=int, help=f"by default {SPLITS}")
    options = parser.parse_args()
    warnings.simplefilter("ignore", mf.exceptions.FewRowsWarning)
    line("data", "constraint", "tool", "accuracy, new", "violation, tuned", "violation, new (95 %)", "s", "ratio",
         "ours - theirs, their violation on tuned rows", "the same on new rows")  # fmt: skip
    line(*["---"] * 10)
    for name in options.sets:
        for title, rows in sets_of(name).items():
            lines: dict[str, Line] = {}
            for split in range(options.splits or SPLITS[name]):
                compare(rows(split), options.limit, options.seconds, lines)
            show(title, lines)


if __name__ == "__main__":
    main()
