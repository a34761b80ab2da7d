"""CSV files by Python's own reader, where NumPy is all there is: the columns that pandas reads, in more time."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from metricfit.messages import brief, rows_text
from metricfit.tables.arrays import NUMBER

TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


class Columns:
    """Columns of equal length, of which names give one, lists of names several, and slices some rows.

    Examples
    --------
    >>> columns = Columns({"a": np.array([1, 2]), "b": np.array(["x", "y"])})
    >>> len(columns), columns["b"].tolist(), columns[:1][["a"]]["a"].tolist()
    (2, ['x', 'y'], [1])
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = dict(columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, wanted: Any) -> Any:
        if isinstance(wanted, str):
            return self.columns[wanted]
        if isinstance(wanted, slice):
            return Columns({name: column[wanted] for name, column in self.columns.items()})
        return Columns({name: self.columns[name] for name in wanted})


def rows_of(path: str) -> Iterator[list[str]]:
    r"""Yield the rows of a file, the header first; empty lines are no rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w+") as file:
    ...     _ = file.write('a,b\n\n1,"x, y"\n')
    ...     _ = file.seek(0)
    ...     list(rows_of(file.name))
    [['a', 'b'], ['1', 'x, y']]
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            yield from (
                row for row in csv.reader(file, strict=True) if len(row) > 1 or (row and row[0].strip(" \t"))
            )
        except csv.Error as error:
            raise ValueError(str(error)) from error


def read(
    path: str,
    names: Sequence[str],
    missing: Mapping[str, Collection[str]],
    texts: Collection[str],
    numbers: Collection[str],
) -> Columns:
    """Return columns of a file, with the types that pandas gives them.

    Parameters
    ----------
    path : str
        The file.
    names : sequence of str
        The columns.
    missing : mapping of str to collection of str
        For each column the entries that stand for a missing value.
    texts, numbers : collection of str
        The columns that are kept as they are written, and those that should hold numbers.
    """
    rows = rows_of(path)
    known = next(rows)
    table = list(rows)
    surplus = [i for i, row in enumerate(table) if any(row[len(known) :])]
    if surplus:
        first = next(filter(None, table[surplus[0]][len(known) :]))
        raise ValueError(surplus_text(np.array(surplus), first))
    columns = {}
    for name in names:
        place, gaps = known.index(name), missing[name]
        entries = [row[place] if place < len(row) else None for row in table]
        entries = [None if entry in gaps else entry for entry in entries]
        columns[name] = _objects(entries) if name in texts else _typed(entries, name in numbers)
    return Columns(columns)


def surplus_text(rows: Any, first: object) -> str:
    """Return the message about rows with more fields than there are columns."""
    return (
        f"there are more fields than columns in {rows_text(rows)}; the first surplus one is {brief(first)}. Put fields "
        "with commas in double quotes, or name all columns"
    )


def _typed(entries: Sequence[str | None], number: bool) -> Any:
    """Return entries as whole numbers, numbers or truth values if all of them are, else as texts."""
    present = {entry.strip(" \t") for entry in entries if entry is not None}
    if all(NUMBER.fullmatch(text) and (number or text[-1:].casefold() != "n") for text in present):
        if present and all(text.lstrip("+-").isdecimal() for text in present):
            return _objects([None if entry is None else int(entry) for entry in entries])
        return np.array([np.nan if entry is None else float(entry) for entry in entries])
    if present <= TRUTHS.keys():
        return _objects([None if entry is None else TRUTHS[entry.strip(" \t")] for entry in entries])
    return _objects([np.nan if entry is None and number else entry for entry in entries])


def _objects(entries: Iterable[Any]) -> Any:
    """Return entries as an array: of one type where NumPy has it, of objects where texts or gaps are among them."""
    listed = list(entries)
    kinds = set(map(type, listed))
    if kinds in ({int}, {bool}):
        array = np.array(listed)
        if array.dtype.kind != "O":
            return array
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array
