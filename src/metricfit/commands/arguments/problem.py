"""The arguments that state a problem and how to solve it, and the `Problem` built from them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from metricfit.commands.arguments import kinds
from metricfit.commands.arguments.rows import add_rows, reading, score_table
from metricfit.commands.errors import INFEASIBLE, CommandError, blamed_on_text
from metricfit.commands.terminal import summary
from metricfit.data.axes import Axes
from metricfit.data.labels import distinct_labels
from metricfit.exceptions import InfeasibleError
from metricfit.functions.binding import Binding
from metricfit.messages import several
from metricfit.methods import METHODS, choose
from metricfit.metrics import Constraint, Metric, parse
from metricfit.metrics.few_rows import MIN_ROWS
from metricfit.metrics.rates import Named
from metricfit.options import COUNTINGS, Options
from metricfit.oracles import Rows
from metricfit.oracles.base import OracleBase
from metricfit.oracles.choice import oracle_for
from metricfit.problem import Problem
from metricfit.solving.provenance import judging_rows
from metricfit.tables.matching import as_class
from metricfit.tradeoff.levels import nearest, rounded


class Infeasible(CommandError):
    """No policy keeps what was asked for."""

    code = INFEASIBLE


def add_limits(parser: ArgumentParser) -> None:
    """Declare the constraints."""
    parser.add_argument(
        "--subject-to",
        metavar="TEXT",
        nargs="+",
        action="extend",
        default=[],
        help="constraint to keep, such as \"precision('fraud') >= 0.9\"; may be given several times",
    )


def add_tolerance(parser: ArgumentParser) -> None:
    """Declare when to stop."""
    parser.add_argument(
        "--tol", type=kinds.tolerance, default=1e-4, help="stop at this gap (default: 0.0001)"
    )


def add_problem(parser: ArgumentParser) -> None:
    """Declare what states a problem and how to search."""
    add_rows(parser)
    parser.add_argument(
        "--missing",
        choices=("error", "cell"),
        default="error",
        help="rows that lack an attribute: refuse them (default), or treat them as a separate group, '(missing)'",
    )
    parser.add_argument(
        "--min-rows",
        metavar="N",
        type=kinds.natural,
        default=MIN_ROWS,
        help="constraints over groups leave out rates that rest on fewer rows (default: 10; 0 enforces all)",
    )
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--maximize", metavar="TEXT", help="metric to maximize, such as g_mean")
    goal.add_argument(
        "--minimize", metavar="TEXT", help="metric to minimize, such as 'cost([[0, 1], [5, 0]])'"
    )
    add_limits(parser)
    parser.add_argument(
        "--method",
        metavar="NAME",
        default="auto",
        help=f"how to search: auto (default), {', '.join(METHODS)}",
    )
    parser.add_argument(
        "--counting",
        choices=COUNTINGS,
        default="auto",
        help="what rows count as: their labels, their calibrated probabilities (with a proof), or the model's own; by "
        "default calibrated probabilities, unless rows that were not seen prefer labels",
    )
    add_tolerance(parser)
    parser.add_argument("--max-calls", metavar="N", type=kinds.count, help="budget of oracle calls")
    parser.add_argument("--max-seconds", metavar="S", type=kinds.seconds, help="budget of time")
    parser.add_argument("--seed", type=kinds.natural, help="seed of methods that use random numbers")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="print a line per iteration to standard error"
    )


def problem_of(options: Namespace) -> tuple[Problem, OracleBase]:
    """Return the problem that the options state and the oracle on the rows of the table, both checked."""
    goal = "--maximize" if options.minimize is None else "--minimize"
    with blamed_on_text(goal):
        objective = _objective(options.maximize, options.minimize)
    with blamed_on_text("--subject-to"):
        problem = Problem.of(objective, options.subject_to)
    for constraint in problem.constraints:
        if constraint.metric.direction == -constraint.inward:
            better, kept = ("lower", "at least") if constraint.inward > 0 else ("higher", "at most")
            _note(
                f"for {constraint.metric}, {better} is better; it is kept {kept} {constraint.limit:g} as requested"
            )
    oracle = oracle_of(options)
    _check(problem, oracle.axes, goal, options.method)
    least = getattr(options, "min_rows", MIN_ROWS)
    return problem.limited(oracle.axes, oracle.class_counts, least), oracle


def search_of(options: Namespace, verbose: int) -> Options:
    """Return how to search."""
    return Options(
        options.method, options.tol, options.max_calls, options.max_seconds, options.seed, verbose=verbose
    )


def oracle_of(options: Namespace) -> OracleBase:
    """Return the oracle on the rows of the table, checked."""
    table = score_table(options, label=options.label, attributes=options.attribute, weight=options.weight)
    with blamed_on_text("--decision"):
        for text in options.decision:
            if why := several(text, table.classes):
                raise ValueError(why)
        named = [as_class(text, table.classes) for text in options.decision]
        decisions = distinct_labels(named, "the list") if named else None
    with reading(options.scores):
        missing = getattr(options, "missing", "error")
        return oracle_for(table, None, decisions=decisions, counting=options.counting, missing=missing)


def rows_of(options: Namespace) -> Rows:
    """Return the rows of the table in memory, checked; for a table larger than memory, a sample."""
    oracle = oracle_of(options)
    rows = judging_rows(oracle)
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
        _note(f"for {metric}, {better} is better; it is {done} as requested")
    return Named(str(metric), metric, asked)


def _note(text: str) -> None:
    print(f"metricfit: note: {text}", file=sys.stderr)


def _check(problem: Problem, axes: Axes, goal: str, method: str) -> None:
    """Refuse unknown names and methods that do not accept the problem, so that later errors are about the data."""
    check_metric(goal, problem.objective, axes)
    for constraint in problem.constraints:
        check_metric("--subject-to", constraint.metric, axes)
    with blamed_on_text(f"--method {method}"):
        choose(method, problem.bind(axes, axes.even_margins))


def check_metric(option: str, metric: Metric, axes: Axes) -> None:
    """Refuse a metric with unknown names."""
    with blamed_on_text(f"{option} {metric}"):
        metric.bind(Binding.of(axes, axes.even_margins))


def infeasible(error: InfeasibleError, problem: Problem) -> Infeasible:
    """Return the command's error for an infeasible problem, with limits that can be kept."""
    found = "no policy keeps" if error.proven else "no policy was found that keeps"
    kind = "at all" if len(error.conflict) == 1 else "together"
    rows = [["constraint", "asked", "alone", "nearest with the others"]]
    offered = {}
    for constraint in problem.constraints:
        name = str(constraint)
        alone, together = (
            rounded(nearest(constraint, max(by, 0.0)), constraint.inward, 4)
            for by in (error.alone[name], error.violations[name])
        )
        offered[name] = {"alone": alone, "together": together}
        shown = [f"{constraint.sense} {value:.4f}" if value == value else "-" for value in (alone, together)]
        if error.alone[name] <= 0:
            shown[0] = "kept"
        rows.append([str(constraint.metric), f"{constraint.sense} {constraint.limit:g}", *shown])
    lines = [
        f"{found} all constraints; nothing was written",
        f"  cannot be kept {kind}: {', '.join(error.conflict)}",
        "  What can be achieved:",
        summary.table(rows, indent="    "),
        "  Ask for limits no stricter than those in the last column, or drop a constraint. 'metricfit frontier' shows "
        "what each limit costs.",
    ]
    percent = next((c for c in problem.constraints if c.limit > 1 >= offered[str(c)]["alone"]), None)
    if percent is not None:
        lines.append(f"  {percent.metric} is a share: 90 % is written as 0.9.")
    details = {"conflict": error.conflict, "violations": error.violations, "alone": error.alone}
    return Infeasible("\n".join(lines), **details, nearest=offered)
