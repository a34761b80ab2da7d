"""Messages to users: warnings that point at their line, and parts of messages, such as which rows and how many."""

from __future__ import annotations

import difflib
import functools
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from metricfit.types import IntArray

Function = TypeVar("Function", bound=Callable[..., Any])

# How many characters of a user's text or value a message quotes, however long the value is.
QUOTED = 60
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = QUOTED
_first_row: ContextVar[int] = ContextVar("first_row", default=0)


# The package, whose own lines no warning should point at.
PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning that points at the line of the user which called the package, however deep the call is.

    From Python 3.12 on, ``skip_file_prefixes`` of `warnings.warn` does the same.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def renamed(**names: str) -> Callable[[Function], Function]:
    """Make a function refuse the former names of its arguments with a sentence that has the present ones.

    Examples
    --------
    >>> @renamed(colour="color")
    ... def paint(color=None): ...
    >>> paint(colour="red")
    Traceback (most recent call last):
    ...
    TypeError: paint() has no argument 'colour' any more: it is called 'color' now
    """

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for old in given.keys() & names.keys():
                called = function.__qualname__.removesuffix(".__init__")
                raise TypeError(
                    f"{called}() has no argument {old!r} any more: it is called {names[old]!r} now"
                )
            return function(*args, **given)

        return checked  # type: ignore[return-value]

    return wrap


def brief(value: object) -> str:
    """Return the `repr` of a value, cut in the middle if it is long.

    The whole text is never built, so a hostile value costs nothing.

    Examples
    --------
    >>> brief("precision"), len(brief("a" * 1000)), brief(list(range(1000)))
    ("'precision'", 60, '[0, 1, 2, 3, 4, 5, ...]')
    """
    text = _short.repr(value)
    return text if len(text) <= 2 * QUOTED else f"{text[: 2 * QUOTED]}..."


def cut(text: str) -> str:
    """Return a text, or its beginning if it is long.

    Examples
    --------
    >>> cut("a" * 1000) == "a" * 240 + "..."
    True
    """
    return text if len(text) <= 4 * QUOTED else f"{text[: 4 * QUOTED]}..."


def some(values: Iterable[object], total: int | None = None, limit: int = 5) -> str:
    """Return the first few values as text, with the number of those left out.

    Examples
    --------
    >>> some(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    known = list(values)
    total = len(known) if total is None else total
    text = ", ".join(map(brief, known[:limit]))
    rest = total - min(len(known), limit)
    return f"{text} and {rest} more" if rest > 0 else text


def count(number: float, noun: str, several: str | None = None) -> str:
    """Return a number with its noun, in the singular if it is 1.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row"), count(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """Let messages number rows from ``first`` on: a part of a table is checked, but users know the rows of the table.

    Examples
    --------
    >>> import numpy as np
    >>> with rows_from(1000):
    ...     rows_text(np.array([4]))
    '1 row (1004)'
    """
    token = _first_row.set(first)
    try:
        yield
    finally:
        _first_row.reset(token)


def rows_text(rows: IntArray, total: int | None = None) -> str:
    """Return how many rows there are, and the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> rows_text(np.array([4, 17]))
    '2 rows (4, 17)'
    """
    total = len(rows) if total is None else total
    return f"{count(total, 'row')} ({some((int(row) + _first_row.get() for row in rows[:5]), total)})"


def pairs_text(names: Iterable[str], values: Iterable[object]) -> str:
    """Return attributes and their values as text.

    Examples
    --------
    >>> pairs_text(["sex", "age"], ["F", 30])
    "sex='F', age=30"
    """
    return ", ".join(f"{name}={value!r}" for name, value in zip(names, values, strict=True))


def several(text: str, known: Iterable[object]) -> str:
    """Return the message for names that were given as one, with commas; empty if they were not.

    Examples
    --------
    >>> several("id,y", ["id", "y", "region"]), several("id", ["id"])
    ("'id,y' is several names in one; give each by itself, without commas: 'id' 'y'", '')
    """
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not set(names) <= set(map(str, known)):
        return ""
    apart = " ".join(map(brief, names[:5]))
    return f"{brief(text)} is several names in one; give each by itself, without commas: {apart}"


def unknown(what: str, value: object, known: Iterable[object]) -> str:
    """Return the message for an unknown name, with the closest known name.

    Parameters
    ----------
    what : str
        The kind of name, such as ``"class"``.
    value : object
        What was asked for.
    known : iterable
        The names that exist.

    Returns
    -------
    str

    Examples
    --------
    >>> unknown("class", "froud", ["ok", "fraud"])
    "unknown class 'froud'; did you mean 'fraud'? Known: 'ok', 'fraud'"
    """
    names = list(known)
    texts = {str(name).lower(): name for name in names}
    near = difflib.get_close_matches(str(value).lower(), texts, n=1)
    hint = f"; did you mean {brief(texts[near[0]])}?" if near else "."
    return f"unknown {what} {brief(value)}{hint} Known: {some(names, limit=10) or 'none'}"
