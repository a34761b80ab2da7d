"""Rerun the paper's experiments: ``python benchmarks/paper [--quick] [--only NAME ...]``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import charts
import page
import pictures
import settings as budgets
from experiments import calls, coverage, equalopp, hmean, microf1, trivial
from population import gaussians, optima
from published import published
from studies import cifar10, cifar55, curves, retrain, timing

# In the order of cost: the tables that matter most come first.
EXPERIMENTS = {
    "trivial": trivial,
    "hmean": hmean,
    "microf1": microf1,
    "coverage": coverage,
    "equalopp": equalopp,
    "published": published,
    "calls": calls,
    "cifar10": cifar10,
    "cifar55": cifar55,
    "optima": optima,
    "gaussians": gaussians,
    "curves": curves,
    "timing": timing,
    "retrain": retrain,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="two splits, small sets and budgets: under 5 minutes on a free core",
    )
    parser.add_argument(
        "--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS), metavar="EXPERIMENT"
    )
    parser.add_argument("--splits", type=int, help="only this many splits")
    parser.add_argument("--sets", nargs="+", metavar="DATASET", help="only these data sets")
    parser.add_argument(
        "--report", action="store_true", help="run nothing, write the tables, figures and page"
    )
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="WORD", help="forget cells of a method or set"
    )
    parser.add_argument("--no-report", action="store_true", help="run only")
    options = parser.parse_args()
    settings = budgets.QUICK if options.quick else budgets.FULL
    if options.splits:
        settings = replace(settings, splits=options.splits, published_splits=options.splits)
    for name in [] if options.report else options.only:
        table, tasks = EXPERIMENTS[name](settings)
        for word in options.again:
            table.forget(word)
        if options.sets:
            tasks = [task for task in tasks if set(options.sets) & set(map(str, task.key))]
        table.run(tasks)
    if not options.no_report:
        charts.draw(settings)
        pictures.draw(settings.figures)
        page.write(settings)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped; finished cells are kept, the same command goes on", file=sys.stderr)
        sys.exit(130)
