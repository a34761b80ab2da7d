"""Limits on groups and on shares together, counted on labels: what is promised, and what rows not used say.

    METRICFIT_DATA=... python benchmarks/worlds/slices.py [--seeds 0 1] [--rows 4000] [--ways default local calibrated]

Each data set has four problems: G-mean under a precision floor and parity, accuracy under equalized odds, accuracy with
the worst recall of all groups, G-mean with a precision floor in the smallest group. The margin of a policy is that of
the limit it misses most.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
from rows import KINDS, Split, split

import metricfit as mf

WAYS = {
    "default": {},
    "local": {"method": "local"},
    "calibrated": {"counting": "calibrated"},
}
SETS = ("compas", "lawschool", "default", "adult")
NEW = 40_000


def generated(seed: int, groups: int, kind: str, rows: int) -> Split:
    """Draw groups of unequal sizes; the model does not see them, and is right otherwise, too sure, or noisy."""
    random, n, count = np.random.default_rng(seed), 4, rows + NEW
    sizes = np.arange(groups, 0, -1.0)
    group = random.choice(groups, count, p=sizes / sizes.sum())
    shift = 0.4 * random.normal(size=(groups, n))
    logits = 1.5 * random.normal(size=(count, n)) + np.log([0.6, 0.25, 0.1, 0.05])
    true = _shares(logits + shift[group])
    y = (random.random(count)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, n - 1)
    wrong = {"blind": logits, "sure": 2 * logits, "noisy": logits + 0.5 * random.normal(size=logits.shape)}
    given = _shares(wrong[kind])
    return Split(
        f"{groups} groups, {kind}", given[:rows], y[:rows], given[rows:], y[rows:], group[:rows], group[rows:]
    )


def _shares(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def triage(seed: int, rows: int) -> Split:
    """Return the demonstration's data, with its regions as groups."""
    tune = mf.datasets.make_fraud_triage(n_rows=rows, random_state=seed)
    new = mf.datasets.make_fraud_triage(n_rows=NEW, random_state=1000 + seed)
    classes, regions = np.unique(tune.y), np.unique(tune.X["region"])
    codes = [np.searchsorted(classes, each.y) for each in (tune, new)]
    cells = [np.searchsorted(regions, each.X["region"]) for each in (tune, new)]
    return Split("triage", tune.proba, codes[0], new.proba, codes[1], *cells)


def splits(seed: int, rows: int, sets: list[str]) -> Iterator[Split]:
    """Yield all data sets of a seed."""
    if "triage" in sets:
        yield triage(seed, rows)
    if "generated" in sets:
        for groups in (2, 5):
            for kind in ("blind", "sure", "noisy"):
                yield generated(seed, groups, kind, rows)
    for name in SETS:
        if name in sets:
            for kind in KINDS:
                yield split(name, kind, seed, None if name == "compas" else rows)


def problems(s: Split) -> Iterator[tuple[str, str, list]]:
    """Yield the name, objective and constraints of each problem."""
    n, decided = s.P.shape[1], s.P.argmax(axis=1)
    plain = mf.Confusion.from_predictions(s.y, decided, {"group": s.cells}, classes=list(range(n)))
    c = n - 1 if np.count_nonzero(decided == n - 1) >= 15 else n - 2
    precision = float(mf.precision(c)(plain))
    smallest = int(np.bincount(s.cells).argmin())
    floor, stricter = (round(min(0.97, precision + more), 3) for more in (0.0, 0.03))
    parity = mf.demographic_parity("group", to="pairs") <= 0.05
    yield "floor and parity", "g_mean", [mf.precision(c) >= stricter, parity]
    yield "equalized odds", "accuracy", [mf.equalized_odds("group") <= 0.05]
    yield "worst recall", "accuracy", [mf.worst(mf.recall(c), over="group") >= 0.6]
    yield "floor in a group", "g_mean", [mf.precision(c).at(group=smallest) >= floor]


def judged(result, s: Split, objective: str, limits: list) -> tuple[float, float]:
    """Return the objective on rows not used, and the margin of the limit that is missed most there."""
    metrics = [objective, *(limit.metric for limit in limits)]
    frame = result.policy.evaluate(s.Q, s.z, metrics, sensitive_features={"group": s.new_cells})
    value, *kept = frame["value"].to_numpy()
    margins = [
        (kept[k] - limit.limit) * (1 if limit.sense == ">=" else -1)
        for k, limit in enumerate(limits)
        if np.isfinite(kept[k])
    ]
    return float(value), min(margins, default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--sets", nargs="+", default=["triage", "generated", *SETS])
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for seed in given.seeds:
        for s in splits(seed, given.rows, given.sets):
            for name, objective, limits in problems(s):
                told = {}
                for way in given.ways:
                    start = time.process_time()
                    try:
                        result = mf.optimize(
                            s.P, s.y, objective, limits, sensitive_features={"group": s.cells},
                            classes=list(range(s.P.shape[1])), **WAYS[way],
                        )  # fmt: skip
                    except mf.InfeasibleError:
                        continue
                    seconds = time.process_time() - start
                    told[way] = (result.value, *judged(result, s, objective, limits), seconds)
                if len(told) < len(given.ways):  # compared where all have an answer
                    continue
                for way, line in told.items():
                    found.setdefault((name, way), []).append(line)
                    found.setdefault(("all", way), []).append(line)
                words = (f"{way} {line[0]:.3f} | {line[1]:.3f} {line[2]:+.3f}" for way, line in told.items())
                print(f"{s.name} {seed}, {name}: {', '.join(words)}", flush=True)
    print(f"\n{'':30s} problems  promised  new rows  margin   rms of its negative part  CPU s")
    for (name, way), lines in found.items():
        promised, new, margin, seconds = np.mean(lines, axis=0)
        missed = np.sqrt(np.mean(np.minimum([line[2] for line in lines], 0.0) ** 2))
        print(
            f"{name:18s}{way:12s} {len(lines):8d}  {promised:.4f}    {new:.4f}    {margin:+.4f}  {missed:.4f}"
            f"                    {seconds:.2f}"
        )


if __name__ == "__main__":
    main()
