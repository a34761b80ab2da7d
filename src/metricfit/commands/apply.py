"""`metricfit apply`: decide the rows of a table with a policy file."""

from __future__ import annotations

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.commands import as_json, summary
from metricfit.commands.errors import DONE, DataError, UsageError, blamed_on
from metricfit.commands.policy_files import load_policy
from metricfit.commands.scores import read_scores
from metricfit.commands.tables import check_output, format_of, read_columns, write_columns
from metricfit.commands.terminal import show
from metricfit.types import Label

DECISION = "decision"
# As numbers are written, without zeros before them: 007 is a text, so that it is no other key than in the file.
WHOLE = re.compile("0|-?[1-9][0-9]{0,19}")


def run(options: Namespace) -> int:
    """Write a table with a decision for each row, in the order of the rows."""
    check_output(options.out, options.scores, options.policy, force=options.force)
    verbatim = format_of(options.out) == "csv"
    policy = load_policy(options.policy)
    scores = read_scores(
        options.scores,
        options.proba_prefix,
        policy=policy,
        normalize=options.normalize,
    )
    with blamed_on(DataError, f"{options.scores}: "):
        key = None if options.key is None else _key(options.scores, options.key)
        made = policy.decide(scores.proba, scores.attributes, options.randomize, options.seed, key)
        texts = dict(zip(policy.axes.decisions, _texts(policy.axes.decisions), strict=True))
        # A column of a table has one type; a policy may decide 0, 1 or "review".
        made = np.array([texts[d] for d in made.tolist()], dtype=str) if made.dtype == object else made
        columns: dict[str, Any] = {DECISION: made}
        if options.with_probabilities:
            chances = policy.decision_proba(scores.proba, scores.attributes)
            columns |= {f"{DECISION}_proba_{text}": chances[:, j] for j, text in enumerate(texts.values())}
    kept = _kept(options.scores, options.keep, columns, verbatim)
    write_columns(options.out, kept | columns)
    counts = Counter(made.tolist())
    found = {d: counts[text if made.dtype.kind == "U" else d] for d, text in texts.items()}
    if options.json:
        shares = [{"decision": d, "rows": n, "share": n / max(len(made), 1)} for d, n in found.items()]
        as_json.show({"rows": len(made), "decisions": shares, "out": options.out})
        return DONE
    rows = [["decision", "rows", "share"]]
    rows += [[texts[d], f"{n:,}", f"{n / max(len(made), 1):.1%}"] for d, n in found.items()]
    show(f"{len(made):,} rows of {options.scores} decided, written to {options.out}", summary.table(rows))
    return DONE


def _texts(decisions: Sequence[Label]) -> list[str]:
    """Return a text for each decision; 1 and "1", whose texts are the same, are written as in Python.

    Examples
    --------
    >>> _texts([0, 1, "review"]), _texts([0, 1, "1"])
    (['0', '1', 'review'], ['0', '1', "'1'"])
    """
    texts = [str(decision) for decision in decisions]
    return texts if len(set(texts)) == len(texts) else [repr(decision) for decision in decisions]


def _key(path: str, name: str) -> Any:
    """Return a column of keys. Whole numbers in a CSV file are numbers, as in any other file, if all entries are."""
    column = read_columns(path, {name: f"--key {name}"}, text=[name])[name]
    if format_of(path) != "csv":
        return column
    values = column.tolist()
    whole = all(isinstance(text, str) and WHOLE.fullmatch(text) for text in values)
    return [int(text) for text in values] if whole else column


def _kept(path: str, names: list[str], made: dict[str, Any], verbatim: bool) -> dict[str, Any]:
    if not names:
        return {}
    for name in names:
        if name in made:
            raise UsageError(f"--keep {name}: the output has a column of that name; rename it in {path}")
    table = read_columns(path, {name: f"--keep {name}" for name in names}, text=verbatim)
    return {name: table[name] for name in dict.fromkeys(names)}
