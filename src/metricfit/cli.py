"""The `metricfit` command: reads the arguments, runs a command, and turns errors into exit codes.

Exit codes: 0 done, 1 a limit is likely violated (evaluate), 2 usage, 3 infeasible, 4 bad data, 5 an alarm.
"""

from __future__ import annotations

import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress

from metricfit.commands.arguments.parser import build_parser, module_of
from metricfit.commands.arguments.task_file import expanded
from metricfit.commands.errors import CommandError
from metricfit.commands.terminal.interrupt import INTERRUPTED

BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        0 done, 1 a limit is likely violated (evaluate), 2 usage, 3 infeasible, 4 bad data, 5 an alarm.

    Examples
    --------
    >>> from metricfit.cli import main
    >>> main(["metrics", "min_recall"])  # doctest: +ELLIPSIS
    min_recall(): concave, not smooth, higher is better
    ...
    0
    """
    given = list(sys.argv[1:] if argv is None else argv)
    shown, warnings.formatwarning = warnings.formatwarning, _noted
    try:
        try:
            return _run(given)
        finally:
            warnings.formatwarning = shown
            if sys.stdout is not None:  # None if a shell closed it by >&-
                sys.stdout.flush()
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        return _without_output(BROKEN_PIPE)
    except OSError as error:  # a full disk behind standard output, say: files have their own errors
        _say(f"the output cannot be written: {error.strerror or error}")
        return _without_output(CommandError.code)


def _run(given: list[str]) -> int:
    try:
        # Only the module of the command that runs is imported, with the libraries that it needs.
        parser, commands = build_parser(given[:1])
        given = expanded(given, commands)
        options = parser.parse_args(given, Namespace(argv=given))
        return int(module_of(options.command).run(options))
    except CommandError as error:
        _say(str(error))
        if "--json" in given:
            # Imported here, because it imports results and with them all solvers, which most commands do not need.
            from metricfit.commands.terminal.as_json import show

            show({"error": str(error), "exit_code": error.code, **error.details})
        return error.code
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "metricfit":
            raise
        _say(
            f"{given[0]} needs the package {package}, which is not installed; install metricfit with its dependencies, "
            "without --no-deps. NumPy alone is enough for 'apply' on .csv files, and for 'export'"
        )
        return CommandError.code


def _noted(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Return a warning as text for the terminal, without the line of code that gave it."""
    return f"metricfit: note: {message}\n"


def _say(text: str) -> None:
    """Print to standard error, if anybody reads it."""
    with suppress(OSError):
        print(f"metricfit: {text}", file=sys.stderr, flush=True)


def _without_output(code: int) -> int:
    """Return an exit code and discard unwritten output, which Python would otherwise fail to flush at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
