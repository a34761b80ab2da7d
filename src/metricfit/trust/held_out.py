"""Which rows are held out to test policies: a share of every class in every cell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from metricfit.trust.expected import deal
from metricfit.types import BoolArray, IntArray

# Chosen on draws of 2,000 rows from populations other than those of benchmarks/trust. Of the shares 1/2, 3/5 and 3/4,
# holding out 3/4 lost the least of the objective in five problems of six (three classes, a rare class, two groups; 12
# to 16 draws). 17/20 lost less than 3/4 under two precision floors and a recall floor (24 draws each: .029, .049 and
# .009 instead of .032, .055 and .010) and left 7 of 72 draws without an answer instead of 9. With the present choice of
# starts, 17/20 left 2 draws without an answer and 9/10 left 10.
FROZEN_SHARE, FROZEN_SHARE_OF_FEW = Fraction(17, 20), Fraction(3, 4)
# This many rows of each class in each cell should be left to tune on. Under those floors 17/20 left 80 or more.
# For equal opportunity of three and four groups it left 26 and 12, and more draws had no answer than with 3/4.
ENOUGH_TUNING = 50
# If a model is fitted too, it needs more of the rows, so fewer are held out.
MODEL_SHARE = Fraction(1, 3)
FEWEST = 40


def check_rows(rows: int) -> None:
    """Raise if there are too few rows to hold some of them out."""
    if rows < FEWEST:
        raise ValueError(
            f"confidence: {rows} rows are too few to keep some of them apart; give at least {FEWEST}, or leave "
            "confidence out"
        )


def frozen_share(labels: IntArray, cells: IntArray | None) -> Fraction:
    """Return the share of rows to hold out if no model is fitted: less if a class has few rows in some cell.

    Examples
    --------
    >>> [str(frozen_share(np.repeat([0, 1], [1000, rare]), None)) for rare in (400, 200)]
    ['17/20', '3/4']
    """
    stratum = _strata(labels, cells)
    fewest = int(np.unique(stratum, return_counts=True)[1].min())
    return FROZEN_SHARE if fewest * (1 - FROZEN_SHARE) >= ENOUGH_TUNING else FROZEN_SHARE_OF_FEW


def kept_apart(labels: IntArray, cells: IntArray | None, share: Fraction, seed: int = 0) -> BoolArray:
    """Return which rows are held out: a share of every class in every cell, but never all of its rows.

    Examples
    --------
    >>> labels = np.repeat([0, 1], [117, 3])
    >>> [int(kept_apart(labels, None, Fraction(3, 4), seed)[labels == 1].sum()) for seed in range(4)]
    [2, 2, 2, 2]
    """
    check_rows(len(labels))
    fold = deal(labels, cells, share.denominator, seed)
    kept: BoolArray = (fold >= 0) & (fold < share.numerator)
    stratum = _strata(labels, cells)
    one_of_each = np.unique(stratum, return_index=True)[1]
    left = np.bincount(stratum[~kept], minlength=int(stratum.max()) + 1)
    kept[one_of_each[left[stratum[one_of_each]] == 0]] = False
    return kept


def _strata(labels: IntArray, cells: IntArray | None) -> IntArray:
    """Return a number for each class in each cell."""
    return labels if cells is None else cells.astype(np.int64) * (int(labels.max()) + 1) + labels
