"""How often 95 % intervals of comparisons between groups contain the value in the population.

Draws of labelled rows from populations whose groups differ by a known amount: differences, ratios and worst values, of
rates whose denominators are fixed, of precisions, and of a metric that is no rate. In one population the groups are
evenly spread between the lowest and the highest, in the other one group is apart from all others.

    python benchmarks/trust/interval_coverage.py --draws 400

prints one line for each metric and number of groups, a column for each number of rows and true difference, and at the
end the smallest and the largest share of intervals that contain the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.intervals import Evidence, estimate

GROUPS = (2, 3, 10)
ROWS = (50, 200, 1000, 5000)
GAPS = (0.0, 0.02, 0.05, 0.2)
SHAPES = ("spread", "apart")
# Recall and false-positive rate of the middle group.
RATES = (0.65, 0.3)
PREVALENCE = 0.4

METRICS = {
    "opportunity, pairs": mf.equal_opportunity(over="group", c=1, to="pairs"),
    "opportunity, overall": mf.equal_opportunity(over="group", c=1),
    "opportunity, mean": mf.equal_opportunity(over="group", c=1, to="mean"),
    "parity of a class, pairs": mf.demographic_parity("group", 1, to="pairs"),
    "parity, pairs": mf.demographic_parity("group", to="pairs"),
    "odds, pairs": mf.equalized_odds("group", to="pairs"),
    "odds, overall": mf.equalized_odds("group"),
    "predictive parity, pairs": mf.predictive_parity("group", 1, to="pairs"),
    "error rates, pairs": mf.equal_error_rates("group", to="pairs"),
    "half of a difference": 0.5 * mf.equal_opportunity(over="group", c=1, to="pairs"),
    "ratio of recalls, pairs": mf.equal_opportunity(over="group", c=1, to="pairs", as_ratio=True),
    "ratio of recalls, overall": mf.equal_opportunity(over="group", c=1, as_ratio=True),
    "ratio of shares, pairs": mf.demographic_parity("group", 1, to="pairs", as_ratio=True),
    "worst recall": mf.worst(mf.recall(1), "group"),
    "worst false alarms": mf.worst(mf.false_positive_rate(1), "group"),
    "worst precision": mf.worst(mf.precision(1), "group"),
    "worst G-mean": mf.worst(mf.g_mean(), "group"),
}


def population(groups: int, gap: float, shape: str) -> mf.Confusion:
    """Return the confusion tensor of groups whose recalls and false-positive rates are up to ``gap`` apart."""
    away = np.linspace(-0.5, 0.5, groups) if shape == "spread" else np.r_[-1.0, np.zeros(groups - 1)]
    tensor = np.zeros((groups, 2, 2))
    for label, (rate, share) in enumerate(zip(RATES[::-1], (1 - PREVALENCE, PREVALENCE), strict=True)):
        decided = rate + gap * away
        tensor[:, label] = share * np.stack([1 - decided, decided], axis=1) / groups
    cells = Cells(("group",), tuple((g,) for g in range(groups)))
    return mf.Confusion(tensor, Axes((0, 1), cells=cells))


def drawn(truth: mf.Confusion, rows: int, draws: int, seed: int = 0) -> Iterator[Evidence]:
    """Yield the evidence of rows drawn from a population, again and again."""
    rng = np.random.default_rng(seed)
    for _ in range(draws):
        counts = rng.multinomial(rows, truth.values.ravel()).reshape(truth.values.shape)
        cell, label, decision = np.nonzero(counts)
        mass = counts[cell, label, decision].astype(float)
        yield Evidence(truth.axes, cell, label, np.eye(2)[decision], mass, mass)


def coverage(metric: mf.Metric, truth: mf.Confusion, rows: int, draws: int) -> float:
    """Return how often the interval of a metric contains its value in the population."""
    value, inside, known = metric(truth), 0, 0
    for seen in drawn(truth, rows, draws):
        found = estimate(metric, seen)
        known += not np.isnan(found.value)
        inside += bool(found.low - 1e-12 <= value <= found.high + 1e-12)
    return inside / known


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--only", nargs="+", default=list(METRICS), help="some of the metrics")
    parser.add_argument("--groups", type=int, nargs="+", default=GROUPS)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    options = parser.parse_args()
    every: list[float] = []
    print(f"{'':28}{'':>10}" + "".join(f"{f'{rows:,} rows':>24}" for rows in options.rows))
    print(f"{'metric, groups':28}{'':>10}" + "".join(f"{gap:>6g}" for _ in options.rows for gap in GAPS))
    for name in options.only:
        for groups in options.groups:
            for shape in SHAPES[: 1 if groups == 2 else 2]:
                truths = [population(groups, gap, shape) for gap in GAPS]
                found = [
                    coverage(METRICS[name], truth, rows, options.draws)
                    for rows in options.rows
                    for truth in truths
                ]
                every += found
                cells = "".join(f"{share:6.3f}" for share in found)
                print(f"{name:28}{groups:>3} {shape:6}{cells}", flush=True)
    print(
        f"smallest {min(every):.3f}, largest {max(every):.3f}, "
        f"from .90 to .99 in {np.mean([0.895 <= s <= 0.995 for s in every]):.0%} of {len(every)} cells"
    )


if __name__ == "__main__":
    main()
