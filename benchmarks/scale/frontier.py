"""What a frontier costs, in mean solves of its levels, and how far its values are from theirs.

python benchmarks/scale/frontier.py --rows 10000 --counting labels --groups region
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import metricfit as mf


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's seconds and the answer of a job."""
    started = time.process_time()
    answer = job()
    return time.process_time() - started, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--levels", type=int, default=50)
    parser.add_argument("--counting", default="labels", choices=("calibrated", "labels", "model"))
    parser.add_argument("--objective", default="g_mean")
    parser.add_argument("--groups", action="append", default=[], choices=("region", "half"))
    parser.add_argument("--every", type=int, default=5, help="solve each so-manieth level alone")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = mf.datasets.make_fraud_triage(n_rows=options.rows, random_state=options.seed)
    groups = data.X[["region"]].assign(half=np.where(np.arange(len(data.y)) % 2, "odd", "even"))
    kept = [mf.demographic_parity(over=name) <= 0.02 for name in options.groups]
    same = {
        "counting": options.counting,
        "sensitive_features": groups[options.groups] if options.groups else None,
    }
    traded, objective = mf.precision("fraud"), options.objective

    def alone(level: float) -> mf.Result:
        return mf.optimize(data.proba, data.y, objective, [*kept, traded >= level], **same)

    levels = np.linspace(0.5, 0.9, options.levels)
    alone(0.7)  # compiled functions are loaded before anything is timed
    whole, front = timed(
        lambda: mf.frontier(data.proba, data.y, objective, traded, levels, constraints=kept, **same)
    )
    seconds, differences, calls = [], [], []
    for point in front.points[:: options.every]:
        spent, result = timed(lambda level=point.levels[0]: alone(level))
        seconds.append(spent)
        calls.append(result.n_oracle_calls)
        differences.append(point.result.value - result.value if point.result is not None else float("nan"))
    values = [point.result.value for point in front if point.result is not None]
    groups_kept = ", ".join(options.groups) or "none"
    print(f"{options.rows:,} rows, {options.counting}, groups {groups_kept}, seed {options.seed}:")
    print(
        f"  {options.levels} levels cost {whole / np.mean(seconds):.1f} solves: "
        f"{whole:.2f} s, one {np.mean(seconds):.2f} s; {front.passes} reads, one {np.mean(calls):.0f}"
    )
    print(
        f"  against single solves {min(differences):+.4f} to {max(differences):+.4f}; "
        f"monotone: {bool(np.all(np.diff(values) <= 1e-12))}"
    )


if __name__ == "__main__":
    main()
