"""Parity and equalized odds with models that do not see the attribute: what each way of counting keeps on new rows.

    METRICFIT_DATA=... python benchmarks/worlds/groups.py [--seeds 0 1] [--sets compas adult]

Accuracy is maximised under a limit of .03 on demographic parity, then of .05 on equalized odds; up to 5,000 rows tune.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from rows import KINDS, Split, split

import metricfit as mf

SETS = {"compas": None, "lawschool": 5000, "default": 5000, "adult": 5000}
LIMITS = {
    "parity": mf.demographic_parity(over="group") <= 0.03,
    "odds": mf.equalized_odds(over="group") <= 0.05,
}
WAYS = {
    "default": {},
    "local": {"method": "local"},  # plain counted labels
    "calibrated": {"counting": "calibrated"},
    "model": {"counting": "model"},
}


def on_new_rows(result, s: Split, limit) -> list[float]:
    """Return accuracy and the constraint's value on rows not used."""
    shares = result.policy.decision_proba(s.Q, {"group": s.new_cells})
    made = np.zeros(result.policy.axes.shape)
    order = [values[0] for values in result.policy.axes.cells.values]
    np.add.at(made, (np.searchsorted(order, s.new_cells), s.z), shares / len(s.z))
    confusion = mf.Confusion(made, result.policy.axes)
    return [float(mf.accuracy()(confusion)), float(limit.metric(confusion))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for kind, limit in LIMITS.items():
        found: dict[str, list[list[float]]] = {way: [] for way in given.ways}
        for name in given.sets:
            for model in KINDS:
                for seed in given.seeds:
                    s = split(name, model, seed, SETS[name])
                    told = []
                    for way in given.ways:
                        start = time.process_time()
                        result = mf.optimize(
                            s.P, s.y, "accuracy", [limit], sensitive_features={"group": s.cells},
                            classes=list(range(s.P.shape[1])), **WAYS[way],
                        )  # fmt: skip
                        seconds = time.process_time() - start
                        found[way].append([result.value, *on_new_rows(result, s, limit), seconds])
                        told.append(f"{way} {found[way][-1][1]:.4f} {found[way][-1][2]:.4f}")
                    print(f"{kind} {s.name} {seed}: {', '.join(told)}", flush=True)
        print(f"\n{kind}: {limit}\n{'':12s} promised  new rows  its {kind}  beyond the limit  CPU s")
        for way, lines in found.items():
            promised, new, kept, seconds = np.mean(lines, axis=0)
            beyond = np.mean([max(line[2] - limit.limit, 0.0) for line in lines])
            print(
                f"{way:12s} {promised:.4f}    {new:.4f}    {kept:.4f}      {beyond:.4f}            {seconds:.2f}"
            )
        print()


if __name__ == "__main__":
    main()
