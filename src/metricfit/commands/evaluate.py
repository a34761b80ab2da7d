"""`metricfit evaluate`: what a policy achieves on labelled rows, and what becomes of its limits."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from metricfit.commands.arguments.outputs import add_json
from metricfit.commands.arguments.policy import add_policy, load_policy
from metricfit.commands.arguments.rows import add_attributes, add_labelled, add_scores, reading, score_table
from metricfit.commands.arguments.shares import note_of_shift
from metricfit.commands.errors import BROKEN, DONE, UsageError, blamed_on_text
from metricfit.commands.terminal import as_json, summary
from metricfit.commands.terminal.printing import show
from metricfit.commands.terminal.summary import number
from metricfit.data.axes import Axes
from metricfit.intervals import Evidence
from metricfit.messages import count, rows_from
from metricfit.metrics import Constraint, Metric, parse
from metricfit.oracles.files.scores import Arrays
from metricfit.policy import Policy
from metricfit.policy.evaluation import check_names, evidence_of, joined, tabulated
from metricfit.policy.provenance import asked
from metricfit.types import FloatArray
from metricfit.verdicts import (
    LIKELY_VIOLATED,
    MET,
    OPEN,
    ROUNDING,
    by_interval,
    on_these_rows,
    spelt_out,
)


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "A limit is likely met, or likely violated, if the whole interval lies on that side of it; else it is open.\n"
        "The exit code is 1 when a limit is likely violated."
    )
    add_policy(parser)
    add_scores(parser)
    add_labelled(parser)
    add_attributes(parser, "attributes that the metrics need but the policy itself does not use")
    parser.add_argument(
        "--metric",
        metavar="TEXT",
        nargs="+",
        action="extend",
        default=[],
        help="metrics or constraints to evaluate; by default those that the policy was fitted for",
    )
    add_json(parser)
    parser.add_argument(
        "--by",
        metavar="COL",
        nargs="+",
        help="attributes: also print the metrics of each group",
    )


def run(options: Namespace) -> int:
    """Print rates per class, metrics with intervals, and what becomes of limits; return 1 if one is likely violated."""
    with blamed_on_text("--metric"):
        given = [parse(text) for text in options.metric]
    policy = load_policy(options.policy)
    if not given:
        objective, constraints = asked(policy.provenance)
        given = [*([] if objective is None else [objective]), *constraints]
        if not given and options.by:
            raise UsageError(
                "--by: the policy does not say what it was fitted for; name metrics with --metric"
            )
    metrics = list(
        {str(m): m for m in (g.metric if isinstance(g, Constraint) else g for g in given)}.values()
    )
    table = score_table(
        options,
        label=options.label,
        attributes=options.attribute,
        by=options.by or (),
        weight=options.weight,
        policy=policy,
    )
    with reading(options.scores):
        before, seen = _seen(policy, table.chunks())
    for metric in metrics:
        with blamed_on_text(f"--metric {metric}"):
            check_names([metric], seen.axes)
    limits: list[JudgedLimit] = []
    frame = None
    if metrics:
        with reading(options.scores):
            frame = tabulated(seen, metrics, options.by)
        limits = _limits(frame, given)
    with reading(options.scores):
        note = note_of_shift(policy, table)
    if options.json:
        document = {"policy": options.policy, "rows": table.n_rows, **({"note": note} if note else {})}
        document["metrics"] = [] if frame is None else frame.to_dict("records")
        document["limits"] = [limit.document() for limit in limits]
        argmax = None if before is None else before.confusion
        as_json.show(document | as_json.of_rates(argmax, seen.confusion))
    else:
        show(
            f"{options.policy} on {count(table.n_rows, 'row')} of {options.scores}, evaluated by its decision "
            "probabilities",
            "" if before is None else summary.rates_table([("", before.confusion, seen.confusion)]),
            summary.other_decisions(seen.confusion),
            "" if frame is None else _table(frame, limits),
            note,
        )
    return BROKEN if any(limit.verdict == LIKELY_VIOLATED for limit in limits) else DONE


def _seen(policy: Policy, chunks: Iterable[Arrays]) -> tuple[Evidence | None, Evidence]:
    """Return the evidence of the rows on the most probable class, if that is a decision, and on the policy."""
    before, after = [], []
    for chunk in chunks:
        told = (chunk.labels, chunk.attributes, chunk.weight)
        with rows_from(chunk.first):
            after.append(evidence_of(policy, chunk.proba, *told))
        if (policy.axes.match >= 0).any():
            before.append(evidence_of(_MostProbable(policy), chunk.proba, *told))
    return joined(before) if before else None, joined(after)


class _MostProbable(NamedTuple):
    """The policy of deciding the most probable class that is a decision."""

    policy: Policy

    @property
    def axes(self) -> Axes:
        return self.policy.axes

    @property
    def provenance(self) -> dict[str, Any]:
        return {}

    def decision_proba(self, proba: Any, sensitive_features: Any = None) -> FloatArray:
        named = np.flatnonzero(self.axes.match >= 0)
        likely = np.asarray(proba)[:, self.axes.match[named]]
        # Ties go to the larger index, as everywhere.
        made = named[likely.shape[1] - 1 - likely[:, ::-1].argmax(axis=1)]
        return np.eye(self.axes.k)[made]


class JudgedLimit(NamedTuple):
    """A constraint on the rows evaluated."""

    constraint: Constraint
    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """What the interval says of the limit.

        Examples
        --------
        >>> import metricfit as mf
        >>> floor = mf.recall(1) >= 0.8
        >>> JudgedLimit(floor, 0.85, 0.81, 0.88).verdict, JudgedLimit(floor, 0.7, 0.6, 0.78).verdict
        ('likely met', 'likely violated')
        >>> JudgedLimit(floor, 0.79, 0.75, 0.83).verdict
        'open'
        """
        return by_interval(self.value, self.low, self.high, self.constraint.limit, self.constraint.sense)

    @property
    def told(self) -> str:
        """The verdict, with what these rows alone say where it is open."""
        if self.verdict != OPEN:
            return self.verdict
        if math.isnan(self.value):
            return f"{OPEN}: no rows to judge it by"
        here = on_these_rows(self.constraint.excess(self.value))
        why = ", but the interval contains the limit" if here == MET else ", by no more than chance explains"
        return f"{OPEN}: {here} here{why}"

    def document(self) -> dict[str, Any]:
        """Return the entries for ``--json``."""
        unknown = math.isnan(self.value)
        return {
            "constraint": str(self.constraint),
            "limit": self.constraint.limit,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "met_here": None
            if unknown
            else math.isnan(self.low) or self.constraint.excess(self.value) <= ROUNDING,
            "verdict": self.verdict,
        }


def _limits(frame: Any, given: Sequence[Metric | Constraint]) -> list[JudgedLimit]:
    """Return the constraints with their values on all rows."""
    rows = frame[frame["group"] == "all"] if "group" in frame else frame
    found = {row["metric"]: (row["value"], row["low"], row["high"]) for row in rows.to_dict("records")}
    constraints = {str(one): one for one in given if isinstance(one, Constraint)}
    return [JudgedLimit(one, *found[str(one.metric)]) for one in constraints.values()]


def _table(frame: Any, limits: Sequence[JudgedLimit]) -> str:
    """Return metrics with intervals, limits and verdicts."""
    grouped = "group" in frame
    lines = [["metric", *(["group"] if grouped else []), "value", "95 % interval", "limit", ""]]
    for row in frame.to_dict("records"):
        ends = f"[{number(row['low'])}, {number(row['high'])}]"
        start = [spelt_out(row["metric"]), *([row["group"]] if grouped else []), number(row["value"]), ends]
        whole = not grouped or row["group"] == "all"
        known = [one for one in limits if whole and str(one.constraint.metric) == row["metric"]]
        for one in known:
            limit = f"{one.constraint.sense} {one.constraint.limit:g}"
            lines.append([*start, limit, one.told])
        if not known:
            lines.append([*start, "", ""])
    widest = max(len(line[-1]) for line in lines)
    return summary.table([[*line[:-1], line[-1].ljust(widest)] for line in lines])  # left-aligned
