"""`metricfit explore`: a page on this machine with sliders for the limits."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress

from metricfit.commands.arguments import kinds
from metricfit.commands.arguments.problem import add_limits, add_tolerance, rows_of
from metricfit.commands.arguments.rows import add_rows
from metricfit.commands.errors import DONE, UsageError, blamed_on_text
from metricfit.commands.terminal.interrupt import kept
from metricfit.explorer.asked import BadRequest
from metricfit.explorer.door import served
from metricfit.explorer.workbench import Workbench
from metricfit.options import COUNTINGS, Options, threads
from metricfit.problem import Problem


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "example:\n  metricfit explore scores.csv --label y --proba-prefix p_ --attribute region"
    add_rows(parser)
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument(
        "--objective", metavar="TEXT", default="g_mean", help="metric to begin with (default: g_mean)"
    )
    goal.add_argument("--maximize", metavar="TEXT", help="the same, as in 'metricfit fit'")
    goal.add_argument("--minimize", metavar="TEXT", help="the same, for a metric of which lower is better")
    add_limits(parser)
    parser.add_argument(
        "--counting",
        choices=COUNTINGS,
        default="auto",
        help="what rows count as at first; calibrated probabilities are fastest",
    )
    add_tolerance(parser)
    parser.add_argument("--port", metavar="N", type=kinds.port, default=0, help="port (default: a free one)")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address without opening a browser"
    )


def run(options: Namespace) -> int:
    """Serve the page until Ctrl-C."""
    goal, text = _objective(options)
    with blamed_on_text(goal):
        _check_side(goal, Problem.of(text))
    with blamed_on_text("--subject-to"):
        problem = Problem.of(text, options.subject_to)
    bench = Workbench(rows_of(options), options.counting, Options(tol=options.tol), threads(-1))
    try:
        explorer = served(problem, bench, options.port)
    except BadRequest as error:
        with blamed_on_text(goal if error.where == "objective" else "--subject-to"):
            raise ValueError(str(error)) from error
    except ValueError as error:
        raise UsageError(f"--port: {error}") from error
    except ImportError as error:
        raise UsageError(str(error)) from error
    with explorer, kept(), suppress(KeyboardInterrupt):
        print(f"The explorer is at {explorer.url}\nPress Ctrl-C to stop it.", flush=True)
        if not options.no_browser and not explorer.open():
            print("metricfit: no browser was found; open the address above", file=sys.stderr)
        explorer.wait()
    return DONE


def _objective(options: Namespace) -> tuple[str, str]:
    """Return the option that names the objective, and its text."""
    for goal in ("maximize", "minimize"):
        if (text := getattr(options, goal)) is not None:
            return f"--{goal}", text
    return "--objective", options.objective


def _check_side(goal: str, problem: Problem) -> None:
    """Refuse to begin with the worse direction of a metric: the page always optimises in the better one."""
    if goal != "--objective" and (goal == "--minimize") != (problem.sign > 0):
        better = "higher" if problem.sign < 0 else "lower"
        raise ValueError(
            f"for {problem.objective}, {better} is better, and the page optimises only in that direction; "
            "'metricfit fit' can do the opposite"
        )
