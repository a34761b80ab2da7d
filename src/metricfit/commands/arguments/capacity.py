"""Capacities on the command line: the largest numbers of rows of a table that may get a decision."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.commands.errors import UsageError, blamed_on
from metricfit.commands.terminal.summary import number
from metricfit.messages import count, rows_from, unknown
from metricfit.oracles.files.scores import ScoreFiles
from metricfit.policy import Policy
from metricfit.policy.capacity import Capped, limits_of
from metricfit.policy.row_hash import key_words
from metricfit.tables.keys import keys_of
from metricfit.types import Label


def add_at_most(parser: ArgumentParser) -> None:
    """Declare ``--at-most``."""
    parser.add_argument(
        "--at-most",
        metavar="D=N",
        nargs="+",
        action="extend",
        default=[],
        help="at most N rows of the table may get the decision D, such as review=200; the others for which it matters "
        "least get the best of the other decisions",
    )


def capacity_of(
    given: Sequence[str], texts: dict[Label, str], policy: Policy, n_rows: int
) -> dict[Label, int]:
    """Return the capacity that ``--at-most`` asks for; ``texts`` are the decisions as they are written.

    Examples
    --------
    >>> from metricfit.data.axes import Axes
    >>> from metricfit.policy import Rule
    >>> policy = Policy(Axes((0, 1)), "full", [[Rule(1, [[0, 1], [1, 0]])]])
    >>> capacity_of(["1=20"], {0: "0", 1: "1"}, policy, 100)
    {1: 20}
    """
    known = {text: decision for decision, text in texts.items()}
    capacity: dict[Label, int] = {}
    for told in given:
        name, found, most = told.rpartition("=")
        if not (found and most.isascii() and most.isdecimal()):
            raise UsageError(
                f"--at-most {told}: write a decision, = and a whole number of rows, such as review=200"
            )
        if name not in known:
            raise UsageError(f"--at-most {told}: {unknown('decision', name, list(known))}")
        if known[name] in capacity:
            raise UsageError(f"--at-most {told}: {name} has two limits; give one")
        capacity[known[name]] = int(most)
    with blamed_on(UsageError, "--at-most: "):
        limits_of(capacity, policy.axes, n_rows)
    return capacity


def decided_together(
    policy: Policy, table: ScoreFiles, capacity: dict[Label, int], key: str | None, randomize: str, state: Any
) -> Capped:
    """Return the decisions of all rows of a table within a capacity: which rows lose depends on all of them."""
    probas, attributes, keys = [], [], []
    for chunk in table.chunks(key):
        probas.append(chunk.proba)
        attributes.append(chunk.attributes)
        if key is not None:
            with rows_from(chunk.first):
                keys.append(key_words(keys_of(chunk.key, f"--key {key}"), len(chunk.proba)))
    columns = {
        name: np.concatenate([np.asarray(part[name]) for part in attributes if part is not None])
        for name in policy.axes.cells.names
    }
    words = np.concatenate(keys) if keys else None
    return policy.capped(np.concatenate(probas), capacity, columns or None, randomize, state, words)


def told_of(capped: Capped, capacity: dict[Label, int], policy: Policy) -> dict[str, Any]:
    """Return what a capacity did to the rows of a table, for ``--json``."""
    wanted, made = (np.bincount(some, minlength=policy.axes.k) for some in (capped.wanted, capped.made))
    limits = [
        {"decision": d, "at_most": most, "wanted": int(wanted[j]), "rows": int(made[j])}
        for d, most in capacity.items()
        for j in [policy.axes.decisions.index(d)]
    ]
    return {"limits": limits, "moved": int(np.sum(capped.wanted != capped.made)), "cost": capped.cost}


def in_words(told: dict[str, Any]) -> str:
    """Return the same for the terminal.

    Examples
    --------
    >>> limit = {"decision": "review", "at_most": 200, "wanted": 317, "rows": 200}
    >>> print(in_words({"limits": [limit], "moved": 117, "cost": 2.5}))
    review: 317 rows would get it without the limit of 200
    117 rows lost their decision; by the policy's own losses that costs 2.5000, 0.0214 for each of them
    """
    lines = [
        f"{one['decision']}: {count(one['wanted'], 'row')} would get it without the limit of {one['at_most']:,}"
        for one in told["limits"]
    ]
    moved, cost = told["moved"], told["cost"]
    lost = "no row lost its decision"
    if moved:
        each = f"{number(cost)}, {number(cost / moved)} for each of them"
        lost = f"{count(moved, 'row')} lost their decision; by the policy's own losses that costs {each}"
    return "\n".join([*lines, lost])
