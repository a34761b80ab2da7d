"""Which class a column or a label in a file stands for: texts, numbers and truth values as people write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.data.columns import factorize
from metricfit.messages import rows_text, some
from metricfit.types import Label

# What names of columns that belong together begin with: up to a separator, or letters before a number.
_BEGINNING = re.compile(r".*[_\-. :/](?=.)|[^\d]*(?=\d+$)|")


def classes_of(columns: Sequence[str], prefix: str, texts: bool) -> tuple[list[str], list[Label]]:
    """Return probability columns and the classes they are named after; numbers are sorted.

    Parameters
    ----------
    columns : sequence of str
        The probability columns.
    prefix : str
        What their names begin with.
    texts : bool
        Whether the labels are texts, so that the classes are texts too, whatever they look like.

    Examples
    --------
    >>> classes_of(["p_10", "p_9"], "p_", texts=False), classes_of(["p_10", "p_9"], "p_", texts=True)
    ((['p_9', 'p_10'], [9, 10]), (['p_10', 'p_9'], ['10', '9']))
    """
    suffixes = [name.removeprefix(prefix) for name in columns]
    if texts:
        return list(columns), list(suffixes)
    numbers = [as_number(suffix) for suffix in suffixes]
    if None not in numbers and len(set(numbers)) == len(numbers):
        pairs = sorted(zip(numbers, columns, strict=True))
        return [name for _, name in pairs], [number for number, _ in pairs if number is not None]
    truths = {"False": False, "True": True}
    if set(suffixes) <= set(truths):
        return list(columns), [truths[suffix] for suffix in suffixes]
    return list(columns), list(suffixes)


def other_prefix(columns: Sequence[str], classes: Sequence[Label] = ()) -> str:
    """Return the next move where no probability column has the prefix that was named.

    Parameters
    ----------
    columns : sequence of str
        The columns that may hold probabilities.
    classes : sequence
        The classes that must have columns; empty if the columns define the classes.

    Examples
    --------
    >>> other_prefix(["id", "score_no", "score_yes"]), other_prefix(["x", "P1", "P2"], [1, 2])
    ("the prefix may be 'score_'", "the prefix may be 'P'")
    >>> other_prefix(["id", "score"])
    'each class needs a column, its prefix and then the class; to one score of two classes add 1 - score'
    """
    found = Counter(begin for name in columns if (begin := _BEGINNING.match(name)[0]) != name)  # type: ignore[index]
    likely = [begin for begin, times in found.most_common() if times > 1]
    if classes:
        first, wanted = str(classes[0]), set(columns)
        begins = [name.removesuffix(first) for name in columns if name.endswith(first)]
        likely = [begin for begin in begins if {f"{begin}{value}" for value in classes} <= wanted]
    if any(likely):
        return f"the prefix may be {next(filter(None, likely))!r}"
    return (
        "each class needs a column, its prefix and then the class; to one score of two classes add 1 - score"
    )


def as_number(text: str) -> int | float | None:
    """Return a text as a number, if Python writes the number in the same way, so that the column can be found again.

    Examples
    --------
    >>> as_number("2"), as_number("0.5"), as_number("007"), as_number("a")
    (2, 0.5, None, None)
    """
    for kind in (int, float):
        try:
            value: int | float = kind(text)
        except ValueError:
            continue
        if str(value) == text and (isinstance(value, int) or np.isfinite(value)):
            return value
    return None


def as_class(text: str, classes: Sequence[Label]) -> Label:
    """Return a label that a person wrote, with the type of the classes where possible.

    Examples
    --------
    >>> as_class("2", [0, 1]), as_class("review", [0, 1]), as_class("2", ["0", "1"])
    (2, 'review', '2')
    """
    same = {str(value): value for value in classes}
    number = as_number(text)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in classes)
    return same.get(text, number if numbers and number is not None else text)


def matched(value: Label, classes: Sequence[Label]) -> Label | None:
    """Return the class that a label in a file stands for: by its text, as a number, or as a truth value.

    Examples
    --------
    >>> matched("00", ["00", "01"]), matched("1.0", [0, 1]), matched(True, ["FALSE", "TRUE"]), matched("2", [0, 1])
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


def labels_of(column: Any, name: str, classes: Sequence[Label], prefix: str) -> Any:
    """Return the class of each row's label; raise naming the labels that have no probability column, and why.

    Examples
    --------
    >>> labels_of(["1.0", "0"], "y", [0, 1], "p_").tolist()
    [1, 0]
    """
    values, codes = factorize(column, f"column {name!r}", advice="fill them in")
    found = [matched(value, classes) for value in values]
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
        move = _written_otherwise(strange, classes, prefix) or "add columns or drop rows"
        raise ValueError(
            f"column {name!r} has labels without a probability column in {rows}: {some(strange)}. The classes are "
            f"{some(classes, limit=10)}, by the columns that begin with {prefix!r}{why}; {move}"
        )
    table = np.empty(len(found), dtype=object)
    table[:] = found
    return table[codes]


def _written_otherwise(strange: Sequence[Label], classes: Sequence[Label], prefix: str) -> str:
    """Return the next move if labels and classes are the same but for the prefix, capitals or spaces.

    Examples
    --------
    >>> _written_otherwise(["Fraud", "legit "], ["fraud", "legit"], "p_")
    'they differ only in capitals or spaces: write labels and columns alike'
    >>> _written_otherwise(["fraud", "legit"], ["_fraud", "_legit"], "p")
    "the prefix may be 'p_'"
    >>> _written_otherwise(["0", "1"], ["fraud", "legit"], "p_")
    ''
    """
    texts, folded = set(map(str, classes)), {str(known).strip().casefold() for known in classes}
    if {str(value).strip().casefold() for value in strange} <= folded:
        return "they differ only in capitals or spaces: write labels and columns alike"
    first = str(strange[0])
    more = [text.removesuffix(first) for text in texts if text.endswith(first)]
    found = next((begin for begin in more if begin and {f"{begin}{value}" for value in strange} <= texts), "")
    return f"the prefix may be {prefix + found!r}" if found else ""


def _same_number(text: str, value: Label) -> bool:
    try:
        return float(text) == float(value)
    except ValueError:
        return False
