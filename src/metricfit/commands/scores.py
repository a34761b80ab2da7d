"""A table of scores as arrays: class probabilities, labels, attributes and weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricfit.commands.errors import DataError, UsageError, blamed_on
from metricfit.commands.tables import column_names, format_of, listing, read_columns
from metricfit.data.columns import factorize
from metricfit.data.validation import SUM_TOLERANCE, check_proba, check_weights
from metricfit.messages import rows_text, some
from metricfit.oracles.choice import is_large
from metricfit.oracles.files.scores import ScoreFiles, scores
from metricfit.policy import Policy
from metricfit.types import FloatArray, IntArray, Label

NO_ROWS: IntArray = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Scores:
    """What a command needs of a table; columns that were not asked for are None."""

    proba: FloatArray
    classes: tuple[Label, ...]
    labels: Any = None
    attributes: dict[str, Any] | None = None
    weight: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.proba)


def read_scores(
    path: str,
    prefix: str,
    *,
    label: str | None = None,
    attributes: Sequence[str] = (),
    weight: str | None = None,
    policy: Policy | None = None,
    normalize: bool = False,
) -> Scores:
    """Read a table of scores.

    Parameters
    ----------
    path : str
        A CSV, Parquet or Arrow file.
    prefix : str
        The probability of class c is in the column ``<prefix>c``.
    label, weight : str, optional
        Columns of labels and of weights.
    attributes : sequence of str
        Columns of attributes.
    policy : Policy, optional
        What the rows are for: its classes and attributes there must be. By default the classes are those that
        the columns name.
    normalize : bool
        Divide each row's probabilities by their sum.

    Returns
    -------
    Scores
    """
    if not prefix:
        raise UsageError("--proba-prefix is empty; give what the names of the probability columns begin with")
    fitted = () if policy is None else policy.axes.cells.names
    attributes = list(dict.fromkeys([*fitted, *attributes]))
    asked = {name: f"--attribute {name}" for name in attributes}
    asked |= {name: f"the policy needs the attribute {name!r}" for name in fitted}
    asked |= {name: f"{option} {name}" for option, name in (("--label", label), ("--weight", weight)) if name}
    known = column_names(path)
    if policy is None:
        wanted = [name for name in known if name.startswith(prefix) and name != prefix and name not in asked]
    else:
        wanted = [f"{prefix}{value}" for value in policy.axes.classes]
        if len(set(wanted)) < len(wanted):
            raise DataError(
                f"the policy has classes whose columns have one name, such as 1 and '1': {listing(wanted)}; a table "
                "cannot tell them apart, so decide with Policy.decide in Python"
            )
    missing = [name for name in wanted if name not in known]
    if missing or not wanted:
        what = f"of the policy: {listing(missing)}" if missing else f"that begin with {prefix!r}"
        raise DataError(
            f"{path}: --proba-prefix {prefix}: there are no probability columns {what}; the columns are "
            f"{listing(known)}"
        )
    columns = {name: f"--proba-prefix {prefix}" for name in wanted} | asked
    # Labels as they are written: pandas would take 00 for 0, and TRUE for True.
    table = read_columns(path, columns, [*wanted, *([weight] if weight else [])], [label] if label else [])
    with blamed_on(DataError, f"{path}: "):
        values, codes = ([], NO_ROWS) if label is None else factorize(table[label], f"column {label!r}")
        classes: Sequence[Label] = () if policy is None else policy.axes.classes
        if policy is None:
            wanted, classes = _classes(wanted, prefix, values, as_texts=format_of(path) == "csv")
        if label is not None and not len(table):
            raise ValueError("the table has a header and no rows; give at least one row")
        labels = None if label is None else _labels(values, np.asarray(codes), label, classes, prefix)
        return Scores(
            _probabilities(table, wanted, normalize),
            tuple(classes),
            labels,
            {name: table[name] for name in attributes} if attributes else None,
            check_weights(_numbers(table, weight), len(table), f"column {weight!r}") if weight else None,
        )


def larger_than_memory(
    path: str, prefix: str, label: str, attributes: Sequence[str], weight: str | None, normalize: bool
) -> ScoreFiles | None:
    """Return a Parquet or Arrow table that is read block by block; None if it is small, or a CSV file.

    A folder holds the files of one table, and is read so whatever its size.
    """
    folder = os.path.isdir(path)
    if not folder and format_of(path) == "csv":
        return None
    with blamed_on(DataError, f"{path}: "):
        try:
            found = scores(path, label=label, proba_prefix=prefix, attributes=attributes, weight=weight)
        except (ValueError, OSError):
            if folder:
                raise
            return None  # the reader of small tables has more to say of what is wrong with one
    if not folder and not is_large(found.nbytes):
        return None
    if normalize:
        raise UsageError(
            f"--normalize: {path} is read block by block, as it is stored; divide by the sums when it is written"
        )
    return found


def _classes(
    columns: Sequence[str], prefix: str, values: Sequence[Label], as_texts: bool
) -> tuple[list[str], list[Label]]:
    """Return probability columns and their classes, typed as the labels are; numbers are sorted.

    ``values`` are the distinct labels, or with ``as_texts`` what a CSV file has in their place.
    """
    suffixes = [name.removeprefix(prefix) for name in columns]
    if not as_texts and any(isinstance(value, str) for value in values):
        return list(columns), list(suffixes)
    numbers = [_as_number(suffix) for suffix in suffixes]
    if None not in numbers and len(set(numbers)) == len(numbers):
        pairs = sorted(zip(numbers, columns, strict=True))
        return [name for _, name in pairs], [number for number, _ in pairs if number is not None]
    truths = {"False": False, "True": True}
    if set(suffixes) <= set(truths):
        return list(columns), [truths[suffix] for suffix in suffixes]
    return list(columns), list(suffixes)


def _as_number(text: str) -> int | float | None:
    """Return the number that a text is, if Python writes it so and the column can be found again by it."""
    for kind in (int, float):
        try:
            value: int | float = kind(text)
        except ValueError:
            continue
        if str(value) == text and (isinstance(value, int) or np.isfinite(value)):
            return value
    return None


def as_class(text: str, classes: Sequence[Label]) -> Label:
    """Return a label from the command line, typed as the classes are where it can be.

    Examples
    --------
    >>> as_class("2", [0, 1]), as_class("review", [0, 1]), as_class("2", ["0", "1"])
    (2, 'review', '2')
    """
    same = {str(value): value for value in classes}
    number = _as_number(text)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in classes)
    return same.get(text, number if numbers and number is not None else text)


def _matched(value: Label, classes: Sequence[Label]) -> Label | None:
    """Return the class that a label in a file stands for: by its text, as a number, or as a truth value.

    Examples
    --------
    >>> _matched("00", ["00", "01"]), _matched("1.0", [0, 1]), _matched(True, ["FALSE", "TRUE"]), _matched("2", [0, 1])
    ('00', 1, 'TRUE', None)
    """
    texts = {str(known): known for known in classes}
    if str(value) in texts:
        return texts[str(value)]
    if isinstance(value, bool) or str(value).casefold() in ("true", "false"):
        folded = [known for text, known in texts.items() if text.casefold() == str(value).casefold()]
        return folded[0] if len(folded) == 1 else None
    try:
        number = float(value)
    except ValueError:
        return None
    numbers = [known for known in classes if isinstance(known, int | float) and not isinstance(known, bool)]
    return next((known for known in numbers if known == number), None)


def _labels(
    values: Sequence[Label], codes: IntArray, label: str, classes: Sequence[Label], prefix: str
) -> Any:
    """Return the class of each row's label; raise naming the labels that have no probability column, and why."""
    found = [_matched(value, classes) for value in values]
    outside = np.array([known is None for known in found], dtype=bool)
    if outside.any():
        rows = rows_text(np.flatnonzero(outside[codes]))
        strange = [value for value, out in zip(values, outside, strict=True) if out]
        padded = [
            c for c in classes if isinstance(c, str) and any(_same_number(c, value) for value in strange)
        ]
        why = (
            f"; {padded[0]!r} is that number, but not as the file writes it: name the column as the label is written"
            if padded
            else ""
        )
        raise ValueError(
            f"column {label!r} has labels without a probability column in {rows}: {some(strange)}. The classes are "
            f"{some(classes, limit=10)}, by the columns that begin with {prefix!r}{why}; add columns or drop rows"
        )
    table = np.empty(len(found), dtype=object)
    table[:] = found
    return table[codes]


