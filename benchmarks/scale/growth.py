"""How time and memory of a whole default call (H-mean) grow with rows, classes and groups.

    python benchmarks/scale/growth.py [--quick]

Every case runs in a process of its own, on one thread. Times are processor time, the best of some solves after one
that loads the compiled code, in seconds and in reads (``np.sum`` of the same float32 array in the same process).
"extra MB" is the most memory the solve holds beyond the array and what is loaded. With groups, demographic parity is
kept to 0.05.
Exponents are least-squares slopes in log-log; that of the rows is over 100,000 rows and more, because below, the
time is that of the master problems, whatever the number of rows. The bar is 1.05 in rows. Writes
docs/figures/growth.png.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from rows import arrays, best, forget_peak, resident

ROWS = [10**4, 10**5, 10**6, 10**7]
CLASSES = [2, 10, 100, 1000]
GROUPS = [1, 10, 100]
SWEEPS = {
    "rows": [(rows, 10, 1) for rows in ROWS],
    "classes": [(50_000, classes, 1) for classes in CLASSES],
    "groups": [(200_000, 10, groups) for groups in GROUPS],
}
BAR, FROM = 1.05, 10**5
PICTURE = Path(__file__).parents[2] / "docs" / "figures" / "growth.png"


def measure(rows: int, classes: int, groups: int) -> dict:
    """Solve one case and say what it cost; meant to be all that a process does."""
    import metricfit as mf

    proba, y = arrays(rows, classes)
    group = np.random.default_rng(0).integers(0, groups, rows) if groups > 1 else None
    limits = [mf.demographic_parity(over="group") <= 0.05] if groups > 1 else []
    options = {"classes": range(classes), "tol": 1e-3 if classes >= 1000 else 1e-4}

    def solve() -> mf.Result:
        return mf.optimize(proba, y, "h_mean", limits, sensitive_features=group, **options)

    solve()
    before = forget_peak()
    seconds, result = best(solve, 2 if rows * classes > 10**7 else 5)
    extra, (read, _) = resident() - before, best(proba.sum, 9)
    return {
        "rows": rows,
        "classes": classes,
        "groups": groups,
        "read": read,
        "seconds": seconds,
        "calls": result.n_oracle_calls,
        "gap": result.gap,
        "status": result.status,
        "array": proba.nbytes / 1e6,
        "extra": max(1e3 * extra, 0.0),
    }


def run(case: tuple[int, int, int]) -> dict:
    command = [sys.executable, __file__, "--case", *map(str, case)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def exponent(name: str, found: list[dict], what: str) -> float:
    """Return the slope of log time, or log memory, over log size."""
    large = [one for one in found if name != "rows" or one["rows"] >= FROM]
    values = [max(one[what], 1e-9) for one in large]
    return float(np.polyfit(np.log([one[name] for one in large]), np.log(values), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave the most rows out, and draw nothing")
    parser.add_argument("--case", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(*options.case)))
        return
    print(
        f"{'rows':>10} {'classes':>8} {'groups':>7} {'read ms':>8} {'GB/s':>6} {'solve s':>8} {'reads':>7} "
        f"{'calls':>6} {'gap':>8} {'array MB':>9} {'extra MB':>9}  status"
    )
    results: dict[str, list[dict]] = {}
    for name, cases in SWEEPS.items():
        results[name] = []
        for case in cases:
            if options.quick and case[0] == ROWS[-1]:
                continue
            one = run(case)
            results[name].append(one)
            print(
                f"{one['rows']:>10} {one['classes']:>8} {one['groups']:>7} {1e3 * one['read']:>8.3f} "
                f"{one['array'] / 1e3 / one['read']:>6.1f} {one['seconds']:>8.3f} {one['seconds'] / one['read']:>7.1f} "
                f"{one['calls']:>6} {one['gap']:>8.1e} {one['array']:>9.1f} {one['extra']:>9.1f}  {one['status']}",
                flush=True,
            )
    for name, found in results.items():
        slope = exponent(name, found, "seconds")
        bar = f", bar {BAR}: {'kept' if slope <= BAR else 'MISSED'}" if name == "rows" else ""
        print(f"time grows with {name} to the power {slope:.2f}{bar}")
    if not options.quick:
        draw(results)
        print(f"picture: {PICTURE.relative_to(Path(__file__).parents[2])}")


def draw(results: dict[str, list[dict]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fixed = {
        "rows": "10 classes",
        "classes": "50,000 rows",
        "groups": "200,000 rows, 10 classes, parity ≤ 0.05",
    }
    figure, panels = plt.subplots(2, 3, figsize=(11, 6), sharey="row", sharex="col", layout="constrained")
    for column, (name, found) in enumerate(results.items()):
        sizes = [one[name] for one in found]
        time, memory = panels[:, column]
        slope = exponent(name, found, "seconds")
        time.loglog(sizes, [one["seconds"] for one in found], "o-", color="tab:red", label="whole solve")
        time.loglog(sizes, [one["read"] for one in found], "s--", color="0.5", label="one read of the array")
        time.set_title(f"{fixed[name]}\ntime ∝ {name}$^{{{slope:.2f}}}$", fontsize=10)
        memory.loglog(
            sizes, [max(one["extra"], 0.1) for one in found], "o-", color="tab:red", label="extra memory"
        )
        memory.loglog(sizes, [one["array"] for one in found], "s--", color="0.5", label="the array itself")
        memory.set_xlabel(name)
        for panel in (time, memory):
            panel.grid(alpha=0.3)
            panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("seconds")
    panels[1, 0].set_ylabel("MB")
    for row in panels:
        row[0].legend(frameon=False, loc="upper left", fontsize=9)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
