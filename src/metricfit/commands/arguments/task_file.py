"""Task files: the options of a command in TOML, instead of flags."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metricfit.commands import COMMANDS
from metricfit.commands.arguments.parser import build_parser
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
    shared, own = _read(path, command)
    actions = _actions(commands[command])
    words, files = [], []
    for key, value in (_of_command(path, shared, actions) | own).items():
        action = actions.get(_written(key))
        if action is None:
            raise UsageError(f"{path}: {unknown('key', key, actions)}")
        entries = [str(_resolved(path, entry, action)) for entry in _entries(path, key, value, action)]
        if not action.option_strings:
            files.append((list(actions).index(_written(action.dest)), entries[0]))
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


def _read(path: str, command: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keys before the first table, which apply to all commands, and those of the command's own table.

    A task file without tables is for a single command, whose own keys are then all there are.
    """
    with blamed_on(DataError, f"{path}: "):
        try:
            task = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise DataError(f"{path}: it cannot be read as TOML: {error}") from error
    tables = [name for name, value in task.items() if isinstance(value, dict)]
    if not tables:
        return {}, task
    if command not in tables:
        raise UsageError(f"{path}: it has no table [{command}]; it has {', '.join(f'[{t}]' for t in tables)}")
    return {name: value for name, value in task.items() if name not in tables}, task[command]


def _of_command(path: str, shared: dict[str, Any], actions: Mapping[str, argparse.Action]) -> dict[str, Any]:
    """Return the shared keys without those that only other commands have; one that no command has is an error."""
    others = [key for key in shared if _written(key) not in actions]
    if others:
        # Only now, because it imports the modules of all commands.
        _, commands = build_parser(COMMANDS)
        known = dict.fromkeys(name for parser in commands.values() for name in _actions(parser))
        for key in others:
            if _written(key) not in known:
                raise UsageError(f"{path}: {unknown('key', key, known)}")
    return {key: value for key, value in shared.items() if key not in others}


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return the options and files of a command by their keys."""
    hidden = ("help", argparse.SUPPRESS)
    return {_written(action.dest): action for action in parser._actions if action.dest not in hidden}


def _written(name: str) -> str:
    """Return a key as options are written; both spellings, proba-prefix and proba_prefix, are taken."""
    return name.replace("_", "-")


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
