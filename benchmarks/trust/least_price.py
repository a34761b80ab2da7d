"""What a confirmed precision floor costs at the least: the price that no way of choosing policies could avoid.

The best policies are known: thresholds on a score that orders the rows rightly. Rows drawn from the population of
`new_rows.py` test them from cautious to bold by the exact binomial test at 0.05, with a coin and without, beginning
with the one that is the likeliest to pass; nothing is lost to fitting. The price is the G-mean of the boldest threshold
that passes against that of the boldest one whose floor holds on the population.

    python benchmarks/trust/least_price.py --draws 300 --rows 2000 1800 1700
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from populations import generated
from scipy import stats

FLOOR = 0.7


def curves(
    score: np.ndarray, y: np.ndarray, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many rows lie above each threshold, how many of them are hits, and the G-mean."""
    order = np.argsort(-score, kind="stable")
    above = np.searchsorted(-score[order], -thresholds, side="right")
    hits = np.concatenate([[0], np.cumsum(y[order])])[above]
    recalls = hits / y.sum(), 1 - (above - hits) / (len(y) - y.sum())
    return above, hits, np.sqrt(recalls[0] * recalls[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 1800, 1700])
    options = parser.parse_args()
    whole = generated(1)
    score = whole.proba[:, 1]
    thresholds = np.quantile(score, np.linspace(0.99, 0.3, 400))  # from cautious to bold
    above, hits, value = curves(score, whole.y, thresholds)
    best = value[np.flatnonzero(hits >= FLOOR * above)[-1]]
    start = int(np.argmax((hits - FLOOR * above) / np.sqrt(above)))
    for rows, coin in product(options.rows, (False, True)):
        prices, broken, none = [], 0, 0
        for draw in range(options.draws):
            part = whole.draw(rows, draw)
            n, x, _ = curves(part.proba[:, 1], part.y, thresholds)
            counted = np.random.default_rng([draw, rows]).random() if coin else 1.0
            p = stats.binom.sf(x, n, FLOOR) + counted * stats.binom.pmf(x, n, FLOOR)
            failed = start + np.flatnonzero(p[start:] > 0.05)
            if failed.size and failed[0] == start:
                none += 1
                continue
            place = int(failed[0]) - 1 if failed.size else len(p) - 1
            prices.append(best - value[place])
            broken += hits[place] < FLOOR * above[place]
        found = f"price {np.mean(prices):.4f}, broken {broken} of {len(prices)}, no answer {none}"
        print(f"{rows} rows, {'with' if coin else 'without'} a coin: {found}")


if __name__ == "__main__":
    main()
