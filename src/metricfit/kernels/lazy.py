"""A lazy pass: only the rows whose decision the change of the loss can flip are read again.

A *memory* is made by one pass over all rows at a reference loss. It holds the decision of each row, and the
rows listed by their radius, the drift that their decision withstands (:mod:`metricfit.kernels.lazy_bounds`).
A call at another loss decides the rows anew whose radius its drift reaches, as Hamerly's bounds do for
k-means, and leaves all others as they are, without looking at them. The list is in buckets, so that nothing
is searched. Nothing is written to a memory by a call, so that its bounds do not wear off with many calls.

The statistic is that of the plain kernel bit for bit. Labels of equal weight are counted in whole numbers;
other sums are added up again from all decisions, in the order in which the plain kernel adds. For each row
this takes four bytes and the one or two of its decision, and with soft labels its probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metricfit.kernels import _counting_jit as _jit
from metricfit.kernels import _lazy_jit
from metricfit.kernels.counting_numba import _chunks, _each, _lines, _Rows, _total
from metricfit.kernels.lazy_bounds import BUCKETS, FLOOR, Reference, near
from metricfit.types import FloatArray, IntArray

# Listed rows that a thread takes at a time.
SLICE = 2**14


@dataclass(frozen=True, eq=False)
class Memory:
    """The decisions of all rows at a reference loss, and the rows listed by what these withstand.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.kernels.lazy import Memory
    >>> P = np.array([[0.9, 0.1], [0.55, 0.45], [0.2, 0.8]])
    >>> y, match = np.array([0, 1, 1]), np.array([0, 1])
    >>> loss = np.array([[[-1.0, -1.0], [0.0, 0.0]]])
    >>> memory = Memory.of(P, y, None, None, loss, match)
    >>> near = loss * [0.9, 1.1]  # by its drift of 0.1, only the second row can change
    >>> memory.reached(near), memory.count(near) * 3
    (0.333..., array([[[1., 2.],
            [1., 2.]]]))
    """

    rows: _Rows
    match: IntArray
    reference: Reference
    decisions: IntArray
    own: FloatArray | None
    order: IntArray
    starts: IntArray
    hits: FloatArray | None
    threads: int | None

    @classmethod
    def of(
        cls,
        P: FloatArray,
        y: IntArray | None,
        cell: IntArray | None,
        weight: FloatArray | None,
        loss: FloatArray,
        match: IntArray,
        *,
        threads: int | None = None,
    ) -> Memory | None:
        """Read all rows at a loss; None if nothing can be bounded there."""
        reference = Reference.of(loss, match, P.dtype)
        if reference is None:
            return None
        rows, lines = _Rows.of(P, y, cell, weight), _lines(P, loss, match)
        decisions: IntArray = np.empty(len(P), np.dtype("u1" if loss.shape[2] <= 256 else "i4"))
        bucket, terms = np.empty(len(P), np.uint8), reference.terms

        def task(chunk: slice) -> None:
            part = rows[chunk]
            _lazy_jit.remember(part.P, part.cell, *lines, terms, FLOOR, decisions[chunk], bucket[chunk])

        for _ in _each(task, _chunks(P, 0), threads):
            pass
        order, starts = _listed(bucket, rows.cell, len(loss))
        own = None if y is not None else _own(P, match, np.arange(len(P)), decisions)
        hits = None
        if rows.y is not None and weight is None:
            banks = np.zeros((_jit.BANKS, loss.shape[0], loss.shape[2], 2))
            _lazy_jit.tally(rows.y, rows.cell, rows.weight, decisions, lines[2], len(P), banks)
            hits = banks.sum(axis=0)
        return cls(rows, lines[2], reference, decisions, own, order, starts, hits, threads)

    def reached(self, loss: FloatArray) -> float:
        """Return the share of the rows that a call at a loss has to decide anew."""
        return self.share(self.reference.drift(loss))

    def count(self, loss: FloatArray, drift: FloatArray | None = None) -> FloatArray | None:
        """Return the statistic that the rule of a loss reaches; None if it is too far from the reference."""
        buckets = near(self.reference.drift(loss) if drift is None else drift)
        if (buckets > BUCKETS).any():
            return None
        reached = np.concatenate([self.order[s[0] : s[b]] for s, b in zip(self.starts, buckets, strict=True)])
        fresh = self._decide(loss, reached)
        moved = np.flatnonzero(fresh != self.decisions[reached])
        rows, fresh = reached[moved], fresh[moved]
        if self.hits is not None:
            hits = self.hits + self._change(rows, fresh, *self.hits.shape)
            return np.ascontiguousarray(_right_and_all(hits) / len(self.decisions))
        decisions, own = self.decisions.copy(), self.own
        decisions[rows] = fresh
        if own is not None and rows.size:
            own = own.copy()
            own[rows] = _own(self.rows.P, self.match, rows, fresh)
        return self._tally(decisions, own, loss.shape)

    def share(self, drift: FloatArray) -> float:
        """Return the share of the rows that a drift of each cell reaches."""
        buckets = near(drift)
        if (buckets > BUCKETS).any():
            return 1.0
        cells = np.arange(len(buckets))
        return float((self.starts[cells, buckets] - self.starts[:, 0]).sum() / len(self.decisions))

    def _decide(self, loss: FloatArray, rows: IntArray) -> IntArray:
        P, lines = self.rows.P, _lines(self.rows.P, loss, self.match)
        fresh = np.empty(len(rows), self.decisions.dtype)

        def task(part: slice) -> None:
            _lazy_jit.decide_some(P, self.rows.cell, *lines, rows[part], fresh[part])

        parts = [slice(start, start + SLICE) for start in range(0, len(rows), SLICE)]
        for _ in _each(task, parts, self.threads):
            pass
        return fresh

    def _change(self, rows: IntArray, fresh: IntArray, n_cells: int, k: int, _: int) -> FloatArray:
        """Return what the new decisions of some rows add to the counts (cells, k, [wrong, right])."""
        cell = self.rows.cell[rows].astype(np.intp) if self.rows.cell.size else np.intp(0)
        y = self.rows.y
        assert y is not None  # counts of whole numbers are counts of labels
        change = np.zeros(n_cells * k * 2)
        for decisions, sign in ((fresh, 1.0), (self.decisions[rows], -1.0)):
            slot = (cell * k + decisions.astype(np.intp)) * 2 + (y[rows] == self.match[decisions])
            change += sign * np.bincount(slot, minlength=change.size)
        return change.reshape(n_cells, k, 2)

    def _tally(self, decisions: IntArray, own: FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
        rows, span = self.rows, max(_jit.BLOCK, _jit.SPAN // self.rows.P.shape[1])

        def task(chunk: slice) -> FloatArray:
            banks = np.zeros((_jit.BANKS, shape[0], shape[2], 2))
            columns = rows.cell[chunk], rows.weight[chunk], decisions[chunk]
            if own is not None:
                _lazy_jit.tally_own(own[chunk], *columns, span, banks)
                return banks.sum(axis=0).swapaxes(1, 2)
            assert rows.y is not None  # what is not counted by probabilities is by labels
            _lazy_jit.tally(rows.y[chunk], *columns, self.match, span, banks)
            return _right_and_all(banks.sum(axis=0))

        chunks = _chunks(rows.P, math.prod(shape))
        weight = rows.weight if rows.weight.size else None
        return _total(_each(task, chunks, self.threads), rows.P, weight)


def _right_and_all(sums: FloatArray) -> FloatArray:
    """Return sums of right decisions and all, (cells, 2, k), from wrong and right ones, (cells, k, 2)."""
    sums[:, :, 0] += sums[:, :, 1]
    return sums[:, :, ::-1].swapaxes(1, 2)


def _listed(bucket: IntArray, cell: IntArray, n_cells: int) -> tuple[IntArray, IntArray]:
    """List the rows by cell and bucket, save those of a large radius, and where each bucket starts."""
    kept = np.minimum(bucket, BUCKETS)
    slot = kept if not cell.size else cell.astype(np.intp) * (BUCKETS + 1) + kept
    counts = np.bincount(slot, minlength=n_cells * (BUCKETS + 1)).reshape(n_cells, BUCKETS + 1)[:, :BUCKETS]
    ends = counts.cumsum().reshape(n_cells, BUCKETS)
    starts = ends - counts
    order: IntArray = np.empty(int(ends[-1, -1]), np.dtype("i4" if len(bucket) < 2**31 else "i8"))
    _lazy_jit.list_rows(bucket, cell, starts.copy(), order)
    return order, np.column_stack([starts, ends[:, -1]])


def _own(P: FloatArray, match: IntArray, rows: IntArray, decisions: IntArray) -> FloatArray:
    """Return the probability of the class that the decision of each row names, zero if it names none."""
    named = match[decisions]
    return np.where(named >= 0, P[rows, named], P.dtype.type(0))
