"""What late oracle calls cost, as shares of a plain pass, while a method converges; and calls on two classes.

    python benchmarks/kernels/lazy.py

The losses are those of H-mean on classes of unequal size. A method asks for them once; then they are replayed
through the oracle as users have it, which decides by itself when to remember. Times are processor time of
this thread, the best of all rounds for each call, so that a busy machine counts little; "share" is their
mean and "median" their median, in plain passes. "reached" is the share of the rows that a call decided
anew, "with memory" that of the calls that had one near enough. Calls that make a memory are included.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from metricfit.kernels.counting import count
from metricfit.kernels.sorted_rows import SortedRows
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem
from metricfit.solve import solve

CASES = [(400_000, 7), (1_000_000, 100)]
METHODS = {"frank_wolfe": 240, "column_generation": 60}
ROUNDS = 2


class Recorder:
    """An oracle that keeps the losses it is asked about."""

    def __init__(self, oracle: PluginOracle) -> None:
        self.oracle, self.losses = oracle, []

    def __getattr__(self, name: str) -> object:
        return getattr(self.oracle, name)

    def __call__(self, loss: np.ndarray, layout: str) -> object:
        self.losses.append(loss.copy())
        return self.oracle(loss, layout)

    def sample(self) -> None:
        return None


def data(N: int, n: int) -> Rows:
    """Class sizes fall by a factor of ten; labels are drawn from the probabilities."""
    rng = np.random.default_rng(0)
    P, y = np.empty((N, n), np.float32), np.empty(N, np.int32)
    size = np.geomspace(1, 0.1, n, dtype=np.float32)
    for rows in np.array_split(np.arange(N), 100):
        part = size * rng.standard_exponential((len(rows), n), np.float32) ** 3
        P[rows] = part / part.sum(axis=1, keepdims=True)
        drawn = (rng.random((len(rows), 1)) > P[rows].cumsum(axis=1)).sum(axis=1)
        y[rows] = np.minimum(drawn, n - 1)
    return Rows.of(P, y, classes=list(range(n)))


def milliseconds(function: Callable[[], object]) -> float:
    start = time.thread_time()
    function()
    return 1e3 * (time.thread_time() - start)


def replay(rows: Rows, confusion: str, losses: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the time of each call, and the share of the rows it decided anew (one if all of them)."""
    oracle, times, reached = PluginOracle(rows, confusion), [], []
    for loss in losses:
        times.append(milliseconds(lambda loss=loss: oracle(loss, "diagonal")))
        memory = oracle.shortcut.memory
        share = 1.0 if memory is None else memory.reached(loss)
        reached.append(share if oracle.shortcut._cost(share) < 1 else 1.0)
    return np.array(times), np.array(reached)


def many_classes() -> None:
    head = f"{'rows x classes':16} {'counts':7} {'method':18} {'calls':>9} {'plain ms':>9} {'mean ms':>8}"
    print(f"{head} {'share':>6} {'median':>7} {'reached':>8} {'with memory':>11}")
    for N, n in CASES:
        rows = data(N, n)
        for method, calls in METHODS.items():
            # With soft labels the gap is a proof, so that the method goes on until it has converged.
            recorder = Recorder(PluginOracle(rows, "model"))
            solve(Problem.of("h_mean"), recorder, method, tol=1e-9, max_calls=calls)
            for confusion in ("labels", "model"):
                report(f"{N:,} x {n}", rows, confusion, method, recorder.losses)


def report(name: str, rows: Rows, confusion: str, method: str, losses: list[np.ndarray]) -> None:
    y, match = None if confusion == "model" else rows.labels, rows.axes.match

    def plain() -> object:
        return count(rows.proba, y, None, None, losses[-1], match, layout="diagonal", engine="numba")

    full = min(milliseconds(plain) for _ in range(5))
    rounds = [replay(rows, confusion, losses) for _ in range(ROUNDS)]
    times, reached = np.min([t for t, _ in rounds], axis=0), rounds[0][1]
    for part in [*np.array_split(np.arange(len(losses)), 3), np.arange(len(losses))]:
        mean, calls = times[part].mean(), f"{part[0] + 1}-{part[-1] + 1}"
        print(
            f"{name:16} {confusion:7} {method:18} {calls:>9} {full:9.2f} {mean:8.2f} {mean / full:6.2f}"
            f" {np.median(times[part]) / full:7.2f} {np.median(reached[part]):8.4f}"
            f" {np.mean(reached[part] < 1):11.2f}",
            flush=True,
        )


def two_classes() -> None:
    head = f"{'rows x classes':16} {'counts':7} {'cells':>5} {'plain/s':>8} {'sorted/s':>9}"
    print(f"\n{head} {'times':>6} {'sort in passes':>14}")
    rng = np.random.default_rng(0)
    for N, A in [(100_000, 1), (1_000_000, 1), (1_000_000, 10)]:
        p = rng.random(N, np.float32)
        P, labels = np.stack([1 - p, p], axis=1), (rng.random(N) < p).astype(np.int32)
        cell = rng.integers(0, A, N).astype(np.int32) if A > 1 else None
        for y in (labels, None):
            losses = [-rng.random((A, 2, 2)) * [[1.0], [0.1]] for _ in range(50)]

            def plain(y=y, cell=cell, P=P, losses=losses) -> None:
                for loss in losses[:10]:
                    count(P, y, cell, None, loss, np.arange(2), layout="diagonal", engine="numba")

            def prepare(y=y, cell=cell, P=P, A=A) -> SortedRows:
                return SortedRows.of(P, y, cell, None, A)

            plain()
            rows = prepare()
            one = min(milliseconds(plain) for _ in range(ROUNDS)) / 10
            quick = (
                min(milliseconds(lambda r=rows, q=losses: [r.count(x) for x in q]) for _ in range(ROUNDS))
                / 50
            )
            sort = min(milliseconds(prepare) for _ in range(ROUNDS))
            counts = "model" if y is None else "labels"
            print(
                f"{f'{N:,} x 2':16} {counts:7} {A:5} {1e3 / one:8.0f} {1e3 / quick:9.0f}"
                f" {one / quick:6.1f} {sort / one:14.0f}",
                flush=True,
            )


if __name__ == "__main__":
    many_classes()
    two_classes()
