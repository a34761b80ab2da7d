"""Tables in files: CSV by pandas, Parquet and Arrow by pyarrow. Only the columns asked for are read."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from metricfit.commands.errors import DataError, UsageError, blamed_on
from metricfit.messages import some, unknown
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
        try:
            yield
        except (ValueError, OSError) as error:
            if isinstance(error, OSError) and error.errno:  # the system's, not pyarrow's word for a bad file
                raise
            name = kind.upper() if kind == "csv" else kind.title()
            why = f"it cannot be read as {name}: {str(error).rstrip('.')}"
            raise DataError(f"{path}: {why}; check that the file is complete and its ending right") from error


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

    names = [str(name) for name in pd.read_csv(path, nrows=0).columns]
    for separator in (";", "\t", "|"):
        if len(names) == 1 and separator in names[0]:
            raise DataError(
                f"{path}: the header is one column, {names[0]!r}, which looks separated by {separator!r}; "
                "save the table with commas"
            )
    return names


def read_columns(path: str, asked: Mapping[str, str], numbers: Iterable[str] = (), text: bool = False) -> Any:
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
    text : bool
        Keep the entries of a CSV file as they are written there.

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
            return _read_csv(path, wanted, set(numbers), text)
        if kind == "parquet":
            import pyarrow.parquet as pq

            return pq.read_table(path, columns=wanted, partitioning=None).select(wanted)
        with arrow(path).OSFile(path) as source:
            return _arrow_reader(source).read_all().select(wanted)


def _read_csv(path: str, names: Sequence[str], numbers: set[str], text: bool) -> Any:
    import pandas as pd

    if text:
        return pd.read_csv(path, usecols=names, dtype=str, keep_default_na=False)[names]
    missing = {name: MISSING_NUMBERS if name in numbers else [""] for name in names}
    # Numbers have to be the same as in a Parquet file, bit by bit, because decisions may be chosen by a hash
    # of them. Since 3.1 pandas reads them so by default, and warns of the option.
    exact = (
        {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
    )
    # The type of a column must not depend on where the parser cut the file: low_memory=False.
    return pd.read_csv(
        path, usecols=names, keep_default_na=False, na_values=missing, low_memory=False, **exact
    )[names]


def _arrow_reader(source: Any) -> Any:
    """Return a reader of either of Arrow's two file layouts, whose names do not tell them apart."""
    import pyarrow as pa

    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def check_output(path: str, *inputs: str) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise UsageError(f"--out {path}: there is no folder {str(target.parent)!r}; create it first")
    # Writing ends with a rename, which would put a plain file in the place of a device such as /dev/null.
    if target.exists() and not target.is_file():
        raise UsageError(f"--out {path}: it exists and is no plain file; give the name of a file")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"--out {path}: the folder {str(target.parent)!r} cannot be written to")
    for name in inputs:
        if target.exists() and Path(name).exists() and os.path.samefile(target, name):
            raise UsageError(f"--out {path}: this is the input {name}; give another name")


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
