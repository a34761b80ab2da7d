"""Tables written some rows after the other; the file appears whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from metricfit.data.columns import is_arrow, is_missing
from metricfit.tables.arrays import NUMBER
from metricfit.tables.formats import arrow, format_of
from metricfit.tables.whole_file import whole_file

# What formulas begin with, in half and full width; tabs and line ends hide them.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@contextmanager
def table_writer(path: str, escape: bool = False) -> Iterator[Writer]:
    """Open a table to write, in the format that its name asks for; ``escape`` is for CSV files, see `CsvWriter`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with table_writer(f"{folder}/a.csv") as writer:
    ...         writer.append({"id": [1, 2]})
    ...         writer.append({"id": [3]})
    ...     Path(folder, "a.csv").read_text().split()
    ['id', '1', '2', '3']
    """
    kind = format_of(path)
    with whole_file(path) as file:
        writer = CsvWriter(file, escape) if kind == "csv" else ArrowWriter(file, kind == "parquet", path)
        yield writer
        writer.close()


def write_columns(path: str, columns: Mapping[str, Any], escape: bool = False) -> None:
    """Write columns (arrays, or columns of pandas or pyarrow) as a table."""
    with table_writer(path, escape) as writer:
        writer.append(columns)


class CsvWriter:
    """Rows as text.

    With ``escape``, texts that a spreadsheet would take for a formula begin with an apostrophe, names of columns
    included; numbers stay as they are.
    """

    def __init__(self, file: BinaryIO, escape: bool) -> None:
        self.file, self.escape, self.begun = file, escape, False

    def append(self, columns: Mapping[str, Any]) -> None:
        """Write the next rows."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if not self.begun:
            writer.writerow(self._safe(columns))
        writer.writerows(zip(*(self._safe(_written(column)) for column in columns.values()), strict=True))
        self.file.write(text.getvalue().encode())
        self.begun = True

    def _safe(self, entries: Iterable[Any]) -> list[Any]:
        return (
            [escaped(entry) if isinstance(entry, str) else entry for entry in entries]
            if self.escape
            else [*entries]
        )

    def close(self) -> None:
        """End the table."""


def escaped(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> escaped("=1+1"), escaped("-1.5"), escaped("north")
    ("'=1+1", '-1.5', 'north')
    """
    return f"'{text}" if text[:1] in FORMULA and not NUMBER.fullmatch(text) else text


def _written(column: Any) -> list[Any]:
    """Return the entries of a column as they are written: nothing for a missing one."""
    entries: list[Any] = column.to_pylist() if is_arrow(column) else np.asarray(column).tolist()
    if getattr(column, "dtype", None) == np.float32:
        entries = [
            entry if is_missing(entry) else str(entry) for entry in column
        ]  # in as few digits as it has
    return [None if is_missing(entry) else entry for entry in entries]


class ArrowWriter:
    """Rows by pyarrow; the types of the first ones are those of the table."""

    def __init__(self, file: BinaryIO, parquet: bool, path: str) -> None:
        self.file, self.parquet, self.pa = file, parquet, arrow(path)
        self.schema: Any = None
        self.writer: Any = None

    def append(self, columns: Mapping[str, Any]) -> None:
        """Write the next rows."""
        pa = self.pa
        table = pa.table({name: pa.array(c) if not is_arrow(c) else c for name, c in columns.items()})
        if self.writer is None:
            self.schema = table.schema
            self.writer = self._opened()
        self.writer.write_table(table.cast(self.schema))

    def _opened(self) -> Any:
        if not self.parquet:
            return self.pa.ipc.new_file(self.file, self.schema)
        import pyarrow.parquet as pq

        return pq.ParquetWriter(self.file, self.schema)

    def close(self) -> None:
        """End the table."""
        if self.writer is not None:
            self.writer.close()


Writer = CsvWriter | ArrowWriter
