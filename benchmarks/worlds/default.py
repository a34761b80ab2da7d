"""The default against the two ways it can take, on rows not used: with and without limits.

    METRICFIT_DATA=... python benchmarks/worlds/default.py [--seeds 60] [--sets abalone ...]

The problems are those of `ablation`. Printed are, for each kind of data and problem, means of the value promised and of
the value on new rows, the root mean square of what limits are missed by there, how many answers have a proof, and CPU
seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from ablation import problems
from rows import GENERATED, KINDS, NETWORKS, OWN, PAPER, Split, split

import metricfit as mf

WAYS = {"default": {}, "calibrated": {"counting": "calibrated"}, "local": {"method": "local"}}
SOURCES = {
    **dict.fromkeys((*PAPER, *OWN), "tabular"),
    **dict.fromkeys(NETWORKS, "networks"),
    **dict.fromkeys(GENERATED, "generated"),
}


def measured(s: Split, objective: str, limit: mf.Constraint | None, options: dict) -> list[float]:
    """Return value promised, value and miss on new rows, whether it is proven, and CPU seconds."""
    start = time.process_time()
    limits = [] if limit is None else [limit]
    result = mf.optimize(s.P, s.y, objective, limits, classes=range(s.P.shape[1]), **options)
    seconds = time.process_time() - start
    made = np.zeros((1, s.Q.shape[1], s.Q.shape[1]))
    chances = result.policy.decision_proba(s.Q)
    np.add.at(made[0], s.z, chances / len(s.z))
    confusion = mf.Confusion(made, result.policy.axes)
    missed = 0.0
    if limit is not None:
        # A decision that new rows hardly get keeps every floor on its precision.
        rare = "precision" in str(limit) and min(chances.sum(axis=0)) < 1
        missed = 0.0 if rare else max(0.0, float(limit.excess(limit.metric(confusion))))
    proven = result.certified and result.gap <= 1.01e-4
    return [result.value, float(mf.parse(f"{objective}()")(confusion)), missed, proven, seconds]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SOURCES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[60])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], list[list[list[float]]]] = {}
    for name in given.sets:
        for kind in KINDS if name in PAPER else ("linear",):
            for seed in given.seeds:
                s = split(name, kind, seed)
                for asked, objective, limit in problems(s, seed):
                    try:
                        line = [measured(s, objective, limit, options) for options in WAYS.values()]
                    except mf.InfeasibleError:
                        continue
                    key = SOURCES[name], f"{objective}, {asked}"
                    found.setdefault(key, []).append(line)
    print(f"{'rows':10} {'problem':28} {'number':>6} {'way':11} promised new rows   miss proven   CPU s")
    for (source, problem), lines in found.items():
        for way, cells in zip(WAYS, np.array(lines, float).swapaxes(0, 1), strict=True):
            promised, new, missed, proven, seconds = cells.T
            print(
                f"{source:10} {problem:28} {len(lines):6d} {way:11} {promised.mean():8.4f} {new.mean():8.4f}"
                f" {np.sqrt((missed**2).mean()):6.4f} {proven.mean():6.2f} {seconds.mean():7.3f}"
            )


if __name__ == "__main__":
    main()
