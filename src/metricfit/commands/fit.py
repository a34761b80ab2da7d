"""`metricfit fit`: from a table of scores to a policy file."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from dataclasses import replace
from importlib.util import find_spec
from shlex import quote

import numpy as np

from metricfit.commands import as_json, summary
from metricfit.commands.errors import (
    DONE,
    INFEASIBLE,
    CommandError,
    DataError,
    UsageError,
    blamed_on,
    blamed_on_text,
)
from metricfit.commands.interrupt import kept
from metricfit.commands.scores import Scores, as_class, larger_than_memory, read_scores
from metricfit.commands.summary import number
from metricfit.commands.tables import check_output
from metricfit.commands.terminal import show
from metricfit.data.axes import Axes
from metricfit.data.labels import distinct_labels
from metricfit.exceptions import InfeasibleError, UnconfirmedError
from metricfit.functions.binding import Binding
from metricfit.methods import FEASIBLE, choose
from metricfit.metrics import Constraint, Metric, parse
from metricfit.metrics.rates import Named
from metricfit.options import Options
from metricfit.oracles import PluginOracle, Rows
from metricfit.oracles.base import OracleBase
from metricfit.oracles.choice import oracle_for
from metricfit.oracles.files.scores import ScoreFiles
from metricfit.problem import Problem
from metricfit.report.expected import even_margins, of_most_probable
from metricfit.result import Result
from metricfit.solving import confirmed, solve, with_expected
from metricfit.trust.confidence import kept_apart


class _Infeasible(CommandError):
    code = INFEASIBLE


def run(options: Namespace) -> int:
    """Fit a policy, write it, and print what was reached."""
    check_output(options.out, options.scores, force=options.force)
    if options.report is not None:
        check_output(options.report, options.scores, force=options.force, option="--report")
        if os.path.realpath(options.report) == os.path.realpath(options.out):
            raise UsageError(
                f"--report {options.report}: this is the policy file of --out; give another name"
            )
        check_pictures("--report")
    problem, oracle = task(options)
    result = _solve(problem, oracle, options)
    with blamed_on(DataError, f"--out {options.out}: "), kept():
        result.policy.save(options.out)
    if options.report is not None:
        with blamed_on(DataError, f"--report {options.report}: "), kept():
            result.report(options.report, made_by=f"metricfit {shlex.join(options.argv)}")
    _report(problem, result, oracle, options)
    lost = [f"{r.name}, violated by {r.violation:.3g}" for r in result.constraints if r.violation > FEASIBLE]
    if lost:
        raise _Infeasible(f"the policy does not keep {'; '.join(lost)}. Give the search more time")
    return DONE


def check_pictures(option: str) -> None:
    """Refuse to begin work that ends in pictures where matplotlib or Jinja2 is missing."""
    if find_spec("matplotlib") is None or find_spec("jinja2") is None:
        raise UsageError(f'{option} needs matplotlib and Jinja2: pip install "metricfit[plot]"')


def task(options: Namespace) -> tuple[Problem, OracleBase]:
    """Return the problem that the options state and the oracle on the rows of the table, both checked."""
    goal = "--maximize" if options.minimize is None else "--minimize"
    with blamed_on_text(goal):
        objective = _objective(options.maximize, options.minimize)
    with blamed_on_text("--subject-to"):
        problem = Problem.of(objective, options.subject_to)
    oracle = oracle_of(options)
    _check(problem, oracle.axes, goal, options.method)
    return problem, oracle


def oracle_of(options: Namespace) -> OracleBase:
    """Return the oracle on the rows of the table, checked."""
    scores: Scores | ScoreFiles = larger_than_memory(
        options.scores,
        options.proba_prefix,
        options.label,
        options.attribute,
        options.weight,
        options.normalize,
    ) or read_scores(
        options.scores,
        options.proba_prefix,
        label=options.label,
        attributes=options.attribute,
        weight=options.weight,
        normalize=options.normalize,
    )
    with blamed_on_text("--decision"):
        named = [as_class(text, scores.classes) for text in options.decision]
        decisions = distinct_labels(named, "the list") if named else None
    with blamed_on(DataError, f"{options.scores}: "):
        if isinstance(scores, ScoreFiles):
            return oracle_for(scores, None, decisions=decisions, confusion=options.confusion)
        return oracle_for(
            scores.proba,
            scores.labels,
            classes=scores.classes,
            decisions=decisions,
            sensitive_features=scores.attributes,
            sample_weight=scores.weight,
            confusion=options.confusion,
        )


def rows_of(options: Namespace) -> Rows:
    """Return the rows of the table in memory, checked; of a table that is larger, a sample."""
    oracle = oracle_of(options)
    rows = oracle.rows if isinstance(oracle, PluginOracle) else oracle.sample()
    assert rows is not None
    return rows


def _objective(maximize: str | None, minimize: str | None) -> Metric:
    """Return the metric with the direction that the command line asks for."""
    text = maximize if maximize is not None else minimize
    metric = parse(text or "")
    if isinstance(metric, Constraint):
        raise ValueError(f"'{metric}' is a constraint; give it to --subject-to")
    asked = 1 if maximize is not None else -1
    if metric.direction == asked:
        return metric
    if metric.direction == -asked:
        better, done = ("lower", "maximized") if asked > 0 else ("higher", "minimized")
        print(f"metricfit: note: of {metric}, {better} is better; it is {done} as asked", file=sys.stderr)
    return Named(str(metric), metric, asked)


def _check(problem: Problem, axes: Axes, goal: str, method: str) -> None:
    """Refuse names that do not exist and methods that do not fit, so that later errors are about the data."""
    margins = even_margins(axes)
    for option, metric in [
        (goal, problem.objective),
        *(("--subject-to", c.metric) for c in problem.constraints),
    ]:
        with blamed_on_text(f"{option} {metric}"):
            metric.bind(Binding.of(axes, margins))
    with blamed_on_text(f"--method {method}"):
        choose(method, problem.bind(axes, margins))


def _solve(problem: Problem, oracle: OracleBase, options: Namespace) -> Result:
    how = Options(
        options.method,
        options.tol,
        options.max_calls,
        options.max_seconds,
        options.seed,
        # A terminal shows a line of progress unasked.
        verbose=options.verbose + sys.stderr.isatty(),
    )
    try:
        if options.confidence is not None:
            if not isinstance(oracle, PluginOracle):
                raise UsageError(
                    "--confidence keeps rows apart, which needs them in memory; give a part of the rows"
                )
            rows = oracle.rows
            held_out = kept_apart(rows.labels, rows.cells, 2, options.seed or 0)
            tuning, apart = (rows.take(np.flatnonzero(which)) for which in (~held_out, held_out))
            with kept():
                return confirmed(problem, oracle.on(tuning), apart, options.confidence, how)
        with kept():
            result = solve(problem, oracle, how)
        if options.no_expect:
            return result
        try:
            with kept():
                return with_expected(problem, oracle, result, how)
        except KeyboardInterrupt:
            return replace(result, expected_note="unknown: it was stopped by Ctrl-C")
    except InfeasibleError as error:
        raise _infeasible(error) from error
    except UnconfirmedError as error:
        raise _Infeasible(f"{error}; nothing was written") from error
    except ValueError as error:
        raise DataError(f"{options.scores}: {error}") from error


def _infeasible(error: InfeasibleError) -> _Infeasible:
    found = "no policy keeps" if error.proven else "no policy was found that keeps"
    kind = "at all" if len(error.conflict) == 1 else "together"
    rows = [["constraint", "violated by", "alone by"]]
    for name, violation in error.violations.items():
        rows.append([name, *(number(max(v, 0.0)) for v in (violation, error.alone[name]))])
    lines = [
        f"{found} all constraints; nothing was written",
        f"  cannot be kept {kind}: {', '.join(error.conflict)}",
        "  The closest policy, and the closest to each constraint alone:",
        summary.table(rows, indent="    "),
        "  Relax a limit by that much, or drop a constraint.",
    ]
    details = {"conflict": error.conflict, "violations": error.violations, "alone": error.alone}
    return _Infeasible("\n".join(lines), **details)


def _report(problem: Problem, result: Result, oracle: OracleBase, options: Namespace) -> None:
    axes, policy = oracle.axes, result.policy
    before = of_most_probable(oracle)
    cells = f", {len(axes.cells)} cells of {' x '.join(axes.cells.names)}" if axes.cells.names else ""
    soft = ", probabilities as soft labels" if options.confusion == "model" else ""
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
        f"  {oracle.n_rows:,} rows of {options.scores}, {axes.n} classes, {axes.k} "
        f"decision{'' if axes.k == 1 else 's'}{cells}{soft}",
        "" if before is None else summary.rates_table([("", before, result.confusion)]),
        summary.other_decisions(result.confusion),
        summary.constraints_table(problem.constraints, result, before) if problem.constraints else "",
        f"  value   {number(result.value, 6)}{start}\n{summary.expected_text(result)}"
        f"  bound   {summary.bound_text(result)}\n"
        f"  status  {result.status}: {summary.STATUS[result.status]}; {result.n_oracle_calls} oracle calls, "
        f"{result.seconds:.2f} s, {result.method}\n"
        f"  policy  {policy.n_rules} rule{'' if policy.n_rules == 1 else 's'}, written to {options.out}",
        "To decide the rows of a table with the same columns:\n"
        f"  metricfit apply {quote(options.out)} {quote(options.scores)} "
        f"--proba-prefix {quote(options.proba_prefix)} --out decisions.csv",
        "" if options.report is None else f"The report is in {options.report}",
    ]
    show(*blocks)
