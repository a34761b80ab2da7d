"""A result as a small piece of HTML, for notebooks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from metricfit.messages import count
from metricfit.verdicts import spelt_out

if TYPE_CHECKING:
    from metricfit.result import Result

# Colours are those of the page around it, light or dark.
FRAME = "border-left:3px solid currentColor;padding:.2em 0 .2em 1em;font-size:.95em"
CELL = "text-align:{};padding:.15em .8em .15em 0"


def html(result: Result) -> str:
    """Return what a result says, with its constraints as a table.

    Parameters
    ----------
    result : Result
        The result.

    Returns
    -------
    str
        HTML without scripts, in which every text is escaped.
    """
    bound = "none claimed" if result.calibrated is None else f"none claimed; {result.calibrated.promise}"
    if math.isfinite(result.bound):
        bound = f"{result.bound:.6f} (proven), gap {result.gap:.1e}"
    new = result.expected
    facts = [
        ["value", f"{result.value:.6f}"],
        *([] if new is None else [["expect on new rows", f"{new}, 95 % interval"]]),
        ["bound", bound],
        [
            "status",
            f"{result.status}; {count(result.n_oracle_calls, 'oracle call')}, {result.seconds:.2f} s, {result.method}",
        ],
        ["policy", count(result.policy.n_rules, "rule")],
        *([] if result.deterministic is None else [["one rule per cell", str(result.deterministic)]]),
        *(["decides", line] for line in result.rule_in_words),
    ]
    parts = [f"<p><strong>{escape(spelt_out(result.problem))}</strong></p>", _table(None, facts)]
    if result.constraints:
        header = ["constraint", "value", "fitted rows", "price"]
        rows = [[spelt_out(c.name), c.shown, c.verdict, _price(c.price)] for c in result.constraints]
        if new is not None:
            header.append("expect on new rows")
            rows = [[*row, f"{one}, {one.outlook}"] for row, one in zip(rows, new.constraints, strict=True)]
        parts.append(_table(header, rows))
    return f'<div style="{FRAME}">{"".join(parts)}</div>'


def _price(price: float) -> str:
    return "-" if math.isnan(price) else f"{price:.4g}"


def _table(header: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column heads its rows."""
    lines = []
    if header is not None:
        lines.append(
            "".join(f'<th scope="col" style="{CELL.format("left")}">{escape(name)}</th>' for name in header)
        )
    for first, *rest in rows:
        head = f'<th scope="row" style="{CELL.format("left")};font-weight:normal">{escape(first)}</th>'
        lines.append(
            head + "".join(f'<td style="{CELL.format("left")}">{escape(cell)}</td>' for cell in rest)
        )
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
