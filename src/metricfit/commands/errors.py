"""Exit codes, and the errors that carry them out of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DONE = 0
BROKEN = 1
USAGE = 2
INFEASIBLE = 3
BAD_DATA = 4
ALARM = 5


class CommandError(Exception):
    """A command cannot continue; the text is for the person at the terminal, the details for scripts."""

    code: int = USAGE

    def __init__(self, text: str, **details: Any) -> None:
        super().__init__(text)
        self.details = details


class UsageError(CommandError):
    """The command line asks for something that cannot be done, whatever the data."""

    code = USAGE


class DataError(CommandError):
    """A file is missing, damaged, or does not contain what the command needs."""

    code = BAD_DATA


@contextmanager
def blamed_on_text(option: str) -> Iterator[None]:
    """Turn a ValueError about the text of an option into a `UsageError` in terms of command-line options.

    Examples
    --------
    >>> with blamed_on_text("--maximize"):
    ...     raise ValueError("unknown attribute 'sex'. Known: none")
    Traceback (most recent call last):
        ...
    metricfit.commands.errors.UsageError: --maximize: unknown attribute 'sex'. Known: none; name ...
    """
    try:
        yield
    except ValueError as error:
        text = str(error).partition("; pass sensitive_features=")[0]
        text, found, methods = text.partition("Try method=")
        hint = "; name columns with --attribute" if text.startswith("unknown attribute ") else ""
        tried = f"Try --method {methods}".replace("'", "") if found else ""
        raise UsageError(f"{option}: {text}{tried}{hint}") from error


@contextmanager
def blamed_on(kind: type[CommandError], prefix: str = "") -> Iterator[None]:
    """Turn a ValueError or OSError into an error of a kind.

    Examples
    --------
    >>> with blamed_on(DataError, "scores.csv: "):
    ...     raise ValueError("no rows")
    Traceback (most recent call last):
        ...
    metricfit.commands.errors.DataError: scores.csv: no rows
    """
    try:
        yield
    except FileNotFoundError as error:
        raise kind(f"{prefix}No such file or directory; check the path of the file") from error
    except OSError as error:
        raise kind(f"{prefix}{error.strerror or error}") from error
    except ValueError as error:
        raise kind(f"{prefix}{error}") from error
