"""The plug-in oracle on Dask collections: blocks stay on the workers, a loss goes out, a small tensor comes back.

Nothing here schedules anything. A call is one task for each group of blocks on a worker and a tree of sums, see
`metricfit.oracles.dask.cluster`. What a lost worker held is computed again by the scheduler from the graph of the
user's collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from metricfit.calibration import fit as fit_calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.columns import sort_key
from metricfit.data.labels import class_labels, same_order
from metricfit.data.layout import Layout
from metricfit.data.rows import Rows, priors
from metricfit.data.validation import check_several_classes
from metricfit.messages import some
from metricfit.oracles.base import SOFT, Counting, OracleBase, Vertex
from metricfit.oracles.dask.cluster import runner, tree_sum
from metricfit.oracles.dask.partitions import aligned_blocks, width
from metricfit.oracles.dask.worker import (
    OwnCodes,
    calibrated_blocks,
    confusion_of,
    counts_of,
    kept_blocks,
    margins_of,
    summaries_of,
    taken_of,
)
from metricfit.oracles.samples import fractions, sample_rows
from metricfit.oracles.settings import TUNED, Settings, worth_a_sample
from metricfit.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class DaskRows:
    """Checked blocks on the workers.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells of all blocks.
    groups : list
        Futures, or delayed values, of lists of `KeptBlock`: the rows that one task goes through.
    n_rows : int
        Their number.
    settings : Settings
        How to wait for a cluster, when a sample is worth its cost, and how large it is.
    """

    axes: Axes
    groups: list[Any]
    n_rows: int
    settings: Settings = TUNED

    @classmethod
    def of(
        cls,
        proba: Any,
        y: Any,
        *,
        classes: Iterable[object] | None = None,
        decisions: Iterable[object] | None = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        settings: Settings = TUNED,
    ) -> DaskRows:
        """Check a collection block by block, and keep the blocks on the workers.

        Parameters
        ----------
        proba : Dask array or data frame with N rows
            Class probabilities, one column per class.
        y, sensitive_features, sample_weight
            As in `optimize`: Dask collections cut as ``proba`` is, or arrays.
        classes, decisions
            As in `optimize`.
        settings : Settings
            How blocks are joined, how to wait for a cluster, and how large a sample is.

        Returns
        -------
        DaskRows
        """
        import dask

        run, n = runner(settings), width(proba)
        named = {
            "proba": proba,
            "y": y,
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
        }
        check = dask.delayed(OwnCodes.of, pure=False)
        raw = run.groups([check(number, n, *parts) for number, parts in enumerate(aligned_blocks(named))])
        blocks = [block for group in run.fetch(run.each(summaries_of, raw)) for block in group]
        rows = sum(block.rows for block in blocks)
        if not rows:
            raise ValueError("proba has no rows; pass at least one row")
        if not any(block.weight for block in blocks):
            raise ValueError(
                f"sample_weight is zero in all {rows} rows; at least one weight must be positive"
            )
        values = {value for block in blocks for value in block.labels}
        cells = {cell for block in blocks if block.rows for cell in block.cells.values}
        names = next(block.cells.names for block in blocks if block.rows)
        labels = class_labels(sorted(values, key=sort_key), classes, n)
        if not same_order(proba, labels):
            raise ValueError(
                f"proba has its columns in another order than the classes, which are {some(labels)}; pass "
                "classes=[...] in the order of the columns"
            )
        check_several_classes(len(labels))
        ordered = sorted(cells, key=lambda cell: [sort_key(value) for value in cell])
        axes = Axes.of(labels, decisions, Cells(names, tuple(ordered)))
        starts, start = {}, 0
        for block in sorted(blocks, key=lambda block: block.number):
            starts[block.number], start = start, start + block.rows
        return cls(axes, run.keep(kept_blocks, raw, axes, starts, settings.joined_entries), rows, settings)

    def total(self, part: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum of what a function makes of each block, added up in a tree on the workers."""
        run = runner(self.settings)
        return tree_sum(run, run.each(part, self.groups, *arguments))


