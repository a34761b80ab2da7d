"""Results as text for a terminal: rates per class, constraints with their prices, value and bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metricfit.commands.terminal.printing import TextTable
from metricfit.messages import count
from metricfit.types import FloatArray
from metricfit.verdicts import LIKELY_MET, spelt_out

if TYPE_CHECKING:  # commands that do not solve must not import what solves
    from metricfit.data.confusion import Confusion
    from metricfit.metrics import Constraint
    from metricfit.problem import Problem
    from metricfit.result import Result
    from metricfit.trust.judgement import ConstraintEstimate, Judgement

SHOWN_CLASSES = 20
#: An entry of the first column wider than this gets its own line, so that tables stay within 100 characters.
WIDEST_NAME = 46


def number(value: float, digits: int = 4) -> str:
    """Return a number in few characters; a dash if it is undefined.

    Examples
    --------
    >>> number(0.9), number(-1e-7), number(2e-5), number(float("nan"))
    ('0.9000', '0.0000', '2e-05', '-')
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    # Numbers below a millionth are rounding errors.
    if 1e-6 < abs(value) < 0.5 * 10**-digits:
        return f"{value:.0e}"
    return f"{value if abs(value) > 1e-6 else 0.0:.{digits}f}"


def problem_text(problem: Problem) -> str:
    """Return a problem with a line for each constraint.

    Examples
    --------
    >>> from metricfit.problem import Problem
    >>> print(problem_text(Problem.of("g_mean", ["recall(1) >= 0.5", "precision(1) >= 0.9"])))
    maximize g_mean()
      subject to recall(1) >= 0.5
                 precision(1) >= 0.9
    """
    head = f"{'maximize' if problem.sign < 0 else 'minimize'} {spelt_out(str(problem.objective))}"
    limits = "\n             ".join(spelt_out(str(constraint)) for constraint in problem.constraints)
    return f"{head}\n  subject to {limits}" if limits else head


def table(rows: Sequence[Sequence[str]], indent: str = "  ", widest: int = WIDEST_NAME) -> str:
    """Return rows as aligned columns: the first to the left, the others to the right.

    A first entry wider than ``widest`` gets its own line.

    Examples
    --------
    >>> print(table([["class", "recall"], ["a", "0.5"]]))
      class  recall
      a         0.5
    """
    first = max((len(row[0]) for row in rows if len(row[0]) <= widest), default=0)
    widths = [max(map(len, column)) for column in zip(*(row[1:] for row in rows), strict=True)]
    lines = []
    for name, *cells in rows:
        if len(name) > widest:
            lines.append(indent + name)
            name = ""
        padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append((indent + "  ".join((name.ljust(first), *padded))).rstrip())
    return TextTable.of("\n".join(lines), rows)


