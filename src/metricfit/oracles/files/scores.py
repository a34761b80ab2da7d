"""Tables of scores in files: class probabilities, labels, attributes and weights, in batches or as arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metricfit.data.attributes import names_of
from metricfit.data.labels import distinct_labels
from metricfit.data.validation import check_weights
from metricfit.messages import count, rows_from, several, unknown
from metricfit.oracles.files.sources import Part
from metricfit.oracles.settings import TUNED, Settings
from metricfit.tables import csv_file
from metricfit.tables.arrays import checked, divided, listing, numbers, stacked
from metricfit.tables.arrow_files import ArrowFiles
from metricfit.tables.csv_file import CsvFile
from metricfit.tables.matching import classes_of, labels_of, other_prefix
from metricfit.types import FloatArray, Label


def scores(
    path: Any,
    *,
    label: str,
    proba_prefix: str,
    attributes: str | Iterable[str] = (),
    weight: str | None = None,
    classes: Iterable[object] | None = None,
    normalize: bool = False,
) -> ScoreFiles:
    r"""Name a table of scores in files for `optimize`; Parquet and Arrow files may be larger than memory.

    Parquet and Arrow files need pyarrow: ``pip install ".[io]"``.

    Parameters
    ----------
    path : str, path, list of them, or pyarrow.dataset.Dataset
        A CSV file, or Parquet or Arrow files of one table, or a folder of them. Folders named ``column=value`` are
        columns.
    label : str
        The column of labels. They are matched with the classes by their text, as numbers (``1.0`` is 1) and as truth
        values (``true`` is True).
    proba_prefix : str
        The probability of class c is in the column ``<prefix>c``.
    attributes : str or list of str
        Columns that hold the attributes of each row, as ``sensitive_features`` does for arrays.
    weight : str, optional
        The column of weights >= 0.
    classes : list, optional
        The classes, by default those that the columns name; numbers are sorted.
    normalize : bool, default=False
        Divide each row's probabilities by their sum.

    Returns
    -------
    ScoreFiles
        To be passed to `optimize` as ``proba``, with ``y=None``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import metricfit as mf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     _ = path.write_text("y,p_no,p_yes\nno,0.9,0.1\nno,0.8,0.2\nyes,0.7,0.3\n")
    ...     data = mf.scores(path, label="y", proba_prefix="p_")
    ...     mf.optimize(data, None, "g_mean", counting="labels").value
    1.0
    """
    if not proba_prefix:
        raise ValueError("proba_prefix is empty; give what the names of the probability columns begin with")
    return ScoreFiles(path, label, proba_prefix, names_of(attributes), weight, classes, normalize)


class Arrays(NamedTuple):
    """A table, or some rows of it, in memory; columns that were not asked for are None."""

    proba: FloatArray
    labels: Any
    attributes: dict[str, Any] | None
    weight: FloatArray | None
    #: Columns that were asked for besides: a key, and those that are only copied.
    key: Any = None
    kept: Mapping[str, Any] = {}
    #: The number, in the table, of the first of these rows.
    first: int = 0


class ScoreFiles:
    """A table of scores in files, see `scores`.

    Parameters
    ----------
    path, prefix, attributes, weight, classes, normalize
        As in `scores`.
    label : str or None
        The column of labels; None for rows that are to be decided.
    asked : mapping of str to str
        The argument that asks for each column (``<prefix>*`` for the probabilities), with which messages begin.
    """

    def __init__(
        self,
        path: Any,
        label: str | None,
        prefix: str,
        attributes: Sequence[str] = (),
        weight: str | None = None,
        classes: Iterable[object] | None = None,
        normalize: bool = False,
        asked: Mapping[str, str] | None = None,
    ) -> None:
        self.label, self.prefix, self.attributes = label, prefix, tuple(attributes)
        self.weight, self.normalize, self.asked = weight, normalize, dict(asked or {})
        self.table = _opened(path)
        self.others = list(dict.fromkeys(name for name in (label, *attributes, weight) if name is not None))
        self.check_columns(self.others)
        if label in attributes:
            raise ValueError(
                f"{self.path}: the attribute {label!r} is the column of labels; a policy could decide only rows whose "
                "label is known. Name other columns as attributes"
            )
        self.columns, self.classes = self._probabilities(classes)
        self.label_name, self.weight_name = f"column {label!r}", f"column {weight!r}"
        self.proba_name = f"a probability (columns {listing(self.columns)})"
        self.dtype = self.table.prepare(self.columns, self.others, label, weight, prefix)
        self.n_rows = self.table.n_rows
        if label is not None and not self.n_rows:
            raise ValueError(f"{self.path}: the table has a header and no rows; give at least one row")

    @property
    def path(self) -> str:
        """What messages call the table."""
        return self.table.path

    @property
    def nbytes(self) -> int:
        """Size of the probabilities in memory; 0 for a CSV file, which is in memory already."""
        return self.n_rows * len(self.columns) * self.dtype.itemsize if self.table.in_batches else 0

    def __repr__(self) -> str:
        classes = count(len(self.classes), "class", "classes")
        return f"ScoreFiles({count(self.table.n_files, 'file')}, {count(self.n_rows, 'row')}, {classes})"

    # What an oracle reads: labels once, probabilities in every pass

    def parts(self, settings: Settings = TUNED) -> Iterator[Part]:
        """Yield labels, attributes and weights, without reading the probabilities."""
        assert self.label is not None
        first = 0
        for table in self.table.batches(self.others, settings.part_rows):
            with rows_from(first):
                y = labels_of(table[self.label], self.label, self.classes, self.prefix)
                weight = None if self.weight is None else numbers(table[self.weight], self.weight)
            yield Part(y, {name: table[name] for name in self.attributes} or None, weight)
            first += len(table)

    def blocks(self, settings: Settings = TUNED) -> Iterator[FloatArray]:
        """Yield the probabilities as arrays of rows, all of one size but the last."""
        step = max(1, settings.block_entries // len(self.columns))
        block: FloatArray = np.empty((min(step, self.n_rows), len(self.columns)), self.dtype)
        filled, left = 0, self.n_rows
        for batch in self.table.batches(self.columns, self._batch_rows(settings)):
            done = 0
            while done < len(batch):
                taken = min(len(batch) - done, len(block) - filled)
                for j, name in enumerate(self.columns):
                    block[filled : filled + taken, j] = numbers(batch[name][done : done + taken], name)
                filled, done = filled + taken, done + taken
                if filled == len(block):
                    yield divided(block) if self.normalize else block
                    left -= filled
                    block, filled = np.empty((min(step, left), len(self.columns)), self.dtype), 0

    # What a command reads: checked rows, all at once or some after the other

    def arrays(self, missing: str = "error") -> Arrays:
        """Return all rows, checked; attributes may be null where missing values are a cell of their own."""
        nulls = self.attributes if missing == "cell" else ()
        return self._checked(self.table.whole([*self.columns, *self.others], nulls), self.n_rows)

    def chunks(
        self,
        key: str | None = None,
        keep: Sequence[str] = (),
        verbatim: bool = False,
        settings: Settings = TUNED,
    ) -> Iterator[Arrays]:
        """Yield the rows in order, checked, with more columns; at least once.

        Parameters
        ----------
        key : str, optional
            A column that identifies rows.
        keep : sequence of str
            Columns to copy.
        verbatim : bool
            Copy the entries of a CSV file as they are written.
        settings : Settings
            How many rows are read at once.
        """
        more = [*([key] if key else []), *keep]
        self.check_columns(more)
        if not self.table.in_batches:
            keys = None if key is None else csv_file.read(self.path, [key], text=[key])[key]
            copied = csv_file.read(self.path, list(dict.fromkeys(keep)), text=verbatim) if keep else {}
            yield self.arrays()._replace(key=keys, kept={name: copied[name] for name in keep})
            return
        names, first = [*self.columns, *self.others, *more], 0
        parts = self.table.batches(names, self._batch_rows(settings), nulls=names)
        for table in parts if self.n_rows else [self.table.whole(names, nulls=names)]:
            with rows_from(first):
                found = self._checked(table, len(table))
            kept = {name: table[name] for name in keep}
            yield found._replace(key=key and table[key], kept=kept, first=first)
            first += len(table)

    def _batch_rows(self, settings: Settings) -> int:
        return max(1, settings.batch_entries // len(self.columns))

    def _checked(self, table: Any, rows: int) -> Arrays:
        label, weight = self.label, self.weight
        # Labels first: without the column of a class, sums are wrong for that reason.
        labels = None if label is None else labels_of(table[label], label, self.classes, self.prefix)
        proba = stacked(table, self.columns, rows)
        return Arrays(
            checked(
                divided(proba) if self.normalize else proba,
                self.columns,
                lambda: self._never_labelled(labels),
            ),
            labels,
            {name: table[name] for name in self.attributes} or None,
            None if weight is None else check_weights(numbers(table[weight], weight), rows, self.weight_name),
        )

    def _never_labelled(self, labels: Any) -> list[str]:
        """Return the probability columns of classes that no row is labelled with."""
        if labels is None:
            return []
        found = set(labels)
        return [name for name, value in zip(self.columns, self.classes, strict=True) if value not in found]

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise if a column does not exist, or exists twice."""
        known = self.table.names
        for name in names:
            if name not in known:
                told = f"{self.asked[name]}: " if name in self.asked else ""
                why = several(name, known) or unknown("column", name, known)
                raise ValueError(f"{self.path}: {told}{why}")
            if known.count(name) > 1:
                raise ValueError(
                    f"{self.path}: more than one column is named {name!r}; rename or drop one of them"
                )

    def _probabilities(self, classes: Iterable[object] | None) -> tuple[list[str], tuple[Label, ...]]:
        """Return the probability columns and their classes, typed as the labels are."""
        known, prefix = self.table.names, self.prefix
        if classes is not None:
            named = distinct_labels(classes, "classes")
            columns = [f"{prefix}{value}" for value in named]
        else:
            texts = self.label is not None and self.table.holds_texts(self.label)
            found = [n for n in known if n.startswith(prefix) and n != prefix and n not in self.others]
            columns, typed = classes_of(found, prefix, texts)
            named = tuple(typed)
        missing = [name for name in columns if name not in known]
        if missing or not columns:
            told = self.asked.get(f"{prefix}*")
            what = listing(missing) if missing else f"that begin with {prefix!r}"
            others = [name for name in known if name not in self.others]
            raise ValueError(
                f"{self.path}: {f'{told}: ' if told else ''}there are no probability columns {what}; "
                f"{other_prefix(others, named)}. The columns are {listing(known)}"
            )
        self.check_columns(columns)
        return columns, named


def _opened(path: Any) -> CsvFile | ArrowFiles:
    if isinstance(path, str | os.PathLike) and Path(path).suffix.lower() == ".csv":
        return CsvFile(path)
    return ArrowFiles.opened(path)
