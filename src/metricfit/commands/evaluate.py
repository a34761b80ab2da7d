"""`metricfit evaluate`: what a policy reaches on labelled rows, and which limits hold there."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

from metricfit.commands import as_json, summary
from metricfit.commands.errors import BROKEN, DONE, DataError, UsageError, blamed_on, blamed_on_text
from metricfit.commands.policy_files import load_policy
from metricfit.commands.scores import read_scores
from metricfit.commands.summary import number
from metricfit.commands.terminal import show
from metricfit.metrics import Constraint, Metric, parse
from metricfit.oracles import PluginOracle, Rows
from metricfit.policy.evaluation import check_names
from metricfit.policy.provenance import asked
from metricfit.report.expected import of_most_probable, of_policy


def run(options: Namespace) -> int:
    """Print rates per class, metrics with intervals, and which limits hold; 1 if one is broken beyond its interval."""
    with blamed_on_text("--metric"):
        given = [parse(text) for text in options.metric]
    policy = load_policy(options.policy)
    if not given:
        objective, constraints = asked(policy.provenance)
        given = [*([] if objective is None else [objective]), *constraints]
    metrics = [m.metric if isinstance(m, Constraint) else m for m in given]
    scores = read_scores(
        options.scores,
        options.proba_prefix,
        label=options.label,
        attributes=[*options.attribute, *(options.by or [])],
        weight=options.weight,
        policy=policy,
        normalize=options.normalize,
    )
    with blamed_on(DataError, f"{options.scores}: "):
        rows = Rows.of(
            scores.proba,
            scores.labels,
            classes=scores.classes,
            decisions=policy.axes.decisions,
            sensitive_features=scores.attributes,
            sample_weight=scores.weight,
        )
        oracle = PluginOracle(rows)
        before, after = of_most_probable(oracle), of_policy(policy, oracle, scores.attributes)
    for metric in metrics:
        with blamed_on_text(f"--metric {metric}"):
            check_names([metric], rows.axes)
    blocks = [
        f"{options.policy} on {len(rows):,} rows of {options.scores}, judged by its decision probabilities",
        "" if before is None else summary.rates_table([("", before, after)]),
        summary.other_decisions(after),
    ]
    verdicts: list[tuple[str, str]] = []
    records: list[dict[str, Any]] = []
    if metrics:
        with blamed_on(DataError, f"{options.scores}: "):
            frame = policy.evaluate(
                scores.proba, scores.labels, metrics, scores.attributes, scores.weight, options.by
            )
        found, verdicts = _table(frame, given)
        blocks.append(found)
        records = frame.to_dict("records")
    elif options.by:
        raise UsageError("--by: the policy does not say what it was fitted for; name metrics with --metric")
    if options.json:
        limits = [{"constraint": name, "verdict": word} for name, word in verdicts]
        document = {"policy": options.policy, "rows": len(rows), "metrics": records, "limits": limits}
        as_json.show(document | as_json.of_rates(before, after))
    else:
        show(*blocks)
    return BROKEN if any(word == "broken" for _, word in verdicts) else DONE


def _table(frame: Any, given: list[Metric | Constraint]) -> tuple[str, list[tuple[str, str]]]:
    """Return metrics with intervals, limits and verdicts, and each constraint's verdict."""
    limits: dict[str, list[Constraint]] = {}
    for one in given:
        if isinstance(one, Constraint):
            limits.setdefault(str(one.metric), []).append(one)
    grouped = "group" in frame
    lines = [["metric", *(["group"] if grouped else []), "value", "95 % interval", "limit", ""]]
    verdicts = []
    for row in frame.to_dict("records"):
        ends = f"[{number(row['low'])}, {number(row['high'])}]"
        start = [row["metric"], *([row["group"]] if grouped else []), number(row["value"]), ends]
        whole = not grouped or row["group"] == "all"
        known: list[Constraint | None] = list(limits.get(row["metric"], [])) if whole else []
        for constraint in known or [None]:
            if constraint is None:
                lines.append([*start, "", ""])
                continue
            word = verdict(constraint, row["value"], row["low"], row["high"])
            verdicts.append((str(constraint), word))
            lines.append([*start, f"{constraint.sense} {constraint.limit:g}", WORDS[word]])
    return summary.table(lines), verdicts


WORDS = {
    "holds": "holds",
    "unsure": "missed here, but by no more than chance explains",
    "broken": "BROKEN",
    "unknown": "no rows to tell",
}


def verdict(constraint: Constraint, value: float, low: float, high: float) -> str:
    """Return whether a limit holds on rows: "holds", "broken" beyond the interval, "unsure" in between, or "unknown".

    Examples
    --------
    >>> import metricfit as mf
    >>> floor = mf.recall(1) >= 0.8
    >>> verdict(floor, 0.82, 0.78, 0.86), verdict(floor, 0.79, 0.75, 0.83), verdict(floor, 0.7, 0.6, 0.78)
    ('holds', 'unsure', 'broken')
    """
    if math.isnan(value):
        return "unknown"
    inside = value >= constraint.limit if constraint.sense == ">=" else value <= constraint.limit
    best = high >= constraint.limit if constraint.sense == ">=" else low <= constraint.limit
    # A limit that holds up to rounding holds.
    if inside or abs(value - constraint.limit) <= 1e-9:
        return "holds"
    return "unsure" if best else "broken"
