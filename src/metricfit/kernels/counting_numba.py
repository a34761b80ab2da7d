"""The compiled twins of the kernels: rows in chunks, shared by threads. Importing this module imports numba.

A chunk adds up a small statistic of its own. Chunks depend on the shape of the data only and are summed in
order, so that the number of threads does not change a single bit of the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from metricfit.data.layout import Layout
from metricfit.data.rows import RowArrays
from metricfit.kernels import _counting_jit as _jit
from metricfit.kernels.settings import TUNED
from metricfit.types import FloatArray, IntArray

T = TypeVar("T")
Decider = Callable[[RowArrays, IntArray], IntArray]


def decide_numba(
    P: FloatArray,
    cell: IntArray | None,
    loss: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    out: IntArray | None = None,
    threads: int | None = None,
    chunk: int = TUNED.chunk,
) -> IntArray:
    """Return the decision with the smallest score, the larger index of equal ones."""
    rows, rule = _prepared(RowArrays(P, None, cell, None)), _rule(P, loss, match, layout)
    decisions = np.empty(len(P), np.int32) if out is None else out

    def task(place: slice) -> None:
        rule(_part(rows, place), decisions[place])

    for _ in _each(task, _chunks(P, 0, chunk), threads):
        pass
    return decisions


def count_numba(
    rows: RowArrays,
    loss: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    threads: int | None = None,
    chunk: int = TUNED.chunk,
) -> FloatArray:
    """Return the statistic of the rule of a loss."""
    given, rows = rows, _prepared(rows)
    n_cells, _, k = loss.shape
    if layout == "full":
        rule = _rule(rows.proba, loss, match, layout)

        def task(place: slice) -> FloatArray:
            part = _part(rows, place)
            return _tensor(part, rule(part, np.empty(len(part), np.int32)), n_cells, k)

    else:
        lines = _lines(rows.proba, loss, match)

        def task(place: slice) -> FloatArray:
            part, banks = _part(rows, place), np.zeros((_jit.BANKS, n_cells, k, 2))
            if part.labels is None:
                _jit.count_soft_hits(part.proba, part.cells, part.weights, *lines, banks)
                return banks.sum(axis=0).swapaxes(1, 2)
            _jit.count_hits(part.proba, part.labels, part.cells, part.weights, *lines, banks)
            sums = banks.sum(axis=0)
            sums[:, :, 0] += sums[:, :, 1]
            return sums[:, :, ::-1].swapaxes(1, 2)

    return _total(_each(task, _chunks(rows.proba, loss.size, chunk), threads), given)


def confusion_numba(
    rows: RowArrays,
    decisions: IntArray,
    n_cells: int,
    n_decisions: int,
    *,
    threads: int | None = None,
    chunk: int = TUNED.chunk,
) -> FloatArray:
    """Return the confusion tensor (cells, classes, decisions) of given decisions."""
    given, rows = rows, _prepared(rows)
    decisions = np.asarray(decisions, np.int32)

    def task(place: slice) -> FloatArray:
        return _tensor(_part(rows, place), decisions[place], n_cells, n_decisions)

    size = n_cells * rows.proba.shape[1] * n_decisions
    return _total(_each(task, _chunks(rows.proba, size, chunk), threads), given)


def mixture_confusion_numba(
    rows: RowArrays,
    losses: FloatArray,
    cell_weights: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    threads: int | None = None,
    chunk: int = TUNED.chunk,
) -> FloatArray:
    """Return the expected confusion tensor of a mixture of rules in each cell."""
    given, rows = rows, _prepared(rows)
    n_cells, n, k = cell_weights.shape[0], rows.proba.shape[1], losses.shape[3]
    # Each cell uses few of the rules. Turn q decides a row by the q-th heaviest rule of its own cell.
    cells, heaviest = np.arange(n_cells), np.argsort(-cell_weights, axis=1, kind="stable")
    turns = heaviest.T[: np.count_nonzero(cell_weights, axis=1).max()]
    rules = [_rule(rows.proba, losses[q, cells], match, layout) for q in turns]
    shares = np.stack([cell_weights[cells, q] for q in turns], axis=1)

    def task(place: slice) -> FloatArray:
        part = _part(rows, place)
        decisions = np.empty((len(rules), len(part)), np.int32)
        for rule, made in zip(rules, decisions, strict=True):
            rule(part, made)
        if part.labels is None:
            sums = np.zeros((n_cells, k, n))
            _jit.tally_soft_mixture(part.proba, part.cells, part.weights, decisions.T.copy(), shares, sums)
            return sums.swapaxes(1, 2)
        parts = zip(shares.T, decisions, strict=True)
        total: Any = sum(share[:, None, None] * _tensor(part, made, n_cells, k) for share, made in parts)
        return total

    return _total(_each(task, _chunks(rows.proba, n_cells * n * k, chunk), threads), given)


def _prepared(rows: RowArrays) -> RowArrays:
    """Return rows as the compiled functions take them, in which an empty array stands for cells or weights of None."""
    return RowArrays(
        rows.proba,
        None if rows.labels is None else _read_only(rows.labels, np.int32),
        _read_only(() if rows.cells is None else rows.cells, np.int32),
        _read_only(() if rows.weights is None else rows.weights, np.float64),
    )


def _part(rows: RowArrays, place: slice) -> RowArrays:
    """Return a chunk of prepared rows; probabilities that are not contiguous are copied chunk by chunk only."""
    assert rows.cells is not None
    assert rows.weights is not None
    proba = _read_only(rows.proba[place], rows.proba.dtype)
    labels = None if rows.labels is None else rows.labels[place]
    return RowArrays(proba, labels, rows.cells[place], rows.weights[place])


def _read_only(values: npt.ArrayLike, dtype: npt.DTypeLike) -> Any:
    # Memory-mapped data often are read-only, and numba would compile once more for arrays that are not.
    array = np.ascontiguousarray(values, dtype).view()
    array.flags.writeable = False
    return array


def _rule(P: FloatArray, loss: FloatArray, match: IntArray, layout: Layout) -> Decider:
    """Return the function that decides a chunk, with the loss in the form its kernel wants."""
    kernel: Callable[..., None] = _jit.decide_diagonal if layout == "diagonal" else _jit.decide_full
    arguments = _lines(P, loss, match) if layout == "diagonal" else (_strips(P, loss),)

    def rule(rows: RowArrays, out: IntArray) -> IntArray:
        kernel(rows.proba, rows.cells, *arguments, out)
        return out

    return rule


def _lines(P: FloatArray, loss: FloatArray, match: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return slope and offset of each score, padded by scores that are never the smallest, and the match."""
    n_cells, _, k = loss.shape
    shape = n_cells, -(-k // _jit.PAD) * _jit.PAD
    slope, offset = np.zeros(shape, P.dtype), np.full(shape, np.inf, P.dtype)
    slope[:, :k] = np.where(match >= 0, loss[:, 0], 0)
    offset[:, :k] = loss[:, 1] + 0.0  # makes 0.0 of -0.0
    return slope, offset, _read_only(match, np.int64)


def _strips(P: FloatArray, loss: FloatArray) -> FloatArray:
    """Return a full loss with the classes in strips: (cells, strips, k, STRIP)."""
    n_cells, n, k = loss.shape
    padded = np.zeros((n_cells, -(-n // _jit.STRIP) * _jit.STRIP, k), P.dtype)
    padded[:, :n] = loss
    return padded.reshape(n_cells, -1, _jit.STRIP, k).swapaxes(2, 3).copy()


def _tensor(rows: RowArrays, decisions: IntArray, n_cells: int, n_decisions: int) -> FloatArray:
    n, decisions = rows.proba.shape[1], _read_only(decisions, np.int32)
    if rows.labels is None:
        sums = np.zeros((n_cells, n_decisions, n))
        _jit.tally_soft(rows.proba, rows.cells, rows.weights, decisions, sums)
        return sums.swapaxes(1, 2)
    sums = np.zeros((n_cells, n, n_decisions))
    _jit.tally_labels(rows.labels, rows.cells, rows.weights, decisions, sums)
    return sums


def _chunks(P: FloatArray, size: int, chunk: int) -> list[slice]:
    """Cut the rows into chunks: eight or more if there are enough rows, each large compared with its statistic."""
    entries = max(min(chunk, P.size // 8), chunk // 16, 4 * size)
    step = max(1, -(-entries // P.shape[1]))
    return [slice(start, min(start + step, len(P))) for start in range(0, len(P), step)]


def _each(task: Callable[[slice], T], chunks: list[slice], threads: int | None) -> Iterator[T]:
    """Return the results of a task for all chunks, in order."""
    n_threads = 1 if threads in (None, 1) else min(effective_n_jobs(threads), len(chunks))
    return _shared(task, chunks, n_threads - 1) if n_threads > 1 else map(task, chunks)


def _shared(task: Callable[[slice], T], chunks: list[slice], n_helpers: int) -> Iterator[T]:
    """Yield results in order, while this thread and its helpers each take the next chunk that is left.

    Waking a helper once costs less than handing it every chunk, which matters in a call of a millisecond.
    """
    left, done = iter(range(len(chunks))), 0
    results: dict[int, T] = {}

    def work() -> None:
        for place in left:  # threads can share the iterator: a step of a range iterator is atomic
            results[place] = task(chunks[place])

    pool = _pool(os.getpid(), n_helpers)
    helpers = [pool.submit(work) for _ in range(n_helpers)]
    try:
        for place in left:
            results[place] = task(chunks[place])
            while done in results:
                yield results.pop(done)
                done += 1
    finally:
        for _ in left:  # after an error, leave no chunk to the helpers
            pass
        for helper in helpers:
            if not helper.cancel():  # cancelled only if the pool was too busy to start it
                helper.result()
    while done in results:
        yield results.pop(done)
        done += 1


@cache
def _pool(pid: int, n_helpers: int) -> ThreadPoolExecutor:
    # Kept, because starting threads takes longer than many a call. Each process has its own pool: threads do not
    # survive a fork.
    return ThreadPoolExecutor(n_helpers, thread_name_prefix="metricfit")


def _total(statistics: Iterator[FloatArray], rows: RowArrays) -> FloatArray:
    total: Any = sum(statistics)
    return np.ascontiguousarray(total / len(rows) if rows.weights is None else total)