def _same_number(text: str, value: Label) -> bool:
    try:
        return float(text) == float(value)
    except ValueError:
        return False


def _numbers(table: Any, name: str) -> FloatArray:
    column = table[name]
    try:
        array = np.asarray(column.to_numpy())
    except Exception as error:  # pyarrow's own, of several kinds: texts that are no UTF-8, say
        raise ValueError(f"column {name!r} must hold numbers; it cannot be read: {error}") from error
    if not len(array):
        return np.zeros(0)  # nothing to tell the type by
    if array.dtype.kind not in "fiub":
        values = array.tolist()
        bad = [row for row, value in enumerate(values) if not _number(value)]
        if not bad:
            raise ValueError(f"column {name!r} must hold numbers; it holds texts such as {values[0]!r}")
        strange = some(dict.fromkeys(values[row] for row in bad))
        raise ValueError(
            f"column {name!r} must hold numbers; it holds {strange} in {rows_text(np.array(bad))}; repair or "
            "drop these rows"
        )
    return array


def _number(value: Any) -> bool:
    """Return whether a value is a number, or a text that is one in a column with other texts."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _probabilities(table: Any, names: Sequence[str], normalize: bool) -> FloatArray:
    columns = [_numbers(table, name) for name in names]
    single = all(column.dtype == np.float32 for column in columns)
    proba = np.empty((len(table), len(names)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        proba[:, j] = column
    # NaN and negative numbers are left to the check below, which has the words for them.
    with np.errstate(invalid="ignore"):
        sums = proba.sum(axis=1, dtype=np.float64)
        off = (np.abs(sums - 1) > SUM_TOLERANCE) & (proba >= 0).all(axis=1) & np.isfinite(sums)
    if normalize:
        if np.any(off & (sums == 0)):
            raise ValueError(
                f"all probabilities are 0 in {rows_text(np.flatnonzero(sums == 0))}; drop these rows"
            )
        usable = np.isfinite(sums) & (sums > 0)
        np.divide(proba, sums[:, None], out=proba, where=usable[:, None], casting="same_kind")
    elif off.any():
        raise ValueError(
            f"the columns {listing(names)} do not sum to 1 (within {SUM_TOLERANCE:g}) in "
            f"{rows_text(np.flatnonzero(off))}; repair these rows, or add --normalize to divide by the sums"
        )
    return check_proba(proba, name=f"a probability (columns {listing(names)})", allow_empty=True)
