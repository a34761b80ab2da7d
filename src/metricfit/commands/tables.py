"""Tables in files: CSV by pandas, Parquet and Arrow by pyarrow. Only the columns asked for are read."""

from __future__ import annotations

import codecs
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Literal

import numpy as np

from metricfit.commands.errors import DataError, UsageError, blamed_on
from metricfit.commands.interrupt import kept
from metricfit.messages import brief, rows_text, some, unknown
from metricfit.oracles.files.damage import check_columns, readable
from metricfit.policy import file as policy_file

Format = Literal["csv", "parquet", "arrow"]
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
# In a column of numbers these texts are missing values; elsewhere "NA" may well be a class or a country.
MISSING_NUMBERS = ["", "nan", "NaN", "NAN", "NA", "N/A", "null", "NULL", "None"]


def format_of(path: str) -> Format:
    """Return the format that a file's name asks for, with the library for it at hand.

    Examples
    --------
    >>> format_of("scores.csv")
    'csv'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(f"{path}: tables are told apart by their ending; known: {', '.join(FORMATS)}")
    if FORMATS[suffix] != "csv":
        arrow(path)
    return FORMATS[suffix]


def arrow(path: str) -> ModuleType:
    """Return pyarrow, or say how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError(
            f'{path}: Parquet and Arrow files need pyarrow: pip install "metricfit[io]", or use a .csv file'
        ) from None
    return pyarrow


@contextmanager
def _reading(path: str, kind: Format) -> Iterator[None]:
    """Blame what goes wrong in reading on the file."""
    with blamed_on(DataError, f"{path}: "):
        if not os.path.isdir(path) and not os.path.getsize(path):
            raise DataError(f"{path}: the file is empty; give a table with a header and rows")
        with readable(kind.upper() if kind == "csv" else kind.title()):
            yield


def column_names(path: str) -> list[str]:
    """Return the names of the columns of a table."""
    kind = format_of(path)
    with _reading(path, kind):
        if kind == "csv":
            return _csv_header(path)
        if kind == "parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        with arrow(path).OSFile(path) as source:
            return list(_arrow_reader(source).schema.names)


def _csv_header(path: str) -> list[str]:
    import pandas as pd

    # As a row, because pandas renames columns that have the name of another.
    names = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise DataError(f"{path}: more than one column is named {some(twice)}; rename or drop one of them")
    for separator in (";", "\t", "|"):
        if len(names) == 1 and separator in names[0]:
            raise DataError(
                f"{path}: the header is one column, {names[0]!r}, which looks separated by {separator!r}; "
                "save the table with commas"
            )
    return names


def read_columns(
    path: str, asked: Mapping[str, str], numbers: Iterable[str] = (), text: bool | Sequence[str] = False
) -> Any:
    """Read some columns of a table, in the order asked for.

    Parameters
    ----------
    path : str
        The file.
    asked : mapping of str to str
        The columns, and what asks for each of them, such as ``--label y``. A name that does not exist is a
        `DataError` with both and the nearest name that does.
    numbers : iterable of str
        Those of them that should hold numbers.
    text : bool or sequence of str
        Keep the entries of a CSV file as they are written there: all, or those of some columns, in which empty ones
        are missing.

    Returns
    -------
    pandas.DataFrame or pyarrow.Table
    """
    wanted = list(asked)
    known = column_names(path)
    for name in wanted:
        if name not in known:
            raise DataError(f"{path}: {asked[name]}: {unknown('column', name, known)}")
        if known.count(name) > 1:
            raise DataError(f"{path}: more than one column is named {name!r}; rename or drop one of them")
    kind = format_of(path)
    with _reading(path, kind):
        if kind == "csv":
            return _read_csv(path, known, wanted, set(numbers), text)
        if kind == "parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(path, columns=wanted, partitioning=None).select(wanted)
        else:
            with arrow(path).OSFile(path) as source:
                table = _arrow_reader(source).read_all().select(wanted)
        check_columns(table)
        return table


