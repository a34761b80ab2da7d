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
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metricfit.layout import Layout
from metricfit.oracles.kernels_numpy import (
    confusion_numpy,
    count_numpy,
    decide_numpy,
    mixture_confusion_numpy,
)
from metricfit.types import FloatArray, IntArray

Engine = Literal["auto", "numpy", "numba"]
Rule = Callable[["_Rows", IntArray], IntArray]
T = TypeVar("T")

# Multiplications up to which a pass stays in NumPy. It takes some milliseconds then, and numba a second
# to import and load (several to compile, once): a job would need hundreds of passes to gain by it.
NUMPY_WORK = 500_000

# Entries of P in a chunk: enough to forget the cost of a call, few enough to stay in the cache between
# deciding and counting.
CHUNK = 2**21

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
    rows, rule = _Rows.of(P, None, cell, None), _rule(P, loss, match, layout)

    def task(chunk: slice) -> None:
        rule(rows[chunk], out[chunk])

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
    rows, rule = _Rows.of(P, y, cell, weight), _rule(P, loss, match, layout)
    match = np.asarray(match, np.int64)

    def task(chunk: slice) -> FloatArray:
        part = rows[chunk]
        decisions = rule(part, np.empty(len(part.P), np.int32))
        if layout == "full":
            return _tensor(part, decisions, loss.shape[0], loss.shape[2])
        return _diagonal(part, decisions, loss.shape[0], match)

    return _total(_each(task, _chunks(P, loss.size), threads), P, weight)


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
    rows = _Rows.of(P, y, cell, weight)
    decisions = np.ascontiguousarray(decisions, np.int32)

    def task(chunk: slice) -> FloatArray:
        return _tensor(rows[chunk], decisions[chunk], n_cells, n_decisions)

    return _total(_each(task, _chunks(P, n_cells * P.shape[1] * n_decisions), threads), P, weight)


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
    rows = _Rows.of(P, y, cell, weight)

    def task(chunk: slice) -> FloatArray:
        part = rows[chunk]
        decisions = np.empty(len(part.P), np.int32)
        tensor = np.zeros((n_cells, P.shape[1], k))
        for rule, share in turns:
            tensor += share[:, None, None] * _tensor(part, rule(part, decisions), n_cells, k)
        return tensor

    return _total(_each(task, _chunks(P, n_cells * P.shape[1] * k), threads), P, weight)


def _in_numpy(engine: Engine, P: FloatArray, loss: FloatArray, layout: Layout) -> bool:
    if layout not in ("diagonal", "full"):
        raise ValueError(f"layout must be 'diagonal' or 'full', got {layout!r}")
    return _use_numpy(engine, len(P) * loss.shape[-1] * (P.shape[1] if layout == "full" else 1))


def _use_numpy(engine: Engine, work: int) -> bool:
    if engine not in ("auto", "numpy", "numba"):
        raise ValueError(f"engine must be 'auto', 'numpy' or 'numba', got {engine!r}")
    return engine == "numpy" or (engine == "auto" and work <= NUMPY_WORK)


class _Rows(NamedTuple):
    """The rows of a pass as the compiled kernels take them: an empty array stands for None."""

    P: FloatArray
    y: IntArray | None
    cell: IntArray
    weight: FloatArray

    @classmethod
    def of(cls, P: FloatArray, y: IntArray | None, cell: IntArray | None, weight: FloatArray | None) -> _Rows:
        return cls(
            P,
            None if y is None else _read_only(y, np.int32),
            _read_only(() if cell is None else cell, np.int32),
            _read_only(() if weight is None else weight, np.float64),
        )

    def __getitem__(self, chunk: Any) -> Any:
        y = None if self.y is None else self.y[chunk]
        return _Rows(_read_only(self.P[chunk], self.P.dtype), y, self.cell[chunk], self.weight[chunk])


