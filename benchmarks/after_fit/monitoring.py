"""Monitoring: false alarms over simulated years of weekly looks, and the delay after a change.

A policy is fitted on one sample of a population for which every limit holds exactly, which is where false alarms are
likeliest; every year has its own sample, and 52 labelled batches of the same population. For the delay, the recall
falls after half a year. The rival is a one-sided binomial test at the same level that is told the week of the change
and looks at all rows since then every week, without paying for the many looks.

    python benchmarks/after_fit/monitoring.py --years 1000 --rows 200
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.policy import Rule
from metricfit.policy.at_fit import AtFit

LEVEL, WEEKS, RECALL, SHARE = 0.95, 52, 0.8, 0.3


def draw(rng: np.random.Generator, rows: int, recall: float = RECALL) -> tuple[np.ndarray, np.ndarray]:
    """Return calibrated probabilities and labels: scores of positives and negatives are normal, two apart."""
    y = (rng.random(rows) < SHARE).astype(int)
    # A fall of the recall shifts the scores of the positives, whose probabilities are then too small.
    shift = stats.norm.ppf(recall) - stats.norm.ppf(RECALL)
    score = rng.normal(size=rows) + np.where(y == 1, 2.0 + shift, 0.0)
    p = 1 / (1 + np.exp(-(2 * score - 2 + np.log(SHARE / (1 - SHARE)))))
    return np.column_stack([1 - p, p]), y


def fitted(rng: np.random.Generator, rows: int) -> mf.Policy:
    """Return the policy whose recall is exactly the limit, and what it saw at fit."""
    cut = 2.0 - stats.norm.ppf(RECALL)
    p = 1 / (1 + np.exp(-(2 * cut - 2 + np.log(SHARE / (1 - SHARE)))))
    precise = SHARE * RECALL / (SHARE * RECALL + (1 - SHARE) * stats.norm.sf(cut))
    limits = [f"recall(1) >= {RECALL}", f"precision(1) >= {precise:.12f}"]
    proba, y = draw(rng, rows)
    chances = np.eye(2)[(proba[:, 1] >= p).astype(int)]
    rule = Rule(1, [[0, p], [1 - p, 0]])
    return mf.Policy(
        Axes((0, 1)),
        "full",
        [[rule]],
        provenance={"objective": "g_mean()", "constraints": limits},
        at_fit=AtFit.of(proba, y, chances),
    )


def rival(hits: np.ndarray, positives: np.ndarray, things: int) -> float:
    """Return the first week in which a test that knows the change rejects, not corrected for several looks."""
    p = stats.binom.cdf(np.cumsum(hits), np.cumsum(positives), RECALL)
    found = np.flatnonzero(p <= (1 - LEVEL) / things)
    return float(found[0] + 1) if found.size else np.inf


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--years", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=60)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--tuning", type=int, default=3000)
    options = parser.parse_args()
    alarms: dict[str, int] = {}
    years = 0
    for year in range(options.years):
        rng = np.random.default_rng([year, options.rows])
        monitor = fitted(rng, options.tuning).monitor(LEVEL)
        for _ in range(WEEKS):
            monitor.update(*draw(rng, options.rows))
        years += bool(monitor.alarms)
        for alarm in monitor.alarms:
            alarms[alarm.kind] = alarms.get(alarm.kind, 0) + 1
    print(
        f"false alarms in {years} of {options.years} years of {WEEKS} looks at {options.rows} rows: {alarms}"
    )
    for fallen in (0.7, 0.6, 0.5):
        ours, any_alarm, theirs = [], [], []
        for year in range(options.changes):
            rng = np.random.default_rng([year, 7])
            policy = fitted(rng, options.tuning)
            monitor = policy.monitor(LEVEL)
            hits, positives = [], []
            for week in range(4 * WEEKS):
                proba, y = draw(rng, options.rows, fallen if week >= WEEKS // 2 else RECALL)
                monitor.update(proba, y)
                if week >= WEEKS // 2:
                    hits.append(np.sum(policy.decide(proba)[y == 1] == 1))
                    positives.append(np.sum(y == 1))
                if any(alarm.name.startswith("recall") for alarm in monitor.alarms):
                    break
            found = [alarm.batch - WEEKS // 2 for alarm in monitor.alarms if alarm.name.startswith("recall")]
            ours.append(found[0] if found else np.inf)
            any_alarm.append(min((a.batch - WEEKS // 2 for a in monitor.alarms), default=np.inf))
            theirs.append(rival(np.array(hits), np.array(positives), len(monitor.frame())))
        print(
            f"recall {RECALL} to {fallen} in week {WEEKS // 2}: proven after a median of {np.median(ours):.0f} weeks, "
            f"first alarm of any kind after {np.median(any_alarm):.0f}; told the week: {np.median(theirs):.0f}"
        )


if __name__ == "__main__":
    main()