def _read_csv(
    path: str, known: Sequence[str], names: Sequence[str], numbers: set[str], text: bool | Sequence[str]
) -> Any:
    import pandas as pd

    places = {name: str(known.index(name)) for name in names}
    surplus = str(len(known))
    asked: dict[str, Any] = {"usecols": [*places.values(), surplus], "index_col": False, "skiprows": [1]}
    if text is True:
        options: dict[str, Any] = {"dtype": str}
    else:
        missing = {place: MISSING_NUMBERS if name in numbers else [""] for name, place in places.items()}
        # The type of a column must not depend on where the parser cut the file: low_memory=False.
        options = {"na_values": missing, "low_memory": False}
        options["dtype"] = dict.fromkeys([*(places[name] for name in text or ()), surplus], str)
        # Numbers have to be the same as in a Parquet file, bit by bit, because decisions may be chosen by a hash
        # of them. Since 3.1 pandas reads them so by default, and warns of the option.
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"
    with _numbered(path, len(known)) as file:
        table = pd.read_csv(file, keep_default_na=False, **asked, **options)
    _refuse_surplus(path, table[surplus])
    return table[list(places.values())].set_axis(list(names), axis=1)


@contextmanager
def _numbered(path: str, columns: int) -> Iterator[Any]:
    """Open a CSV file with a line before its header: the numbers of its columns, and of one more for surplus fields.

    By the file's own header pandas would drop surplus fields without a word, or take the first column for an index.
    """
    header = ",".join(map(str, range(columns + 1))) + "\n"
    with open(path, "rb") as file:
        if file.peek(3)[:3] == codecs.BOM_UTF8:
            file.read(3)
        while file.peek(1)[:1] in (b"\r", b"\n"):  # pandas looks for the header after empty lines
            file.read(1)
        yield io.BufferedReader(_After(header.encode(), file))


class _After(io.RawIOBase):
    """A file with some bytes before it."""

    def __init__(self, before: bytes, file: IO[bytes]) -> None:
        self.before, self.file = before, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self.before = self.before[: len(buffer)], self.before[len(buffer) :]
        data = data or self.file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _refuse_surplus(path: str, surplus: Any) -> None:
    rows = np.flatnonzero((surplus.notna() & (surplus != "")).to_numpy())
    if len(rows):
        raise DataError(
            f"{path}: there are more fields than columns in {rows_text(rows)}; the first surplus one is "
            f"{brief(surplus.iloc[rows[0]])}. Put fields with commas in double quotes, or name all columns"
        )


def _arrow_reader(source: Any) -> Any:
    """Return a reader of either of Arrow's two file layouts, whose names do not tell them apart."""
    import pyarrow as pa

    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def check_output(path: str, *inputs: str, force: bool = False, option: str = "--out") -> None:
    """Refuse an output that cannot be written, or is there already, before any work is done."""
    try:
        target = Path(os.path.realpath(path))
        os.stat(target)
    except FileNotFoundError:
        pass
    except (
        OSError
    ) as error:  # a name that is too long, a file taken for a folder, a folder that may not be read
        raise UsageError(f"{option} {brief(path)}: {error.strerror}; give another name") from error
    if not target.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {str(target.parent)!r}; create it first")
    # Writing ends with a rename, which would put a plain file in the place of a device such as /dev/null.
    if target.exists() and not target.is_file():
        raise UsageError(f"{option} {path}: it exists and is no plain file; give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{option} {path}: the folder {str(target.parent)!r} cannot be written to")
    for name in inputs:
        if target.exists() and Path(name).exists() and os.path.samefile(target, name):
            raise UsageError(f"{option} {path}: this is the input {name}; give another name")
    if target.exists() and not force:
        raise UsageError(f"{option} {path}: it exists; give another name, or --force to replace it")


def write_columns(path: str, columns: Mapping[str, Any]) -> None:
    """Write columns (arrays, or columns of pandas or pyarrow) to a table that appears whole or not at all."""
    kind, buffer = format_of(path), io.BytesIO()
    with blamed_on(DataError, f"{path}: "):
        if kind == "csv":
            _frame(columns).to_csv(buffer, index=False, lineterminator="\n")
        else:
            pa = arrow(path)
            table = pa.table({name: pa.array(c) if not _is_arrow(c) else c for name, c in columns.items()})
            if kind == "parquet":
                import pyarrow.parquet as pq

                pq.write_table(table, buffer)
            else:
                with pa.ipc.new_file(buffer, table.schema) as writer:
                    writer.write_table(table)
        with kept():
            policy_file.write(path, buffer.getvalue())


def _is_arrow(column: Any) -> bool:
    return type(column).__module__.partition(".")[0] == "pyarrow"


def _frame(columns: Mapping[str, Any]) -> Any:
    import pandas as pd

    # Whole numbers with gaps stay whole numbers.
    plain = {
        name: column.to_pandas(integer_object_nulls=True) if _is_arrow(column) else column
        for name, column in columns.items()
    }
    return pd.DataFrame(plain)


def listing(names: Sequence[str]) -> str:
    """Return the first of some column names, for messages."""
    return some(names, limit=8) or "none"
