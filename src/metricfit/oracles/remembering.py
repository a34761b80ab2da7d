"""An oracle that remembers its answers, for many solves of similar problems on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from metricfit.data.layout import Layout
from metricfit.data.rows import Rows
from metricfit.kernels.scan import Scan
from metricfit.oracles.base import Counting, OracleBase, Vertex
from metricfit.types import FloatArray, IntArray


class Remembering(OracleBase):
    """Answers a loss that it was asked before without reading the rows; calibrates once.

    What else the oracle can do (scan weights, draw a sample) it can do too.

    Parameters
    ----------
    oracle : OracleBase
        Who is asked.

    Attributes
    ----------
    passes : int
        How many losses the oracle was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.oracles.choice import oracle_for
    >>> oracle = Remembering(oracle_for(np.array([[0.9, 0.1], [0.4, 0.6]]), [0, 1]))
    >>> loss = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    >>> oracle(loss, "full") is oracle(loss.copy(), "full"), oracle.passes
    (True, 1)
    """

    def __init__(self, oracle: OracleBase) -> None:
        self.oracle = oracle
        self.axes, self.margins, self.exact = oracle.axes, oracle.margins, oracle.exact
        self.n_rows, self.threads = oracle.n_rows, oracle.threads
        self.counting, self.calibration, self.report = oracle.counting, oracle.calibration, oracle.report
        self.costly = oracle.costly
        self._known: dict[tuple[str, bytes], Vertex] = {}
        self._ways: dict[Counting, Remembering] = {}
        self.passes = 0

    @property
    def class_counts(self) -> IntArray:
        """The number of rows of each class in each cell."""
        return self.oracle.class_counts

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the best rule for a loss."""
        return self.many([loss], layout)[0]

    def many(self, losses: Sequence[FloatArray], layout: Layout) -> list[Vertex]:
        """Return the best rules for several losses; those not known in one pass if the oracle can."""
        keys = [(layout, loss.tobytes()) for loss in losses]
        new = {key: loss for key, loss in zip(keys, losses, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self.oracle.many(list(new.values()), layout), strict=True))
            self.passes += len(new)
        return [self._known[key] for key in keys]

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full confusion tensor of a mixture of plug-in rules."""
        return self.oracle.confusion(losses, weights, layout)

    def expect(self, calls: int) -> None:
        """Prepare for many calls."""
        self.oracle.expect(calls)

    def sample(self) -> Rows | None:
        """Return some of the rows in memory."""
        return self.oracle.sample()

    def scan(self, loss: FloatArray, layout: Layout) -> Scan | None:
        """Return the rule of a loss with its weights ready to be scanned."""
        return self.oracle.scan(loss, layout)

    def inmost(self) -> OracleBase:
        """Return the oracle that reads the rows."""
        return self.oracle.inmost()

    def by(self, counting: Counting) -> OracleBase:
        """Return the oracle that counts the same rows in another way, and remembers answers too."""
        if counting == self.counting:
            return self
        if counting not in self._ways:
            self._ways[counting] = Remembering(self.oracle.by(counting))
        return self._ways[counting]

    def soft(self) -> OracleBase | None:
        """Return the oracle that counts the same rows by their probabilities."""
        return self._soft

    def calibrated(self) -> OracleBase | None:
        """Return this oracle on calibrated probabilities, which are found once."""
        return self._calibrated

    @property
    def all_passes(self) -> int:
        """Those of the oracles that were made of this one, too."""
        made = (self.__dict__.get("_soft"), self.__dict__.get("_calibrated"), *self._ways.values())
        return self.passes + sum(one.all_passes for one in made if isinstance(one, Remembering))

    @cached_property
    def _soft(self) -> OracleBase | None:
        soft = self.oracle.soft()
        return None if soft is None else Remembering(soft)

    @cached_property
    def _calibrated(self) -> OracleBase | None:
        calibrated = self.oracle.calibrated()
        return None if calibrated is None else Remembering(calibrated)
