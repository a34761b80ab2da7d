"""The numbers that the search on counted labels was tuned to, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How labels are searched.

    Tuned on G-mean under precision floors, rows not used deciding: Abalone, PageBlock, MACHO and SatImage with linear
    and boosted models, CovType with 20,000 rows (``benchmarks/worlds``); what is spent on room also on these sets with
    naive Bayes, nearest neighbours, forests and small networks, on Adult, Default and COMPAS, and on five generated
    sets with noisy labels.

    Attributes
    ----------
    rounds : int
        How often the guiding problem is solved again with what the labels say of its mixture.
    guide_tol : float
        The gap to which the rounds after the first are solved.
    factor_change : float
        Rounds end when no factor changes by more than this share.
    moves : int
        How often the limits of the guiding problem are moved by what the labels say of its mixture.
    off : float
        The error of rates by calibrated probabilities: labels whose sampling error is as large weigh as much as these.
        Chosen on ``benchmarks/worlds/slices.py --seeds 0 1``, where .02 to .08 were about equal.
    missed : float
        How much further than needed limits may be moved.
    clearly : float
        By how much a direct search on the model's own probabilities must be better by labels to be preferred.
    rows_by_luck : float
        How many rows each of its weights may gain by luck, where labels and probabilities say the same of the
        constraints, or there are none. There the calibrated answer is as good on new rows as a direct search that
        gains no more than that, and its numbers promise less that does not come true.
    few_entries : int
        So many rows times classes are few. Of few a direct search polishes several rules, is asked whether it gains
        more than luck, and limits get more room; of more it takes long, probabilities are calibrated well, and labels
        say nearly what new rows do.
    most_weights : int
        More weights are not searched one by one: it takes long, and finds luck.
    spent : float
        How far below a direct search the answer may end for room to the limits, by labels, where rows are few.
    luck : float
        And how many standard errors of the objective at most: so much labels can hardly show.
    room : float
        How many standard errors of its metric a limit is kept with at most.
    price : float
        How much of the objective is paid for missing a limit by one less on new rows, on average. Of 2, 3, 4 and 8,
        on six splits, all are about equal on new rows; with 2 values follow limits most evenly.
    looks : int
        How many mixtures with some room are looked at.
    polished : int
        How many rules are polished weight by weight.
    pricings : int
        How many rules are priced by the multipliers of the labels' own master problem.
    lines : int
        How many weights of the rules in use are scanned at most: what more would gain is below the noise of labels.
    near : float
        How far lines look, see `metricfit.kernels.scan.Scan.line`: rules in use are near the best ones.
    smooth : float
        A line's costs are averaged over this share of the rows decided so, on either side: the best value of a
        smoothed curve depends less on single rows.
    trust : float
        The share of each row that lines count by its calibrated probabilities. A label says what one row was, a
        probability what rows like it are.
    trusted_rows : int
        The number of rows from which on they do.
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
