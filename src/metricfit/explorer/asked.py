"""What a request asks for, read from JSON and checked against the rows."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from metricfit.data.axes import Axes
from metricfit.functions.binding import Binding
from metricfit.messages import brief, unknown
from metricfit.metrics import Constraint, Metric, parse
from metricfit.metrics.text.parse import character_of
from metricfit.options import COUNTINGS
from metricfit.oracles.base import Counting
from metricfit.problem import Problem

MOST_CONSTRAINTS = 50
# Levels of a curve: each is solved, and the policy that is shown is added to them.
LEVELS, MOST_LEVELS = 17, 200
FIELDS = {"objective", "constraints", "counting", "expect", "trade", "levels"}


class BadRequest(ValueError):
    """A request that cannot be read; ``where`` names its field and ``at`` the character of its text, from 1."""

    def __init__(self, text: str, where: str, at: int | None = None) -> None:
        super().__init__(text)
        self.where, self.at = where, at


@dataclass(frozen=True, eq=False)
class Asked:
    """A problem, how its confusion is counted, and whether the expected values on new rows are asked for too."""

    problem: Problem
    kind: Counting
    expect: bool = False

    @classmethod
    def of(cls, body: Mapping[str, Any], axes: Axes, kind: Counting) -> Asked:
        """Read a request; raise `BadRequest` naming the field that is wrong.

        Examples
        --------
        >>> asked = Asked.of({"objective": "g_mean", "constraints": ["recall(1) >= 0.5"]}, Axes((0, 1)), "labels")
        >>> str(asked.problem.constraints[0]), asked.kind
        ('recall(1) >= 0.5', 'labels')
        """
        for name in sorted(body.keys() - FIELDS):
            raise BadRequest(unknown("field", name, sorted(FIELDS)), "body")
        texts = body.get("constraints", [])
        if not isinstance(texts, list) or len(texts) > MOST_CONSTRAINTS:
            raise BadRequest(
                f"constraints must be a list of at most {MOST_CONSTRAINTS} texts, got {brief(texts)}",
                "constraints",
            )
        objective = read(body.get("objective"), "objective", axes)
        if isinstance(objective, Constraint):
            raise BadRequest(f"'{objective}' is a constraint; put it among the constraints", "objective")
        constraints = []
        for place, text in enumerate(texts):
            where = f"constraints[{place}]"
            constraint = read(text, where, axes)
            if not isinstance(constraint, Constraint):
                raise BadRequest(f"'{constraint}' has no limit; write {constraint} >= 0.9, say", where)
            constraints.append(constraint)
        counted = body.get("counting") or kind
        if counted not in COUNTINGS:
            raise BadRequest(
                f"counting must be one of {', '.join(COUNTINGS)}; got {brief(counted)}", "counting"
            )
        expect = body.get("expect", False)
        if not isinstance(expect, bool):
            raise BadRequest(f"expect must be true or false, got {brief(expect)}", "expect")
        try:
            problem = Problem.of(objective, constraints)
        except ValueError as error:
            raise BadRequest(str(error), "objective") from error
        return cls(problem, counted, expect)


def read(text: Any, where: str, axes: Axes) -> Metric | Constraint:
    """Read the text of a metric or a constraint; its classes and attributes must exist."""
    try:
        found = parse(text)
        metric = found.metric if isinstance(found, Constraint) else found
        metric.bind(Binding.of(axes, axes.even_margins))
    except ValueError as error:
        raise BadRequest(str(error), where, _character(text)) from error
    return found


def traded_place(body: Mapping[str, Any], asked: Asked) -> int:
    """Return which constraint is traded."""
    return _whole(body, "trade", 0, len(asked.problem.constraints) - 1)


def levels_of(body: Mapping[str, Any]) -> int:
    """Return how many levels a curve has."""
    return _whole({"levels": LEVELS} | dict(body), "levels", 2, MOST_LEVELS)


def _whole(body: Mapping[str, Any], name: str, low: int, high: int) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadRequest(f"{name} must be a whole number from {low} to {high}, got {brief(value)}", name)
    return value


def _character(text: Any) -> int | None:
    """Return the character at which a text stops being readable, from 1; None where the text is well formed."""
    with suppress(ValueError, RecursionError, MemoryError, TypeError, AttributeError):
        try:
            ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            return character_of(text, error)
    return None
