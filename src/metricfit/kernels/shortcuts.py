"""When to remember: which of the cheaper ways to count is worth its preparation, judged by the calls so far.

The rule is that of a buyer who rents first: what a memory or a sort would have saved so far is added up, and
when that is what it costs, it is made. Calls whose losses are far apart save nothing, so that they never pay
for it; in the worst case all calls together cost twice what they would have with foresight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metricfit.kernels.lazy_bounds import TINY, Reference
from metricfit.kernels.sorted_rows import MATCH, SortedRows
from metricfit.types import FloatArray, IntArray

if TYPE_CHECKING:
    from metricfit.kernels.lazy import Memory

# Products of a pass from which on a lazy one can be cheaper, and rows from which on sorted ones are.
LAZY_WORK, SORTED_ROWS = 2_000_000, 10_000

# In plain passes, as measured: what a sort costs, what a memory costs, and a lazy call for each row that it
# reaches as a share of all, which it reads out of order.
SORT, REMEMBER, REACHED = 100, 3.0, 3.0

# Products that have to be missed before the first memory, which has compiled code to load.
LOAD = 200_000_000

# Share of the rows that a unit of drift reaches, as long as no memory says so.
DENSITY = 15.0

# Change of a loss, relative to its largest entry, beyond which a memory is taken to save nothing; and how
# much more than the least a lazy call may cost before a newer memory is thought of.
FAR, WELL = 0.05, 1.5


class Shortcut:
    """Counts for diagonal losses as the plain kernel does, by cheaper means, once these have paid off.

    Parameters
    ----------
    P, y, cell, weight, match, threads
        As in :func:`metricfit.kernels.counting.count`.
    n_cells : int
        Number of cells.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.kernels.shortcuts import Shortcut
    >>> P = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> Shortcut(P, np.array([0, 1]), None, None, np.array([0, 1]), 1).count(np.ones((1, 2, 2))) is None
    True
    """

    def __init__(
        self,
        P: FloatArray,
        y: IntArray | None,
        cell: IntArray | None,
        weight: FloatArray | None,
        match: IntArray,
        n_cells: int,
        threads: int | None = None,
    ) -> None:
        self.data, self.match, self.n_cells, self.threads = (P, y, cell, weight), match, n_cells, threads
        self.binary = P.shape[1] == 2 and np.array_equal(match, MATCH) and len(P) >= SORTED_ROWS
        self.lazy = not self.binary and len(P) * len(match) >= LAZY_WORK
        # Without counts of whole numbers, a lazy call adds up all rows again.
        self.base = 0.1 if y is not None and weight is None else 0.1 + 2 / P.shape[1]
        self.missed, self.price = 0.0, REMEMBER + LOAD / max(1, len(P) * len(match))
        self.sorted: SortedRows | None = None
        self.memory: Memory | None = None
        self.last: FloatArray | None = None

    def count(self, loss: FloatArray) -> FloatArray | None:
        """Return the statistic that the rule of a loss reaches; None if a plain pass is better."""
        if self.binary:
            return self._by_sort(loss)
        return self._by_memory(loss) if self.lazy else None

    def _by_sort(self, loss: FloatArray) -> FloatArray | None:
        self.missed += 1
        if self.sorted is None and self.missed > SORT:
            self.sorted = SortedRows.of(*self.data, self.n_cells)
        return None if self.sorted is None else self.sorted.count(loss)

    def _by_memory(self, loss: FloatArray) -> FloatArray | None:
        drift, paid = None, 1.0
        if self.memory is not None:
            drift = self.memory.reference.drift(loss)
            paid = self._cost(self.memory.share(drift))
        self.missed += max(0.0, paid - self._cost_after(self.last, loss)) if paid > WELL * self.base else 0.0
        self.last = loss
        if self.missed > self.price:
            from metricfit.kernels.lazy import Memory

            self.missed, self.price = 0.0, REMEMBER
            self.memory = None  # frees it before the next one is made
            self.memory = Memory.of(*self.data, loss, self.match, threads=self.threads)
            drift, paid = None, self.base
        return None if self.memory is None or paid >= 1.0 else self.memory.count(loss, drift)

    def _cost_after(self, last: FloatArray | None, loss: FloatArray) -> float:
        """Return what a call would cost with a memory of the call before, in plain passes."""
        step = np.inf if last is None else _step(last, loss)
        if self.memory is None or step > FAR:
            # Many calls never come to a memory: a guess will do.
            return self._cost(DENSITY * step)
        reference = Reference.of(last, self.match, self.data[0].dtype) if last is not None else None
        return 1.0 if reference is None else self._cost(self.memory.share(reference.drift(loss)))

    def _cost(self, reached: float) -> float:
        """Return what a lazy call costs, in plain passes; never more than one."""
        return min(1.0, self.base + REACHED * reached)


def _step(last: FloatArray, loss: FloatArray) -> float:
    """Return the change of a loss, relative to its largest entry."""
    sizes = max(float(np.abs(last).max()), TINY), max(float(np.abs(loss).max()), TINY)
    return float(np.abs(loss / sizes[1] - last / sizes[0]).max())
