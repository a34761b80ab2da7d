"""`metricfit fit`: from a table of scores to a policy file."""

from __future__ import annotations

import os
import sys
import textwrap
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from shlex import quote

from metricfit.commands.arguments import kinds
from metricfit.commands.arguments.outputs import add_force, add_json, check_output, check_pictures
from metricfit.commands.arguments.problem import (
    Infeasible,
    add_problem,
    infeasible,
    problem_of,
    search_of,
)
from metricfit.commands.errors import DONE, DataError, UsageError, blamed_on
from metricfit.commands.terminal import as_json, summary
from metricfit.commands.terminal.interrupt import kept
from metricfit.commands.terminal.printing import show
from metricfit.commands.terminal.summary import number
from metricfit.exceptions import BrokenLimitWarning, InfeasibleError, UnconfirmedError
from metricfit.messages import count
from metricfit.oracles import PluginOracle
from metricfit.oracles.base import OracleBase
from metricfit.problem import Problem
from metricfit.report import words
from metricfit.result import Result
from metricfit.result.broken import why_broken
from metricfit.result.most_probable import of_most_probable
from metricfit.solving import answered, with_expected


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "example:\n  metricfit fit scores.csv --label y --proba-prefix p_ --maximize g_mean \\\n"
        "      --subject-to \"precision('fraud') >= 0.9\" --out policy.json --report report.html\n\n"
        "A policy that must not see the attributes (blind) needs joint probabilities of group and class,\n"
        "which class probabilities do not contain: see MetricClassifier(blind=True) and optimize(blind=True) in Python."
    )
    add_problem(parser)
    parser.add_argument(
        "--unseen",
        choices=("error", "overall"),
        default="error",
        help="what the policy does with rows of attribute values that are not in SCORES: refuse them (default), or "
        "decide them by the rule that is best for all rows together",
    )
    parser.add_argument(
        "--confidence",
        metavar="C",
        type=kinds.share,
        help="0.95: constraints hold on the population with this confidence, tested on most of the rows",
    )
    parser.add_argument(
        "--no-expect",
        action="store_true",
        help="do not estimate what to expect on new rows, which takes a few solves",
    )
    parser.add_argument("--out", metavar="POLICY", required=True, help="policy file to write (JSON)")
    parser.add_argument(
        "--report", metavar="HTML", help="also write a report, a single file that can be shared and printed"
    )
    add_force(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Fit a policy, write it, and print a summary."""
    check_output(options.out, options.scores, force=options.force)
    if options.report is not None:
        check_output(options.report, options.scores, force=options.force, option="--report")
        if os.path.realpath(options.report) == os.path.realpath(options.out):
            raise UsageError(
                f"--report {options.report}: this is the policy file of --out; give another name"
            )
        check_pictures("--report")
    problem, oracle = problem_of(options)
    result = _solve(problem, oracle, options)
    with blamed_on(DataError, f"--out {options.out}: "), kept():
        result.policy.save(options.out)
    if options.report is not None:
        with blamed_on(DataError, f"--report {options.report}: "), kept():
            result.report(options.report, made_by=f"metricfit {as_typed(options.argv)}")
    _report(problem, result, oracle, options)
    if why := why_broken(result):
        raise Infeasible(why)
    return DONE


def as_typed(words: Sequence[str]) -> str:
    """Return arguments as a person types them in a shell: strings that contain quotes are put in double quotes.

    Examples
    --------
    >>> print(as_typed(["fit", "a b.csv", "--subject-to", "recall('yes') >= 0.5"]))
    fit 'a b.csv' --subject-to "recall('yes') >= 0.5"
    """
    plain = [f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else quote(word) for word in words]
    return " ".join(plain)


def _solve(problem: Problem, oracle: OracleBase, options: Namespace) -> Result:
    # On a terminal, progress is shown by default.
    how = search_of(options, options.verbose + sys.stderr.isatty()).begun()
    if not isinstance(oracle, PluginOracle):
        for name in ("confidence", "unseen"):
            if getattr(options, name) not in (None, "error"):
                raise UsageError(f"--{name} needs all rows in memory; pass fewer rows")
    try:
        with kept(), warnings.catch_warnings():
            warnings.simplefilter("ignore", BrokenLimitWarning)  # reported at the end, as an error
            return answered(
                problem,
                oracle,
                how,
                options.confidence,
                options.unseen,
                judged=None if options.no_expect else partial(with_expected, problem, oracle, options=how),
            )
    except InfeasibleError as error:
        raise infeasible(error, problem) from error
    except UnconfirmedError as error:
        raise Infeasible(f"{error}; nothing was written") from error
    except ValueError as error:
        raise DataError(f"{options.scores}: {error}") from error


def _report(problem: Problem, result: Result, oracle: OracleBase, options: Namespace) -> None:
    axes, policy = oracle.axes, result.policy
    before = of_most_probable(oracle)
    cells = (
        f", {count(len(axes.cells), 'cell')} of {' x '.join(axes.cells.names)}" if axes.cells.names else ""
    )
    decisions = "" if axes.decisions == axes.classes else f", {count(axes.k, 'decision')}"
    soft = ", probabilities as soft labels" if options.counting == "model" else ""
    start = (
        ""
        if before is None
        else f"  (argmax, the most probable class: {number(problem.objective(before), 6)})"
    )
    if options.json:
        document = {"problem": as_json.of_problem(problem), "rows": oracle.n_rows} | as_json.of_result(result)
        document["argmax"] = None if before is None else problem.objective(before)
        document |= as_json.of_rates(before, result.confusion)
        document["report"] = options.report
        as_json.show(document | {"policy": {"file": options.out, "rules": policy.n_rules}})
        return
    blocks = [
        summary.problem_text(problem),
        f"  {oracle.n_rows:,} rows of {options.scores}, {count(axes.n, 'class', 'classes')}"
        f"{decisions}{cells}{soft}",
        "" if before is None else summary.rates_table([("", before, result.confusion)]),
        summary.other_decisions(result.confusion),
        summary.constraints_table(problem.constraints, result, before) if problem.constraints else "",
        _prices(problem, result, about=options.counting == "labels"),
        f"  value   {number(result.value, 6)}{start}\n{summary.expected_text(result)}"
        f"  bound   {summary.bound_text(result)}\n{_counts(result)}"
        f"  status  {result.status}: {words.STATUS[result.status]}\n"
        f"  effort  {count(result.n_oracle_calls, 'oracle call')} (looks at the rows), {result.seconds:.2f} s, "
        f"method {result.method}\n"
        f"  policy  {count(policy.n_rules, 'rule')}, written to {options.out}{_decides(result)}",
        "To decide the rows of a table with the same columns:\n"
        f"  metricfit apply {quote(options.out)} {quote(options.scores)} "
        f"--proba-prefix {quote(options.proba_prefix)} --out decisions.csv",
        "" if options.report is None else f"The report is in {options.report}",
    ]
    show(*blocks)


def _counts(result: Result) -> str:
    """Return lines that say what rows count as and why, and which rates limits leave out."""
    told = [f"counts  {result.counting}{f': {result.choice}' if result.choice else ''}"]
    if result.left_out:
        told.append(f"limits leave out, for few rows: {'; '.join(map(str, result.left_out))}")
    return "".join(f"{_filled(line)}\n" for line in told)


def _filled(line: str) -> str:
    return textwrap.fill(line, 110, initial_indent="  ", subsequent_indent=" " * 10)


def _decides(result: Result) -> str:
    """Return lines that say what a policy decides, and what its single rules lose."""
    told = [_filled(f"decides {line}") for line in result.rule_in_words]
    if result.deterministic is not None:
        told.append(f"  exports have one rule per cell: {result.deterministic}")
    return "".join(f"\n{line}" for line in told)


def _prices(problem: Problem, result: Result, about: bool) -> str:
    """Return a sentence for each constraint that costs something; empty if none does."""
    told = [
        textwrap.fill(
            words.price_in_words(problem, constraint, record, about),
            110,
            initial_indent="  ",
            subsequent_indent=" " * 4,
        )
        for constraint, record in zip(problem.constraints, result.constraints, strict=True)
        if record.kept and record.price > words.NO_PRICE
    ]
    return "\n".join([*told, "  A point is a hundredth."]) if told else ""
