"""Whole H-mean solves in reads of the data, and against Frank-Wolfe in plain NumPy to the same proven gap.

    python benchmarks/scale/solve.py [--case 400000x7] [--against]

A read is ``np.sum`` of the same float32 array in the same run. "auto" is the default call, with calibration and the
choice of what is counted; "model" takes the probabilities as they are. "first" is the first call in the process, which
loads compiled code (``first.py`` has what compiling it costs), "solve" the best of some more. Times are processor time
on one thread.

``--against`` also runs Algorithm 1 of the paper on the probabilities as they are, with a NumPy oracle, until its
duality gap, which is a proof, is at most the tolerance of the solve, and times all of it. METRICFIT_DATA adds the 945
classes of debian_maintainer_mlp.npz.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rows import arrays, best

import metricfit as mf

ITERATIONS = 1_000
WORLDS = ("auto", "model")
FILE = "debian_maintainer_mlp.npz"


@dataclass(frozen=True)
class Case:
    name: str
    tol: float

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        if self.name == FILE:
            with np.load(Path(os.environ["METRICFIT_DATA"]) / FILE) as file:
                proba = file["P"].astype(np.float32)
                return proba / proba.sum(axis=1, keepdims=True), file["y"].astype(np.int32)
        return arrays(*(int(size) for size in self.name.split("x")))


CASES = [
    Case("400000x7", 1e-4),
    Case("1000000x100", 1e-4),
    Case("50000x1000", 1e-3),
]
if (Path(os.environ.get("METRICFIT_DATA", "")) / FILE).exists():
    CASES.append(Case(FILE, 1e-3))


def gradient(recall: np.ndarray) -> np.ndarray:
    """Return the gradient of the loss 1 - n / sum(1 / recall)."""
    inverse = 1 / np.maximum(recall, 1e-9)
    return -recall.size * inverse**2 / inverse.sum() ** 2


def loss(recall: np.ndarray) -> float:
    return 1 - recall.size / (1 / np.maximum(recall, 1e-9)).sum()


def oracle(proba: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return the diagonal of the best confusion matrix, as the probabilities say: the plug-in oracle in NumPy."""
    rows, k = proba.shape
    decided = k - 1 - (proba * gains.astype(np.float32))[:, ::-1].argmax(axis=1)
    return np.bincount(decided, proba[np.arange(rows), decided], k) / rows


def frank_wolfe(proba: np.ndarray, tol: float) -> tuple[float, float, int]:
    """Return the loss and the gap that Algorithm 1 reaches from the balanced rule, and after how many iterations."""
    prior = proba.mean(axis=0, dtype=np.float64)
    recall = oracle(proba, 1 / prior / prior.size) / prior
    for t in range(1, ITERATIONS):
        slope = gradient(recall)
        best_recall = oracle(proba, -slope / prior / prior.size) / prior
        gap = float(slope @ (recall - best_recall))
        if gap <= tol:
            break
        recall += 2 / (t + 2) * (best_recall - recall)
    return loss(recall), gap, t + 1


def against(proba: np.ndarray, found: mf.Result, seconds: float, tol: float) -> str:
    started = time.process_time()
    reached, gap, iterations = frank_wolfe(proba, tol)
    taken = time.process_time() - started
    return (
        f"    NumPy Frank-Wolfe: {iterations} oracle calls, {taken:.2f} s, loss {reached:.6f} with a gap of {gap:.1e}; "
        f"ours {1 - found.value:.6f} with {found.gap:.1e}; {taken / seconds:.1f} times our time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--against", action="store_true", help="compare with Frank-Wolfe in plain NumPy")
    options = parser.parse_args()
    print(
        f"{'rows x classes':26} {'counting':8} {'read ms':>8} {'first s':>8} {'solve s':>8} {'reads':>6} {'calls':>5} "
        f"{'gap':>8} {'value':>8} status"
    )
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        proba, y = case.load()
        how = {"classes": range(proba.shape[1]), "tol": case.tol}
        for world in WORLDS:

            def solve(proba=proba, y=y, how=how, world=world) -> mf.Result:
                return mf.optimize(proba, y, "h_mean", counting=world, **how)

            first = best(solve, 1)[0]
            read = best(proba.sum, 5)[0]
            seconds, found = best(solve, options.repeats)
            read = min(read, best(proba.sum, 5)[0])
            print(
                f"{case.name:26} {world:8} {1e3 * read:8.2f} {first:8.2f} {seconds:8.3f} {seconds / read:6.1f} "
                f"{found.n_oracle_calls:5d} {found.gap:8.1e} {found.value:8.5f} {found.status}; {found.choice}",
                flush=True,
            )
        if options.against:
            print(against(proba, found, seconds, case.tol), flush=True)


if __name__ == "__main__":
    main()
