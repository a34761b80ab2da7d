"""How a result was made: its rows, names and settings, and the code that makes it again."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import metricfit
from metricfit.data.axes import Axes
from metricfit.messages import count
from metricfit.options import Options
from metricfit.oracles.base import Counting
from metricfit.problem import Problem
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
        facts.append(("counting", f"{kind}: {COUNTED[kind]}"))
        if result.choice:
            facts.append(("chosen", result.choice))
        if result.left_out:
            facts.append(("left out of limits, for few rows", "; ".join(map(str, result.left_out))))
        facts.append(("tolerance", f"{origin.options.tol:g}"))
        facts.append(("seed", "none given; nothing was random" if seed is None else str(seed)))
    calls = count(result.n_oracle_calls, "oracle call")
    facts.append(("method", f"{result.method}, {calls}, {result.seconds:.2f} s"))
    facts.append(("made with", f"metricfit {metricfit.__version__}, Python {platform.python_version()}"))
    facts.append(("made on", f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"))
    return facts


def code(result: Result) -> str:
    """Return the code that makes a result and its report again."""
    if result.origin is None:
        return "mf.optimize(proba, y, ...)  # the result was unpickled and does not contain its input"
    problem, options, kind = result.origin.problem, result.origin.options, result.origin.oracle.counting
    asked = {field.name: getattr(options, field.name) for field in fields(options)}
    more = [f"{name}={value!r}" for name, value in asked.items() if value != getattr(DEFAULTS, name)]
    more += ["expect=True"] if result.expected is not None else []
    return f'{optimize_call(problem, kind, result.confusion.axes, more)}\nresult.report("report.html")'


def optimize_call(problem: Problem, kind: Counting, axes: Axes, more: Sequence[str] = ()) -> str:
    """Return the call of `optimize` that solves a problem, with ``more`` arguments.

    Examples
    --------
    >>> print(optimize_call(Problem.of("g_mean"), "labels", Axes((0, 1)), ["tol=0.01"]))
    import metricfit as mf
    <BLANKLINE>
    result = mf.optimize(
        proba,
        y,
        'g_mean()',
        counting='labels',
        tol=0.01,
    )
    """
    given = ["proba", "y", repr(str(problem.objective))]
    if problem.constraints:
        limits = "".join(f"        {str(c)!r},\n" for c in problem.constraints)
        given.append(f"[\n{limits}    ]")
    if axes.classes != tuple(range(axes.n)):
        given.append(f"classes={list(axes.classes)!r}")
    if axes.decisions != axes.classes:
        given.append(f"decisions={list(axes.decisions)!r}")
    if axes.cells.names:
        given.append(f"sensitive_features=data[{list(axes.cells.names)!r}]")
    lines = [f"    {one}," for one in (*given, f"counting={kind!r}", *more)]
    return "\n".join(["import metricfit as mf", "", "result = mf.optimize(", *lines, ")"])


def _listed(labels: tuple[Any, ...], most: int = 12) -> str:
    text = ", ".join(map(str, labels[:most]))
    return text if len(labels) <= most else f"{text} and {len(labels) - most} more"
