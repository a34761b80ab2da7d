"""A guard against overfitting: say when rows are few for the weights tuned on their labels."""

from __future__ import annotations

import numpy as np

from metricfit.exceptions import OverfitWarning
from metricfit.messages import count, warn
from metricfit.oracles.base import OracleBase

# Rows for each weight, and rows of each class, below which weights tuned on labels alone are not to be trusted.
ROWS_PER_WEIGHT = 50
ROWS_PER_CLASS = 10


def warn_if_few(oracle: OracleBase, weights: int) -> None:
    """Warn when an oracle that counts labels in memory has too few of them."""
    rows = oracle.sample()
    if oracle.exact or rows is None or len(rows) != oracle.n_rows:
        return
    effective = len(rows) if rows.weights is None else 1 / float(np.sum(rows.weights**2))
    counts = np.bincount(rows.labels, minlength=rows.axes.n)
    rare = [rows.axes.classes[i] for i in np.flatnonzero((counts > 0) & (counts < ROWS_PER_CLASS))]
    if effective >= ROWS_PER_WEIGHT * weights and not rare:
        return
    why = f"{count(weights, 'weight')} {'is' if weights == 1 else 'are'} tuned on {count(round(effective), 'row')}"
    if rare:
        have = "1 class has" if len(rare) == 1 else f"{len(rare)} classes have"
        why += f", and {have} fewer than {ROWS_PER_CLASS} rows (the first is {rare[0]!r})"
    warn(
        f"{why}: the value on new rows may be much lower. Give more rows, or method='auto', which calibrates the "
        "probabilities and tunes little where rows are few",
        OverfitWarning,
    )
