"""How time and memory grow with rows, classes and groups: `python benchmarks/scale/growth.py [--quick]`.

Every case runs in a process of its own. Times are told in reads (`np.sum` of the same float32 array, measured
in the same process), so that they mean the same on every machine; exponents are least-squares slopes in
log-log.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROWS = [10**4, 10**5, 10**6, 10**7]
CLASSES = [2, 10, 100, 1000]
GROUPS = [1, 10, 100]

CASE = """
import json, resource, sys, time
import numpy as np
import metricfit as mf

rows, classes, groups = map(int, sys.argv[1:4])
rng = np.random.default_rng(0)
proba = np.empty((rows, classes), np.float32)
tilt = np.linspace(0, -3, classes, dtype=np.float32)
for start in range(0, rows, 50_000):
    part = rng.standard_normal((min(50_000, rows - start), classes), dtype=np.float32) * 1.5 + tilt
    np.exp(part, out=part)
    proba[start : start + len(part)] = part / part.sum(axis=1, keepdims=True)
y = np.empty(rows, np.int32)
for start in range(0, rows, 50_000):
    reached = proba[start : start + 50_000].cumsum(axis=1) < rng.random((len(proba[start : start + 50_000]), 1))
    y[start : start + 50_000] = np.minimum(reached.sum(axis=1), classes - 1)
group = rng.integers(0, groups, rows) if groups > 1 else None
limits = [mf.demographic_parity(over="group") <= 0.05] if groups > 1 else []

def best(work, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = work()
        times.append(time.perf_counter() - start)
    return min(times), answer

read, _ = best(lambda: proba.sum(), 5)
few = slice(0, min(rows, 20_000))
mf.optimize(proba[few], y[few], "h_mean", confusion="model", max_calls=4)  # compile and load before the clock starts
held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tol = 1e-3 if classes >= 1000 else 1e-4
seconds, result = best(
    lambda: mf.optimize(proba, y, "h_mean", limits, sensitive_features=group, confusion="model", tol=tol), 2
)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({
    "rows": rows, "classes": classes, "groups": groups, "read": read, "seconds": seconds, "reads": seconds / read,
    "calls": result.n_oracle_calls, "gap": result.gap, "status": result.status,
    "array_mb": proba.nbytes / 2**20, "extra_mb": (peak - held) / 2**10, "gb_per_s": proba.nbytes / read / 1e9,
}))
"""


def run(rows: int, classes: int, groups: int) -> dict:
    answer = subprocess.run(
        [sys.executable, "-c", CASE, str(rows), str(classes), str(groups)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log time over log size, over the sizes large enough to be more than a start-up cost."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the largest sizes out")
    options = parser.parse_args()
    rows = ROWS[:-1] if options.quick else ROWS
    sweeps = {
        "rows": [(n, 10, 1) for n in rows],
        "classes": [(50_000, c, 1) for c in CLASSES],
        "groups": [(200_000, 10, g) for g in GROUPS],
    }
    print(f"{'rows':>10} {'classes':>8} {'groups':>7} {'read ms':>8} {'GB/s':>6} {'solve s':>8} {'reads':>8} "
          f"{'calls':>6} {'gap':>8} {'array MB':>9} {'extra MB':>9}  status")  # fmt: skip
    results: dict[str, list[dict]] = {}
    for name, cases in sweeps.items():
        results[name] = []
        for case in cases:
            r = run(*case)
            results[name].append(r)
            print(f"{r['rows']:>10} {r['classes']:>8} {r['groups']:>7} {1e3 * r['read']:>8.2f} {r['gb_per_s']:>6.1f} "
                  f"{r['seconds']:>8.3f} {r['reads']:>8.1f} {r['calls']:>6} {r['gap']:>8.1e} {r['array_mb']:>9.0f} "
                  f"{r['extra_mb']:>9.0f}  {r['status']}", flush=True)  # fmt: skip
    for name, found in results.items():
        large = [r for r in found if name != "rows" or r["rows"] >= 10**5]
        slope = exponent([r[name] for r in large], [r["seconds"] for r in large])
        print(f"time grows with {name} to the power {slope:.2f}")
    (HERE / "growth.json").write_text(json.dumps(results, indent=1) + "\n")
    picture(results)


def picture(results: dict[str, list[dict]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for axis, (name, found) in zip(axes, results.items(), strict=True):
        sizes = [r[name] for r in found]
        axis.loglog(sizes, [r["seconds"] for r in found], "o-", label="certified H-mean solve")
        axis.loglog(sizes, [r["read"] for r in found], "s--", color="grey", label="one read of the array")
        axis.set_xlabel(name)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds")
    axes[0].legend(frameon=False)
    target = HERE.parents[1] / "docs" / "figures" / "growth.png"
    figure.savefig(target, dpi=110)
    print(f"plot: {target.relative_to(HERE.parents[1])}")


if __name__ == "__main__":
    main()
