"""What an oracle call costs: in reads of the probabilities, and against plain NumPy.

    python benchmarks/kernels/oracle.py

A read is ``np.sum(P)``. Plain NumPy is ``argmin(P @ L, 1)`` and ``np.bincount``. Both run on one thread, as
"ours" does, and what counts is the thread's own time, which other work on the machine does not lengthen.
The gain by a second thread is in elapsed time, and needs a second core with nothing else to do. Times are
the best of some rounds in which all take turns. "extra MB" is the most memory a call holds beyond its input.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from metricfit.data.rows import RowArrays
from metricfit.kernels.counting import count

SECONDS = 6.0  # for each line of the table


@dataclass(frozen=True)
class Case:
    N: int
    n: int
    layout: str
    soft: bool = False
    k: int | None = None
    cells: int = 1
    dtype: type = np.float32

    def __str__(self) -> str:
        k = f" to {self.k}" if self.k else ""
        cells = f", {self.cells} cells" if self.cells > 1 else ""
        return f"{self.N:,} x {self.n}{k} {self.dtype.__name__}{cells}"


CASES = [
    Case(400_000, 7, "diagonal"),
    Case(400_000, 7, "diagonal", soft=True),
    Case(1_000_000, 100, "diagonal"),
    Case(1_000_000, 100, "diagonal", soft=True),
    Case(400_000, 7, "diagonal", cells=4),
    Case(1_000_000, 100, "diagonal", cells=4),
    Case(400_000, 7, "diagonal", dtype=np.float64),
    Case(50_000, 1_000, "diagonal"),
    Case(400_000, 7, "full"),
    Case(400_000, 7, "full", soft=True),
    Case(200_000, 100, "full", k=3),
    Case(100_000, 100, "full"),
]


def probabilities(case: Case, rng: np.random.Generator) -> np.ndarray:
    """Probabilities with a clear favourite in most rows, made without a second array of their size."""
    P = np.empty((case.N, case.n), case.dtype)
    for rows in np.array_split(P, 100):
        rows[...] = rng.random(rows.shape, case.dtype) ** 4
        rows /= rows.sum(axis=1, keepdims=True)
    return P


def contestants(case: Case, P: np.ndarray, rng: np.random.Generator) -> dict[str, Callable[[], object]]:
    n, k, A = case.n, case.k or case.n, case.cells
    match = np.arange(k)
    y = None if case.soft else rng.integers(0, n, case.N).astype(np.int32)
    cell = rng.integers(0, A, case.N).astype(np.int32) if A > 1 else None
    if case.layout == "diagonal":
        loss = np.stack([-rng.uniform(0.5, 1, (A, k)), rng.uniform(0, 0.1, (A, k))], axis=1)
        matrices = np.repeat(loss[:, 1:2], n, axis=1).astype(P.dtype)
        matrices[:, match, match] += loss[:, 0].astype(P.dtype)
    else:
        loss = rng.random((A, n, k))
        matrices = loss.astype(P.dtype)

    def plain() -> np.ndarray:
        if cell is None:
            decisions = np.argmin(P @ matrices[0], 1)
        else:
            decisions = np.empty(case.N, np.intp)
            for a in range(A):
                decisions[cell == a] = np.argmin(P[cell == a] @ matrices[a], 1)
        slot = decisions if cell is None else cell * k + decisions
        if y is not None:
            return np.bincount(y * (A * k) + slot, minlength=n * A * k) / case.N
        if case.layout == "diagonal":
            hits = np.bincount(slot, P[np.arange(case.N), match[decisions]], A * k)
            return np.stack([hits, np.bincount(slot, minlength=A * k)]) / case.N
        return np.stack([np.bincount(slot, p, A * k) for p in P.T]) / case.N

    def ours(threads: int) -> np.ndarray:
        rows = RowArrays(P, y, cell, None)
        return count(rows, loss, match, layout=case.layout, threads=threads, engine="numba")

    return {"read": P.sum, "plain": plain, "one": lambda: ours(1), "two": lambda: ours(2)}


def best_times(functions: dict[str, Callable[[], object]]) -> dict[str, tuple[float, float]]:
    """Return the shortest times of each function in milliseconds, of its thread and elapsed."""
    for function in functions.values():
        function()  # the first call of each may be slow
    best = dict.fromkeys(functions, (np.inf, np.inf))
    spent = dict.fromkeys(functions, 0.0)
    while sum(spent.values()) < SECONDS:
        for name, function in functions.items():
            if spent[name] > min(spent.values()) + 1:  # costly ones take fewer turns
                continue
            own, elapsed = time.thread_time(), time.perf_counter()
            function()
            own, elapsed = time.thread_time() - own, time.perf_counter() - elapsed
            best[name] = min(best[name][0], 1e3 * own), min(best[name][1], 1e3 * elapsed)
            spent[name] += elapsed
    return best


def extra_megabytes(function: Callable[[], object]) -> float:
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    head = f"{'case':34} {'loss':9} {'counts':7} {'read ms':>8} {'NumPy ms':>9} {'ours ms':>8}"
    print(f"{head} {'reads':>6} {'x NumPy':>8} {'2 threads':>9} {'P MB':>5} {'extra MB':>8}")
    for case in CASES:
        rng = np.random.default_rng(0)
        P = probabilities(case, rng)
        functions = contestants(case, P, rng)
        functions["one"]()  # compiles, or loads what is compiled
        extra = extra_megabytes(functions["one"])
        with threadpool_limits(1):
            times = best_times(functions)
        read, plain, ours = (times[name][0] for name in ("read", "plain", "one"))
        print(
            f"{case!s:34} {case.layout:9} {'model' if case.soft else 'labels':7} {read:8.2f} {plain:9.1f}"
            f" {ours:8.2f} {ours / read:6.2f} {plain / ours:8.1f} {times['one'][1] / times['two'][1]:9.2f}"
            f" {P.nbytes / 2**20:5.0f} {extra:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
