"""G-mean under precision floors: what each way of counting promises, and what rows not used say.

    METRICFIT_DATA=... python benchmarks/worlds/floors.py [--few] [--many] [--limits] [--seeds 0 1]

``--few``: the paper's sets, scikit-learn's own and generated ones that are miscalibrated; ``--many``: CovType with
20,000 and 80,000 rows; ``--limits``: the same problem at neighbouring limits. Without any, all three.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from rows import GENERATED, KINDS, OWN, PAPER, Split, split

import metricfit as mf

WAYS = {
    "default": {},
    "local": {"method": "local"},
    "generation": {"method": "column_generation"},
    "calibrated": {"counting": "calibrated"},
    "model": {"counting": "model"},
}
ABOVE = (0.0, 0.08, 0.15)


def floors(s: Split, seed: int):
    """Yield two classes with three floors each: what the most probable class has, and more."""
    classes, decided = list(range(s.P.shape[1])), s.P.argmax(axis=1)
    usable = [c for c in classes if (decided == c).sum() >= 15]
    for c in np.random.default_rng(seed).permutation(usable)[:2].tolist():
        plain = mf.precision(c)(mf.Confusion.from_predictions(s.y, decided, classes=classes))
        for more in ABOVE:
            yield c, round(min(0.97, plain + more), 3)


def solved(s: Split, objective, constraints, **options):
    """Return a result, or None where no policy keeps the constraints; warnings are not of interest here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return mf.optimize(s.P, s.y, objective, constraints, classes=list(range(s.P.shape[1])), **options)
        except mf.InfeasibleError:
            return None


def judged(result, s: Split, c: int, floor: float) -> list[float]:
    """Return the value promised, value and margin on new rows, and the variance of the new rows' precision.

    The variance is that of counting the new rows alone: what a policy would miss by whose precision is the floor.
    """
    shares = result.policy.decision_proba(s.Q)
    made = np.zeros((1, s.Q.shape[1], s.Q.shape[1]))
    np.add.at(made[0], s.z, shares / len(s.z))
    new = mf.Confusion(made, result.policy.axes)
    precision, decided = float(mf.precision(c)(new)), shares[:, c].sum()
    margin = precision - floor if decided > 1e-9 else 0.0  # a class that is never decided keeps every floor
    return [result.value, float(mf.g_mean()(new)), margin, floor * (1 - floor) / max(decided, 1.0)]


def compare(sets, seeds, ways) -> dict[str, np.ndarray]:
    """Solve all problems in all ways; return (problems, [promised, new value, new margin, its variance, seconds])."""
    found: dict[str, list[list[float]]] = {way: [] for way in ways}
    for name, kind, rows in sets:
        for seed in seeds:
            s, before = split(name, kind, seed, rows), len(found["local"])
            for c, floor in floors(s, seed):
                line = {}
                for way in ways:
                    start = time.process_time()
                    result = solved(s, "g_mean", [mf.precision(c) >= floor], **WAYS[way])
                    seconds = time.process_time() - start
                    line[way] = [np.nan] * 5 if result is None else [*judged(result, s, c, floor), seconds]
                    if way == "calibrated" and result is not None and not result.certified:
                        print(f"  {s.name} precision({c}) >= {floor}: not certified, {result.status}")
                for way in ways:
                    found[way].append(line[way])
            means = {way: np.nanmean(np.array(found[way][before:]), axis=0) for way in ways}
            told = ", ".join(f"{way} {m[0]:.3f} | {m[1]:.3f} {m[2]:+.3f}" for way, m in means.items())
            print(f"{s.name} {rows or ''} {seed}: {told}", flush=True)
    return {way: np.array(lines) for way, lines in found.items()}


def report(found: dict[str, np.ndarray]) -> None:
    """Print means, and how the default stands against direct search on the tuning labels."""
    print(f"\n{'':12s} problems  promised  new rows  margin   rms of its negative part, if exact  CPU s")
    for way, lines in found.items():
        ok = ~np.isnan(lines[:, 0])
        promised, new, margin, variance, seconds = lines[ok].T
        rms = np.sqrt(np.mean(np.minimum(margin, 0) ** 2))
        exact = np.sqrt(np.mean(variance) / 2)  # half of a normal error's square falls on its negative part
        print(
            f"{way:12s} {ok.sum():8d}  {promised.mean():.4f}    {new.mean():.4f}    {margin.mean():+.4f}   {rms:.4f}"
            f"                    {exact:.4f}    {seconds.mean():.2f}"
        )
    behind = found["local"][:, 0] - found["default"][:, 0]
    behind = behind[~np.isnan(behind)]
    print(
        f"default at least local - .005 in {np.mean(behind <= 0.005):.3f} (bar .98), "
        f"at worst {-behind.max():+.4f} (bar -.03)\n"
    )


def limits(seeds) -> None:
    """Print how values follow the limit: a change of 1e-12, and 20 levels."""
    worst = {"default": [0.0, 0.0], "calibrated": [0.0, 0.0]}
    for name, kind in (
        ("satimage", "linear"),
        ("pageblocks", "boosted"),
        ("abalone", "linear"),
        ("too_sure", "linear"),
    ):
        for seed in seeds:
            s = split(name, kind, seed)
            c, floor = list(floors(s, seed))[1]
            for way in worst:
                levels = [*np.linspace(floor - 0.15, floor, 20), floor + 1e-12]
                values = [solved(s, "g_mean", [mf.precision(c) >= t], **WAYS[way]) for t in levels]
                v = np.array([np.nan if r is None else r.value for r in values])
                rises = np.nanmax(v[1:20] - np.fmin.accumulate(v[:19]))
                worst[way][0] = max(worst[way][0], abs(v[20] - v[19]))
                worst[way][1] = max(worst[way][1], rises)
                print(
                    f"{s.name} {seed} {way}: 1e-12 {abs(v[20] - v[19]):.2e}, largest rise {rises:+.4f}",
                    flush=True,
                )
    for way, (tiny, rise) in worst.items():
        print(
            f"{way}: limit + 1e-12 changes the value by {tiny:.1e} at most; a stricter limit gains {rise:+.4f} at most"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for part in ("few", "many", "limits"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    given = parser.parse_args()
    every = not (given.few or given.many or given.limits)
    if given.few or every:
        sets = [(n, k, None) for n in PAPER for k in KINDS] + [
            (n, "linear", None) for n in (*OWN, *GENERATED)
        ]
        report(compare(sets, given.seeds, given.ways))
    if given.many or every:
        report(compare([("covtype", k, r) for r in (20_000, 80_000) for k in KINDS], given.seeds, given.ways))
    if given.limits or every:
        limits(given.seeds)


if __name__ == "__main__":
    main()
