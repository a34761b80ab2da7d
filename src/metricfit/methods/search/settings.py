"""The tuned numbers of the search on counted labels, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How counted labels are searched.

    Tuned on G-mean under precision floors and judged on held-out rows: Abalone, PageBlock, MACHO and SatImage with
    linear and boosted models, CovType with 20,000 rows (``benchmarks/worlds``). What is spent on room to the limits was
    tuned on further data: these sets with naive Bayes, nearest neighbours, forests and small networks, then Adult,
    Default and COMPAS, and five generated sets with noisy labels. That data of any size get the same room was chosen on
    CovType: 20,000 tuning rows drawn anew from those that a fixed linear or boosted model had not seen, 144 problems.
    On new rows the margin became -.0075 from -.0121 and the root mean square of its negative part .043 from .048, for
    .002 of the G-mean; a price of 4 goes further along the same exchange (-.0056, .042, another .001).

    Attributes
    ----------
    rounds : int
        How often at most the guiding problem is solved; later rounds correct its counts by the labels.
    guide_tol : float
        The gap to which the rounds after the first are solved.
    factor_change : float
        The rounds end when no correction factor changes by more than this share.
    moves : int
        How often at most the limits of the guiding problem are moved, by what the labels say of its mixture.
    off : float
        The assumed error of a rate computed from calibrated probabilities; labels with the same sampling error get the
        same weight. Chosen on ``benchmarks/worlds/slices.py --seeds 0 1``, where .02 to .08 were about equal.
    missed : float
        How much further than needed a limit may be moved.
    clearly : float
        By how much a direct search on the model's own probabilities must be better by labels to be preferred.
    rows_by_luck : float
        How many rows each weight of a direct search may gain by chance, where there are no constraints or labels and
        probabilities agree on them. Up to that gain the calibrated answer is as good on new rows, and its reported
        numbers are less optimistic.
    few_entries : int
        Up to this many rows times classes, data count as small: a direct search polishes several rules, and without
        limits it must gain more than chance. On larger data the search takes long, probabilities are well calibrated,
        and labels predict new rows closely.
    most_weights : int
        With more weights than this none is searched one by one: that takes long and overfits.
    spent : float
        How much worse than a direct search the answer may be by labels in exchange for room.
    luck : float
        The most that room may cost, in standard errors of the objective: labels can hardly show a smaller loss.
    room : float
        The most room to a limit, in standard errors of its metric.
    price : float
        How much of the objective is paid for one unit less of expected violation on new rows. On new rows of six
        splits 2, 3, 4 and 8 are about equal; with 2, values follow the limits most evenly.
    looks : int
        How many amounts of room, besides none, are tried.
    polished : int
        How many rules are polished weight by weight.
    pricings : int
        How many rules are found by pricing the multipliers of the master problem on labels.
    lines : int
        How many weights of the rules in use are scanned at most: further gains are below the noise of the labels.
    near : float
        How far lines reach, see `metricfit.kernels.scan.Scan.line`: rules in use are near the best ones.
    smooth : float
        Costs along a line are averaged over this share of the rows with its decision, on either side: the minimum of a
        smoothed curve depends less on single rows.
    trust : float
        The share of each row that lines count by its calibrated probabilities. A label says what one row was, a
        probability what rows like it are.
    trusted_rows : int
        The least number of rows for ``trust``; with fewer, lines count labels only.
    """

    rounds: int = 3
    guide_tol: float = 1e-3
    factor_change: float = 0.01
    moves: int = 6
    off: float = 0.04
    missed: float = 0.002
    clearly: float = 0.002
    rows_by_luck: float = 8.0
    few_entries: int = 50_000
    most_weights: int = 64
    spent: float = 0.0045
    luck: float = 1.0
    room: float = 3.0
    price: float = 2.0
    looks: int = 8
    polished: int = 3
    pricings: int = 3
    lines: int = 10
    near: float = 3.0
    smooth: float = 0.05
    trust: float = 0.5
    trusted_rows: int = 500


SETTINGS = Settings()
