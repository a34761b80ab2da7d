"""Class shares of the rows of a table, beside those at fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.commands.terminal import summary
from metricfit.commands.terminal.summary import number
from metricfit.oracles.files.scores import ScoreFiles
from metricfit.policy import Policy

# Rows that the shares of a table are estimated from, evenly spaced.
ROWS = 20_000
# With fewer rows intervals of shares say little.
LEAST = 100
# Below this p-value other class shares do not explain the scores.
UNEXPLAINED = 0.01


def shares_in(policy: Policy, table: ScoreFiles) -> Any:
    """Return the frame of `metricfit.class_shares` for the rows of a table."""
    # SciPy and pandas are imported only where shares are known at fit.
    from metricfit.trust.class_shares import class_shares

    step, probas, columns = -(-max(table.n_rows, 1) // ROWS), [], []
    for chunk in table.chunks():
        some = slice(-chunk.first % step, None, step)
        probas.append(chunk.proba[some])
        columns.append({name: np.asarray(c)[some] for name, c in (chunk.attributes or {}).items()})
    attributes = {name: np.concatenate([part[name] for part in columns]) for name in policy.axes.cells.names}
    return class_shares(policy, np.concatenate(probas), attributes or None)


def note_of_shift(policy: Policy, table: ScoreFiles) -> str:
    """Return a sentence about classes whose share is no longer that at fit; empty if there is nothing to say."""
    if policy.at_fit is None or table.n_rows < LEAST:
        return ""
    frame = shares_in(policy, table)
    moved = frame[(frame["at_fit"] < frame["low"]) | (frame["at_fit"] > frame["high"])]
    if moved.empty:
        return ""
    told = "; ".join(
        f"{name} {row['share']:.3f} [{row['low']:.3f}, {row['high']:.3f}], at fit {row['at_fit']:.3f}"
        for name, row in moved.to_dict("index").items()
    )
    if frame.attrs["p_value"] < UNEXPLAINED:
        return (
            f"these rows are not like those at fit, and not only in their class shares (by these: {told}); label some "
            "of them and fit again"
        )
    return f"class shares, estimated without labels, have changed: {told}; 'metricfit adapt' solves for the new ones"


def told_of_shares(told: dict[str, Any]) -> str:
    """Return class shares as a table."""
    lines = [["class", "share", "95 % interval", "at fit"]]
    for row in told["classes"]:
        ends = f"[{number(row['low'])}, {number(row['high'])}]" if "low" in row else ""
        lines.append([str(row["class"]), number(row["share"]), ends, number(row.get("at_fit", float("nan")))])
    p_value = told.get("p_value", 1.0)
    note = ""
    if p_value < UNEXPLAINED:
        note = f"\nother class shares do not explain the scores (p = {p_value:.2g}): label some rows and fit again"
    return summary.table(lines) + note
