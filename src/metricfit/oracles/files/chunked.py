"""The plug-in oracle on rows that are larger than memory: every call is one pass over blocks of rows."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from metricfit.calibration import fit as fit_calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.columns import sort_key
from metricfit.data.labels import encode_labels
from metricfit.data.layout import Layout
from metricfit.data.rows import RowArrays, Rows, priors, strata
from metricfit.data.validation import check_lengths, check_proba, check_several_classes, check_weights
from metricfit.messages import rows_from
from metricfit.oracles.base import SOFT, Counting, OracleBase, Vertex
from metricfit.oracles.block_sums import class_weight, decided_weight, mixture_weight
from metricfit.oracles.files.sources import Source, ahead
from metricfit.oracles.samples import draw_lots, drawn, fractions, sample_rows
from metricfit.oracles.settings import TUNED, Settings
from metricfit.types import FloatArray, IntArray, Label


class ChunkedRows:
    """Checked labels, cells and weights of a source, a few bytes per row; the probabilities stay where they are.

    Parameters
    ----------
    source : Source
        Where the rows are read from.
    decisions : list, optional
        Labels of the decisions, by default the classes.
    settings : Settings
        How many rows are read at once, and how many of their codes and weights are kept in memory.
    """

    def __init__(
        self, source: Source, decisions: Iterable[object] | None = None, settings: Settings = TUNED
    ) -> None:
        self.source, self.settings, n = source, settings, len(source.classes)
        check_several_classes(n)
        self.codes = Codes(n, settings.spool)
        found: dict[tuple[Label, ...], int] = {}
        names: tuple[str, ...] = ()
        counts = np.zeros((0, n), np.int64)
        totals = np.zeros((0, n))
        for part in source.parts(settings):
            with rows_from(self.codes.n_rows):
                labels = encode_labels(part.y, source.classes, source.label_name)
                weights = check_weights(part.weight, len(labels), source.weight_name, allow_zero=True)
                cells, local = Cells.observe(part.features, len(labels))
            names = cells.names
            place = np.array([found.setdefault(cell, len(found)) for cell in cells.values], np.int32)[local]
            new = ((0, len(found) - len(counts)), (0, 0))
            counts, totals = np.pad(counts, new), np.pad(totals, new)
            counts += strata(labels, place, None, *counts.shape)
            totals += strata(labels, place, weights, *counts.shape)
            self.codes.append(labels, place if names else None, weights)
        check_lengths(**{source.proba_name: source.n_rows, source.label_name: self.codes.n_rows})
        if not totals.any():
            raise ValueError(
                f"sample_weight is zero in all {source.n_rows} rows; at least one weight must be positive"
            )
        # Cells were numbered as they were found; now they are ordered by their values, as for rows in memory.
        ordered = sorted(found, key=lambda cell: [sort_key(value) for value in cell])
        order = np.array([found[cell] for cell in ordered])
        self.place = np.empty(len(order), np.int32)
        self.place[order] = np.arange(len(order), dtype=np.int32)
        self.counts, self.totals = counts[order], totals[order]
        cells = Cells(names, tuple(ordered))
        cells.check_filled(source.n_rows)
        self.axes = Axes.of(source.classes, decisions, cells)

    def __len__(self) -> int:
        return self.source.n_rows

    def blocks(self, check: bool = False) -> Iterator[RowArrays]:
        """Yield all rows, block by block, while a thread reads the next block."""
        start, several = 0, len(self.axes.cells) > 1
        for stored in ahead(self.source.blocks(self.settings)):
            proba = stored
            if check or stored.dtype not in (np.float32, np.float64) or not stored.flags.c_contiguous:
                with rows_from(start):
                    proba = check_proba(stored, self.axes.n, name=self.source.proba_name)
            labels, cells, weights = self.codes.read(start, len(proba))
            cells = self.place[cells] if several and cells is not None else None
            yield RowArrays(proba, labels, cells, weights)
            start += len(proba)


class Codes:
    """Label, cell and weight of each row, appended once and read again and again: 1 to 16 bytes per row."""

    def __init__(self, n_classes: int, spool: int) -> None:
        self.label = np.min_scalar_type(n_classes - 1)
        self.record: np.dtype[np.void] | None = None
        self.file = tempfile.SpooledTemporaryFile(spool)  # noqa: SIM115  closed by the finalizer
        weakref.finalize(self, self.file.close)
        self.n_rows = 0

    def append(self, labels: IntArray, cells: IntArray | None, weights: FloatArray | None) -> None:
        """Write the next rows."""
        columns = {"label": labels, "cell": cells, "weight": weights}
        kinds = {"label": self.label, "cell": np.dtype(np.int32), "weight": np.dtype(np.float64)}
        given = {name: column for name, column in columns.items() if column is not None}
        self.record = np.dtype([(name, kinds[name]) for name in given])
        records = np.empty(len(labels), self.record)
        for name, column in given.items():
            records[name] = column
        self.file.write(records.tobytes())
        self.n_rows += len(labels)

    def read(self, start: int, rows: int) -> tuple[IntArray, IntArray | None, FloatArray | None]:
        """Return labels, cells and weights of some rows."""
        assert self.record is not None
        size = self.record.itemsize
        self.file.seek(start * size)
        records = np.frombuffer(self.file.read(rows * size), self.record)
        names = self.record.names or ()
        cells = records["cell"] if "cell" in names else None
        weights = np.ascontiguousarray(records["weight"]) if "weight" in names else None
        return records["label"].astype(np.int32), cells, weights


class ChunkedOracle(OracleBase):
    """Decides rows by their post-shifted class probabilities and counts, one block after the other.

    The answers are those of `PluginOracle` on the same rows: to the bit where labels are counted without weights,
    up to rounding otherwise.

    Parameters
    ----------
    rows : ChunkedRows
        The data; the first pass checks its probabilities.
    counting : {"labels", "calibrated", "model"}
        Count labels, or use the probabilities as soft labels, to be calibrated first or as they are.
    threads : int
        Number of threads that share a block.

    Attributes
    ----------
    passes : int
        How often all probabilities were read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from metricfit.oracles.files.sources import MappedArray
    >>> with tempfile.TemporaryFile() as file:
    ...     proba = np.memmap(file, np.float32, "w+", shape=(2, 2))
    ...     proba[:] = [[0.9, 0.1], [0.4, 0.6]]
    ...     oracle = ChunkedOracle(ChunkedRows(MappedArray(proba, [0, 1])))
    >>> oracle(np.array([[[0.0, 1.0], [1.0, 0.0]]]), "full").statistic
    array([[[0.5, 0. ],
            [0. , 0.5]]])
    >>> oracle.passes
    2
    """

    def __init__(self, rows: ChunkedRows, counting: Counting = "labels", threads: int = 1) -> None:
        self.rows, self.axes, self.threads = rows, rows.axes, threads
        self.counting, self.exact = counting, counting in SOFT
        self.n_rows = len(rows)
        self.total, self.passes = float(rows.totals.sum()), 1
        wanted, start = fractions(rows.counts, rows.settings), 0
        taken: list[RowArrays] = []
        self._soft_sums = np.zeros(rows.totals.shape)
        for block in rows.blocks(check=True):
            self._soft_sums += class_weight(block, len(self.axes.cells), threads)
            taken.append(drawn(block, wanted, draw_lots(start, len(block))))
            start += len(block)
        self._sample = sample_rows(self.axes, taken, rows.totals)

    @property
    def margins(self) -> FloatArray:  # type: ignore[override]
        """The class priors of each cell."""
        return priors(self._soft_sums if self.exact else self.rows.totals, self.total)

    @property
    def class_counts(self) -> IntArray:
        """The number of rows of each class in each cell."""
        return self.rows.counts

    def by(self, counting: Counting) -> ChunkedOracle:
        """Return the oracle that counts the same rows in another way."""
        other = copy(self)
        other.counting, other.exact = counting, counting in SOFT
        return other

    def soft(self) -> ChunkedOracle:
        """Return the oracle that counts the same rows by their probabilities."""
        return self.by("model")

    def calibrated(self) -> ChunkedOracle:
        """Return this oracle on probabilities calibrated on the sample's labels, block by block as they are read.

        One pass counts the mean of the calibrated probabilities.
        """
        some, other = self._sample, self.by("model" if self.exact else "labels")
        made, other.report = fit_calibration(
            some.proba, some.labels, some.weights, some.cells, len(self.axes.cells)
        )
        if made.is_identity:
            return other
        other.calibration, other._sample = made, replace(some, proba=made(some.proba, some.cells))
        other._soft_sums = np.zeros(self.rows.totals.shape)
        other.passes += 1
        for block in other._blocks():
            other._soft_sums += class_weight(block, len(self.axes.cells), self.threads)
        return other

    def _blocks(self) -> Iterator[RowArrays]:
        """Yield all rows as they are counted: with or without labels, and calibrated if there is a calibration."""
        for block in self.rows.blocks():
            proba = block.proba if self.calibration is None else self.calibration(block.proba, block.cells)
            calibrated = replace(block, proba=proba)
            yield calibrated.soft() if self.exact else calibrated

    def __call__(self, loss: FloatArray, layout: Layout) -> Vertex:
        """Return the plug-in rule of a loss and its statistic, in one pass."""
        return self.many([loss], layout)[0]

    def many(self, losses: Sequence[FloatArray], layout: Layout) -> list[Vertex]:
        """Return the rules of several losses and their statistics, in one pass."""
        self.passes += 1
        sums = np.zeros((len(losses), *losses[0].shape))
        for block in self._blocks():
            for total, loss in zip(sums, losses, strict=True):
                total += decided_weight(block, loss, self.axes.match, layout, self.threads)
        return [Vertex(loss, total / self.total) for loss, total in zip(losses, sums, strict=True)]

    def confusion(self, losses: FloatArray, weights: FloatArray, layout: Layout) -> FloatArray:
        """Return the full tensor of a mixture of rules, in one pass."""
        self.passes += 1
        tensor = np.zeros(self.axes.shape)
        for block in self._blocks():
            tensor += mixture_weight(block, losses, weights, self.axes.match, layout, self.threads)
        return tensor / self.total

    @property
    def costly(self) -> bool:  # type: ignore[override]
        """Whether a pass takes so long that the rules of a sample save time."""
        return len(self.rows) > self.rows.settings.sample_rows

    def sample(self) -> Rows:
        """Return rows drawn in the first pass, stratified by class and cell; all of them if they are few."""
        return self._sample
