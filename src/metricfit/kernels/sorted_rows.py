"""Two classes: the rows sorted once, and then a rule counted by binary search.

With two decisions, a row takes the second if ``D_1 p_1 + W_1 <= D_0 p_0 + W_0``. As ``p_0 = 1 - p_1`` up to a
small error that is measured once, the rows of a cell in the order of ``p_1`` fall into those that surely do,
those that surely do not, and between them a window of rows that the error or rounding could turn. The window
is decided by the arithmetic of the kernels, the rest by running sums.

Counts of labels of equal weight are those of the plain kernel bit for bit. Weighted and soft ones are sums of
the same terms in another order, added in extended precision where the machine has it: right to 1e-12 of
themselves, and zero where there is no row. Sums run from both ends, since a small sum as the difference of
large ones would not be.

Kept for each distinct row: its two probabilities and nine numbers, of four bytes each if they are counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricfit.kernels.counting_numpy import decide_numpy
from metricfit.types import FloatArray, IntArray

# More than what rounding in float32 can do to the difference of two scores, relative to the loss.
ROUNDING = 2.0**-20

# More than what underflow can do to a score.
UNDERFLOW = 1e-34

# Beyond, scores could overflow, or a threshold be nowhere.
LARGEST = 1e30

MATCH = np.arange(2)


@dataclass(frozen=True, eq=False)
class SortedRows:
    """The rows of a problem of two classes and two decisions, sorted in each cell.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.kernels.sorted_rows import SortedRows
    >>> P = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]])
    >>> rows = SortedRows.of(P, np.array([0, 1, 1]), None, None, 1)
    >>> rows.count(np.array([[[-1.0, -3.0], [0.0, 0.0]]])) * 3
    array([[[1., 2.],
            [1., 2.]]])
    """

    cells: list[SortedCell]
    divisor: float

    @classmethod
    def of(
        cls, P: FloatArray, y: IntArray | None, cell: IntArray | None, weight: FloatArray | None, n_cells: int
    ) -> SortedRows:
        """Sort the rows; the arguments are those of :func:`metricfit.kernels.counting.count`."""
        if cell is None:
            members: list[IntArray | slice] = [slice(None)]
        else:
            order, ends = np.argsort(cell, kind="stable"), np.bincount(cell, minlength=n_cells).cumsum()
            members = list(np.split(order, ends[:-1]))
        cells = [
            SortedCell.of(P[rows], None if y is None else y[rows], None if weight is None else weight[rows])
            for rows in members
        ]
        return cls(cells, len(P) if weight is None else 1.0)

    def count(self, loss: FloatArray) -> FloatArray:
        """Return the statistic that the rule of a diagonal loss reaches."""
        return np.stack([c.count(part) for c, part in zip(self.cells, loss, strict=True)]) / self.divisor


@dataclass(frozen=True, eq=False)
class SortedCell:
    """The distinct rows of a cell in the order of ``p_1``, as columns of ``p``.

    ``alone[g]`` holds what row g adds to the hits of either decision if it takes that, and its weight;
    ``below[g]`` the sums of these over the first g rows, and ``above[g]`` over the others.
    """

    p: FloatArray
    error: float
    largest: float
    alone: FloatArray | IntArray
    below: FloatArray | IntArray
    above: FloatArray | IntArray

    @classmethod
    def of(cls, P: FloatArray, y: IntArray | None, weight: FloatArray | None) -> SortedCell:
        """Sort the rows of a cell."""
        order = np.argsort(P[:, 1])
        p, w = np.ascontiguousarray(P[order].T), np.ones(len(P)) if weight is None else weight[order]
        hits = p if y is None else y[order] == MATCH[:, None]
        terms = np.stack([w * hits[0], w * hits[1], w], axis=1)
        fresh = np.flatnonzero(np.r_[np.ones(min(len(P), 1), bool), (p[:, 1:] != p[:, :-1]).any(axis=0)])
        if len(fresh) < len(P):
            p, terms = np.ascontiguousarray(p[:, fresh]), np.add.reduceat(terms, fresh, axis=0)
        whole = y is not None and weight is None and len(P) < 2**31
        error = np.abs(p.sum(axis=0, dtype=np.float64) - 1).max(initial=0.0)
        sums = terms, _running(terms), _running(terms[::-1])[::-1]
        return cls(
            p,
            float(error),
            float(np.abs(p).max(initial=1.0)),
            *(values.astype(np.dtype("i4" if whole else "f8")) for values in sums),
        )

    def count(self, loss: FloatArray) -> FloatArray:
        """Return the sums of hits and of weights of the two decisions, (2, 2), for a loss of that shape."""
        low, high, first = self._window(loss)
        last = 1 - first
        found = np.zeros((2, 2))
        found[:, first] += self.below[low, [first, 2]]
        found[:, last] += self.above[high, [last, 2]]
        if low < high:
            taken = decide_numpy(self.p[:, low:high].T, None, loss[None], MATCH, layout="diagonal")
            for j in MATCH:
                found[:, j] += self.alone[low:high][taken == j][:, [j, 2]].sum(axis=0)
        return found

    def _window(self, loss: FloatArray) -> tuple[int, int, int]:
        """Return where the rows start and end that have to be looked at, and the decision of those before."""
        size, dtype = self.p.shape[1], self.p.dtype
        with np.errstate(over="ignore"):
            (D0, D1), (W0, W1) = loss.astype(dtype).astype(np.float64).tolist()
        scale = abs(D0) + abs(D1) + abs(W0) + abs(W1)
        if not scale < LARGEST:
            return 0, size, 0
        # The second score less the first is slope * p_1 + constant, up to the doubt.
        slope, constant = D0 + D1, W1 - W0 - D0
        doubt = abs(D0) * self.error + ROUNDING * scale * self.largest + UNDERFLOW
        first = int(slope > 0)
        if abs(slope) * LARGEST <= abs(constant) + doubt:
            # As good as constant: sure for all rows, or for none.
            sure = abs(constant) > doubt + abs(slope) * self.largest
            return (size, size, int(constant < 0)) if sure else (0, size, 0)
        low, high = sorted([(-constant - doubt) / slope, (-constant + doubt) / slope])
        ends = np.nextafter(np.array([low, high]).astype(dtype), np.array([-np.inf, np.inf], dtype))
        # In the dtype of the probabilities: for another one, all of them would be converted.
        return (
            int(self.p[1].searchsorted(ends[0], "left")),
            int(self.p[1].searchsorted(ends[1], "right")),
            first,
        )


def _running(terms: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, 2, ... rows of terms."""
    sums = np.zeros((len(terms) + 1, terms.shape[1]))
    for column in range(terms.shape[1]):  # one by one: extended precision takes four times the memory
        sums[1:, column] = np.cumsum(terms[:, column], dtype=np.longdouble)
    return sums
