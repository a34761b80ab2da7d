"""Decide and count: the kernels that every pass over the rows is made of.

A *rule* is a loss of shape (cells, 2, k) or (cells, n, k), see :mod:`metricfit.data.layout`. It gives a row of
probabilities the decision with the smallest score, the larger index of equal scores; scores are computed
in the dtype of the probabilities. Counts are float64 sums of the rows' weights.

:mod:`metricfit.kernels.counting_numpy` says in a few lines what is computed. Small inputs go there, so that a
small job does not wait for numba; larger ones go to :mod:`metricfit.kernels.counting_numba`, which takes the
same decisions bit for bit.
"""

from __future__ import annotations

from metricfit.data.layout import Layout
from metricfit.data.rows import RowArrays
from metricfit.kernels.counting_numpy import (
    confusion_numpy,
    decide_numpy,
    mixture_confusion_numpy,
    tally_numpy,
)
from metricfit.kernels.engine import SCANS, Engine, in_numpy
from metricfit.kernels.settings import TUNED, Settings
from metricfit.types import FloatArray, IntArray


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
    settings: Settings = TUNED,
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
        The implementation to use.
    settings : Settings
        When numba computes, and how many rows at a time.

    Returns
    -------
    int32 array of shape (N,)

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.7, 0.3]])
    >>> loss = np.array([[[0.0, 1.0], [3.0, 0.0]]])
    >>> decide(P, None, loss, np.array([0, 1]), layout="full")
    array([0, 1], dtype=int32)
    """
    # Decisions are the same bit for bit, so once scans have loaded numba, small passes gain by it too.
    if in_numpy(engine, _work(P, loss, layout), -1 if SCANS.loaded else settings.numpy_work):
        return decide_numpy(P, cell, loss, match, layout=layout, out=out)
    from metricfit.kernels.counting_numba import decide_numba

    return decide_numba(P, cell, loss, match, layout=layout, out=out, threads=threads, chunk=settings.chunk)


def count(
    rows: RowArrays,
    loss: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    threads: int | None = None,
    engine: Engine = "auto",
    settings: Settings = TUNED,
) -> FloatArray:
    """Return the statistic of the rule of a loss.

    Parameters
    ----------
    rows : RowArrays
        N rows. Without labels their probabilities are counted as soft labels, without weights each counts 1/N.
    loss, match, layout, threads, engine, settings
        As in `decide`.

    Returns
    -------
    float64 array of the shape of the loss

    Examples
    --------
    >>> import numpy as np
    >>> rows = RowArrays(np.array([[0.9, 0.1], [0.7, 0.3]]), np.array([0, 1]), None, None)
    >>> count(rows, np.array([[[-1.0, -3.0], [0.0, 0.0]]]), np.array([0, 1]), layout="diagonal")
    array([[[0.5, 0.5],
            [0.5, 0.5]]])
    """
    if in_numpy(engine, _work(rows.proba, loss, layout), settings.numpy_work):
        made = decide(rows.proba, rows.cells, loss, match, layout=layout, engine=engine, settings=settings)
        return tally_numpy(rows, made, loss.shape, match, layout=layout)
    from metricfit.kernels.counting_numba import count_numba

    return count_numba(rows, loss, match, layout=layout, threads=threads, chunk=settings.chunk)


def confusion(
    rows: RowArrays,
    decisions: IntArray,
    n_cells: int,
    n_decisions: int,
    *,
    threads: int | None = None,
    engine: Engine = "auto",
    settings: Settings = TUNED,
) -> FloatArray:
    """Return the confusion tensor (cells, classes, decisions) of given decisions.

    Parameters
    ----------
    rows, threads, engine, settings
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
    >>> rows = RowArrays(np.array([[0.75, 0.25], [0.5, 0.5]]), None, None, None)
    >>> confusion(rows, np.array([0, 1]), 1, 2)
    array([[[0.375, 0.25 ],
            [0.125, 0.25 ]]])
    """
    if in_numpy(engine, rows.proba.size if rows.labels is None else len(rows), settings.numpy_work):
        return confusion_numpy(rows, decisions, n_cells, n_decisions)
    from metricfit.kernels.counting_numba import confusion_numba

    return confusion_numba(rows, decisions, n_cells, n_decisions, threads=threads, chunk=settings.chunk)


def mixture_confusion(
    rows: RowArrays,
    losses: FloatArray,
    cell_weights: FloatArray,
    match: IntArray,
    *,
    layout: Layout,
    threads: int | None = None,
    engine: Engine = "auto",
    settings: Settings = TUNED,
) -> FloatArray:
    """Return the expected confusion tensor of a mixture of rules in each cell, in one read of the rows.

    Parameters
    ----------
    rows, match, layout, threads, engine, settings
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
    >>> rows = RowArrays(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1]), None, None)
    >>> always = np.array([[[[0.0, 1.0], [0.0, 1.0]]], [[[1.0, 0.0], [1.0, 0.0]]]])
    >>> mixture_confusion(rows, always, np.array([[0.25, 0.75]]), np.array([0, 1]), layout="full")
    array([[[0.125, 0.375],
            [0.125, 0.375]]])
    """
    if in_numpy(engine, _work(rows.proba, losses[0], layout), settings.numpy_work):
        return mixture_confusion_numpy(rows, losses, cell_weights, match, layout=layout)
    from metricfit.kernels.counting_numba import mixture_confusion_numba

    return mixture_confusion_numba(
        rows, losses, cell_weights, match, layout=layout, threads=threads, chunk=settings.chunk
    )


def _work(P: FloatArray, loss: FloatArray, layout: Layout) -> int:
    """Return how many products a pass takes."""
    if layout not in ("diagonal", "full"):
        raise ValueError(f"layout must be 'diagonal' or 'full', got {layout!r}")
    return len(P) * loss.shape[2] * (P.shape[1] if layout == "full" else 1)
