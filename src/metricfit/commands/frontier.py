"""`metricfit frontier`: the trade-off of a metric against a constraint, as a table and a picture."""

from __future__ import annotations

import io
from argparse import ArgumentParser, Namespace
from math import isfinite
from pathlib import Path

from metricfit.commands.arguments.outputs import (
    add_force,
    add_json,
    add_table,
    check_escape,
    check_output,
    check_pictures,
    table_format,
)
from metricfit.commands.arguments.problem import (
    Infeasible,
    add_problem,
    check_metric,
    infeasible,
    problem_of,
    search_of,
)
from metricfit.commands.errors import DONE, DataError, UsageError, blamed_on, blamed_on_text
from metricfit.commands.terminal import as_json, summary
from metricfit.commands.terminal.interrupt import kept
from metricfit.commands.terminal.printing import show
from metricfit.commands.terminal.summary import number
from metricfit.exceptions import InfeasibleError
from metricfit.policy import file as policy_file
from metricfit.tables.writing import write_columns
from metricfit.tradeoff import Frontier, trace, traded_constraints, with_expected

PICTURES = (".svg", ".png", ".pdf")
SHOWN = 30


def arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "example:\n  metricfit frontier scores.csv --label y --proba-prefix p_ --maximize g_mean \\\n"
        "      --trade \"precision('fraud')\" --levels 0.5,0.6,0.7,0.8,0.9 --out frontier.csv --picture frontier.svg"
    )
    add_problem(parser)
    parser.add_argument(
        "--trade",
        metavar="TEXT",
        nargs="+",
        required=True,
        help="metric whose limit varies, such as \"precision('fraud')\", or a comparison whose number is ignored; "
        "several make a grid",
    )
    parser.add_argument(
        "--levels",
        metavar="L",
        nargs="+",
        default=["20"],
        help="limits for each --trade, such as 0.5,0.6,0.7; or their number, from the loosest limit that matters to "
        "the strictest that can be kept (default: 20)",
    )
    parser.add_argument(
        "--expect",
        action="store_true",
        help="also estimate what to expect on new rows at each level, which takes a few times as long",
    )
    add_table(parser)
    parser.add_argument("--picture", metavar="FILE", help="picture to write: .svg, .png or .pdf")
    add_force(parser)
    add_json(parser)


def run(options: Namespace) -> int:
    """Trace the frontier, write it, and print it."""
    check_output(options.out, options.scores, force=options.force)
    table_format(options.out, "--out")
    check_escape(options.escape_formulas, options.out)
    if options.picture is not None:
        check_output(options.picture, options.scores, force=options.force, option="--picture")
        if Path(options.picture).suffix.lower() not in PICTURES:
            raise UsageError(f"--picture {options.picture}: known endings are {', '.join(PICTURES)}")
        check_pictures("--picture")
        if len(options.trade) > 2:
            raise UsageError(
                "--picture: a picture shows one or two --trade constraints; leave it out, the table has all of them"
            )
    with blamed_on_text("--trade"):
        traded = traded_constraints(options.trade)
    levels = _levels(options.levels, len(traded))
    problem, oracle = problem_of(options)
    for constraint in traded:
        check_metric("--trade", constraint.metric, oracle.axes)
    how = search_of(options, options.verbose)
    try:
        front = trace(problem, traded, levels, oracle, how)
        front = with_expected(front, oracle, how) if options.expect else front
    except InfeasibleError as error:
        known = set(error.violations) <= set(map(str, problem.constraints))
        raise (
            infeasible(error, problem) if known else Infeasible(f"{error}; nothing was written")
        ) from error
    except ValueError as error:
        raise DataError(f"{options.scores}: {error}") from error
    if all(point.result is None for point in front.points):
        raise Infeasible(
            "--levels: no policy keeps any of these limits; nothing was written. Use looser limits, or a number of "
            "levels, such as --levels 20, which finds limits that can be kept"
        )
    frame = front.to_frame()
    with blamed_on(DataError, f"{options.out}: "), kept():
        columns = {name: frame[name].to_numpy() for name in frame.columns}
        write_columns(options.out, columns, options.escape_formulas)
    if options.picture is not None:
        _draw(front, options.picture)
    _print(front, options)
    return DONE


