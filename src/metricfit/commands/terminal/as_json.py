"""The output of commands as JSON, for scripts (``--json``)."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from metricfit.commands.terminal import summary

if TYPE_CHECKING:  # commands that do not solve must not import what solves
    from metricfit.data.confusion import Confusion
    from metricfit.problem import Problem
    from metricfit.result import Result


def show(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print a document, with null for what is undefined or infinite."""
    print(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value as lists, dicts, strings and numbers that JSON supports.

    Examples
    --------
    >>> plain({"value": np.float64(0.5), "bound": float("inf"), "classes": ("a", 1)})
    {'value': 0.5, 'bound': None, 'classes': ['a', 1]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def of_problem(problem: Problem) -> dict[str, Any]:
    """Return what was asked for."""
    return {
        "direction": "maximize" if problem.sign < 0 else "minimize",
        "objective": str(problem.objective),
        "constraints": [str(constraint) for constraint in problem.constraints],
    }


def of_result(result: Result) -> dict[str, Any]:
    """Return the result without the policy itself."""
    names = (
        "value",
        "bound",
        "gap",
        "certified",
        "status",
        "method",
        "n_oracle_calls",
        "seconds",
        "counting",
        "choice",
    )
    return {name: getattr(result, name) for name in names} | {
        "constraints": result.constraints,
        "left_out": result.left_out,
        "calibrated": result.calibrated,
        "expected": result.expected,
        "deterministic": result.deterministic,
        "decides": result.rule_in_words,
    }


def of_rates(before: Confusion | None, after: Confusion) -> dict[str, Any]:
    """Return precision and recall of each class, and the share of each decision, before and after."""
    sides = {"policy": after} if before is None else {"argmax": before, "policy": after}
    found = {name: summary.rates(confusion) for name, confusion in sides.items()}
    prior = after.matrix.sum(axis=1)
    classes = [
        {
            "class": label,
            "share": prior[i],
            "precision": {name: rates[0][i] for name, rates in found.items()},
            "recall": {name: rates[1][i] for name, rates in found.items()},
        }
        for i, label in enumerate(after.classes)
    ]
    decisions = [
        {"decision": label, "share": {name: rates[2][j] for name, rates in found.items()}}
        for j, label in enumerate(after.decisions)
    ]
    return {"classes": classes, "decisions": decisions}
