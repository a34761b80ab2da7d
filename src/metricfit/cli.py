"""The `metricfit` command: reads the arguments, runs a command, and turns errors into exit codes.

Exit codes: 0 done, 1 a limit is broken on the rows evaluated, 2 usage, 3 infeasible, 4 bad data.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from metricfit import __version__
from metricfit.commands.errors import CommandError, UsageError
from metricfit.commands.interrupt import INTERRUPTED
from metricfit.commands.task import expanded

BROKEN_PIPE = 141

#: Written out here, so that help does not wait for the methods to be imported.
METHODS = (
    "column_generation",
    "frank_wolfe",
    "split_frank_wolfe",
    "gda",
    "ellipsoid",
    "bisection",
    "local",
    "guided",
    "grid",
)

#: Those of `Policy.to_sql`, written out for the same reason.
DIALECTS = ("duckdb", "sqlite", "postgres", "bigquery", "snowflake")

SCORES_HELP = "table of scores: .csv, .parquet or .arrow; SCORES comes before the options"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        0 done, 1 a limit is broken on the rows evaluated, 2 usage, 3 infeasible, 4 bad data.

    Examples
    --------
    >>> from metricfit.cli import main
    >>> main(["metrics", "min_recall"])  # doctest: +ELLIPSIS
    min_recall(): concave, not smooth, higher is better
    ...
    0
    """
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(given)
        finally:
            if sys.stdout is not None:  # as in a shell's >&-
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
        parser = build_parser()
        given = expanded(given, parsers_of(parser))
        options = parser.parse_args(given, Namespace(parser=parser, argv=given))
        # Only the command that runs is imported, and it imports scikit-learn or pyarrow only if it needs to.
        return int(importlib.import_module(f"metricfit.commands.{options.command}").run(options))
    except CommandError as error:
        _say(str(error))
        if "--json" in given:
            # Not needed for most commands, and it imports results, with them all that solves.
            from metricfit.commands.as_json import show

            show({"error": str(error), "exit_code": error.code, **error.details})
        return error.code


def _say(text: str) -> None:
    """Print to standard error, if anybody reads it."""
    with suppress(OSError):
        print(f"metricfit: {text}", file=sys.stderr, flush=True)


def _without_output(code: int) -> int:
    """Return an exit code; what is not written yet goes nowhere, or Python would complain when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


class Parser(argparse.ArgumentParser):
    """A parser whose errors are the command's errors."""

    def error(self, message: str) -> NoReturn:
        """Raise in place of printing the usage and leaving."""
        # An option that takes several values takes all that follow, files too.
        hint = "; files come before the options" if "required: " in message and "SCORES" in message else ""
        raise UsageError(f"{message}{hint}; see '{self.prog} --help'")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands.

    Examples
    --------
    >>> build_parser().parse_args(["metrics", "g_mean"]).name
    'g_mean'
    """
    parser = Parser(
        prog="metricfit",
        description="Fit the metric you are judged by, under the constraints you must keep.",
        epilog="Exit codes: 0 done, 2 usage, 3 infeasible, 4 bad data.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"metricfit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    _demo(commands)
    _fit(commands)
    _apply(commands)
    _evaluate(commands)
    _frontier(commands)
    _explore(commands)
    _metrics(commands)
    _export(commands)
    _completion(commands)
    return parser


def parsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command.

    Examples
    --------
    >>> parsers_of(build_parser())["fit"].prog
    'metricfit fit'
    """
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(commands.choices)


Commands = argparse._SubParsersAction


