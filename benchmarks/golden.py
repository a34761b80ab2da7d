"""Golden answers: about 60 problems in all countings, to show that a change of the house changes no answer.

    python benchmarks/golden.py write answers.json    # before
    python benchmarks/golden.py check answers.json    # after; prints what differs, exits with 1 if anything does

Value, status, prices and a hash of the policy's rules are compared to the last bit, on the same machine: with groups, a
policy that does not see them, confidence, a frontier, files larger than memory and a Dask collection. The numbers of
oracle calls may differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import metricfit as mf

COUNTINGS = ("auto", "calibrated", "labels", "model")
ALONE = ("accuracy", "g_mean", "macro_f1", "min_recall", "cohen_kappa('quadratic')", "mcc", "f_beta(2, 1)")
LIMITED = (
    ("g_mean", ["precision(1) >= 0.6"]),
    ("macro_f1", ["recall(2) >= 0.8"]),
    ("accuracy", ["coverage(2) <= 0.1", "recall(1) >= 0.5"]),
    ("h_mean", ["coverage_deviation() <= 0.05"]),
    ("cost([[0, 1, 5], [2, 0, 1], [9, 2, 0]])", ["precision(2) >= 0.5"]),
)
GROUPED = (
    ("accuracy", ["demographic_parity(over='sex') <= 0.03"]),
    ("accuracy", ["equalized_odds(over=['sex', 'site']) <= 0.1"]),
    ("g_mean", ["worst(recall(1), over='site') >= 0.5", "precision(1).at(sex='F') >= 0.6"]),
)


def rows(seed: int = 0, count: int = 1500) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Draw three classes, probabilities that are a little too sure, and two attributes."""
    rng = np.random.default_rng(seed)
    right = rng.dirichlet([4, 2, 1], count)
    y = (rng.random((count, 1)) > right.cumsum(axis=1)).sum(axis=1)
    sure = right**1.5
    groups = pd.DataFrame({"sex": rng.choice(["F", "M"], count), "site": rng.choice([1, 2, 3], count)})
    return sure / sure.sum(axis=1, keepdims=True), y, groups


def problems(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield names and functions that solve."""
    proba, y, groups = rows()
    for counting in COUNTINGS:
        how = {"counting": counting, "random_state": 0}
        for objective in ALONE:
            yield f"{objective} {counting}", partial(mf.optimize, proba, y, objective, **how)
        for objective, limits in LIMITED:
            name = f"{objective} {limits} {counting}"
            yield name, partial(mf.optimize, proba, y, objective, limits, expect=counting == "auto", **how)
        for objective, limits in GROUPED:
            known = {"sensitive_features": groups, **how}
            yield (
                f"{objective} {limits} {counting}",
                partial(mf.optimize, proba, y, objective, limits, **known),
            )
        cell = groups["sex"].to_numpy()
        joint = np.stack([proba * 0.6, proba * 0.4], axis=1)
        limit = ["demographic_parity(over='group') <= 0.02"]
        blind = {"sensitive_features": cell, "blind": True, **how}
        yield f"blind {counting}", partial(mf.optimize, joint, y, "accuracy", limit, **blind)
        yield (
            f"frontier {counting}",
            partial(mf.frontier, proba, y, "g_mean", mf.precision(1), [0.5, 0.6, 0.7], **how),
        )
        stored = np.lib.format.open_memmap(folder / f"{counting}.npy", "w+", np.float64, proba.shape)
        stored[:] = proba
        yield f"memory-mapped {counting}", partial(mf.optimize, stored, y, *LIMITED[0], **how)
    floors = ["precision(1) >= 0.4", "recall(2) >= 0.3"]
    yield "confidence", partial(mf.optimize, proba, y, "g_mean", floors, confidence=0.8, random_state=0)
    yield (
        "confidence of one half",
        partial(mf.optimize, proba, y, "g_mean", floors, confidence=0.5, random_state=0),
    )
    try:
        import dask.array as da
    except ImportError:
        return
    blocks = da.from_array(proba, chunks=(400, 3))
    yield (
        "Dask",
        partial(mf.optimize, blocks, da.from_array(y, chunks=400), *LIMITED[0], counting="calibrated"),
    )


def answer(found: object) -> list[object]:
    """Return what of a result must stay the same; numbers as text that has every bit."""
    if isinstance(found, mf.InfeasibleError):
        return ["infeasible", sorted(found.conflict)]
    if not isinstance(found, mf.Result):
        return [answer(point.result) for point in found]
    rules = {
        key: part for key, part in found.policy.to_dict().items() if key not in ("provenance", "version")
    }
    told = json.dumps(rules, sort_keys=True).encode()
    numbers = [
        found.value,
        found.bound,
        *(c.value for c in found.constraints),
        *(c.price for c in found.constraints),
    ]
    numbers += (
        []
        if found.expected is None
        else [found.expected.value, *(c.value for c in found.expected.constraints)]
    )
    return [
        found.status,
        found.counting,
        [float(x).hex() for x in numbers],
        hashlib.sha256(told).hexdigest()[:16],
    ]


def solved(solve: Callable[[], object]) -> list[object]:
    """Return the answer of a problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return answer(solve())
        except mf.InfeasibleError as error:
            return answer(error)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("write", "check"))
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {name: solved(solve) for name, solve in problems(Path(folder))}
    if given.what == "write":
        given.file.write_text(json.dumps(found, indent=1))
        print(f"{len(found)} answers written to {given.file}")
        return 0
    before = json.loads(given.file.read_text())
    changed = [name for name in before if before[name] != found.get(name)]
    for name in changed:
        print(f"{name}\n  before {before[name]}\n  now    {found.get(name)}")
    print(f"{len(before) - len(changed)} of {len(before)} answers are the same to the last bit")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
