"""Cells: the observed combinations of all attribute columns.

Every slice, intersection or overlapping group of rows is a union of cells, so one axis of the confusion tensor is
enough for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from metricfit.data.attributes import (
    ARGUMENT,
    MISSING,
    MISSING_ATTRIBUTE,
    MISSING_RULES,
    attribute_codes,
    check_not_called_missing,
    matching_columns,
    names_of,
    read_attributes,
)
from metricfit.data.validation import label
from metricfit.messages import pairs_text, rows_text, some, unknown
from metricfit.types import BoolArray, IntArray, Label

# More cells than `MANY`, with fewer than `ROWS_EACH` rows on average, come from an identifier.
MANY, ROWS_EACH = 1000, 5


@dataclass(frozen=True)
class Cells:
    """The observed combinations of attribute values, in sorted order.

    Parameters
    ----------
    names : tuple of str
        The attributes. Without attributes there is one cell, the whole population.
    values : tuple of tuples
        One tuple of plain Python scalars per cell, one scalar per name.

    Examples
    --------
    >>> cells, codes = Cells.observe({"sex": ["F", "M", "F"], "old": [1, 0, 0]}, 3)
    >>> cells.values, codes.tolist()
    ((('F', 0), ('F', 1), ('M', 0)), [1, 2, 0])
    >>> cells.mask(sex="F").tolist()
    [True, True, False]
    >>> len(Cells())
    1
    """

    names: tuple[str, ...] = ()
    values: tuple[tuple[Label, ...], ...] = ((),)

    def __post_init__(self) -> None:
        """Turn the parts into plain tuples and refuse contradictions."""
        names = tuple(self.names)
        values = tuple(tuple(label(v, "an attribute value") for v in cell) for cell in self.values)
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"attribute names must be strings; got {name!r}")
        if len(set(names)) < len(names):
            raise ValueError(f"attribute names must differ; got {names}")
        if not values:
            raise ValueError("there must be at least one cell")
        for cell in values:
            if len(cell) != len(names):
                raise ValueError(f"cell {cell} must have one value for each attribute in {names}")
        if len(set(values)) < len(values):
            raise ValueError("cells must differ; the same combination of values is given twice")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.values)

    def __repr__(self) -> str:
        """Show names and the first cells."""
        return f"Cells({', '.join(self.names)}: {some(self.values)})" if self.names else "Cells()"

    @classmethod
    def observe(cls, sensitive_features: Any, n_rows: int, missing: str = "error") -> tuple[Cells, IntArray]:
        """Find the cells of some rows.

        Parameters
        ----------
        sensitive_features : frame, one-dimensional array-like or None
            A frame whose columns are attributes (pandas, polars, pyarrow, or a dict of columns), or one
            column, whose attribute is called by its ``name`` if it has one, else ``"group"``.
        n_rows : int
            The number of rows of the data.
        missing : {"error", "cell"}
            Refuse rows that lack an attribute, or give them a separate cell, with the value ``"(missing)"``.

        Returns
        -------
        cells : Cells
        codes : int32 ndarray of shape (n_rows,)
            Each row's cell.

        Examples
        --------
        >>> cells, codes = Cells.observe(["b", "a", "b"], 3)
        >>> cells.names, cells.values, codes.tolist()
        (('group',), (('a',), ('b',)), [1, 0, 1])
        """
        if missing not in MISSING_RULES:
            raise ValueError(unknown("missing", missing, MISSING_RULES))
        columns = {} if sensitive_features is None else read_attributes(sensitive_features)
        if not columns:
            return cls((), ((),)), np.zeros(n_rows, np.int32)
        if not n_rows:
            raise ValueError(f"{ARGUMENT} has no rows; pass at least one row")
        prefix: IntArray = np.zeros(n_rows, dtype=np.intp)
        cells: list[tuple[Label, ...]] = [()]
        for name, column in columns.items():
            values, codes = attribute_codes(column, name, n_rows, MISSING if missing == "cell" else None)
            check_not_called_missing(column, name, values, missing)
            # Renumbering after each column keeps the keys small however many columns there are.
            keys, prefix = _compact(prefix * len(values) + codes, len(cells) * len(values))
            cells = [(*cells[key // len(values)], values[key % len(values)]) for key in keys.tolist()]
        return cls(tuple(columns), tuple(cells)), prefix.astype(np.int32)

    def check_filled(self, n_rows: int) -> None:
        """Refuse attributes that identify rows instead of grouping them, such as an identifier or an amount.

        Every cell has its own rules, so a policy with one row per cell would memorise its rows.
        """
        if len(self) <= MANY or len(self) * ROWS_EACH <= n_rows:
            return
        values = [len({cell[place] for cell in self.values}) for place in range(len(self.names))]
        most = int(np.argmax(values))
        raise ValueError(
            f"{n_rows:,} rows have {len(self):,} combinations of attribute values, fewer than {ROWS_EACH} rows each; "
            f"the attribute {self.names[most]!r} alone has {values[most]:,} values. Leave it out, or give it fewer "
            "values, such as ranges"
        )

    def encode(self, sensitive_features: Any, n_rows: int, unseen: str = "error") -> IntArray:
        """Return the cell of each of some rows.

        Parameters
        ----------
        sensitive_features : frame, one-dimensional array-like or None
            As in `observe`. The order of columns does not matter; columns that are not attributes are ignored.
        n_rows : int
            The number of rows of the data.
        unseen : {"error", "overall"}
            Refuse rows with values that are in no cell, or give them the number after the last cell. Missing values are
            treated in the same way, unless they form a cell.

        Returns
        -------
        int32 ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            If attributes are missing, or rows have a combination of values that is not a cell.

        Examples
        --------
        >>> cells = Cells(("sex",), (("F",), ("M",)))
        >>> cells.encode(["M", "F"], 2)
        array([1, 0], dtype=int32)
        """
        columns = matching_columns(self.names, sensitive_features)
        prefix: IntArray = np.zeros(n_rows, dtype=np.intp)
        raw: list[tuple[list[Label], IntArray]] = []
        tables, cells = self._tree
        for name, known, table in zip(self.names, self._value_codes, tables, strict=True):
            gap = MISSING if MISSING in known or unseen == "overall" else None
            values, codes = attribute_codes(columns[name], name, n_rows, gap)
            raw.append((values, codes))
            translate = np.array([known.get(value, -1) for value in values], dtype=np.intp)[codes]
            bad = (prefix < 0) | (translate < 0)
            prefix = _places(table, np.where(bad, -1, prefix * len(known) + translate))
        outside = prefix < 0
        if unseen == "error" and outside.any():
            self._raise_unseen(np.flatnonzero(outside), raw)
        return np.where(outside, len(self), cells[prefix]).astype(np.int32)

    def columns(self, codes: Any) -> dict[str, Any] | None:
        """Return the attributes of rows whose cells are known; None without attributes.

        Examples
        --------
        >>> Cells(("sex",), (("F",), ("M",))).columns([1, 0, 1])
        {'sex': array(['M', 'F', 'M'], dtype=object)}
        """
        columns = zip(self.names, zip(*self.values, strict=True), strict=True)
        return {name: np.array(values, dtype=object)[codes] for name, values in columns} or None

    def mask(self, /, **where: Any) -> BoolArray:
        """Return which cells lie in a slice.

        Parameters
        ----------
        **where : scalar or list of scalars
            For some attributes the value, or the values, that belong to the slice.

        Returns
        -------
        bool ndarray of shape (len(self),)

        Examples
        --------
        >>> cells = Cells(("age",), ((1,), (2,), (3,)))
        >>> cells.mask(age=[1, 3]).tolist()
        [True, False, True]
        """
        inside = np.ones(len(self), dtype=bool)
        for name, wanted in where.items():
            position = self._position(name)
            known = self._value_codes[position]
            several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
            codes = set()
            for value in wanted if several else [wanted]:
                plain = label(value, f"a value of {name!r}")
                if plain not in known:
                    raise ValueError(unknown(f"value of attribute {name!r}:", plain, known))
                codes.add(known[plain])
            inside &= np.array([known[cell[position]] in codes for cell in self.values])
        return inside

    def groups(self, over: str | Sequence[str]) -> dict[tuple[Label, ...], BoolArray]:
        """Return the cells of each value of one attribute, or of each observed combination of several.

        Parameters
        ----------
        over : str or list of str
            Attribute names.

        Returns
        -------
        dict
            From tuple of values to bool ndarray of shape (len(self),).

        Examples
        --------
        >>> cells = Cells(("sex", "old"), (("F", 0), ("F", 1), ("M", 0)))
        >>> {key: mask.tolist() for key, mask in cells.groups("sex").items()}
        {('F',): [True, True, False], ('M',): [False, False, True]}
        """
        names = names_of(over)
        if not names:
            raise ValueError("over must name at least one attribute")
        positions = [self._position(name) for name in names]
        keys = [tuple(cell[position] for position in positions) for cell in self.values]
        index = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        codes = np.array([index[key] for key in keys])
        return {key: codes == i for key, i in index.items()}

    def _position(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"{unknown('attribute', name, self.names)}{MISSING_ATTRIBUTE}")
        return self.names.index(name)

    @cached_property
    def _value_codes(self) -> list[dict[Label, int]]:
        """For each attribute, its known values and their codes."""
        columns = zip(*self.values, strict=True) if self.names else ()
        return [{value: i for i, value in enumerate(dict.fromkeys(column))} for column in columns]

    @cached_property
    def _tree(self) -> tuple[list[IntArray], IntArray]:
        """For each attribute the sorted keys (beginning of a cell, code of a next value); then the cells."""
        tables = []
        prefix: IntArray = np.zeros(len(self), dtype=np.intp)
        for position, known in enumerate(self._value_codes):
            codes = np.array([known[cell[position]] for cell in self.values])
            table, prefix = np.unique(prefix * len(known) + codes, return_inverse=True)
            tables.append(table)
        return tables, np.argsort(prefix)

    def _raise_unseen(self, rows: IntArray, raw: list[tuple[list[Label], IntArray]]) -> None:
        combinations = zip(
            *([values[code] for code in codes[rows].tolist()] for values, codes in raw), strict=True
        )
        texts = [pairs_text(self.names, cell) for cell in dict.fromkeys(combinations)]
        shown = "; ".join(texts[:5]) + (f" and {len(texts) - 5} more" if len(texts) > 5 else "")
        raise ValueError(
            f"{ARGUMENT} has values not seen in fit in {rows_text(rows)}: {shown}. Map them to known values, "
            f"fit again with rows that have them, or fit with unseen='overall'"
        )


def _places(table: IntArray, keys: IntArray) -> IntArray:
    """Return the index of each key in a sorted table, or -1."""
    if table[-1] <= max(1024, 4 * keys.size):
        dense = np.full(table[-1] + 2, -1, dtype=np.intp)  # the last entry stands for all keys not in range
        dense[table] = np.arange(len(table))
        return dense[np.where(keys < len(dense), keys, -1)]
    at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[at] == keys, at, -1)


def _compact(keys: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """Return the sorted distinct keys, and each row's index among them."""
    if n_keys > max(1024, 4 * keys.size):
        return np.unique(keys, return_inverse=True)
    present = np.bincount(keys, minlength=n_keys) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]