class DaskOracle(OracleBase):
    """Decides rows by their post-shifted class probabilities and counts, on the workers of a Dask cluster.

    The answers are those of `PluginOracle` on the same rows: to the bit where labels are counted without weights, up to
    rounding otherwise.

    Parameters
    ----------
    rows : DaskRows
        The checked blocks.
    counting : {"labels", "calibrated", "model"}
        Count labels, or use the probabilities as soft labels, to be calibrated first or as they are.

    Attributes
    ----------
    passes : int
        How often all probabilities were read.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> proba = da.from_array(np.array([[0.9, 0.1], [0.4, 0.6]]), chunks=(1, 2))
    >>> oracle = DaskOracle(DaskRows.of(proba, np.array([0, 1])))
    >>> oracle(np.array([[[0.0, 1.0], [1.0, 0.0]]]), "full").statistic
    array([[[0.5, 0. ],
            [0. , 0.5]]])
    """

    def __init__(self, rows: DaskRows, counting: Counting = "labels") -> None:
        self.rows, self.axes, self.passes = rows, rows.axes, 2
        self.counting, self.exact = counting, counting in SOFT
        self.n_rows = rows.n_rows
        self.counts, self.totals, self._soft_sums = rows.total(margins_of, len(rows.axes.cells), rows.axes.n)
        self.weight = float(self.totals.sum())

    @property
    def margins(self) -> FloatArray:  # type: ignore[override]
        """The class priors of each cell."""
        return priors(self._soft_sums if self.exact else self.totals, self.weight)

    @property
    def class_counts(self) -> IntArray:
        """The number of rows of each class in each cell."""
        return self.counts

    def by(self, counting: Counting) -> DaskOracle:
        """Return the oracle that counts the same rows in another way."""
        other = copy(self)
        other.counting, other.exact = counting, counting in SOFT
        return other

    def soft(self) -> DaskOracle:
        """Return the oracle that counts the same rows by their probabilities."""
        return self.by("model")

    def calibrated(self) -> DaskOracle:
        """Return this oracle on probabilities that are calibrated on the sample's labels, on the workers."""
        some = self.sample()
        other = self.by("model" if self.exact else "labels")
        made, other.report = fit_calibration(
            some.proba, some.labels, some.weights, some.cells, len(self.axes.cells)
        )
        if made.is_identity:
            return other
        run, rows = runner(self.rows.settings), self.rows
        other.calibration, other._sample = made, replace(some, proba=made(some.proba, some.cells))
        other.rows = replace(rows, groups=run.keep(calibrated_blocks, rows.groups, made))
        other.passes += 2
        _, _, other._soft_sums = other.rows.total(margins_of, len(self.axes.cells), self.axes.n)
        return other

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the plug-in rule of a loss and its statistic, in one pass."""
        return self.many([loss], layout)[0]

    def many(self, losses: Sequence[FloatArray], layout: Layout) -> list[Vertex]:
        """Return the rules of several losses and their statistics, in one pass."""
        self.passes += 1
        sums = self.rows.total(counts_of, np.stack(losses), self.axes.match, layout, self.exact)
        return [Vertex(loss, total / self.weight) for loss, total in zip(losses, sums, strict=True)]

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules, in one pass."""
        self.passes += 1
        tensor = self.rows.total(confusion_of, losses, weights, self.axes.match, layout, self.exact)
        return np.asarray(tensor / self.weight)

    @property
    def costly(self) -> bool:  # type: ignore[override]
        """Whether a pass takes so long that the rules of a sample save time."""
        return worth_a_sample(self.rows.n_rows, self.axes.n, self.rows.settings)

    def sample(self) -> Rows:
        """Return some of the rows, stratified by class and cell; all of them if they are few."""
        return self._sample

    @cached_property
    def _sample(self) -> Rows:
        self.passes += 1
        run = runner(self.rows.settings)
        taken = run.fetch(run.each(taken_of, self.rows.groups, fractions(self.counts, self.rows.settings)))
        blocks = sorted(chain.from_iterable(taken), key=itemgetter(0))
        return sample_rows(self.axes, [block for _, block in blocks], self.totals)
