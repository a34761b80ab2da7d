"""`metricfit frontier`: the trade-off of a metric against a constraint, as a table and a picture."""

from __future__ import annotations

import io
from argparse import Namespace
from pathlib import Path

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
from metricfit.commands.fit import check_pictures, task
from metricfit.commands.summary import number
from metricfit.commands.tables import check_output, format_of, write_columns
from metricfit.commands.terminal import show
from metricfit.data.axes import Axes
from metricfit.exceptions import InfeasibleError
from metricfit.functions.binding import Binding
from metricfit.metrics import Constraint
from metricfit.options import Options
from metricfit.policy import file as policy_file
from metricfit.report.expected import even_margins
from metricfit.tradeoff import Frontier, trace, traded_constraints, with_expected

PICTURES = (".svg", ".png", ".pdf")
SHOWN = 30


class _Infeasible(CommandError):
    code = INFEASIBLE


def run(options: Namespace) -> int:
    """Trace the frontier, write it, and print it."""
    check_output(options.out, options.scores, force=options.force)
    format_of(options.out)
    if options.picture is not None:
        check_output(options.picture, options.scores, force=options.force, option="--picture")
        if Path(options.picture).suffix.lower() not in PICTURES:
            raise UsageError(f"--picture {options.picture}: known endings are {', '.join(PICTURES)}")
        check_pictures("--picture")
        if len(options.trade) > 2:
            raise UsageError(
                "--picture: a picture trades one constraint or two; leave it out, the table has them all"
            )
    with blamed_on_text("--trade"):
        traded = traded_constraints(options.trade)
    levels = _levels(options.levels, len(traded))
    problem, oracle = task(options)
    _check(traded, oracle.axes)
    how = Options(
        options.method,
        options.tol,
        options.max_calls,
        options.max_seconds,
        options.seed,
        verbose=options.verbose,
    )
    try:
        front = trace(problem, traded, levels, oracle, how)
        front = with_expected(front, oracle, how) if options.expect else front
    except InfeasibleError as error:
        raise _Infeasible(f"{error}; nothing was written") from error
    except ValueError as error:
        raise DataError(f"{options.scores}: {error}") from error
    frame = front.to_frame()
    write_columns(options.out, {name: frame[name].to_numpy() for name in frame.columns})
    if options.picture is not None:
        _draw(front, options.picture)
    _print(front, options)
    return DONE


def _levels(texts: list[str], count: int) -> int | list[list[float]] | list[float]:
    """Read ``--levels``: a number of levels, or a list for each traded constraint."""
    if len(texts) == 1 and texts[0].isdecimal():
        if not 2 <= int(texts[0]) <= 10_000:
            raise UsageError(f"--levels {texts[0]}: how many levels must be a whole number from 2 to 10000")
        return int(texts[0])
    if len(texts) != count:
        raise UsageError(
            f"--levels: there are {len(texts)} lists for {count} of --trade; give one for each, such as 0.5,0.6,0.7"
        )
    found = []
    for text in texts:
        try:
            found.append([float(part) for part in text.split(",") if part.strip()])
        except ValueError:
            raise UsageError(
                f"--levels {text}: limits are numbers with commas between them, as 0.5,0.6,0.7"
            ) from None
    with blamed_on_text("--levels"):
        if not all(found):
            raise ValueError("a list is empty; give at least one limit")
    return found[0] if count == 1 else found


def _check(traded: tuple[Constraint, ...], axes: Axes) -> None:
    for constraint in traded:
        with blamed_on_text(f"--trade {constraint.metric}"):
            constraint.metric.bind(Binding.of(axes, even_margins(axes)))


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
    names = [str(c.metric) for c in front.traded]
    rows = [[*names, str(front.problem.objective), "bound", "price", "status"]]
    for point in front.points[:SHOWN]:
        result = point.result
        levels = [f"{c.sense} {level:.4g}" for c, level in zip(front.traded, point.levels, strict=True)]
        if result is None:
            near = ", ".join(number(value) for value in point.achievable)
            rows.append([*levels, "-", "-", "-", f"cannot be kept; nearest {near}"])
            continue
        prices = [summary.price_text(record.price) for record in result.constraints[-len(names) :]]
        rows.append([*levels, number(result.value), number(result.bound), " ".join(prices), result.status])
    blocks = [summary.problem_text(front.problem), summary.table(rows)]
    if len(front) > SHOWN:
        blocks.append(f"  ... and {len(front) - SHOWN} more")
    picture = f", and the picture in {options.picture}" if options.picture is not None else ""
    blocks.append(f"The table is in {options.out}{picture}")
    show(*blocks)
