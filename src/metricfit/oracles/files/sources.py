"""Row sources: probabilities that are read block by block, because they are larger than memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np

from metricfit.data.attributes import read_attributes
from metricfit.data.columns import factorize, some_rows, sort_key
from metricfit.data.labels import class_labels
from metricfit.data.row_order import check_row_order
from metricfit.data.validation import check_lengths, row_blocks
from metricfit.oracles.settings import TUNED, Settings
from metricfit.types import FloatArray, Label


class Part(NamedTuple):
    """What is known of some rows besides their probabilities, as the user gave it."""

    y: Any
    features: Mapping[str, Any] | None
    weight: Any


class Source(Protocol):
    """Rows that can be read again and again, always in the same order.

    ``proba_name``, ``label_name`` and ``weight_name`` are what messages call the probabilities, labels and weights.
    """

    n_rows: int
    classes: tuple[Label, ...]
    proba_name: str
    label_name: str
    weight_name: str

    def parts(self, settings: Settings = TUNED) -> Iterator[Part]:
        """Yield labels, attributes and weights of some rows after the other."""
        ...

    def blocks(self, settings: Settings = TUNED) -> Iterator[FloatArray]:
        """Yield the probabilities of some rows after the other, as they are stored."""
        ...


def ahead(blocks: Iterator[FloatArray]) -> Iterator[FloatArray]:
    """Yield blocks while a thread prepares the next one.

    When block b is asked for, the consumer is done with block b - 1, and block b + 1 begins to be prepared.

    Examples
    --------
    >>> list(ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(next, blocks, None)
        while (block := pending.result()) is not None:
            pending = pool.submit(next, blocks, None)
            yield block


def mapping_of(array: object) -> mmap.mmap | None:
    """Return the memory map that an array is a view of, or None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> mapping_of(np.zeros(3)) is None
    True
    """
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return array if isinstance(array, mmap.mmap) else None


class MappedArray:
    """Probabilities in a memory-mapped file, with labels, attributes and weights in arrays.

    Pages are read ahead of the pass and given back behind it, so that resident memory stays at a few blocks however
    large the file is.

    Parameters
    ----------
    proba : numpy.memmap of shape (N, n)
        Class probabilities, such as ``np.load("proba.npy", mmap_mode="r")``.
    y, sensitive_features, sample_weight
        As in `optimize`; these may be mapped as well.
    classes : list, optional
        Labels of the columns.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryFile() as file:
    ...     proba = np.memmap(file, np.float32, "w+", shape=(3, 2))
    ...     proba[:] = 0.5
    ...     source = MappedArray(proba, [0, 1, 0])
    >>> source.n_rows, source.classes, [block.shape for block in source.blocks()]
    (3, (0, 1), [(3, 2)])
    """

    proba_name, label_name, weight_name = "proba", "y", "sample_weight"

    def __init__(
        self,
        proba: Any,
        y: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        classes: Iterable[object] | None = None,
    ) -> None:
        check_row_order(y=y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        self.map = mapping_of(proba)
        self.proba = np.asarray(proba)
        if self.proba.ndim != 2 or 0 in self.proba.shape:
            raise ValueError(
                f"proba must have rows and columns, one column per class; got shape {self.proba.shape}"
            )
        # What was written to a private copy ("c") exists only in its pages, so these must not be given back.
        self.shared = getattr(proba, "mode", "c") != "c"
        self.y = np.asarray(y) if isinstance(y, list | tuple) else y
        columns = {} if sensitive_features is None else read_attributes(sensitive_features)
        # As arrays, because slicing a list would copy it each time.
        self.features = {k: np.asarray(c) if isinstance(c, list | tuple) else c for k, c in columns.items()}
        self.weight = None if sample_weight is None else np.asarray(sample_weight)
        named = {f"sensitive_features column {name!r}": column for name, column in self.features.items()}
        self.n_rows = check_lengths(proba=self.proba, y=self.y, **named, sample_weight=self.weight)
        self.classes = class_labels(_distinct(self.y, self._cuts(TUNED)), classes, self.proba.shape[1])

    def _cuts(self, settings: Settings) -> list[slice]:
        return list(row_blocks(self.n_rows, self.proba.shape[1], settings.block_entries))

    def parts(self, settings: Settings = TUNED) -> Iterator[Part]:
        """Yield labels, attributes and weights of the rows of each block."""
        for cut in self._cuts(settings):
            features = {name: some_rows(column, cut) for name, column in self.features.items()} or None
            yield Part(some_rows(self.y, cut), features, None if self.weight is None else self.weight[cut])

    def blocks(self, settings: Settings = TUNED) -> Iterator[FloatArray]:
        """Yield views of the mapped file; a view may be used until the next but one is asked for."""
        done: list[slice] = []
        for cut in self._cuts(settings):
            if len(done) == 2:
                self._advise(done.pop(0), "MADV_DONTNEED")
            self._advise(cut, "MADV_WILLNEED")
            block = self.proba[cut]
            if block.flags.c_contiguous:
                # Read one number of each page, to wait for the disk here and not where the rows are decided.
                block.reshape(-1)[:: max(1, mmap.PAGESIZE // block.itemsize)].max()
            done.append(cut)
            yield block
        self._advise(slice(0, self.n_rows), "MADV_DONTNEED")

    def _advise(self, cut: slice, what: str) -> None:
        """Tell the operating system that rows are needed soon or no longer, if it supports that."""
        advice, rows = getattr(mmap, what, None), self.proba[cut]
        if advice is None or self.map is None or not self.shared:
            return
        if what == "MADV_WILLNEED" and not rows.flags.c_contiguous:
            return  # rows that are not contiguous would request the whole file
        origin = np.frombuffer(self.map, np.uint8).ctypes.data
        steps = [(size - 1) * stride for size, stride in zip(rows.shape, rows.strides, strict=True)]
        low = rows.ctypes.data - origin + sum(step for step in steps if step < 0)
        high = rows.ctypes.data - origin + sum(step for step in steps if step > 0) + rows.itemsize
        start = low // mmap.PAGESIZE * mmap.PAGESIZE
        self.map.madvise(advice, start, high - start)


def _distinct(y: Any, cuts: list[slice]) -> list[Label] | None:
    """Return the distinct labels; None for integers, which need no names."""
    if getattr(getattr(y, "dtype", None), "kind", "") in "iu" and hasattr(y, "__array__"):
        return None
    values: set[Label] = set()
    for cut in cuts:
        values.update(factorize(some_rows(y, cut), "y")[0])
    return sorted(values, key=sort_key)
