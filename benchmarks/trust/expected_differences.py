"""What is expected of a difference between groups, beside what it is in the population.

For each problem, draws of tuning rows from generated populations and from data sets of METRICFIT_DATA (half of the rows
are the population, a model of the other half gives the probabilities): the mean over the draws of a limited difference
on the fitted rows, as expected on new rows, and in the population, and how often the interval contains the last one.

    python benchmarks/trust/expected_differences.py --draws 30 --rows 3000
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from populations import Population, from_data, generated

import metricfit as mf
from metricfit.policy.evaluation import evidence_of

LIMITS = (0.03, 0.05)
COUNTINGS = ("auto", "calibrated", "labels")
SETS = ("adult", "compas", "lawschool", "default")


def differences(limit: float) -> dict[str, mf.Constraint]:
    return {
        "opportunity": mf.equal_opportunity(over="group", c=1, to="pairs") <= limit,
        "parity": mf.demographic_parity(over="group", to="pairs") <= limit,
        "odds": mf.equalized_odds(over="group") <= limit,
    }


def populations(names: list[str]) -> dict[str, Population]:
    made = {f"generated, {groups} groups": generated(groups) for groups in (2, 4)}
    for name in names:
        whole = from_data(name)
        if whole.group is not None and whole.proba.shape[1] == 2:
            made[name] = whole
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--data", nargs="*", default=list(SETS))
    parser.add_argument("--counting", nargs="+", default=list(COUNTINGS))
    parser.add_argument("--limit", type=float, nargs="+", default=list(LIMITS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'population':22}{'limit':22}{'counting':12}{'fit':>8}{'expect':>8}{'truth':>8}{'contained':>10}")
    for where, whole in populations(options.data).items():
        for limit in options.limit:
            for name, constraint in differences(limit).items():
                for counting in options.counting:
                    found = []
                    for draw in range(options.draws):
                        part = whole.draw(options.rows, 1000 + draw)
                        try:
                            result = mf.optimize(
                                part.proba,
                                part.y,
                                "accuracy",
                                [constraint],
                                sensitive_features=part.group,
                                counting=counting,
                                expect=True,
                            )
                        except mf.InfeasibleError:
                            continue
                        if result.expected is None:
                            continue
                        seen = evidence_of(result.policy, whole.proba, whole.y, whole.group)
                        truth, expected = constraint.metric(seen.confusion), result.expected.constraints[0]
                        inside = expected.low <= truth <= expected.high
                        found.append([result.constraints[0].value, expected.value, truth, inside])
                    fit, expect, truth, inside = np.mean(found, axis=0)
                    told = f"{where:22}{f'{name} <= {limit}':22}{counting:12}"
                    print(f"{told}{fit:8.4f}{expect:8.4f}{truth:8.4f}{inside:10.2f}", flush=True)


if __name__ == "__main__":
    main()
