"""How long the explorer takes to answer a slider: a real server, asked over loopback, limits moved as a hand does.

python benchmarks/scale/explorer.py --rows 100000 --classes 10 --counting calibrated
"""

from __future__ import annotations

import argparse
import json
import time
from urllib.request import Request, urlopen

import numpy as np

import metricfit as mf


def data(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels of unequal classes, and probabilities that know about them."""
    rng = np.random.default_rng(0)
    y = rng.choice(classes, size=rows, p=np.arange(1, classes + 1) / (classes * (classes + 1) / 2))
    scores = rng.normal(size=(rows, classes))
    scores[np.arange(rows), y] += 2.0
    proba = np.exp(scores)
    return proba / proba.sum(axis=1, keepdims=True), y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--counting", default="calibrated", choices=("calibrated", "labels", "model"))
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    proba, y = data(options.rows, options.classes)
    with mf.explore(proba, y, counting=options.counting, n_jobs=-1, open_browser=False) as explorer:
        address = explorer.url.replace("/?", "/api/solve?")

        def ask(limit: float) -> tuple[float, dict]:
            body = {
                "objective": "g_mean",
                "constraints": [f"precision(0) >= {limit:.3f}", "recall(9) >= 0.5"],
            }
            request = Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
            started = time.perf_counter()
            answer = json.load(urlopen(request))
            return time.perf_counter() - started, answer

        first, _ = ask(0.55)
        print(
            f"{options.rows:,} x {options.classes}, {options.counting}: first answer {first:.2f} s",
            flush=True,
        )
        # Up in steps of a slider, then down between them, so that no limit is asked for twice.
        limits = [
            *np.linspace(0.56, 0.75, options.steps // 2),
            *np.linspace(0.745, 0.565, options.steps // 2) + 0.002,
        ]
        spent, calls = [], []
        for limit in limits:
            seconds, answer = ask(float(limit))
            spent.append(seconds)
            calls.append(answer["oracle_calls"])
    low, median, high = np.percentile(spent, [10, 50, 90])
    print(
        f"  {len(spent)} limits: median {1000 * median:.0f} ms (10 % {1000 * low:.0f}, 90 % {1000 * high:.0f}), "
        f"median {np.median(calls):.0f} oracle calls"
    )


if __name__ == "__main__":
    main()
