"""What each part of the default's judge is worth on rows not used: the default without it, problem by problem.

    METRICFIT_DATA=... python benchmarks/worlds/ablation.py [--seeds 0] [--sets abalone ...] [--parts ties judge]

The default chooses between the calibrated answer and a search on labels by labels of held-out folds
(`metricfit.solving.auto`). Each line removes a candidate or a step, or sets a number of the judge to where it does
nothing. *Worth* is the objective on new rows, less twice what limits are missed by, with the part minus without it, and
its standard error over the problems. A part whose worth is not positive in any kind of problem has no reason to stay.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
from rows import GENERATED, KINDS, NETWORKS, OWN, PAPER, Split, split

import metricfit as mf
from metricfit.solving import auto, judge

# What to remove: a candidate, a step, or the number that makes a part do nothing.
PARTS: dict[str, dict[str, object]] = {
    "search: always calibrated": {"searched": False},
    "judge: the search where it is better on seen rows": {"unseen": auto.Bench.seen},
    "ties: to the proof": {"TIE": 0.0},
    "price: of missed limits": {"PRICE": 0.0},
    "price: limits before all else": {"PRICE": 1e6},
    "folds: two instead of three": {"FOLDS": 2},
}


@contextmanager
def without(part: str | None) -> Iterator[None]:
    """Remove a part of the default for a while."""
    change = {} if part is None else PARTS[part]
    fitted = auto.Bench.fitted
    with ExitStack() as stack:
        for name, value in change.items():
            if name == "searched":
                stack.enter_context(
                    mock.patch.object(auto.Bench, "fitted", lambda self, _=False: fitted(self, False))
                )
            elif name == "unseen":
                stack.enter_context(mock.patch.object(auto.Bench, "unseen", value))
            else:
                stack.enter_context(mock.patch.object(judge if name == "PRICE" else auto, name, value))
        yield


def problems(s: Split, seed: int) -> Iterator[tuple[str, str, mf.Constraint | None]]:
    """Yield kind, objective and limit; floors are at what the most probable class has, and above."""
    classes, decided = list(range(s.P.shape[1])), s.P.argmax(axis=1)
    plain = mf.Confusion.from_predictions(s.y, decided, classes=classes)
    for objective in ("g_mean", "macro_f1", "min_recall"):
        yield "no limits", objective, None
    usable = [c for c in classes if (decided == c).sum() >= 15]
    for c in np.random.default_rng(seed).permutation(usable)[:2].tolist():
        for more in (0.0, 0.08):
            floor = round(min(0.97, mf.precision(c)(plain) + more), 3)
            yield "precision floor", "g_mean", mf.precision(c) >= floor
        floor = round(min(0.97, mf.recall(c)(plain) + 0.04), 3)
        yield "recall floor", "macro_f1", mf.recall(c) >= floor


def worth(s: Split, objective: str, limit: mf.Constraint | None) -> float:
    """Return the objective on new rows, less twice what the limit is missed by; -1 where nothing meets the limits."""
    try:
        result = mf.optimize(
            s.P, s.y, objective, [] if limit is None else [limit], classes=range(s.P.shape[1])
        )
    except mf.InfeasibleError:
        return -1.0
    made = np.zeros((1, s.Q.shape[1], s.Q.shape[1]))
    np.add.at(made[0], s.z, result.policy.decision_proba(s.Q) / len(s.z))
    confusion = mf.Confusion(made, result.policy.axes)
    value = float(mf.parse(f"{objective}()")(confusion))
    if limit is None:
        return value
    return value - 2 * max(0.0, float(np.nan_to_num(limit.excess(limit.metric(confusion)))))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=[*PAPER, *OWN, *GENERATED, *NETWORKS])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--parts", nargs="+", default=[""], help="how the names of the parts begin")
    given = parser.parse_args()
    given.parts = [part for part in PARTS if part.startswith(tuple(given.parts))]
    warnings.simplefilter("ignore")
    start, found = time.perf_counter(), {}
    for name in given.sets:
        for kind in KINDS if name in PAPER else ("linear",):
            for seed in given.seeds:
                s = split(name, kind, seed)
                for asked in problems(s, seed):
                    with without(None):
                        whole = worth(s, *asked[1:])
                    for part in given.parts:
                        with without(part):
                            gain = whole - worth(s, *asked[1:])
                        for group in (asked[0], "all"):
                            found.setdefault((part, group), []).append(gain)
    print(f"{'without':50s} {'problems':16s} {'number':>6s} {'changed':>8s} {'worth':>8s} {'s.e.':>7s}")
    for (part, group), gains in found.items():
        a = np.array(gains)
        error = a.std() / np.sqrt(len(a))
        print(f"{part:50s} {group:16s} {len(a):6d} {(a != 0).mean():8.2f} {a.mean():+8.4f} {error:7.4f}")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
