"""The words for what becomes of a limit, the same in reports, on the command line, in the explorer and in Python.

On the rows that a value was counted on, a limit is met or violated. An interval says what to think of other rows: the
limit is likely met, or likely violated, if the whole interval lies on that side of it, and else the question is open.
"""

from __future__ import annotations

import re
from math import isnan

MET, VIOLATED = "met", "violated"
LIKELY_MET, OPEN, LIKELY_VIOLATED = "likely met", "open", "likely violated"
#: A sign for each word: an open question is not green.
MARKS = {MET: "✓", VIOLATED: "✗", LIKELY_MET: "✓", OPEN: "?", LIKELY_VIOLATED: "✗"}
# A limit that is missed by no more than this is met: it is a rounding error.
ROUNDING = 1e-9

AGAINST = {"overall": "to all rows", "pairs": "between pairs", "mean": "to the mean of groups"}
_COMPARISON = re.compile(
    r"\b(?:demographic_parity|equal_opportunity|equalized_odds|equal_error_rates|predictive_parity|disparity)\("
)
# A quoted text, a bracket, or the option that says what is compared, which no quoted text can be taken for.
_PARTS = re.compile(r"to='(overall|pairs|mean)'|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[()]")


def on_these_rows(violation: float) -> str:
    """Return what became of a limit that is missed by so much, on the rows that were counted.

    Examples
    --------
    >>> on_these_rows(0.0), on_these_rows(0.0123)
    ('met', 'violated by 0.0123')
    """
    return MET if violation <= ROUNDING else f"{VIOLATED} by {violation:.3g}"


def by_interval(value: float, low: float, high: float, limit: float, sense: str) -> str:
    """Return what an interval says of a limit on other rows.

    A rate of no rows, such as the precision of a decision that is never made, has a value by convention but no
    interval, and violates no limit. Where there is no value either, nothing is known.

    Examples
    --------
    >>> by_interval(0.0498, 0.043, 0.0565, 0.05, "<="), by_interval(0.04, 0.03, 0.049, 0.05, "<=")
    ('open', 'likely met')
    """
    if isnan(value):
        return OPEN
    best, worst = sorted((low - limit, high - limit) if sense == "<=" else (limit - high, limit - low))
    if isnan(low) or worst <= ROUNDING:
        return LIKELY_MET
    return LIKELY_VIOLATED if best > ROUNDING else OPEN


def spelt_out(name: str) -> str:
    """Return the text of a metric, a constraint or a problem; each comparison of groups says what it compares with.

    Examples
    --------
    >>> spelt_out("equalized_odds(over='age') <= 0.05"), spelt_out("disparity(recall(1), over='sex', to='pairs')")
    ("equalized_odds(over='age') to all rows <= 0.05", "disparity(recall(1), over='sex', to='pairs') between pairs")
    """
    made, start = "", 0
    for found in _COMPARISON.finditer(name):
        depth, to = 1, "overall"
        for part in _PARTS.finditer(name, found.end()):
            to = part[1] if part[1] and depth == 1 else to
            depth += {"(": 1, ")": -1}.get(part[0], 0)
            if depth == 0:
                made += f"{name[start : part.end()]} {AGAINST[to]}"
                start = part.end()
                break
    return made + name[start:]
