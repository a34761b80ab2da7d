"""Task files: the options of a command in TOML, instead of flags."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metricfit.commands.errors import DataError, UsageError, blamed_on
from metricfit.messages import unknown

#: Options that are files; their paths are relative to the folder of the task file.
PATHS = ("scores", "policy", "out", "report", "picture")


def expanded(argv: Sequence[str], commands: Mapping[str, argparse.ArgumentParser]) -> list[str]:
    """Return the arguments with a task file, as in ``metricfit fit task.toml``, replaced by its options.

    Options after the file come after those of the task. So if an option with one value is given twice, the last one
    counts, and an option with several values gets those of both.

    Parameters
    ----------
    argv : sequence of str
        The arguments.
    commands : mapping of ArgumentParser
        The parser of each command, which knows its options.

    Returns
    -------
    list of str

    Examples
    --------
    >>> expanded(["metrics", "g_mean"], {})
    ['metrics', 'g_mean']
    """
    if len(argv) < 2 or argv[0] not in commands or not argv[1].lower().endswith(".toml"):
        return list(argv)
    command, path, *rest = argv
    options = _read(path, command)
    actions = {name: action for action in commands[command]._actions for name in _names(action)}
    words, files = [], []
    for key, value in options.items():
        action = actions.get(key.replace("-", "_"))
        if action is None:
            raise UsageError(f"{path}: {unknown('key', key, actions)}")
        entries = [str(_resolved(path, entry, action)) for entry in _entries(path, key, value, action)]
        if not action.option_strings:
            files.append((list(actions).index(action.dest), entries[0]))
        elif action.nargs == 0:
            words += [action.option_strings[-1]] if value else []
        else:
            words += [f"{action.option_strings[-1]}={entry}" for entry in entries]
    given = [file for _, file in sorted(files)]
    if rest and not rest[0].startswith("-"):
        raise UsageError(
            f"{rest[0]}: {path} already names the input files; give only options after it, or change the task file"
        )
    return [command, *given, *words, *rest]


def _read(path: str, command: str) -> dict[str, Any]:
    """Return the TOML table of a command, or the whole task file if it is for a single command."""
    with blamed_on(DataError, f"{path}: "):
        try:
            task = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise DataError(f"{path}: it cannot be read as TOML: {error}") from error
    tables = [name for name, value in task.items() if isinstance(value, dict)]
    if not tables:
        return task
    if command not in tables:
        raise UsageError(f"{path}: it has no table [{command}]; it has {', '.join(f'[{t}]' for t in tables)}")
    # Keys before the first table apply to all commands.
    shared = {name: value for name, value in task.items() if name not in tables}
    return shared | task[command]


def _names(action: argparse.Action) -> Iterator[str]:
    if action.dest != "help" and action.dest != argparse.SUPPRESS:
        yield action.dest


def _entries(path: str, key: str, value: Any, action: argparse.Action) -> list[Any]:
    entries = value if isinstance(value, list) else [value]
    several = action.nargs == "+"
    if (isinstance(value, list) and not several) or isinstance(value, bool) != (action.nargs == 0):
        wanted = "true or false" if action.nargs == 0 else "values" if several else "one value"
        raise UsageError(f"{path}: {key} must be {wanted}; it is {value!r}")
    for entry in entries:
        if not isinstance(entry, str | int | float):
            raise UsageError(f"{path}: {key} must contain strings or numbers; it contains {entry!r}")
    return entries


def _resolved(path: str, entry: Any, action: argparse.Action) -> Any:
    if action.dest not in PATHS or not isinstance(entry, str):
        return entry
    return os.path.join(os.path.dirname(path), entry)
