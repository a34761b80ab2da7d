"""`metricfit monitor`: watch a policy on new rows, batch after batch, with a state file in between."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

import numpy as np

from metricfit.commands.arguments import kinds
from metricfit.commands.arguments.outputs import add_json
from metricfit.commands.arguments.policy import add_policy, load_policy
from metricfit.commands.arguments.rows import add_scores, reading, score_table
from metricfit.commands.errors import ALARM, DONE, DataError, UsageError, blamed_on
from metricfit.commands.terminal import as_json, summary
from metricfit.commands.terminal.printing import show
from metricfit.commands.terminal.summary import number
from metricfit.messages import count
from metricfit.trust.monitoring.monitor import Monitor


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "example:\n  metricfit monitor policy.json state.json week.parquet --label label\n"
        "The exit code is 5 if anything has been proven, in this batch or an earlier one."
    )
    add_policy(parser)
    parser.add_argument("state", metavar="STATE", help="file of the state: read if it exists, then written")
    add_scores(parser)
    parser.add_argument("--label", metavar="COL", help="column of the true classes, as far as they are known")
    parser.add_argument(
        "--level",
        type=kinds.share,
        help="probability that no alarm is ever false (default: 0.95), fixed by the first batch",
    )
    parser.add_argument(
        "--batch", metavar="NAME", help="name of the batch, such as a date, by which it is known again"
    )
    add_json(parser)


def run(options: Namespace) -> int:
    """Count the rows of a table as a batch, and print what is known now; return 5 if there is an alarm."""
    policy = load_policy(options.policy)
    for name in (options.policy, options.scores):
        if os.path.exists(options.state) and os.path.exists(name) and os.path.samefile(options.state, name):
            raise UsageError(f"STATE {options.state}: this is the input {name}; give another name")
    if os.path.exists(options.state):
        with blamed_on(DataError):
            monitor = Monitor.load(options.state, policy)
        if options.level is not None and options.level != monitor.level:
            raise UsageError(
                f"--level {options.level:g}: {options.state} was begun with {monitor.level:g}; begin another state file"
            )
    else:
        with blamed_on(DataError, f"POLICY {options.policy}: "):
            monitor = policy.monitor(options.level or 0.95)
    table = score_table(options, policy=policy, copied=[("--label", options.label)] if options.label else [])
    probas, columns, labels = [], [], []
    with reading(options.scores):
        for chunk in table.chunks(keep=[options.label] if options.label else []):
            probas.append(chunk.proba)
            columns.append(chunk.attributes)
            labels.append(np.asarray(chunk.kept[options.label], dtype=object) if options.label else None)
        names = policy.axes.seen.cells.names
        attributes = {
            name: np.concatenate([np.asarray(part[name]) for part in columns if part is not None])
            for name in names
        }
        y = np.concatenate([part for part in labels if part is not None]) if options.label else None
        before = len(monitor.alarms)
        frame = monitor.update(np.concatenate(probas), y, attributes or None, options.batch)
    with blamed_on(DataError, f"STATE {options.state}: "):
        monitor.save(options.state)
    new = monitor.alarms[before:]
    if options.json:
        watched = [{"name": name, **row} for name, row in frame.to_dict("index").items()]
        as_json.show(
            {
                "batches": monitor.batches,
                "level": monitor.level,
                "watched": watched,
                "alarms": [asdict(alarm) for alarm in monitor.alarms],
                "new_alarms": [asdict(alarm) for alarm in new],
                "unwatched": monitor.unwatched,
            }
        )
    else:
        lines = [["watched", "batch", f"{monitor.level:.0%} interval, all batches", "should be", "rows", ""]]
        for name, row in frame.to_dict("index").items():
            ends = f"[{number(row['low'])}, {number(row['high'])}]"
            told = "ALARM" if row["alarm"] else ""
            lines.append([name, number(row["batch"]), ends, _ends(row), f"{row['rows']:,.0f}", told])
        show(
            f"{options.policy}: {count(monitor.batches, 'batch', 'batches')} counted, the last from {options.scores}",
            summary.table(lines),
            "\n".join(f"batch {one.batch}: {one.name}: {one.told}" for one in monitor.alarms),
            "\n".join(f"not watched: {name}: {why}" for name, why in monitor.unwatched.items()),
        )
    return ALARM if monitor.alarms else DONE


def _ends(row: dict[str, float]) -> str:
    """Return where a value should be, in words.

    Examples
    --------
    >>> import math
    >>> _ends({"least": 0.8, "most": math.inf}), _ends({"least": 0.1, "most": 0.2})
    ('>= 0.8000', '0.1000 to 0.2000')
    """
    least, most = row["least"], row["most"]
    if np.isfinite(least) and np.isfinite(most):
        return f"{number(least)} to {number(most)}"
    if np.isfinite(least):
        return f">= {number(least)}"
    return f"<= {number(most)}" if np.isfinite(most) else ""
