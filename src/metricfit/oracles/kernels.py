"""Decide and count: the kernels that every pass over the rows is made of.

A *rule* is a loss of shape (cells, 2, k) or (cells, n, k), see :mod:`metricfit.layout`. It gives a row of
probabilities the decision with the smallest score, the larger index of equal scores; scores are computed
in the dtype of the probabilities. Counts are float64 sums of the rows' weights.

Each function has a NumPy twin in :mod:`metricfit.oracles.kernels_numpy` that defines it. Small inputs are
handed to the twin, so that a small job does not wait for numba; ``engine`` forces either. Decisions are
equal bit for bit, and rows are cut into the same chunks whatever the number of threads, so that neither
engine nor threads change a decision, and threads do not change a single bit of a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

import numpy as np

from metricfit.layout import Layout
from metricfit.oracles.kernels_numpy import (
    confusion_numpy,
    count_numpy,
    decide_numpy,
    mixture_confusion_numpy,
)
from metricfit.types import FloatArray, IntArray

Engine = Literal["auto", "numpy", "numba"]
Rule = Callable[[FloatArray, IntArray, IntArray], None]
T = TypeVar("T")

# Multiplications up to which a pass stays in NumPy. It takes some milliseconds then, and numba a second
# to import and load (several to compile, once): a job would need hundreds of passes to gain by it.
NUMPY_WORK = 500_000

# Entries of P in a chunk: enough to forget the cost of a call, few enough to stay in the cache between
# deciding and counting.
CHUNK = 2**20

# Decisions up to which vector lanes run over rows, beyond which they run over decisions.
NARROW = 24


def decide(
    P: FloatArray,
    cell: IntArray | None,
    loss: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    out: IntArray | None = None,
    threads: int | None = None,
    engine: Engine = "auto",
) -> IntArray:
    """Return the decision of each row.

    Parameters
    ----------
    P : array of shape (N, n)
        Finite probabilities, float32 or float64.
    cell : int array of shape (N,) or None
        Cell of each row; None means that there is one.
    loss : array of shape (cells, 2, k) or (cells, n, k)
        Finite loss of the layout.
    match : int array of shape (k,)
        Class that each decision names, or -1.
    layout : {"diagonal", "full"}
        Layout of the loss.
    out : int32 array of shape (N,), optional
        Where to put the decisions.
    threads : int, optional
        Number of threads that share the rows; None means one, -1 all cores, as ``n_jobs``.
    engine : {"auto", "numpy", "numba"}
        What computes.

    Returns
    -------
    int32 array of shape (N,)

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles.kernels import decide
    >>> P = np.array([[0.9, 0.1], [0.7, 0.3]])
    >>> loss = np.array([[[0.0, 1.0], [3.0, 0.0]]])
    >>> decide(P, None, loss, np.array([0, 1]), layout="full")
    array([0, 1], dtype=int32)
    """
    if _in_numpy(engine, P, loss, layout):
        return decide_numpy(P, cell, loss, match, layout=layout, out=out)
    out = np.empty(len(P), np.int32) if out is None else out
    rule = _rule(P, loss, match, layout)
    cell_ = _given(cell, np.int32)

    def task(rows: slice) -> None:
        rule(_block(P, rows), cell_[rows], out[rows])

    for _ in _each(task, _chunks(P, 0), threads):
        pass
    return out


def count(
    P: FloatArray,
    y: IntArray | None,
    cell: IntArray | None,
    weight: FloatArray | None,
    loss: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    threads: int | None = None,
    engine: Engine = "auto",
) -> FloatArray:
    """Return the statistic that the rule of a loss reaches.

    Parameters
    ----------
    P, cell, loss, match, layout, threads, engine
        As in `decide`.
    y : int array of shape (N,) or None
        Class of each row; None counts the probabilities as soft labels.
    weight : float64 array of shape (N,) or None
        Weights that add up to 1; None means 1/N each.

    Returns
    -------
    float64 array of the shape of the loss

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles.kernels import count
    >>> P = np.array([[0.9, 0.1], [0.7, 0.3]])
    >>> loss = np.array([[[-1.0, -3.0], [0.0, 0.0]]])
    >>> count(P, np.array([0, 1]), None, None, loss, np.array([0, 1]), layout="diagonal")
    array([[[0.5, 0.5],
            [0.5, 0.5]]])
    """
    if _in_numpy(engine, P, loss, layout):
        return count_numpy(P, y, cell, weight, loss, match, layout=layout)
    rule = _rule(P, loss, match, layout)
    n_cells, _, k = loss.shape
    y_, cell_, weight_ = _given(y, np.int32), _given(cell, np.int32), _given(weight, np.float64)

    def task(rows: slice) -> FloatArray:
        block, codes, w = _block(P, rows), cell_[rows], weight_[rows]
        decisions = np.empty(len(block), np.int32)
        rule(block, codes, decisions)
        labels = None if y is None else y_[rows]
        if layout == "full":
            return _tensor(block, labels, codes, w, decisions, n_cells, k)
        return _diagonal(block, labels, codes, w, decisions, n_cells, match)

    return _scaled(sum(_each(task, _chunks(P, loss.size), threads)), P, weight)


def confusion(
    P: FloatArray,
    y: IntArray | None,
    cell: IntArray | None,
    weight: FloatArray | None,
    decisions: IntArray,
    n_cells: int,
    n_decisions: int,
    *,
    threads: int | None = None,
    engine: Engine = "auto",
) -> FloatArray:
    """Return the confusion tensor (cells, classes, decisions) of given decisions.

    Parameters
    ----------
    P, y, cell, weight, threads, engine
        As in `count`.
    decisions : int array of shape (N,)
        Decision of each row.
    n_cells, n_decisions : int
        Number of cells and of decisions.

    Returns
    -------
    float64 array of shape (n_cells, n, n_decisions)

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles.kernels import confusion
    >>> P = np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> confusion(P, None, None, None, np.array([0, 1]), 1, 2)
    array([[[0.375, 0.25 ],
            [0.125, 0.25 ]]])
    """
    if _use_numpy(engine, P.size if y is None else len(P)):
        return confusion_numpy(P, y, cell, weight, decisions, n_cells, n_decisions)
    y_, cell_, weight_ = _given(y, np.int32), _given(cell, np.int32), _given(weight, np.float64)
    decisions_ = _given(decisions, np.int32)

    def task(rows: slice) -> FloatArray:
        labels = None if y is None else y_[rows]
        return _tensor(_block(P, rows), labels, cell_[rows], weight_[rows], decisions_[rows], n_cells, n_decisions)

    slices = _chunks(P, n_cells * P.shape[1] * n_decisions)
    return _scaled(sum(_each(task, slices, threads)), P, weight)


def mixture_confusion(
    P: FloatArray,
    y: IntArray | None,
    cell: IntArray | None,
    weight: FloatArray | None,
    losses: FloatArray,
    cell_weights: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    threads: int | None = None,
    engine: Engine = "auto",
) -> FloatArray:
    """Return the expected confusion tensor of a mixture of rules in each cell, in one read of P.

    Parameters
    ----------
    P, y, cell, weight, match, layout, threads, engine
        As in `count`.
    losses : array of shape (rules, cells, 2, k) or (rules, cells, n, k)
        The rules.
    cell_weights : array of shape (cells, rules)
        Weight of each rule in each cell.

    Returns
    -------
    float64 array of shape (cells, n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles.kernels import mixture_confusion
    >>> P = np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> always = np.array([[[[0.0, 1.0], [0.0, 1.0]]], [[[1.0, 0.0], [1.0, 0.0]]]])
    >>> mixture_confusion(P, np.array([0, 1]), None, None, always, np.array([[0.25, 0.75]]),
    ...                   np.array([0, 1]), layout="full")
    array([[[0.125, 0.375],
            [0.125, 0.375]]])
    """
    if _in_numpy(engine, P, losses, layout):
        return mixture_confusion_numpy(P, y, cell, weight, losses, cell_weights, match, layout=layout)
    n_cells, k = cell_weights.shape[0], losses.shape[3]
    # Each cell uses few of the rules. Turn q decides a row by the q-th heaviest rule of its own cell.
    heaviest = np.argsort(-cell_weights, axis=1, kind="stable")
    n_turns = int(np.count_nonzero(cell_weights, axis=1).max())
    cells = np.arange(n_cells)
    turns = [
        (_rule(P, losses[heaviest[:, q], cells], match, layout), cell_weights[cells, heaviest[:, q]])
        for q in range(n_turns)
    ]
    y_, cell_, weight_ = _given(y, np.int32), _given(cell, np.int32), _given(weight, np.float64)

    def task(rows: slice) -> FloatArray:
        block, codes, w = _block(P, rows), cell_[rows], weight_[rows]
        labels = None if y is None else y_[rows]
        decisions = np.empty(len(block), np.int32)
        total = np.zeros((n_cells, P.shape[1], k))
        for rule, share in turns:
            rule(block, codes, decisions)
            total += share[:, None, None] * _tensor(block, labels, codes, w, decisions, n_cells, k)
        return total

    return _scaled(sum(_each(task, _chunks(P, n_cells * P.shape[1] * k), threads)), P, weight)


def _in_numpy(engine: Engine, P: FloatArray, loss: FloatArray, layout: Layout) -> bool:
    if layout not in ("diagonal", "full"):
        raise ValueError(f"layout must be 'diagonal' or 'full', got {layout!r}")
    return _use_numpy(engine, len(P) * loss.shape[-1] * (P.shape[1] if layout == "full" else 1))


def _use_numpy(engine: Engine, work: int) -> bool:
    if engine not in ("auto", "numpy", "numba"):
        raise ValueError(f"engine must be 'auto', 'numpy' or 'numba', got {engine!r}")
    return engine == "numpy" or (engine == "auto" and work <= NUMPY_WORK)


def _given(values: IntArray | FloatArray | None, dtype: type) -> Any:
    # Read-only, as memory-mapped data are: numba compiles read-only and other arrays apart.
    array = np.empty(0, dtype) if values is None else np.ascontiguousarray(values, dtype).view()
    array.flags.writeable = False
    return array


def _block(P: FloatArray, rows: slice) -> FloatArray:
    block: FloatArray = np.ascontiguousarray(P[rows]).view()
    block.flags.writeable = False
    return block


def _rule(P: FloatArray, loss: FloatArray, match: IntArray, layout: Layout) -> Rule:
    """Return the function that decides a chunk, with the loss as its kernel wants it."""
    from metricfit.oracles import _jit

    n_cells, n, k = loss.shape
    loss = loss.astype(P.dtype)
    if layout == "full":
        n_strips = -(-n // _jit.STRIP)
        strips = np.zeros((n_cells, n_strips * _jit.STRIP, k), P.dtype)
        strips[:, :n] = loss
        strips = strips.reshape(n_cells, n_strips, _jit.STRIP, k).swapaxes(2, 3).copy()

        def full(block: FloatArray, cell: IntArray, out: IntArray) -> None:
            _jit.decide_full(block, cell, strips, out)

        return full

    width = -(-k // 8) * 8
    slope, offset = np.zeros((n_cells, width), P.dtype), np.full((n_cells, width), np.inf, P.dtype)
    slope[:, :k] = np.where(match >= 0, loss[:, 0], 0)
    offset[:, :k] = loss[:, 1] + P.dtype.type(0)  # no -0.0
    match = np.asarray(match, np.int64)

    def diagonal(block: FloatArray, cell: IntArray, out: IntArray) -> None:
        if n_cells == 1 and k <= NARROW and len(block) >= _jit.BLOCK:
            _jit.decide_narrow(block, slope, offset, match, out)
        else:
            _jit.decide_wide(block, cell, slope, offset, match, out)

    return diagonal


def _diagonal(
    block: FloatArray,
    labels: IntArray | None,
    cell: IntArray,
    weight: FloatArray,
    decisions: IntArray,
    n_cells: int,
    match: IntArray,
) -> FloatArray:
    from metricfit.oracles import _jit

    sums = np.zeros((_jit.BANKS, n_cells, len(match), 2))
    if labels is None:
        _jit.tally_soft_hits(block, cell, weight, decisions, match, sums)
        return sums.sum(axis=0).swapaxes(1, 2)
    _jit.tally_hits(labels, cell, weight, decisions, match, sums)
    wrong, right = np.moveaxis(sums.sum(axis=0), 2, 0)
    return np.stack([right, wrong + right], axis=1)


def _tensor(
    block: FloatArray,
    labels: IntArray | None,
    cell: IntArray,
    weight: FloatArray,
    decisions: IntArray,
    n_cells: int,
    n_decisions: int,
) -> FloatArray:
    from metricfit.oracles import _jit

    n = block.shape[1]
    if labels is None:
        sums = np.zeros((n_cells, n_decisions, n))
        _jit.tally_soft(block, cell, weight, decisions, sums)
        return sums.swapaxes(1, 2)
    sums = np.zeros((n_cells, n, n_decisions))
    _jit.tally_labels(labels, cell, weight, decisions, sums)
    return sums


def _scaled(total: Any, P: FloatArray, weight: FloatArray | None) -> FloatArray:
    return np.ascontiguousarray(total / len(P) if weight is None else total)


def _chunks(P: FloatArray, size: int) -> list[slice]:
    """Cut the rows: at least eight chunks when there is enough to do, and none smaller than its tensor."""
    N, n = P.shape
    entries = max(min(CHUNK, P.size // 8), CHUNK // 8, 4 * size)
    step = max(1, entries // n)
    return [slice(start, min(start + step, N)) for start in range(0, N, step)]


def _each(task: Callable[[slice], T], slices: list[slice], threads: int | None) -> Iterator[T]:
    """Yield the results of a task for each chunk, in the order of the chunks."""
    n_threads = min(_n_threads(threads), len(slices))
    if n_threads <= 1:
        yield from map(task, slices)
        return
    # A pool for each call: idle threads would not survive a fork.
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(task, slices)


def _n_threads(threads: int | None) -> int:
    if threads is None or threads == 1:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(threads))
