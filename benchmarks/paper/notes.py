"""Why a number is not reached: for each bar, by a part of its name, the cause. Shown for missed bars only."""

from __future__ import annotations

STOPS_EARLY = (
    "The logistic regression is fitted to unscaled columns and badly calibrated, so the plug-in rule of a "
    "price is far from the cheapest rule when labels are counted. The default stops when its estimated gap "
    "is 1e-4 and eight rules drawn nearby bring nothing; the authors' run of 9 x 10,000 calls meets better "
    "rules by wandering. "
    "`ColumnGeneration(probes=100)` comes nearer, at 110 to 200 calls."
)

CAUSES = {
    "H-mean s.t. coverage, PageBlock: test loss": STOPS_EARLY
    + " A class has 28 rows in all, about eight of them in a "
    "test part: one row moves the H-mean loss of a split by 0.02 and more.",
    "Calls, H-mean, PageBlock": STOPS_EARLY,
    "Calls, H-mean s.t. coverage, PageBlock": STOPS_EARLY,
    "Calls, H-mean, MACHO": "The training losses differ in the fourth digit (see the table of calls).",
    "Calls, H-mean, SatImage": "The training losses differ in the fourth digit (see the table of calls).",
    "Calls, H-mean s.t. coverage, SatImage": "The estimated gap is below 1e-4 after about 25 calls, but "
    "counted labels allow 0.003 to 0.005 more, which longer walks find. On test rows nothing is lost.",
}
