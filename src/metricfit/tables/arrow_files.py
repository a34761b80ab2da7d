"""Columns of Parquet and Arrow files, one file or many that form one table, read in batches by pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from metricfit.messages import rows_text, some
from metricfit.tables.damage import UNREADABLE, check_columns, readable, unreadable
from metricfit.tables.formats import FORMATS, arrow, check_file

# Rows of a batch, where they are only looked at.
MANY_ROWS = 2**20


@dataclass(frozen=True, eq=False)
class ArrowFiles:
    """Files with the same columns.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        The files; or one file in Arrow's streaming format, which has to be read completely.
    path : str
        The name of the table in messages.
    """

    dataset: Any
    path: str
    #: Whether some rows can be read without the others.
    in_batches: ClassVar[bool] = True

    @classmethod
    def opened(cls, path: Any) -> ArrowFiles:
        """Open a file, a folder of files, a list of files, or a data set of pyarrow."""
        pa = arrow(path if isinstance(path, str | os.PathLike) else "path")
        import pyarrow.dataset as ds

        if isinstance(path, ds.FileSystemDataset):
            if path._scan_options:
                raise ValueError("path is a filtered data set; write the remaining rows to separate files")
            return cls(path, "path")
        several = isinstance(path, list | tuple)
        paths, kind = _paths(path)
        shown = some(paths) if several else paths[0]
        with _reading(shown, kind):
            if not several and kind == "ipc" and os.path.isfile(paths[0]) and _is_stream(paths[0]):
                with pa.OSFile(paths[0]) as source:
                    table = pa.ipc.open_stream(source).read_all()
                _check_intact(table, shown)
                return cls(ds.dataset(table), shown)
            dataset = ds.dataset(paths if several else paths[0], format=kind, partitioning="hive")
            found = cls(dataset, shown)
        if not found.files:
            raise ValueError(f"path {shown} holds no files; name at least one Parquet or Arrow file")
        return found

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.dataset.schema.names)

    @property
    def files(self) -> list[Any]:
        """The files, as pyarrow's fragments."""
        return list(self.dataset.get_fragments())

    @property
    def n_files(self) -> int:
        """Number of files."""
        return len(self.files)

    @property
    def n_rows(self) -> int:
        """Number of rows of all files."""
        with _reading(self.path):
            return int(sum(file.count_rows() for file in self.files))

    def type_of(self, name: str) -> Any:
        """Return pyarrow's type of a column, or of its values where it has a dictionary of them."""
        import pyarrow.types as kinds

        kind = self.dataset.schema.field(name).type
        return kind.value_type if kinds.is_dictionary(kind) else kind

    def holds_texts(self, name: str) -> bool:
        """Return whether a column holds texts, whatever they look like."""
        import pyarrow.types as kinds

        kind = self.type_of(name)
        return bool(kinds.is_string(kind) or kinds.is_large_string(kind))

    def prepare(
        self, proba: Sequence[str], others: Sequence[str], label: str | None, weight: str | None, prefix: str
    ) -> Any:
        """Check the columns that will be asked for; return the type of the probabilities: single if all are."""
        import pyarrow.types as kinds

        self.check_same([*proba, *others], prefix)
        found = {name: self.type_of(name) for name in proba}
        for name, kind in found.items():
            known = (kinds.is_floating, kinds.is_integer, kinds.is_boolean, kinds.is_decimal)
            if not any(is_kind(kind) for is_kind in known):
                raise ValueError(f"{self.path}: column {name!r} must hold numbers; its type is {kind}")
        single = all(kinds.is_float32(kind) for kind in found.values())
        return np.dtype(np.float32 if single else np.float64)

    def check_same(self, columns: Sequence[str], prefix: str) -> None:
        """Raise if files differ in a column that is needed; folders named ``column=value`` give all files the same."""
        files = self.files
        first = files[0].physical_schema
        for file in files[1:]:
            schema, shown = file.physical_schema, _path(file)
            for name in columns:
                if name not in first.names:
                    continue
                if name not in schema.names:
                    raise ValueError(
                        f"{shown} has no column {name!r}, which {_path(files[0])} has; all files of a table need the "
                        "same columns"
                    )
                if schema.field(name).type != first.field(name).type:
                    raise ValueError(
                        f"{shown}: column {name!r} is {schema.field(name).type}, but in {_path(files[0])} it is "
                        f"{first.field(name).type}; write all files with one schema"
                    )
            more = {name for name in schema.names if name.startswith(prefix)} - set(first.names)
            if more:
                raise ValueError(
                    f"{shown} has another number of classes: {some(sorted(more))} is no column of "
                    f"{_path(files[0])}; write all files with the same classes"
                )

    def batches(self, columns: Sequence[str], rows: int, nulls: Sequence[str] = ()) -> Iterator[Any]:
        """Yield tables of at most ``rows`` rows, in order; a null in a column that is not named in ``nulls`` raises."""
        import pyarrow as pa

        names = list(dict.fromkeys(columns))
        for file in self.files:
            first, shown = 0, _path(file) or self.path
            with _reading(shown):
                for stored in self._of_file(file, names, rows):
                    _check_intact(stored, shown)  # before it is cut: a damaged column would end the process
                    for start in range(0, stored.num_rows, rows):
                        batch = stored.slice(start, rows)
                        for name in names:
                            if name not in nulls:
                                _refuse_nulls(batch.column(name), name, shown, first)
                        first += batch.num_rows
                        yield pa.Table.from_batches([batch])
                # pyarrow ends early, without an error, if the pages of a column are damaged.
                if first != (said := file.count_rows()):
                    raise ValueError(
                        f"{shown}: it should have {said} rows, of which only {first} can be read; it is damaged. "
                        "Write it again"
                    )

    def _of_file(self, file: Any, names: list[str], rows: int) -> Iterator[Any]:
        """Yield batches of a file as they are stored; those of Parquet files have at most ``rows`` rows."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        stored = [name for name in names if name in file.physical_schema.names]
        kind = _format(file)
        if not kind or not stored:  # in memory, or nothing is read but the names of folders
            yield from file.to_batches(schema=self.dataset.schema, columns=names, batch_size=rows)
            return
        by_folder = ds.get_partition_keys(file.partition_expression)
        with file.open() as handle:
            read = _parquet_batches if kind == "parquet" else _arrow_batches
            for batch in read(handle, stored, rows):
                made = {name: batch.column(name) for name in stored}
                for name in set(names) - set(stored):
                    made[name] = pa.array(
                        [by_folder[name]] * batch.num_rows, self.dataset.schema.field(name).type
                    )
                yield pa.record_batch([made[name] for name in names], names=names)

    def whole(self, columns: Sequence[str], nulls: Sequence[str] = ()) -> Any:
        """Return columns of all rows as a table of pyarrow; a null in a column that is not in ``nulls`` raises."""
        names = list(dict.fromkeys(columns))
        if any(_format(file) == "arrow" for file in self.files):
            for _ in self.batches(names, MANY_ROWS, nulls=names):
                pass  # damaged columns of Arrow files raise here; put together, they would end the process
        with _reading(self.path):
            table = self.dataset.to_table(columns=names)
        _check_intact(table, self.path)
        if any(table[name].null_count for name in names if name not in nulls):
            for _ in self.batches(names, MANY_ROWS, nulls):
                pass  # the batch with the null raises, naming the file
        return table


def _parquet_batches(handle: Any, names: list[str], rows: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    # A row group may be as large as the file; a buffered reader does not hold all of it at once.
    reader = pq.ParquetFile(handle, buffer_size=2**16, pre_buffer=False)
    yield from reader.iter_batches(rows, columns=names, use_threads=False)


def _arrow_batches(handle: Any, names: list[str], rows: int) -> Iterator[Any]:
    """Yield the batches that the file was written in; they cannot be read in parts, whatever ``rows`` says."""
    import pyarrow as pa

    schema = pa.ipc.open_file(handle).schema
    options = pa.ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in names])
    reader = pa.ipc.open_file(handle, options=options)
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number)


@contextmanager
def _reading(path: str, kind: str = "") -> Iterator[None]:
    """Add the file to the errors of pyarrow."""
    try:
        yield
    except UNREADABLE as error:
        if type(error) is ValueError:  # our own words
            raise
        told = "Arrow" if kind == "ipc" else _kind_of(path)
        raise unreadable(told, error, f"{path}: ") from error


def _check_intact(table: Any, path: str) -> None:
    """Raise for a damaged column: offsets that lead out of the file would end the process."""
    with readable(_kind_of(path), f"{path}: "):
        check_columns(table)


def _kind_of(path: str) -> str:
    return FORMATS.get(Path(path).suffix.lower(), "parquet").title()


def _paths(path: Any) -> tuple[list[str], str]:
    """Return the files that a path names and pyarrow's word for their format."""
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
        suffixes = {file.suffix.lower() for file in Path(paths[0]).rglob("*.*") if _is_data(file, paths[0])}
    formats = {FORMATS.get(suffix) for suffix in suffixes} - {None, "csv"}
    if len(formats) != 1 or any(FORMATS.get(suffix) not in formats for suffix in suffixes):
        known = ", ".join(suffix for suffix, kind in FORMATS.items() if kind != "csv")
        raise ValueError(
            f"path must name files of one kind, {known}, or one .csv file; got "
            f"{f'the endings {some(sorted(suffixes))}' if suffixes else 'a folder without files'}"
        )
    for one in paths:
        check_file(one)
    return paths, "parquet" if formats.pop() == "parquet" else "ipc"


def _is_data(file: Path, folder: str) -> bool:
    """Return whether a file in a folder is one that pyarrow reads: checksums and markers are hidden by . or _."""
    return file.is_file() and not any(part[0] in "._" for part in file.relative_to(folder).parts)


def _is_stream(path: str) -> bool:
    """Return whether an Arrow file has the layout for streams; its name does not tell."""
    with open(path, "rb") as file:
        return file.read(6) != b"ARROW1"


def _format(file: Any) -> str:
    """Return "parquet" or "arrow"; nothing for a table in memory."""
    return str(getattr(getattr(file, "format", None), "default_extname", ""))


def _path(file: Any) -> str:
    return str(getattr(file, "path", ""))


def _refuse_nulls(column: Any, name: str, path: str, first: int) -> None:
    if column.null_count:
        rows = first + np.flatnonzero(np.asarray(column.is_null()))
        raise ValueError(f"{path}: column {name!r} is null in {rows_text(rows)}; drop or repair these rows")
