"""The answers to the page, as lists, dicts, strings and numbers that JSON supports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.data.confusion import Confusion
from metricfit.data.rows import Rows
from metricfit.exceptions import InfeasibleError
from metricfit.explorer.asked import Asked
from metricfit.metrics import Constraint, coverage, precision, recall
from metricfit.oracles.base import Counting
from metricfit.problem import Problem
from metricfit.report import words
from metricfit.report.page.made import optimize_call
from metricfit.result import Result
from metricfit.result.groups import group_values
from metricfit.tradeoff import Frontier
from metricfit.tradeoff.levels import nearest, rounded

# Attributes and groups of each that are shown, and the digits of limits that are offered.
ATTRIBUTES, GROUPS, DIGITS = 5, 60, 3


def of_result(
    asked: Asked, result: Result, before: Confusion | None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the result, before and after, overall, by class and by group."""
    problem = asked.problem
    return {
        **_problem(asked),
        "counted": result.counting,
        "choice": result.choice,
        "status": result.status,
        "feasible": result.feasible,
        **({"message": ""} if result.feasible else _broken(asked, result)),
        "value": number(result.value),
        "value_before": None if before is None else number(problem.objective(before)),
        "bound": number(result.bound),
        "gap": number(result.gap),
        "certified": result.certified,
        "bound_words": words.bound_in_words(result),
        "calibrated": None
        if result.calibrated is None
        else {"value": number(result.calibrated.value), "bound": number(result.calibrated.bound)},
        "expected": _expected(result),
        "expected_note": result.expected_note,
        "constraints": [
            {
                "name": record.name,
                "words": words.limit_in_words(constraint),
                "metric": str(constraint.metric),
                "sense": constraint.sense,
                "value": number(record.value),
                "before": None if before is None else number(constraint.metric(before)),
                "limit": number(record.limit),
                "violation": number(record.violation),
                "holds": record.kept,
                "verdict": record.verdict,
                "price": number(record.price),
                "price_words": words.price_in_words(problem, constraint, record, result.counting == "labels"),
            }
            for record, constraint in zip(result.constraints, problem.constraints, strict=True)
        ],
        "confusion": _confusion(result.confusion),
        "confusion_before": None if before is None else _confusion(before),
        "classes": _classes(result.confusion, before),
        "decisions": _decisions(result.confusion, before),
        "groups": _groups(problem, result.confusion, before),
        "rules": result.policy.n_rules,
        "method": result.method,
        "oracle_calls": result.n_oracle_calls,
        "seconds": number(result.seconds),
        "notes": list(notes),
    }


def of_infeasible(asked: Asked, error: InfeasibleError) -> dict[str, Any]:
    """Return what can be achieved if limits cannot be kept, and the nearest limits that can."""
    found = "No policy keeps" if error.proven else "No policy was found that keeps"
    what = "this limit" if len(error.conflict) == 1 else "these limits together"
    achievable = [
        _achievable(constraint, error.violations[str(constraint)], error.alone[str(constraint)])
        for constraint in asked.problem.constraints
    ]
    return {
        **_problem(asked),
        "status": "infeasible",
        "feasible": False,
        "proven": error.proven,
        "conflict": list(error.conflict),
        "achievable": achievable,
        "message": f"{found} {what}: {', '.join(error.conflict)}. {_moved(achievable)}",
    }


def _broken(asked: Asked, result: Result) -> dict[str, Any]:
    """Return the message for a result whose limits do not all hold: the values it achieves can be kept."""
    pairs = zip(asked.problem.constraints, result.constraints, strict=True)
    achievable = [_achievable(constraint, record.violation, float("nan")) for constraint, record in pairs]
    lost = ", ".join(record.name for record in result.constraints if record.violation > 1e-9)
    text = f"The search ended without a policy that keeps {lost}. {_moved(achievable)}"
    return {"message": text, "achievable": achievable}


def _achievable(constraint: Constraint, violation: float, alone: float) -> dict[str, Any]:
    return {
        "name": str(constraint),
        "metric": str(constraint.metric),
        "sense": constraint.sense,
        "limit": constraint.limit,
        "nearest": _offered(constraint, violation),
        "together": number(nearest(constraint, violation)),
        "alone": number(nearest(constraint, alone)),
    }


def _moved(achievable: Sequence[dict[str, Any]]) -> str:
    moved = [one for one in achievable if one["nearest"] != one["limit"]]
    limits = ", ".join(f"{one['metric']} {one['sense']} {one['nearest']:g}" for one in moved)
    return f"The nearest limits that can be kept: {limits}."


