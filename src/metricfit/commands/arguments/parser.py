"""The parser of the command line. The arguments of a command are declared in its own module."""

from __future__ import annotations

import argparse
import difflib
import importlib
from collections.abc import Collection, Mapping
from itertools import takewhile
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn

from metricfit import __version__
from metricfit.commands import COMMANDS
from metricfit.commands.errors import UsageError
from metricfit.messages import brief

# What other tools call these options: near in meaning, not in letters.
ALSO_CALLED = MappingProxyType(
    {
        "--constraint": "--subject-to",
        "--constraints": "--subject-to",
        "--limit": "--subject-to",
        "--metric": "--maximize",
        "--objective": "--maximize",
        "--output": "--out",
        "--target": "--label",
        "--sensitive-features": "--attribute",
        "--group": "--attribute",
        "--sample-weight": "--weight",
        "--confusion": "--counting",
    }
)


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` instead of leaving the process.

    ``needless`` names options of other commands that this one does not need, and why.
    """

    needless: Mapping[str, str] = MappingProxyType({})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options first: argparse would complain that a required option is missing if it is misspelt."""
        self.given = {word.partition("=")[0] for word in takewhile("--".__ne__, args or ())}
        if self._subparsers is None:
            # argparse takes a word that contains a space for a value, whatever it begins with.
            for word in sorted(word for word in self.given if word.startswith("--") and " " not in word):
                if word in self.needless:
                    self.error(f"{word} is not needed here: {self.needless[word]}")
                if word not in self._option_string_actions:
                    meant = ALSO_CALLED.get(word)
                    known = self._option_string_actions
                    near = [meant] if meant in known else difflib.get_close_matches(word, known, 1)
                    self.error(f"unknown option {brief(word)}{f', perhaps {near[0]}' if near else ''}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving."""
        if "required: COMMAND" in message:
            message = f"give a command, one of {', '.join(COMMANDS)}"
        elif "required: " in message:
            for group in self._mutually_exclusive_groups:
                names = [name for action in group._group_actions for name in action.option_strings]
                if group.required and not self.given.intersection(names):
                    message += f", {' or '.join(names)}"
        # An option with several values takes everything that follows, also file names.
        hint = "; files come before the options" if "required: " in message and "SCORES" in message else ""
        if message.endswith("one argument"):
            hint = "; write a value that begins with a dash as --option='-...'"
        raise UsageError(f"{message}{hint}; see '{self.prog} --help'")


def module_of(command: str) -> ModuleType:
    """Return the module of a command, which has ``arguments(parser)`` and ``run(options)``."""
    return importlib.import_module(f"metricfit.commands.{command}")


def build_parser(declared: Collection[str] = ()) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of all commands, and that of each command.

    Parameters
    ----------
    declared : collection of str
        The commands whose arguments are declared, and whose modules are imported for it.

    Examples
    --------
    >>> parser, commands = build_parser(["metrics"])
    >>> parser.parse_args(["metrics", "g_mean"]).name, commands["fit"].prog
    ('g_mean', 'metricfit fit')
    """
    parser = Parser(
        prog="metricfit",
        description="Fit the metric you are judged by, under the constraints you must keep.",
        epilog="Exit codes: 0 done, 1 a limit is likely violated (evaluate), 2 usage, 3 infeasible, 4 bad data, "
        "5 an alarm (monitor).",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"metricfit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    made = {}
    for name, text in COMMANDS.items():
        made[name] = commands.add_parser(
            name,
            help=text.replace("%", "%%"),
            description=f"{text[0].upper()}{text[1:]}.",
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in declared:
            module_of(name).arguments(made[name])
    return parser, made
