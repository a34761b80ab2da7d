"""Tables of scores in Parquet or Arrow files, read in batches that are small beside the files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from metricfit.data.labels import distinct_labels
from metricfit.messages import rows_text, some, unknown
from metricfit.oracles.files.damage import intact, readable
from metricfit.oracles.files.sources import Part
from metricfit.oracles.settings import TUNED, Settings
from metricfit.types import FloatArray, Label

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


def scores(
    path: Any,
    *,
    label: str,
    proba_prefix: str,
    attributes: str | Iterable[str] = (),
    weight: str | None = None,
    classes: Iterable[object] | None = None,
) -> ScoreFiles:
    """Name a table of scores in Parquet or Arrow files for `optimize`; it may be larger than memory.

    Needs pyarrow: ``pip install "metricfit[io]"``.

    Parameters
    ----------
    path : str, path, list of them, or pyarrow.dataset.Dataset
        Files of one table, or a folder of them. Folders named ``column=value`` are columns.
    label : str
        The column of labels.
    proba_prefix : str
        The probability of class c is in the column ``<prefix>c``.
    attributes : str or list of str
        Columns that hold the attributes of each row, as ``sensitive_features`` does for arrays.
    weight : str, optional
        The column of weights >= 0.
    classes : list, optional
        The classes, by default those that the columns name; whole numbers are sorted.

    Returns
    -------
    ScoreFiles
        To be passed to `optimize` as ``proba``, with ``y=None``.

    Examples
    --------
    >>> import tempfile
    >>> import metricfit as mf
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> table = pa.table({"y": ["no", "no", "yes"], "p_no": [0.9, 0.8, 0.7], "p_yes": [0.1, 0.2, 0.3]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, f"{folder}/scores.parquet")
    ...     data = mf.scores(f"{folder}/scores.parquet", label="y", proba_prefix="p_")
    ...     mf.optimize(data, None, "g_mean").value
    1.0
    """
    named = [attributes] if isinstance(attributes, str) else list(attributes)
    if not proba_prefix:
        raise ValueError("proba_prefix is empty; give what the names of the probability columns begin with")
    return ScoreFiles(_dataset(path), label, proba_prefix, named, weight, classes)


class ScoreFiles:
    """A table of scores in files, see `scores`."""

    def __init__(
        self,
        dataset: Any,
        label: str,
        prefix: str,
        attributes: Sequence[str],
        weight: str | None,
        classes: Iterable[object] | None,
    ) -> None:
        self.dataset, self.label, self.attributes, self.weight = dataset, label, tuple(attributes), weight
        self.files = list(dataset.get_fragments())
        if not self.files:
            raise ValueError("path holds no files; name at least one Parquet or Arrow file")
        known = list(dataset.schema.names)
        self.others = list(dict.fromkeys([label, *attributes, *([weight] if weight else [])]))
        for name in self.others:
            if name not in known:
                raise ValueError(f"{self.files[0].path}: {unknown('column', name, known)}")
        self.label_name, self.weight_name = f"column {label!r}", f"column {weight!r}"
        self.columns, self.classes = _probabilities(dataset.schema, prefix, self.others, label, classes)
        self.proba_name = f"a probability (columns {some(self.columns)})"
        self._check_schemas(prefix)
        single = all(str(dataset.schema.field(name).type) == "float" for name in self.columns)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.n_rows = sum(_rows_of(file) for file in self.files)

    @property
    def nbytes(self) -> int:
        """Size of the probabilities in memory."""
        return self.n_rows * len(self.columns) * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"ScoreFiles({len(self.files)} files, {self.n_rows} rows, {len(self.classes)} classes)"

    def parts(self, settings: Settings = TUNED) -> Iterator[Part]:
        """Yield labels, attributes and weights; the probabilities are not read for it."""
        import pyarrow as pa

        for file in self.files:
            first = 0
            read = partial(
                file.to_batches,
                schema=self.dataset.schema,
                columns=self.others,
                batch_size=settings.part_rows,
                batch_readahead=1,
                fragment_readahead=1,
            )
            for batch in intact(read, *_called(file)):
                for name in self.others:
                    _refuse_nulls(batch.column(name), name, file.path, first)
                first += batch.num_rows
                table = pa.Table.from_batches([batch])
                features = {name: table[name] for name in self.attributes} or None
                yield Part(table[self.label], features, self.weight and table[self.weight].to_numpy())

    def blocks(self, settings: Settings = TUNED) -> Iterator[FloatArray]:
        """Yield the probabilities as arrays of rows, all of one size but the last."""
        step = max(1, settings.block_entries // len(self.columns))
        block: FloatArray = np.empty((min(step, self.n_rows), len(self.columns)), self.dtype)
        filled, left = 0, self.n_rows
        for file in self.files:
            first = 0
            for batch in self._batches(file, settings):
                done = 0
                while done < batch.num_rows:
                    taken = min(batch.num_rows - done, len(block) - filled)
                    for j, name in enumerate(self.columns):
                        column = batch.column(name)
                        _refuse_nulls(column, name, file.path, first)
                        block[filled : filled + taken, j] = column.slice(done, taken).to_numpy(
                            zero_copy_only=False
                        )
                    filled, done = filled + taken, done + taken
                    if filled == len(block):
                        yield block
                        left -= filled
                        block, filled = np.empty((min(step, left), len(self.columns)), self.dtype), 0
                first += batch.num_rows

    def _batches(self, file: Any, settings: Settings) -> Iterator[Any]:
        rows = max(1, settings.batch_entries // len(self.columns))
        if file.format.default_extname != "parquet":
            options = {"batch_readahead": 1, "fragment_readahead": 1}
            read = partial(file.to_batches, columns=self.columns, batch_size=rows, **options)
            yield from intact(read, *_called(file))
            return
        import pyarrow.parquet as pq

        # A row group may be as large as the file; a buffered reader does not hold all of it at once.
        with file.open() as handle:
            with readable(*_called(file)):
                reader = pq.ParquetFile(handle, buffer_size=2**16, pre_buffer=False)
            read = partial(reader.iter_batches, rows, columns=self.columns, use_threads=False)
            yield from intact(read, *_called(file))

    def _check_schemas(self, prefix: str) -> None:
        """Raise if files differ in a column that is needed; folders named ``column=value`` give all files the same."""
        first = self.files[0].physical_schema
        for file in self.files:
            schema = file.physical_schema
            for name in [*self.columns, *self.others]:
                if name not in first.names:
                    continue
                if name not in schema.names:
                    raise ValueError(
                        f"{file.path} has no column {name!r}, which {self.files[0].path} has; all files of a "
                        f"table need the same columns"
                    )
                if schema.field(name).type != first.field(name).type:
                    raise ValueError(
                        f"{file.path}: column {name!r} is {schema.field(name).type}, but in "
                        f"{self.files[0].path} it is {first.field(name).type}; write all files with one schema"
                    )
            more = {name for name in schema.names if name.startswith(prefix)} - set(first.names)
            if more:
                raise ValueError(
                    f"{file.path} has another number of classes: {some(sorted(more))} is no column of "
                    f"{self.files[0].path}; write all files with the same classes"
                )


def _dataset(path: Any) -> Any:
    try:
        import pyarrow.dataset as ds
    except ImportError:
        raise ValueError('path: Parquet and Arrow files need pyarrow: pip install "metricfit[io]"') from None
    if isinstance(path, ds.FileSystemDataset):
        if path._scan_options:
            raise ValueError("path is a filtered data set; write the rows it keeps to files of their own")
        return path
    several = isinstance(path, list | tuple)
    if not several and not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"path must be a file, a folder, a list of files or a pyarrow.dataset.Dataset; got {path!r}"
        )
    paths = [os.fspath(one) for one in path] if several else [os.fspath(path)]
    if not paths:
        raise ValueError("path is an empty list; name at least one Parquet or Arrow file")
    suffixes = {Path(one).suffix.lower() for one in paths if not os.path.isdir(one)}
    if not several and not suffixes:
        suffixes = {file.suffix.lower() for file in Path(paths[0]).rglob("*.*") if file.is_file()}
    formats = {FORMATS.get(suffix) for suffix in suffixes}
    if None in formats or len(formats) != 1:
        raise ValueError(
            f"path must name files of one kind, {', '.join(FORMATS)}; got the endings {some(sorted(suffixes))}"
        )
    missing = [one for one in paths if not os.path.exists(one)]
    if missing:
        raise ValueError(f"path: there is no file {missing[0]!r}")
    kind = formats.pop()
    with readable("Parquet" if kind == "parquet" else "Arrow", f"{paths[0]}: "):
        return ds.dataset(paths if several else paths[0], format=kind, partitioning="hive")


def _called(file: Any) -> tuple[str, str]:
    """Return what messages call a file: its format, and its path."""
    return file.format.default_extname.title(), f"{file.path}: "


def _rows_of(file: Any) -> int:
    with readable(*_called(file)):
        return int(file.count_rows())


def _probabilities(
    schema: Any, prefix: str, others: Sequence[str], label: str, classes: Iterable[object] | None
) -> tuple[list[str], tuple[Label, ...]]:
    """Return the probability columns and their classes, typed as the labels are."""
    import pyarrow.types as kinds

    known = list(schema.names)
    if classes is not None:
        named = distinct_labels(classes, "classes")
    else:
        suffixes = [
            name.removeprefix(prefix) for name in known if name.startswith(prefix) and name not in others
        ]
        kind = schema.field(label).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        numbers = kinds.is_integer(kind) or kinds.is_floating(kind)
        if kinds.is_boolean(kind) and set(suffixes) <= {"False", "True"}:
            named = tuple(suffix == "True" for suffix in suffixes)
        elif numbers and all(suffix.removeprefix("-").isdecimal() for suffix in suffixes):
            named = tuple(sorted(int(suffix) for suffix in suffixes))
        else:
            named = tuple(suffixes)
    columns = [f"{prefix}{value}" for value in named]
    missing = [name for name in columns if name not in known]
    if missing or not columns:
        what = some(missing) if missing else f"that begin with {prefix!r}"
        raise ValueError(f"there are no probability columns {what}; the columns are {some(known, limit=10)}")
    for name in columns:
        kind = schema.field(name).type
        if not (kinds.is_floating(kind) or kinds.is_integer(kind)):
            raise ValueError(f"column {name!r} must hold numbers; its type is {kind}")
    return columns, named


def _refuse_nulls(column: Any, name: str, path: str, first: int) -> None:
    if column.null_count:
        rows = first + np.flatnonzero(np.asarray(column.is_null()))
        raise ValueError(f"{path}: column {name!r} is null in {rows_text(rows)}; drop or repair these rows")
