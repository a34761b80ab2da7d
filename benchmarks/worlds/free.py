"""Objectives without precision floors on rows not used: the default, "calibrated", and the most probable class.

    METRICFIT_DATA=... python benchmarks/worlds/free.py [--sets abalone news20_cv ...] [--seeds 0 1]

G-mean, macro-F1 and min-recall alone, H-mean under coverage; and for every data set what plain argmax has, so that
doing no harm can be seen.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from floors import solved
from rows import GENERATED, KINDS, NETWORKS, OWN, PAPER, split

import metricfit as mf

WAYS = {"default": {}, "calibrated": {"counting": "calibrated"}}
TASKS = {
    "g_mean": ("g_mean", []),
    "macro_f1": ("macro_f1", []),
    "min_recall": ("min_recall", []),
    "h_mean, coverage": ("h_mean", ["coverage_deviation() <= 0.02"]),
}


def on_new_rows(policy, s, metric) -> float:
    """Return a metric of a policy's expected decisions on the rows that were not used."""
    made = np.zeros((1, s.Q.shape[1], s.Q.shape[1]))
    np.add.at(made[0], s.z, policy.decision_proba(s.Q) / len(s.z))
    return float(metric(mf.Confusion(made, policy.axes)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=[*PAPER, *OWN, *GENERATED, *NETWORKS])
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    given = parser.parse_args()
    found: dict[str, list[list[float]]] = {task: [] for task in given.tasks}
    for name in given.sets:
        for kind in KINDS if name in PAPER else ("linear",):
            for seed in given.seeds:
                s = split(name, kind, seed)
                classes = list(range(s.P.shape[1]))
                plain = mf.Confusion.from_predictions(s.z, s.Q.argmax(axis=1), classes=classes)
                for task in given.tasks:
                    objective, limits = TASKS[task]
                    metric = mf.parse(objective)
                    line, told = [float(metric(plain))], ""
                    for way in given.ways:
                        start = time.process_time()
                        result = solved(s, objective, limits, **WAYS[way])
                        seconds = time.process_time() - start
                        line.append(np.nan if result is None else on_new_rows(result.policy, s, metric))
                        family = "" if not getattr(result, "calibration", None) else result.calibration.family
                        told += f"  {way} {line[-1]:.4f} ({seconds:.2f} s {family})"
                    found[task].append(line)
                    print(f"{s.name} {seed} {task}: argmax {line[0]:.4f}{told}", flush=True)
    print(
        f"\n{'new rows':20s} {'argmax':>10s} "
        + " ".join(f"{way:>10s}" for way in given.ways)
        + "   default - argmax at worst"
    )
    for task, lines in found.items():
        a = np.array(lines)
        worst = f"{np.nanmin(a[:, 1] - a[:, 0]):+.4f}" if not TASKS[task][1] else ""
        print(f"{task:20s} " + " ".join(f"{v:10.4f}" for v in np.nanmean(a, axis=0)) + f"   {worst}")


if __name__ == "__main__":
    main()
