"""Rerun the paper's experiments: ``python benchmarks/paper [--quick] [--only NAME ...]``."""

from __future__ import annotations

import argparse
import sys

import settings as budgets
from experiments import calls, coverage, equalopp, hmean, microf1, trivial

EXPERIMENTS = {
    "trivial": trivial,
    "hmean": hmean,
    "microf1": microf1,
    "coverage": coverage,
    "equalopp": equalopp,
    "calls": calls,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two splits, small sets and budgets: under 5 minutes")
    parser.add_argument("--paper-budgets", action="store_true", help="as many oracle calls as the paper: many hours")
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS), metavar="EXPERIMENT")
    parser.add_argument("--sets", nargs="+", metavar="DATASET", help="only these data sets")
    options = parser.parse_args()
    settings = budgets.QUICK if options.quick else budgets.PAPER if options.paper_budgets else budgets.FULL
    for name in options.only:
        table, tasks = EXPERIMENTS[name](settings)
        if options.sets:
            tasks = [task for task in tasks if set(options.sets) & set(map(str, task.key))]
        table.run(tasks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
