"""Columns of a CSV file: all rows at once, because a column's type is only known at its end.

pandas reads them; a server that has NumPy alone uses Python's own reader, see `metricfit.tables.plain_csv`.
"""

from __future__ import annotations

import codecs
import io
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import IO, Any

import numpy as np

from metricfit.messages import some
from metricfit.tables import plain_csv
from metricfit.tables.damage import UNREADABLE, unreadable
from metricfit.tables.formats import check_file

# In a column of numbers these texts are missing values; elsewhere "NA" may well be a class or a country.
MISSING_NUMBERS = ["", "nan", "NaN", "NAN", "NA", "N/A", "null", "NULL", "None"]

MOST_COLUMNS = 100_000


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn errors in reading into errors that name the file."""
    check_file(path)
    try:
        yield
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except UNREADABLE as error:
        raise unreadable("CSV", error, f"{path}: ") from error


def header(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a CSV file."""
    path = os.fspath(path)
    _refuse_many_columns(path)
    with _reading(path):
        names = next(plain_csv.rows_of(path), [])
        if not names:
            raise ValueError("no columns to read")
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise ValueError(f"{path}: more than one column is named {some(twice)}; rename or drop one of them")
    for separator in (";", "\t", "|"):
        if len(names) == 1 and separator in names[0]:
            raise ValueError(
                f"{path}: the header is one column, {names[0]!r}, which looks separated by {separator!r}; "
                "save the table with commas"
            )
    return names


def read(
    path: str | os.PathLike[str],
    names: Sequence[str],
    numbers: Collection[str] = (),
    text: bool | Sequence[str] = False,
) -> Any:
    """Read some columns of a CSV file.

    Parameters
    ----------
    path : str or path
        The file.
    names : sequence of str
        The columns, all of which must exist.
    numbers : collection of str
        Those of them that should hold numbers.
    text : bool or sequence of str
        Keep the entries as they are written: all, or those of some columns, in which empty ones are missing.

    Returns
    -------
    pandas.DataFrame or Columns
    """
    path = os.fspath(path)
    known = header(path)
    if find_spec("pandas") is None:
        gaps = {name: () if text is True else MISSING_NUMBERS if name in numbers else ("",) for name in names}
        texts = names if text is True else text or ()
        with _reading(path):
            return plain_csv.read(path, names, gaps, texts, numbers)
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
    with _reading(path), _numbered(path, len(known)) as file:
        table = pd.read_csv(file, keep_default_na=False, **asked, **options)
    _refuse_surplus(path, table[surplus])
    return table[list(places.values())].set_axis(list(names), axis=1)


@contextmanager
def _numbered(path: str, columns: int) -> Iterator[Any]:
    """Open a CSV file with a line before its header: the numbers of its columns, and of one more for surplus fields.

    With the file's own header pandas would silently drop surplus fields, or take the first column for an index.
    """
    before = ",".join(map(str, range(columns + 1))) + "\n"
    with open(path, "rb") as file:
        if file.peek(3)[:3] == codecs.BOM_UTF8:
            file.read(3)
        while file.peek(1)[:1] in (b"\r", b"\n"):  # pandas looks for the header after empty lines
            file.read(1)
        yield io.BufferedReader(_After(before.encode(), file))


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


def _refuse_many_columns(path: str) -> None:
    """Refuse a header of more columns than `MOST_COLUMNS`, for which pandas would take minutes and gigabytes."""
    with _reading(path), open(path, "rb") as file:
        columns = file.readline().count(b",") + 1
    if columns > MOST_COLUMNS:
        raise ValueError(
            f"{path}: the header has {columns:,} columns, more than {MOST_COLUMNS:,}; keep those of probabilities, "
            "labels and attributes"
        )


def _refuse_surplus(path: str, surplus: Any) -> None:
    rows = np.flatnonzero((surplus.notna() & (surplus != "")).to_numpy())
    if len(rows):
        raise ValueError(f"{path}: {plain_csv.surplus_text(rows, surplus.iloc[rows[0]])}")


class CsvFile:
    """A CSV file of which the columns asked for are read once.

    Parameters
    ----------
    path : str or path
        The file.
    """

    #: Whether some rows can be read without the others.
    in_batches = False
    n_files = 1

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.names = header(path)
        self.frame: Any = None

    def holds_texts(self, name: str) -> bool:
        """Return whether a column holds texts, whatever they look like: a CSV file does not tell."""
        return False

    def prepare(
        self, proba: Sequence[str], others: Sequence[str], label: str | None, weight: str | None, prefix: str
    ) -> Any:
        """Read the columns that will be asked for; return the type of the probabilities."""
        # Labels are read as text: pandas would turn 00 into 0, and TRUE into True.
        numbers = [*proba, *([] if weight is None else [weight])]
        self.frame = read(self.path, [*proba, *others], numbers, [] if label is None else [label])
        return np.dtype(np.float64)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def batches(self, columns: Sequence[str], rows: int, nulls: Sequence[str] = ()) -> Iterator[Any]:
        """Yield frames of at most ``rows`` rows, in order, missing entries included."""
        for start in range(0, self.n_rows, rows):
            yield self.frame[start : start + rows][list(columns)]

    def whole(self, columns: Sequence[str], nulls: Sequence[str] = ()) -> Any:
        """Return columns of all rows, missing entries included."""
        return self.frame[list(columns)]
