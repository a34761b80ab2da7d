"""The table of methods says what the methods declare."""

from __future__ import annotations

from pathlib import Path

from metricfit.methods import METHODS
from metricfit.metrics import Curvature

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"


def test_the_table_of_methods_is_what_they_declare():
    shown = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    declared = []
    for method in METHODS.values():
        kinds = "any" if method.accepts == frozenset(Curvature) else ", ".join(sorted(method.accepts))
        flags = [method.needs_smooth, method.constrained, method.nonconvex]
        declared.append(
            [f"`{method.name}`", kinds]
            + ["yes" if flag else "no" for flag in flags]
            + [str(method.default_calls), method.reference]
        )
    assert [[cell.strip() for cell in row] for row in shown[: len(declared)]] == declared
