"""The kinds of files that hold tables, told apart by the endings of their names."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Literal

Format = Literal["csv", "parquet", "arrow"]
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


def format_of(path: str | os.PathLike[str]) -> Format:
    """Return the format that a file's name asks for, with the library for it at hand.

    Examples
    --------
    >>> format_of("scores.csv")
    'csv'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        hint = "; unpack it first" if suffix in (".gz", ".bz2", ".xz", ".zip", ".zst") else ""
        raise ValueError(
            f"{path}: the ending of its name does not tell its format; known: {', '.join(FORMATS)}{hint}"
        )
    if FORMATS[suffix] != "csv":
        arrow(path)
    return FORMATS[suffix]


def arrow(path: str | os.PathLike[str]) -> ModuleType:
    """Return pyarrow, or say how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ValueError(
            f'{path}: Parquet and Arrow files need pyarrow: pip install ".[io]", or use a .csv file'
        ) from None
    return pyarrow


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise if there is no file, in the words of the system, or if it is empty."""
    try:
        empty = not os.path.isdir(path) and not os.path.getsize(path)
    except FileNotFoundError:
        raise ValueError(f"{path}: No such file or directory; check the path of the file") from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    if empty:
        raise ValueError(f"{path}: the file is empty; give a table with a header and rows")