def of_frontier(front: Frontier) -> dict[str, Any]:
    """Return the points of a curve."""
    traded = front.traded[0]
    points = []
    for point in front.ordered:
        result = point.result
        points.append(
            {
                "level": number(point.levels[0]),
                "feasible": result is not None,
                "value": None if result is None else number(result.value),
                "bound": None if result is None else number(result.bound),
                "reached": number(point.achievable[0]),
            }
        )
    return {
        "objective": str(front.problem.objective),
        "metric": str(traded.metric),
        "words": words.named(traded.metric, short=True),
        "objective_words": words.named(front.problem.objective, short=True),
        "sense": traded.sense,
        "direction": "maximize" if front.problem.sign < 0 else "minimize",
        "points": points,
    }


def code(problem: Problem, counting: Counting, rows: Rows) -> str:
    """Return the code that finds a policy again, with what its variables are."""
    axes, more = rows.axes, []
    told = [
        f"# proba: probabilities, an array of {len(rows):,} rows with a column for each of {list(axes.classes)!r}",
        "# y: the class of each row",
    ]
    if axes.cells.names:
        told.append(f"# data: a frame of the same rows with the columns {list(axes.cells.names)!r}")
    if rows.weights is not None:
        told.append("# weights: how much each row counts")
        more.append("sample_weight=weights")
    call = optimize_call(problem, counting, axes, more)
    return "\n".join([*told, "", call, 'result.policy.save("policy.json")', ""])


def number(value: float) -> float | None:
    """Return a number that JSON supports; None if it is undefined or infinite.

    Examples
    --------
    >>> number(np.float64(0.5)), number(float("inf"))
    (0.5, None)
    """
    return float(value) if math.isfinite(value) else None


def _problem(asked: Asked) -> dict[str, Any]:
    problem = asked.problem
    return {
        "objective": str(problem.objective),
        "objective_words": words.named(problem.objective, short=True),
        "direction": "maximize" if problem.sign < 0 else "minimize",
    }


def _offered(constraint: Constraint, violation: float) -> float:
    """Return a limit that can be kept, rounded to the side where it can."""
    if violation <= 1e-9:
        return constraint.limit
    room = 1e-6  # what a solver's rounding leaves over
    return rounded(nearest(constraint, violation + room), constraint.inward, DIGITS)


def _expected(result: Result) -> dict[str, Any] | None:
    found = result.expected
    if found is None:
        return None
    told = {
        "value": number(found.value),
        "low": number(found.low),
        "high": number(found.high),
        "note": found.note,
    }
    limits = [
        {
            "name": c.name,
            "value": number(c.value),
            "low": number(c.low),
            "high": number(c.high),
            "outlook": c.outlook,
        }
        for c in found.constraints
    ]
    return {**told, "rows": found.rows, "constraints": limits}


def _confusion(confusion: Confusion) -> dict[str, Any]:
    return {
        "classes": list(map(str, confusion.classes)),
        "decisions": list(map(str, confusion.decisions)),
        "matrix": confusion.matrix.tolist(),
    }


def _rates(confusion: Confusion | None, i: int) -> dict[str, float | None]:
    """Return precision and recall of a class; None if a rate has no rows."""
    if confusion is None:
        return {"precision": None, "recall": None}
    matrix, columns = confusion.matrix, np.flatnonzero(confusion.axes.match == i)
    right, decided, true = matrix[i, columns].sum(), matrix[:, columns].sum(), matrix[i].sum()
    return {
        "precision": float(right / decided) if decided > 0 else None,
        "recall": float(right / true) if true > 0 else None,
    }


def _classes(after: Confusion, before: Confusion | None) -> list[dict[str, Any]]:
    shares = after.matrix.sum(axis=1)
    return [
        {"class": str(label), "share": float(shares[i]), **_rates(after, i), "before": _rates(before, i)}
        for i, label in enumerate(after.classes)
    ]


def _decisions(after: Confusion, before: Confusion | None) -> list[dict[str, Any]]:
    shares = after.matrix.sum(axis=0)
    old = None if before is None else before.matrix.sum(axis=0)
    return [
        {"decision": str(d), "share": float(shares[j]), "before": None if old is None else float(old[j])}
        for j, d in enumerate(after.decisions)
    ]


def _groups(problem: Problem, after: Confusion, before: Confusion | None) -> list[dict[str, Any]]:
    """Return rates of each group of each attribute, for the class that the problem mentions."""
    told = words.decision_in(problem, after.axes)
    decision = after.decisions[-1] if told is None else told
    metrics = {"share decided": coverage(decision)}
    if decision in after.classes:
        metrics |= {"recall": recall(decision), "precision": precision(decision)}
    found = []
    for over in after.cells.names[:ATTRIBUTES]:
        rows: dict[str, dict[str, Any]] = {}
        for name, metric in metrics.items():
            for side, confusion in (("after", after), ("before", before)):
                for one in [] if confusion is None else group_values(metric, over, confusion)[:GROUPS]:
                    row = rows.setdefault(
                        str(one.group[0]), {"group": str(one.group[0]), "after": {}, "before": {}}
                    )
                    row[side][name] = number(one.value)
        found.append(
            {"attribute": over, "class": str(decision), "rates": list(metrics), "groups": list(rows.values())}
        )
    return found
