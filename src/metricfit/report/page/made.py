"""How a result was made: its rows, names and settings, and the code that makes it again."""

from __future__ import annotations

import datetime
import platform
from dataclasses import fields
from typing import Any

import metricfit
from metricfit.messages import count
from metricfit.options import Options
from metricfit.result import Result

COUNTED = {
    "labels": "counted labels",
    "calibrated": "calibrated probabilities as soft labels",
    "model": "the probabilities as soft labels",
}
DEFAULTS = Options()


def about(result: Result) -> list[tuple[str, str]]:
    """Return the rows, names and settings behind a result, and what it was made with, each with its heading."""
    axes, origin = result.confusion.axes, result.origin
    facts = []
    if origin is not None and origin.oracle.n_rows:
        rows, effective = origin.oracle.n_rows, origin.oracle.effective_rows
        differ = f", with an effective number of {effective:,.0f}" if 0 < effective < rows else ""
        facts.append(("rows", f"{rows:,}{differ}"))
    facts.append(("classes", f"{axes.n}: {_listed(axes.classes)}"))
    if axes.decisions != axes.classes:
        facts.append(("decisions", f"{axes.k}: {_listed(axes.decisions)}"))
    if axes.cells.names:
        facts.append(("cells", f"{len(axes.cells)} of {' x '.join(axes.cells.names)}"))
    if origin is not None:
        kind, seed = origin.oracle.counting, origin.options.random_state
        facts.append(("confusion", f"{kind}: {COUNTED[kind]}"))
        facts.append(("tolerance", f"{origin.options.tol:g}"))
        facts.append(("seed", "none given; nothing was random" if seed is None else str(seed)))
    calls = count(result.n_oracle_calls, "oracle call")
    facts.append(("method", f"{result.method}, {calls}, {result.seconds:.2f} s"))
    facts.append(("made with", f"metricfit {metricfit.__version__}, Python {platform.python_version()}"))
    facts.append(("made on", f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"))
    return facts


def code(result: Result) -> str:
    """Return the call of `optimize` that makes a result again."""
    if result.origin is None:
        return "mf.optimize(proba, y, ...)  # the result was unpickled and does not contain its input"
    problem, options, axes = result.origin.problem, result.origin.options, result.confusion.axes
    lines = ["import metricfit as mf", "", "result = mf.optimize(", "    proba,", "    y,"]
    lines.append(f"    {str(problem.objective)!r},")
    if problem.constraints:
        lines.append(f"    [{', '.join(repr(str(c)) for c in problem.constraints)}],")
    if axes.decisions != axes.classes:
        lines.append(f"    decisions={list(axes.decisions)!r},")
    if axes.cells.names:
        lines.append(f"    sensitive_features=data[{list(axes.cells.names)!r}],")
    lines.append(f"    confusion={result.origin.oracle.counting!r},")
    asked = {field.name: getattr(options, field.name) for field in fields(options)}
    lines += [f"    {name}={value!r}," for name, value in asked.items() if value != getattr(DEFAULTS, name)]
    lines += ["    expect=True,"] if result.expected is not None else []
    return "\n".join([*lines, ")", 'result.report("report.html")'])


def _listed(labels: tuple[Any, ...], most: int = 12) -> str:
    text = ", ".join(map(str, labels[:most]))
    return text if len(labels) <= most else f"{text} and {len(labels) - most} more"
