"""Tables written some rows after the other; the file appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from metricfit.data.columns import is_arrow
from metricfit.tables.formats import arrow, format_of
from metricfit.tables.whole_file import whole_file


@contextmanager
def table_writer(path: str) -> Iterator[Writer]:
    """Open a table to write, in the format that its name asks for.

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
        writer = CsvWriter(file) if kind == "csv" else ArrowWriter(file, kind == "parquet", path)
        yield writer
        writer.close()


def write_columns(path: str, columns: Mapping[str, Any]) -> None:
    """Write columns (arrays, or columns of pandas or pyarrow) as a table."""
    with table_writer(path) as writer:
        writer.append(columns)


class CsvWriter:
    """Rows as text, by pandas."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.begun = file, False

    def append(self, columns: Mapping[str, Any]) -> None:
        """Write the next rows."""
        import pandas as pd

        # Integers stay integers even where values are missing.
        plain = {
            name: column.to_pandas(integer_object_nulls=True) if is_arrow(column) else column
            for name, column in columns.items()
        }
        frame = pd.DataFrame(plain)
        frame.to_csv(self.file, index=False, lineterminator="\n", header=not self.begun)
        self.begun = True

    def close(self) -> None:
        """End the table."""


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