def _read_only(values: Any, dtype: npt.DTypeLike) -> Any:
    # Memory-mapped data are often read-only, and numba would compile once more for them.
    array = np.ascontiguousarray(values, dtype).view()
    array.flags.writeable = False
    return array


def _rule(P: FloatArray, loss: FloatArray, match: IntArray, layout: Layout) -> Rule:
    """Return the function that decides a chunk, with the loss in the form its kernel wants."""
    from metricfit.oracles import _jit

    n_cells, n, k = loss.shape
    if layout == "full":
        n_strips = -(-n // _jit.STRIP)
        padded = np.zeros((n_cells, n_strips * _jit.STRIP, k), P.dtype)
        padded[:, :n] = loss
        strips = padded.reshape(n_cells, n_strips, _jit.STRIP, k).swapaxes(2, 3).copy()

        def full(rows: _Rows, out: IntArray) -> IntArray:
            _jit.decide_full(rows.P, rows.cell, strips, out)
            return out

        return full

    width = -(-k // 8) * 8
    slope, offset = np.zeros((n_cells, width), P.dtype), np.full((n_cells, width), np.inf, P.dtype)
    slope[:, :k] = np.where(match >= 0, loss[:, 0], 0)
    offset[:, :k] = loss[:, 1] + 0.0  # no -0.0
    match = np.asarray(match, np.int64)

    def diagonal(rows: _Rows, out: IntArray) -> IntArray:
        if n_cells == 1 and k <= NARROW and len(out) >= _jit.BLOCK:
            _jit.decide_narrow(rows.P, slope, offset, match, out)
        else:
            _jit.decide_wide(rows.P, rows.cell, slope, offset, match, out)
        return out

    return diagonal


def _diagonal(rows: _Rows, decisions: IntArray, n_cells: int, match: IntArray) -> FloatArray:
    from metricfit.oracles import _jit

    banks = np.zeros((_jit.BANKS, n_cells, len(match), 2))
    if rows.y is None:
        _jit.tally_soft_hits(rows.P, rows.cell, rows.weight, decisions, match, banks)
        return banks.sum(axis=0).swapaxes(1, 2)
    _jit.tally_hits(rows.y, rows.cell, rows.weight, decisions, match, banks)
    sums = banks.sum(axis=0)
    sums[:, :, 0] += sums[:, :, 1]
    return sums[:, :, ::-1].swapaxes(1, 2)


def _tensor(rows: _Rows, decisions: IntArray, n_cells: int, n_decisions: int) -> FloatArray:
    from metricfit.oracles import _jit

    n = rows.P.shape[1]
    if rows.y is None:
        sums = np.zeros((n_cells, n_decisions, n))
        _jit.tally_soft(rows.P, rows.cell, rows.weight, decisions, sums)
        return sums.swapaxes(1, 2)
    sums = np.zeros((n_cells, n, n_decisions))
    _jit.tally_labels(rows.y, rows.cell, rows.weight, decisions, sums)
    return sums


def _chunks(P: FloatArray, size: int) -> list[slice]:
    """Cut the rows into chunks, four or more if there is enough to do, each larger than its statistic."""
    entries = max(min(CHUNK, P.size // 4), CHUNK // 16, 4 * size)
    step = max(1, entries // P.shape[1])
    return [slice(start, min(start + step, len(P))) for start in range(0, len(P), step)]


def _each(task: Callable[[slice], T], chunks: list[slice], threads: int | None) -> Iterator[T]:
    """Yield the results of a task for all chunks, in order."""
    n_threads = min(_n_threads(threads), len(chunks))
    if n_threads <= 1:
        yield from map(task, chunks)
        return
    # A pool for each call: the threads of one that is kept would be missing after a fork.
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(task, chunks)


def _total(statistics: Iterator[FloatArray], P: FloatArray, weight: FloatArray | None) -> FloatArray:
    total: Any = sum(statistics)
    return np.ascontiguousarray(total / len(P) if weight is None else total)


def _n_threads(threads: int | None) -> int:
    if threads is None or threads == 1:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(threads))