def _levels(texts: list[str], count: int) -> int | list[list[float]] | list[float]:
    """Read ``--levels``: a number of levels, or a list for each traded constraint."""
    if len(texts) == 1 and texts[0].isdecimal():
        if not 2 <= int(texts[0]) <= 10_000:
            raise UsageError(
                f"--levels {texts[0]}: the number of levels must be a whole number from 2 to 10000"
            )
        return int(texts[0])
    if count == 1 and not any("," in text for text in texts):
        texts = [",".join(texts)]  # the levels of the only constraint, separated by spaces
    if len(texts) != count:
        traded = "constraint" if count == 1 else "constraints"
        raise UsageError(
            f"--levels: there are {len(texts)} lists for {count} --trade {traded}; give one list for each, such as "
            "0.5,0.6,0.7"
        )
    found = []
    for text in texts:
        try:
            found.append([float(part) for part in text.split(",") if part.strip()])
        except ValueError:
            raise UsageError(
                f"--levels {text}: limits are numbers separated by commas, such as 0.5,0.6,0.7"
            ) from None
    with blamed_on_text("--levels"):
        if not all(found):
            raise ValueError("a list is empty; give at least one limit")
        if not all(isfinite(limit) for limits in found for limit in limits):
            raise ValueError("a limit is NaN or infinite; give finite numbers")
    return found[0] if count == 1 else found


def _draw(front: Frontier, path: str) -> None:
    import matplotlib

    from metricfit.report import FrontierDisplay

    buffer = io.BytesIO()
    with matplotlib.rc_context({"backend": "agg"}), blamed_on(DataError, f"--picture {path}: "):
        display = FrontierDisplay.from_frontier(front).plot()
        kind = Path(path).suffix.lower().removeprefix(".")
        display.figure_.savefig(buffer, format=kind, dpi=150)
        matplotlib.pyplot.close(display.figure_)
        policy_file.write(path, buffer.getvalue())


def _print(front: Frontier, options: Namespace) -> None:
    if options.json:
        levels = front.to_frame().to_dict("records")
        as_json.show({"problem": as_json.of_problem(front.problem), "levels": levels, "table": options.out})
        return
    rows = _table(front)
    blocks = [summary.problem_text(front.problem), summary.table(rows)]
    if len(front) > SHOWN:
        blocks.append(f"  ... and {len(front) - SHOWN} more")
    picture = f", and the picture in {options.picture}" if options.picture is not None else ""
    blocks.append(f"The table is in {options.out}{picture}")
    show(*blocks)


def _table(front: Frontier) -> list[list[str]]:
    """Return the first levels as lines of a table, without empty columns."""
    names = [str(c.metric) for c in front.traded]
    solved = [point.result for point in front.points if point.result is not None]
    expects = any(result.expected is not None for result in solved)
    bounds = any(isfinite(result.bound) for result in solved)
    reached = [f"reached {name}" if len(names) > 1 else "reached" for name in names]
    head = [*names, *reached, str(front.problem.objective)]
    head += [*["expect"] * expects, *["bound"] * bounds, "price", "status"]
    rows = [head]
    for point in front.points[:SHOWN]:
        result = point.result
        levels = [f"{c.sense} {level:.4g}" for c, level in zip(front.traded, point.levels, strict=True)]
        near = [number(value) for value in point.achievable]
        if result is None:
            nothing = ["-"] * (len(head) - len(levels) - 1)
            rows.append([*levels, *nothing, f"cannot be kept; nearest {', '.join(near)}"])
            continue
        row = [*levels, *near, number(result.value)]
        row += [str(result.expected or "-")] * expects
        row += [number(result.bound)] * bounds
        prices = [record.price_shown for record in result.constraints[-len(names) :]]
        rows.append([*row, " ".join(prices), result.status])
    return rows
