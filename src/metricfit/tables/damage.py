"""Damaged files: whatever the readers of tables raise for one becomes one error that names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

# What pandas and pyarrow raise for a damaged file; those of pyarrow are Python's own as well, of many kinds.
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
        why = f"it cannot be read as {kind}: {str(error).rstrip('.')}"
        raise ValueError(f"{prefix}{why}; check that the file is complete and its ending right") from error


def intact(read: Callable[[], Iterable[Any]], kind: str, prefix: str = "") -> Iterator[Any]:
    """Yield the record batches of pyarrow that a call returns; raise a ValueError for a damaged one."""
    with readable(kind, prefix):
        for batch in read():
            check_columns(batch)
            yield batch


def check_columns(table: Any) -> None:
    """Raise a ValueError for a damaged column of pyarrow: offsets that lead out of the file would end the process."""
    for name, column in zip(table.schema.names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except UNREADABLE as error:
            raise ValueError(f"column {name!r}: {error}") from error
