"""`metricfit metrics`: all metrics, with what they declare."""

from __future__ import annotations

import inspect
import re
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from metricfit.commands.arguments.outputs import add_json
from metricfit.commands.errors import DONE, UsageError
from metricfit.commands.terminal import as_json
from metricfit.messages import unknown
from metricfit.metrics import METRICS, Metric

#: Placeholders for the arguments of a metric, used to read its declarations.
SAMPLES: dict[str, Any] = {
    "c": "c",
    "beta": 1.0,
    "matrix": [[0.0, 1.0], [1.0, 0.0]],
    "over": "attribute",
    "baseline": "column",
    "metric": METRICS["recall"]("c"),
    "metrics": METRICS["recall"]("c"),
}
LINE = "{:<55}{:<8}{:<11}{}"
CALL = 53


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of a metric")
    add_json(parser)


def run(options: Namespace) -> int:
    """Print a table of all metrics, or describe one."""
    if options.name is None:
        as_json.show(list(map(declared, METRICS.values()))) if options.json else print(_listing())
        return DONE
    if options.name not in METRICS:
        raise UsageError(unknown("metric", options.name, METRICS))
    function = METRICS[options.name]
    if options.json:
        as_json.show(declared(function) | {"text": plain(inspect.getdoc(function) or "")})
        return DONE
    metric = sample(function)
    smooth = "smooth" if metric.smooth else "not smooth"
    better = {1: "higher is better", -1: "lower is better", 0: "neither direction is better"}[
        metric.direction
    ]
    print(f"{signature(function)}: {metric.curvature.value}, {smooth}, {better}\n")
    print(textwrap.indent(plain(inspect.getdoc(function) or ""), "  "))
    return DONE


def _listing() -> str:
    lines = [LINE.format("metric", "better", "curvature", "smooth").rstrip()]
    for function in METRICS.values():
        metric = sample(function)
        smooth = "yes" if metric.smooth else "no"
        better = {1: "higher", -1: "lower", 0: "-"}[metric.direction]
        # The arguments of some metrics are wider than the column and continue below.
        call, *rest = textwrap.wrap(signature(function), CALL, subsequent_indent=" " * 8)
        lines += [LINE.format(call, better, metric.curvature.value, smooth).rstrip(), *rest]
        # Formulas are shown only for a single metric.
        first = plain(inspect.getdoc(function) or "").split("\n")[0].partition(", $")[0].rstrip(".")
        first = first.removeprefix("Return ")
        lines += textwrap.wrap(
            f"{first[0].upper()}{first[1:]}.", 92, initial_indent="    ", subsequent_indent="    "
        )
    lines += [
        "",
        "c is a class, over is an attribute or a list of them. More about a metric: metricfit metrics NAME",
    ]
    return "\n".join(lines)


def declared(function: Callable[..., Metric]) -> dict[str, Any]:
    """Return what a metric declares.

    Examples
    --------
    >>> declared(METRICS["min_recall"])["curvature"]
    'concave'
    """
    metric = sample(function)
    return {
        "name": getattr(function, "__name__", str(function)),
        "call": signature(function),
        "better": {1: "higher", -1: "lower", 0: None}[metric.direction],
        "curvature": metric.curvature.value,
        "smooth": metric.smooth,
    }


def sample(function: Callable[..., Metric]) -> Metric:
    """Return a metric with placeholders for its class and for the arguments that have no default."""
    parameters = inspect.signature(function).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty or p.name == "c"]
    return function(*(SAMPLES[name] for name in needed))


def signature(function: Callable[..., Metric]) -> str:
    """Return how a metric is called.

    Examples
    --------
    >>> signature(METRICS["micro_f1"]), signature(METRICS["minimum"])
    ('micro_f1(default=None)', 'minimum(*metrics)')
    """
    words = []
    for p in inspect.signature(function).parameters.values():
        star = "*" if p.kind is p.VAR_POSITIONAL else ""
        words.append(f"{star}{p.name}" + ("" if p.default is p.empty else f"={p.default!r}"))
    return f"{getattr(function, '__name__', function)}({', '.join(words)})"


def plain(text: str) -> str:
    r"""Return a docstring without markup, its formulas between dollar signs.

    Examples
    --------
    >>> print(plain(r"Share of rows decided right, :math:`\sum_i C_{ii}`."))
    Share of rows decided right, $\sum_i C_{ii}$.
    """
    return re.sub(r":math:`([^`]*)`", r"$\1$", text).replace("``", "")
