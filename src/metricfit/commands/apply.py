"""`metricfit apply`: decide the rows of a table with a policy file."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.commands.arguments import kinds
from metricfit.commands.arguments.capacity import (
    add_at_most,
    capacity_of,
    decided_together,
    in_words,
    told_of,
)
from metricfit.commands.arguments.outputs import (
    add_force,
    add_json,
    add_table,
    check_escape,
    check_output,
    table_format,
)
from metricfit.commands.arguments.parser import Parser
from metricfit.commands.arguments.policy import add_policy, load_policy
from metricfit.commands.arguments.rows import add_scores, reading, score_table
from metricfit.commands.arguments.shares import note_of_shift
from metricfit.commands.errors import DONE, DataError, UsageError, blamed_on
from metricfit.commands.terminal import as_json, summary
from metricfit.commands.terminal.interrupt import kept
from metricfit.commands.terminal.printing import show
from metricfit.messages import count, rows_from
from metricfit.oracles.files.scores import Arrays
from metricfit.policy import Policy
from metricfit.tables.keys import keys_of
from metricfit.tables.writing import table_writer
from metricfit.types import FloatArray, Label

DECISION = "decision"


def arguments(parser: Parser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "example:\n  metricfit apply policy.json new.parquet --proba-prefix p_ --out decisions.parquet"
    )
    parser.needless = {"--attribute": "the policy file names the attributes that its rules use"}
    add_policy(parser)
    add_scores(parser)
    parser.add_argument(
        "--randomize",
        choices=("hash", "draw", "never"),
        default="hash",
        help="how the rule of the mixture is chosen: by a hash of the row (default), at random, or always the same one",
    )
    parser.add_argument("--seed", type=kinds.natural, help="salt of the hash, or seed of the draw")
    parser.add_argument(
        "--key",
        metavar="COL",
        help="column to hash instead of the probabilities, such as a case number",
    )
    parser.add_argument(
        "--keep", metavar="COL", nargs="+", action="extend", default=[], help="columns to copy to the output"
    )
    parser.add_argument(
        "--with-probabilities",
        action="store_true",
        help="also write the probability of each decision over the mixture; with --randomize never it is 1 or 0",
    )
    add_at_most(parser)
    add_table(parser)
    add_force(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Write a table with a decision for each row, in the order of the rows."""
    check_output(options.out, options.scores, options.policy, force=options.force)
    check_escape(options.escape_formulas, options.out)
    verbatim = table_format(options.out, "--out") == "csv"
    policy = load_policy(options.policy)
    asked = [*([("--key", options.key)] if options.key else []), *(("--keep", name) for name in options.keep)]
    table = score_table(options, policy=policy, copied=asked)
    texts = dict(zip(policy.axes.decisions, _texts(policy.axes.decisions), strict=True))
    # One generator for all chunks draws the same numbers as one for all rows would.
    state = np.random.default_rng(options.seed) if options.randomize == "draw" else options.seed
    capacity = capacity_of(options.at_most, texts, policy, table.n_rows)
    together = None
    if capacity:
        with reading(table.path):
            together = decided_together(policy, table, capacity, options.key, options.randomize, state)
    counts: Counter[Label] = Counter()
    written = f"{options.out}: "
    with (
        blamed_on(DataError, written),
        kept(),
        table_writer(options.out, options.escape_formulas) as writer,
        reading(table.path),
    ):
        for chunk in table.chunks(options.key, list(dict.fromkeys(options.keep)), verbatim):
            with rows_from(chunk.first):
                if together is None:
                    made = _decided(policy, chunk, options, state)
                else:
                    whole = policy.axes.decision_labels[together.made]
                    made = whole[chunk.first : chunk.first + len(chunk.proba)]
                columns = _columns(policy, chunk, made, texts, options)
            taken = [name for name in chunk.kept if name in columns]
            if taken:
                raise UsageError(
                    f"--keep {taken[0]}: the output has a column of that name; rename it in {options.scores}"
                )
            with blamed_on(DataError, written):  # a full disk is not an error in the input
                writer.append(dict(chunk.kept) | columns)
            counts.update(columns[DECISION].tolist())
    found = {d: counts[text if text in counts else d] for d, text in texts.items()}
    total = sum(found.values())
    with reading(table.path):
        note = note_of_shift(policy, table)
    if options.json:
        shares = [{"decision": d, "rows": n, "share": n / max(total, 1)} for d, n in found.items()]
        limited = {} if together is None else {"capacity": told_of(together, capacity, policy)}
        noted = {"note": note} if note else {}
        as_json.show({"rows": total, "decisions": shares, "out": options.out} | limited | noted)
        return DONE
    rows = [["decision", "rows", "share"]]
    rows += [[texts[d], f"{n:,}", f"{n / max(total, 1):.1%}"] for d, n in found.items()]
    show(
        f"{count(total, 'row')} of {options.scores} decided, written to {options.out}",
        summary.table(rows),
        "" if together is None else in_words(told_of(together, capacity, policy)),
        note,
    )
    return DONE


def _decided(policy: Policy, chunk: Arrays, options: Namespace, state: Any) -> Any:
    """Return the decisions of some rows."""
    key = None if chunk.key is None else keys_of(chunk.key, f"--key {options.key}")
    return policy.decide(chunk.proba, chunk.attributes, options.randomize, state, key)


def _columns(
    policy: Policy, chunk: Arrays, made: Any, texts: dict[Label, str], options: Namespace
) -> dict[str, Any]:
    """Return the output columns of some rows, given their decisions."""
    chances = _chances(policy, chunk, made, options.randomize) if options.with_probabilities else None
    # A column of a table has one type; a policy may decide 0, 1 or "review".
    made = np.array([texts[d] for d in made.tolist()], dtype=str) if made.dtype == object else made
    columns: dict[str, Any] = {DECISION: made}
    if chances is not None:
        columns |= {f"{DECISION}_proba_{text}": chances[:, j] for j, text in enumerate(texts.values())}
    return columns


def _chances(policy: Policy, chunk: Arrays, made: Any, randomize: str) -> FloatArray:
    """Return the probability of each decision of some rows, in the way in which the decisions were made."""
    if randomize == "never":  # a single rule decides, so its decision is certain, whatever the mixture says
        return np.stack([made == decision for decision in policy.axes.decisions], axis=1).astype(float)
    return policy.decision_proba(chunk.proba, chunk.attributes)


def _texts(decisions: Sequence[Label]) -> list[str]:
    """Return a text for each decision; 1 and "1", whose texts are the same, are written as in Python.

    Examples
    --------
    >>> _texts([0, 1, "review"]), _texts([0, 1, "1"])
    (['0', '1', 'review'], ['0', '1', "'1'"])
    """
    texts = [str(decision) for decision in decisions]
    return texts if len(set(texts)) == len(texts) else [repr(decision) for decision in decisions]