def _add(commands: Commands[Parser], name: str, text: str, epilog: str = "") -> Parser:
    return commands.add_parser(
        name,
        help=text.replace("%", "%%"),
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=epilog,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _demo(commands: Commands[Parser]) -> None:
    _add(commands, "demo", "run the main job on a generated fraud-triage data set")


def _fit(commands: Commands[Parser]) -> None:
    parser = _add(
        commands,
        "fit",
        "find the best policy for a metric under constraints, from a table of scores",
        "example:\n  metricfit fit scores.csv --label y --proba-prefix p_ --maximize g_mean \\\n"
        "      --subject-to \"precision('fraud') >= 0.9\" --out policy.json",
    )
    _task(parser)
    parser.add_argument(
        "--confidence",
        metavar="C",
        type=_share,
        help="0.95: constraints hold on the population with this confidence; half of the rows test it",
    )
    parser.add_argument(
        "--no-expect",
        action="store_true",
        help="do not find out what to expect on new rows, which takes a few solves",
    )
    parser.add_argument("--out", metavar="POLICY", required=True, help="policy file to write (JSON)")
    parser.add_argument(
        "--report", metavar="HTML", help="also write a report, one file that can be sent around and printed"
    )
    _force(parser)
    _json(parser)


def _frontier(commands: Commands[Parser]) -> None:
    parser = _add(
        commands,
        "frontier",
        "trade a metric against a constraint: the best value at each of several limits",
        "example:\n  metricfit frontier scores.csv --label y --proba-prefix p_ --maximize g_mean \\\n"
        "      --trade \"precision('fraud')\" --levels 0.5,0.6,0.7,0.8,0.9 --out frontier.csv --picture frontier.svg",
    )
    _task(parser)
    parser.add_argument(
        "--trade",
        metavar="TEXT",
        nargs="+",
        required=True,
        help="metric whose limit moves, such as \"precision('fraud')\", or a comparison whose number is not used; "
        "several make a grid",
    )
    parser.add_argument(
        "--levels",
        metavar="L",
        nargs="+",
        default=["20"],
        help="for each --trade its limits, such as 0.5,0.6,0.7; or how many, from the loosest limit that matters to "
        "the strictest that can be kept (default: 20)",
    )
    parser.add_argument(
        "--expect",
        action="store_true",
        help="also find out what to expect on new rows at each level, which takes a few times as long",
    )
    parser.add_argument(
        "--out", metavar="TABLE", required=True, help="table to write: .csv, .parquet or .arrow"
    )
    parser.add_argument("--picture", metavar="FILE", help="picture to write: .svg, .png or .pdf")
    _force(parser)
    _json(parser)


def _explore(commands: Commands[Parser]) -> None:
    parser = _add(
        commands,
        "explore",
        "serve a page on this machine where limits are moved and what they cost is seen at once",
        "example:\n  metricfit explore scores.csv --label y --proba-prefix p_ --attribute region",
    )
    _rows(parser)
    parser.add_argument(
        "--objective", metavar="TEXT", default="g_mean", help="metric to begin with (default: g_mean)"
    )
    parser.add_argument(
        "--subject-to",
        metavar="TEXT",
        nargs="+",
        action="extend",
        default=[],
        help="constraints to begin with, such as \"precision('fraud') >= 0.9\"",
    )
    parser.add_argument(
        "--confusion",
        choices=("labels", "calibrated", "model"),
        default="calibrated",
        help="how rules are counted at first; calibrated probabilities (default) answer fastest",
    )
    parser.add_argument("--tol", type=_tolerance, default=1e-4, help="stop at this gap (default: 0.0001)")
    parser.add_argument("--port", metavar="N", type=_port, default=0, help="default: one that is free")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")


def _rows(parser: Parser) -> None:
    """Add what names the rows and what can be decided."""
    _scores(parser)
    _labelled(parser)
    parser.add_argument(
        "--attribute", metavar="COL", nargs="+", action="extend", default=[], help=ATTRIBUTE_HELP
    )
    parser.add_argument(
        "--decision",
        metavar="D",
        nargs="+",
        action="extend",
        default=[],
        help="all decisions, by default the classes; others, such as review, are decisions that are no class",
    )


def _task(parser: Parser) -> None:
    """Add what states a problem and how to search."""
    _rows(parser)
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--maximize", metavar="TEXT", help="metric to maximize, such as g_mean")
    goal.add_argument(
        "--minimize", metavar="TEXT", help="metric to minimize, such as 'cost([[0, 1], [5, 0]])'"
    )
    parser.add_argument(
        "--subject-to",
        metavar="TEXT",
        nargs="+",
        action="extend",
        default=[],
        help="constraint to keep, such as \"precision('fraud') >= 0.9\"; may be given several times",
    )
    parser.add_argument(
        "--method",
        metavar="NAME",
        default="auto",
        help=f"how to search: auto (default), {', '.join(METHODS)}",
    )
    parser.add_argument(
        "--confusion",
        choices=("labels", "calibrated", "model"),
        default="labels",
        help="count labels (default), or soft labels, with which the bound is a proof: probabilities calibrated on the "
        "labels, or those of the model as they are",
    )
    parser.add_argument("--tol", type=_tolerance, default=1e-4, help="stop at this gap (default: 0.0001)")
    parser.add_argument("--max-calls", metavar="N", type=_count, help="budget of oracle calls")
    parser.add_argument("--max-seconds", metavar="S", type=_seconds, help="budget of time")
    parser.add_argument("--seed", type=_seed, help="seed of the methods that draw")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="a line per iteration, to standard error"
    )


ATTRIBUTE_HELP = "column of an attribute of the rows, such as region; may be given several times"


