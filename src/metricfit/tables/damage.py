"""Damaged files: whatever the readers of tables raise for one becomes one error that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# What pandas and pyarrow raise for a damaged file: pyarrow's errors are of many of Python's own classes.
UNREADABLE = (ValueError, OSError, NotImplementedError, LookupError, TypeError, ArithmeticError, MemoryError)


@contextmanager
def readable(kind: str, prefix: str = "") -> Iterator[None]:
    """Turn what a reader raises for a damaged file into a ValueError; what the system says stays an OSError.

    Examples
    --------
    >>> with readable("Parquet", "scores.parquet: "):
    ...     raise NotImplementedError("Unknown encoding.")
    Traceback (most recent call last):
        ...
    ValueError: scores.parquet: it cannot be read as Parquet: Unknown encoding; check that the file is complete ...
    """
    try:
        yield
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno:  # the system's, not pyarrow's word for a bad file
            raise
        raise unreadable(kind, error, prefix) from error


def unreadable(kind: str, error: Exception, prefix: str = "") -> ValueError:
    """Return the error for a file that its library cannot read.

    Examples
    --------
    >>> print(unreadable("CSV", ValueError("no header."), "a.csv: "))
    a.csv: it cannot be read as CSV: no header; check that the file is complete and its ending is right
    """
    told = str(error).rstrip(".")
    if isinstance(error, UnicodeDecodeError):
        told = f"byte 0x{error.object[error.start]:02x} is not valid UTF-8; save the table as UTF-8"
    return ValueError(
        f"{prefix}it cannot be read as {kind}: {told}; check that the file is complete and its ending is right"
    )


def check_columns(table: Any) -> None:
    """Raise a ValueError for a damaged column of pyarrow: offsets that lead out of the file would end the process."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except UNREADABLE as error:
            raise ValueError(f"column {name!r}: {error}") from error
