"""Which rows are held out to test policies: a share of every class in every cell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from metricfit.trust.expected import deal
from metricfit.types import BoolArray, IntArray

# Held out is the largest of these shares that leaves ENOUGH_TUNING rows of each class in each cell to tune on, or else
# the last one. Chosen on draws of 2,000 rows from populations other than those of benchmarks/trust. Of the shares 1/2,
# 3/5 and 3/4, holding out 3/4 lost the least of the objective in five problems of six (three classes, a rare class, two
# groups; 12 to 16 draws). 17/20 lost less than 3/4 under two precision floors and a recall floor (24 draws each: .029,
# .049 and .009 instead of .032, .055 and .010). 9/10 lost less than 17/20 under three precision floors and a recall
# floor (.066, .029, .035 and .006 instead of .071, .034, .040 and .007), but 4 of 115 draws had no answer instead of 1.
FROZEN_SHARES = Fraction(9, 10), Fraction(17, 20), Fraction(3, 4)
# For equal opportunity of three and four groups 17/20 left 26 and 12, and more draws had no answer than with 3/4.
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
    >>> [str(frozen_share(np.repeat([0, 1], [1000, rare]), None)) for rare in (500, 400, 200)]
    ['9/10', '17/20', '3/4']
    """
    fewest = int(np.unique(_strata(labels, cells), return_counts=True)[1].min())
    enough = (share for share in FROZEN_SHARES if fewest * (1 - share) >= ENOUGH_TUNING)
    return next(enough, FROZEN_SHARES[-1])


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
