"""What the page offers: metrics in words, with placeholders for classes and attributes."""

from __future__ import annotations

from typing import Any

import metricfit
from metricfit.explorer.workbench import Workbench
from metricfit.problem import Problem
from metricfit.types import Label

#: Text and words of objectives; {c} is a class, {over} an attribute.
OBJECTIVES = (
    ("g_mean()", "G-mean: geometric mean of the recalls"),
    ("h_mean()", "H-mean: harmonic mean of the recalls"),
    ("balanced_accuracy()", "Balanced accuracy: mean of the recalls"),
    ("min_recall()", "Lowest recall of any class"),
    ("accuracy()", "Accuracy"),
    ("macro_f1()", "Macro-F1"),
    ("cohen_kappa()", "Cohen's kappa"),
    ("mcc()", "Matthews correlation"),
    ("f1({c})", "F1 of a class"),
    ("recall({c})", "Recall of a class"),
    ("precision({c})", "Precision of a class"),
)
LIMITS = (
    ("precision({c})", ">=", "Precision of a class"),
    ("recall({c})", ">=", "Recall of a class"),
    ("false_positive_rate({c})", "<=", "False positive rate of a class"),
    ("coverage({c})", "<=", "Share of rows with a decision"),
    ("accuracy()", ">=", "Accuracy"),
    ("min_recall()", ">=", "Lowest recall of any class"),
    ("coverage_deviation()", "<=", "Distance of decisions from the classes' shares"),
    ("demographic_parity(over={over})", "<=", "Groups: difference in decisions"),
    ("equal_opportunity(over={over}, c={c})", "<=", "Groups: difference in the recall of a class"),
    ("equalized_odds(over={over})", "<=", "Groups: difference in all recalls"),
)


def offered(bench: Workbench, problem: Problem) -> dict[str, Any]:
    """Return what the page needs to begin: the rows in words, the choices, and the problem to start with."""
    axes = bench.rows.axes
    return {
        "version": metricfit.__version__,
        "rows": len(bench.rows),
        "classes": _labels(axes.classes),
        "decisions": _labels(axes.decisions),
        "attributes": _labels(axes.cells.names),
        "objectives": [{"text": text, "words": words} for text, words in OBJECTIVES],
        "limits": [
            {"text": text, "sense": sense, "words": words}
            for text, sense, words in LIMITS
            if "{over}" not in text or axes.cells.names
        ],
        "counting": bench.kind,
        "start": {
            "objective": str(problem.objective),
            "constraints": [
                {"metric": str(c.metric), "sense": c.sense, "limit": c.limit} for c in problem.constraints
            ],
        },
    }


def _labels(labels: tuple[Label, ...]) -> list[dict[str, str]]:
    return [{"label": str(label), "text": repr(label)} for label in labels]
