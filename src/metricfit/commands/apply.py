"""`metricfit apply`: decide the rows of a table with a policy file."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from typing import Any

from metricfit.commands import summary
from metricfit.commands.errors import DONE, DataError, UsageError, blamed_on
from metricfit.commands.scores import read_scores
from metricfit.commands.tables import check_output, format_of, read_columns, write_columns
from metricfit.exceptions import PolicyFileError
from metricfit.policy import Policy

DECISION = "decision"


def run(options: Namespace) -> int:
    """Write a table with a decision for each row, in the order of the rows."""
    check_output(options.out, options.scores, options.policy)
    verbatim = format_of(options.out) == "csv"
    policy = load_policy(options.policy)
    scores = read_scores(
        options.scores,
        options.proba_prefix,
        policy=policy,
        normalize=options.normalize,
    )
    with blamed_on(DataError, f"{options.scores}: "):
        made = policy.decide(scores.proba, scores.attributes, options.randomize, options.seed)
        # A column of a table has one type; a policy may decide 0, 1 or "review".
        made = made.astype(str) if made.dtype == object else made
        columns: dict[str, Any] = {DECISION: made}
        if options.with_probabilities:
            chances = policy.decision_proba(scores.proba, scores.attributes)
            columns |= {f"{DECISION}_proba_{d}": chances[:, j] for j, d in enumerate(policy.axes.decisions)}
    kept = _kept(options.scores, options.keep, columns, verbatim)
    write_columns(options.out, kept | columns)
    counts = Counter(made.tolist())
    print(f"{len(made):,} rows of {options.scores} decided, written to {options.out}\n")
    rows = [["decision", "rows", "share"]]
    for decision in policy.axes.decisions:
        count = counts[decision] or counts[str(decision)]
        rows.append([str(decision), f"{count:,}", f"{count / max(len(made), 1):.1%}"])
    print(summary.table(rows))
    return DONE


def load_policy(path: str) -> Policy:
    """Read a policy file; one that is missing or damaged is bad data."""
    with blamed_on(DataError, f"POLICY {path}: "):
        try:
            return Policy.load(path)
        except PolicyFileError as error:
            told = "POLICY is a file that 'metricfit fit' wrote, and comes before SCORES"
            raise DataError(f"{error}. {told}") from error


def _kept(path: str, names: list[str], made: dict[str, Any], verbatim: bool) -> dict[str, Any]:
    if not names:
        return {}
    for name in names:
        if name in made:
            raise UsageError(f"--keep {name}: the output has a column of that name; rename it in {path}")
    table = read_columns(path, {name: f"--keep {name}" for name in names}, text=verbatim)
    return {name: table[name] for name in dict.fromkeys(names)}
