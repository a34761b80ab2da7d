"""`metricfit evaluate`: what a policy is expected to reach on labelled rows."""

from __future__ import annotations

from argparse import Namespace

from metricfit.commands import as_json, summary
from metricfit.commands.apply import load_policy
from metricfit.commands.errors import DONE, DataError, blamed_on, blamed_on_text
from metricfit.commands.expected import even_margins, of_most_probable, of_policy
from metricfit.commands.scores import read_scores
from metricfit.commands.terminal import show
from metricfit.functions.binding import Binding
from metricfit.metrics import Constraint, parse
from metricfit.oracles import PluginOracle, Rows


def run(options: Namespace) -> int:
    """Print precision and recall per class and the metrics asked for, expected over the policy's mixture."""
    with blamed_on_text("--metric"):
        asked = [parse(text) for text in options.metric]
    metrics = [m.metric if isinstance(m, Constraint) else m for m in asked]
    policy = load_policy(options.policy)
    scores = read_scores(
        options.scores,
        options.proba_prefix,
        label=options.label,
        attributes=options.attribute,
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
    sides = [("policy", after)] if before is None else [("argmax", before), ("policy", after)]
    for metric in metrics:
        with blamed_on_text(f"--metric {metric}"):
            metric.bind(Binding.of(rows.axes, even_margins(rows.axes)))
    with blamed_on(DataError, f"{options.scores}: "):
        values = summary.metrics_table(metrics, sides)
    if options.json:
        found = [{"metric": str(m), **{name: m(confusion) for name, confusion in sides}} for m in metrics]
        document = {"policy": options.policy, "rows": len(rows), "metrics": found}
        as_json.show(document | as_json.of_rates(before, after))
        return DONE
    blocks = [
        f"{options.policy} on {len(rows):,} rows of {options.scores}, expected over its mixture",
        "" if before is None else summary.rates_table([("", before, after)]),
        summary.other_decisions(after),
        values if metrics else "",
    ]
    show(*blocks)
    return DONE