def _apply(commands: Commands[Parser]) -> None:
    parser = _add(commands, "apply", "decide the rows of a table with a policy file, in their order")
    parser.add_argument("policy", metavar="POLICY", help="policy file that 'metricfit fit' wrote")
    _scores(parser)
    parser.add_argument(
        "--randomize",
        choices=("hash", "draw", "never"),
        default="hash",
        help="which rule of the mixture a row gets: by a hash of the row (default), by a draw, or always one",
    )
    parser.add_argument("--seed", type=_seed, help="salt of the hash, or seed of the draw")
    parser.add_argument(
        "--key",
        metavar="COL",
        help="column that the hash tells rows apart by, such as the number of a case, in place of the probabilities",
    )
    parser.add_argument(
        "--keep", metavar="COL", nargs="+", action="extend", default=[], help="columns to copy to the output"
    )
    parser.add_argument(
        "--with-probabilities", action="store_true", help="write the probability of each decision too"
    )
    parser.add_argument(
        "--out", metavar="TABLE", required=True, help="table to write: .csv, .parquet or .arrow"
    )
    _force(parser)
    _json(parser)


def _evaluate(commands: Commands[Parser]) -> None:
    parser = _add(
        commands,
        "evaluate",
        "print what a policy reaches on labelled rows, with 95 % intervals, and which limits hold there",
        "The exit code is 1 when a limit is broken beyond its interval: not by chance.",
    )
    parser.add_argument("policy", metavar="POLICY", help="policy file that 'metricfit fit' wrote")
    _scores(parser)
    _labelled(parser)
    parser.add_argument(
        "--attribute",
        metavar="COL",
        nargs="+",
        action="extend",
        default=[],
        help="attributes of the metrics that the policy itself does not use",
    )
    parser.add_argument(
        "--metric",
        metavar="TEXT",
        nargs="+",
        action="extend",
        default=[],
        help="metrics or constraints to evaluate; by default those that the policy was fitted for",
    )
    _json(parser)
    parser.add_argument("--by", metavar="COL", nargs="+", help="attributes: the metrics of each group, too")


def _metrics(commands: Commands[Parser]) -> None:
    parser = _add(commands, "metrics", "list the metrics, or tell all about one")
    parser.add_argument("name", metavar="NAME", nargs="?", help="name of a metric")
    _json(parser)


def _export(commands: Commands[Parser]) -> None:
    parser = _add(
        commands,
        "export",
        "write a policy's deterministic rule as SQL, an ONNX model or a Python module",
        "example:\n  metricfit export policy.json --to sql --dialect duckdb --table scores --keep id --out rule.sql",
    )
    parser.add_argument("policy", metavar="POLICY", help="policy file that 'metricfit fit' wrote")
    parser.add_argument("--to", choices=("sql", "onnx", "python"), required=True, help="what to write")
    parser.add_argument("--dialect", choices=DIALECTS, help="dialect of SQL")
    parser.add_argument(
        "--table",
        metavar="NAME",
        default="scores",
        help="table of the query, such as scores or schema.scores",
    )
    parser.add_argument(
        "--proba-prefix",
        metavar="P",
        default="p_",
        help="the probability of class c is in the column Pc (default: p_)",
    )
    parser.add_argument(
        "--keep", metavar="COL", nargs="+", action="extend", default=[], help="columns to copy to the result"
    )
    parser.add_argument("--out", metavar="FILE", help="file to write; SQL and Python are printed without it")
    _force(parser)


def _completion(commands: Commands[Parser]) -> None:
    parser = _add(
        commands,
        "completion",
        "print a script that completes commands and options in your shell",
        "example, for bash:\n  metricfit completion bash > ~/.local/share/bash-completion/completions/metricfit",
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="your shell")


def _json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for scripts in place of text")


def _force(parser: Parser) -> None:
    parser.add_argument("--force", action="store_true", help="replace the file of --out if it exists")


def _scores(parser: Parser) -> None:
    parser.add_argument("scores", metavar="SCORES", help=SCORES_HELP)
    parser.add_argument(
        "--proba-prefix", metavar="P", required=True, help="the probability of class c is in the column Pc"
    )
    parser.add_argument(
        "--normalize", action="store_true", help="divide each row's probabilities by their sum"
    )


def _labelled(parser: Parser) -> None:
    parser.add_argument("--label", metavar="COL", required=True, help="column of the true classes")
    parser.add_argument("--weight", metavar="COL", help="column of the weights of the rows")


def _tolerance(text: str) -> float:
    return _real(text, at_least=0.0)


def _share(text: str) -> float:
    value = _real(text, at_least=0.0)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1, such as 0.95")
    return value


def _seconds(text: str) -> float:
    return _real(text, at_least=math.ulp(0.0))


def _real(text: str, at_least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not at_least <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number {'> 0' if at_least else '>= 0'}")
    return value


def _count(text: str) -> int:
    return _whole(text, at_least=1)


def _seed(text: str) -> int:
    return _whole(text, at_least=0)


def _port(text: str) -> int:
    port = _whole(text, at_least=0)
    if port > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: ports are whole numbers from 0 to 65535")
    return port


def _whole(text: str, at_least: int) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < at_least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= {at_least}")
    return int(text)