def rates(confusion: Confusion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return precision and recall of each class, then the share of each decision; NaN if undefined.

    Examples
    --------
    >>> from metricfit.data.confusion import Confusion
    >>> precision, recall, share = rates(Confusion.from_predictions([0, 0, 1, 1], [0, 0, 1, 0]))
    >>> precision.round(3).tolist(), recall.tolist(), share.tolist()
    ([0.667, 1.0], [1.0, 0.5], [0.75, 0.25])
    """
    matrix, axes = confusion.matrix, confusion.axes
    named = np.flatnonzero(axes.match >= 0)
    place = axes.match[named]
    shares = matrix.sum(axis=0)
    precision, recall = np.full(axes.n, np.nan), np.zeros(axes.n)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision[place] = matrix[place, named] / shares[named]
        recall[place] = matrix[place, named]
        recall = recall / matrix.sum(axis=1)
    return precision, recall, shares


def rates_table(sides: Sequence[tuple[str, Confusion, Confusion]]) -> str:
    """Return precision and recall per class before and after, for one or more sets of rows.

    Parameters
    ----------
    sides : sequence of (title, before, after)
        For each set of rows its title, the confusion of the most probable class, and the policy's.
    """
    classes = sides[0][1].classes[:SHOWN_CLASSES]
    names = [text if len(text) <= 30 else f"{text[:27]}..." for text in map(str, classes)]
    width = max(len("class"), *map(len, names))
    heads = [" " * (width + 10)] * 2 + [f"  {'class':<{width}}  {'share':>6}"]
    prior = sides[0][1].matrix.sum(axis=1)
    lines = [f"  {name:<{width}}  {p:>6.1%}" for name, p in zip(names, prior, strict=False)]
    for title, before, after in sides:
        heads[0] += f"  {title:^32}"
        heads[1] += f"  {'precision':>16}{'recall':>16}"
        heads[2] += "  " + 2 * f"{'argmax':>8}{'policy':>8}"
        old, new = rates(before), rates(after)
        for i in range(len(lines)):
            lines[i] += "  " + "".join(f"{number(r[i], 3):>8}" for r in (old[0], new[0], old[1], new[1]))
    if len(classes) < len(sides[0][1].classes):
        lines.append(
            f"  ... and {count(len(sides[0][1].classes) - len(classes), 'more class', 'more classes')}"
        )
    return "\n".join(line.rstrip() for line in [*heads, *lines] if line.strip())


def other_decisions(confusion: Confusion) -> str:
    """Return the shares of the decisions that are not classes; empty if there are none.

    Examples
    --------
    >>> from metricfit.data.confusion import Confusion
    >>> other_decisions(Confusion.from_predictions([0, 1], [0, "review"]))
    '  decisions that are not classes: review 50.0%'
    """
    shares = rates(confusion)[2]
    extra = np.flatnonzero(confusion.axes.match < 0)
    parts = ", ".join(f"{confusion.decisions[j]} {shares[j]:.1%}" for j in extra)
    return f"  decisions that are not classes: {parts}" if parts else ""


def constraints_table(
    constraints: Sequence[Constraint],
    result: Result,
    before: Confusion | None = None,
    held_out: Confusion | None = None,
) -> str:
    """Return the constraints with limit, value, whether the fitted rows meet them, price, and any other values given.

    Parameters
    ----------
    constraints : sequence of Constraint
        Those of the problem.
    result : Result
        Their values and prices.
    before, held_out : Confusion, optional
        Of the most probable class on the same rows, and of the policy on other rows.
    """
    rows = [["constraint", "limit", "argmax", "value", "expect", "held out", "fitted rows", "price"]]
    expected = result.expected.constraints if result.expected is not None else [None] * len(constraints)
    for constraint, record, new in zip(constraints, result.constraints, expected, strict=True):
        metric = constraint.metric
        rows.append(
            [
                spelt_out(str(metric)),
                f"{constraint.sense} {constraint.limit:g}",
                "" if before is None else number(metric(before)),
                number(record.value),
                "" if new is None else interval_text(new),
                "" if held_out is None else number(metric(held_out)),
                record.verdict,
                record.price_shown,
            ]
        )
    gone = {j for j, known in ((2, before), (4, result.expected), (5, held_out)) if known is None}
    return table([[cell for j, cell in enumerate(row) if j not in gone] for row in rows])


def interval_text(found: Judgement | ConstraintEstimate) -> str:
    """Return an estimate with the ends of its interval.

    Examples
    --------
    >>> from metricfit.trust.judgement import Judgement
    >>> interval_text(Judgement(0.684, 0.661, 0.703, (), 100))
    '0.684 [0.661, 0.703]'
    """
    return f"{number(found.value, 3)} [{number(found.low, 3)}, {number(found.high, 3)}]"


def expected_text(result: Result) -> str:
    """Return what to expect on new rows, as a line; empty if it was not asked for."""
    if result.expected is None:
        return f"  expect  {result.expected_note}\n" if result.expected_note else ""
    note = f" ({result.expected.note})" if result.expected.note else ""
    line = f"  expect  {interval_text(result.expected)} on new rows (95 % interval){note}\n"
    if result.confidence is not None:
        return line + "".join(f"  {part}\n" for part in str(result.confidence).splitlines())
    unsure = [one for one in result.expected.constraints if one.outlook != LIKELY_MET]
    if unsure:
        line += "".join(f"          on new rows {one.outlook}: {spelt_out(one.name)}\n" for one in unsure)
        line += "          --confidence 0.95 looks for a policy that meets the limits on new rows too\n"
    return line


def gap_text(gap: float) -> str:
    """Return a gap with one digit; a rounding error is shown as 0.

    Examples
    --------
    >>> gap_text(6.9e-5), gap_text(1e-16)
    ('7e-05', '0')
    """
    return f"{gap:.0e}" if gap > 1e-12 else "0"


def bound_text(result: Result) -> str:
    """Return the bound in words: proven, or none, with what is proven for the calibrated problem."""
    if math.isfinite(result.bound):
        return f"{number(result.bound, 6)} (proven), gap {gap_text(result.gap)}"
    if result.calibrated is None:
        return "none claimed"
    return f"none claimed; {result.calibrated.beside(result.value, indent=10)}"
