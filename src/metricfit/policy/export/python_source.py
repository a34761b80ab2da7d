"""A policy's deterministic rule as the source text of a Python function that imports the standard library only."""

from __future__ import annotations

import pprint
from typing import Any

from metricfit.calibration import Calibration
from metricfit.data.validation import SUM_TOLERANCE
from metricfit.policy.export.rule import (
    Branch,
    DeterministicRule,
    ScoreFunctions,
    factors_of,
    segments,
    stages,
)
from metricfit.types import FloatArray

HEAD = '''\
"""A decision rule, written by metricfit {version}. It needs nothing but Python itself.

    decide(probabilities{example}) -> one of DECISIONS

It is the rule of the policy's randomize="never": the same decision for the same row, always.
"""
{about}
from math import {imports}

#: The classes, in the order in which probabilities are given.
CLASSES = {classes}

#: What may be decided.
DECISIONS = {decisions}

#: Attributes that decisions depend on, and the place in RULES of each combination of their values.
ATTRIBUTES = {attributes}
CELLS = {cells}

#: For each cell its branches: a score and its limit (None: no test), then a score for each decision. A score is its
#: terms, pairs of class and weight, and a constant. The first branch whose score is at most its limit decides, by the
#: smallest of its scores; of equal ones the last.
RULES = {rules}
'''

REFUSED = (
    'raise ValueError(f"no rule for {dict(zip(ATTRIBUTES, values))}: these values were not seen in fit")'
)
ELSEWHERE = "p, branches = _calibrate_otherwise(p, 0), OTHERWISE"

BODY = '''

def decide(probabilities, attributes=()):
    """Return the decision of one row.

    probabilities: one for each of CLASSES, in their order, or a mapping of class to probability.
    attributes: one value for each of ATTRIBUTES, in their order, or a mapping of name to value; or None,
        if ATTRIBUTES is empty.

    Raises ValueError if these are no probabilities, or if the attributes have values that the rule does not know.
    """
    p = _in_order(probabilities, CLASSES, "probabilities")
    if not all(isfinite(x) and x >= 0 for x in p) or not abs(fsum(p) - 1) <= {tolerance!r}:
        raise ValueError(f"probabilities must be at least 0 and sum to 1; got {{p}}")
    values = tuple({value} for value in _in_order(attributes, ATTRIBUTES, "attributes"))
    if values in CELLS:
        p, branches = _calibrate(p, CELLS[values]), RULES[CELLS[values]]
    else:
        {otherwise}
    for test, limit, scores in branches:
        if test is None or _value(test, p) <= limit:
            made = [_value(score, p) for score in scores]
            least = min(made)
            return DECISIONS[max(j for j, score in enumerate(made) if score == least)]


def _in_order(given, names, what):
    if hasattr(given, "keys"):
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(f"{{what}} lack {{missing}}; pass one for each of {{names}}")
        return [given[name] for name in names]
    entries = [] if given is None else list(given)
    if len(entries) != len(names):
        raise ValueError(f"{{what}} must be {{len(names)}}, one for each of {{names}}; got {{len(entries) or 'none'}}")
    return entries


def _value(score, p):
    terms, constant = score
    total = 0.0
    for i, weight in terms:
        total += p[i] * weight
    return total + constant
'''

CALIBRATED = """

def {function}(p, cell):
    return {calls}
"""

BY_FACTORS = """

#: Factors of the classes, one row for all cells or one for each.
{mark}FACTORS = {factors}
{mark}FLOOR = {floor}


def {function}(p, cell):
    made = [max(x, {mark}FLOOR) * factor for x, factor in zip(p, {mark}FACTORS[cell % len({mark}FACTORS)])]
    total = sum(made)
    return [x / total for x in made]
"""

BY_CURVES = """

#: Factors of the classes, one row for all cells or one for each.
{mark}FACTORS = {factors}

#: For each class the knots of its curve; then slope, start and height of the pieces before, between and after them.
{mark}CURVES = {curves}


def {function}(p, cell):
    made = []
    for x, (knots, slope, start, height), factor in zip(p, {mark}CURVES, {mark}FACTORS[cell % len({mark}FACTORS)]):
        piece = sum(knot <= x for knot in knots)
        made.append((slope[piece] * (x - start[piece]) + height[piece]) * factor)
    total = sum(made)
    return [x / total for x in made]
"""

BY_LOGARITHMS = """

#: One row for all cells or one for each, as for {mark}STEEPNESS.
{mark}BIAS = {bias}
{mark}STEEPNESS = {steepness}
{mark}MATRIX = {matrix}
{mark}FLOOR = {floor}


def {function}(p, cell):
    logs = [log(max(x, {mark}FLOOR)) for x in p]
    if {mark}MATRIX is not None:
        logs = [sum(weight * x for weight, x in zip(row, logs)) for row in {mark}MATRIX]
    steepness = {mark}STEEPNESS[cell % len({mark}STEEPNESS)]
    logs = [steepness * x + bias for x, bias in zip(logs, {mark}BIAS[cell % len({mark}BIAS)])]
    top = max(logs)
    made = [exp(x - top) for x in logs]
    total = sum(made)
    return [x / total for x in made]
"""


def source(rule: DeterministicRule, version: str) -> str:
    """Return the text of a module with the function ``decide`` and the rule's numbers.

    Parameters
    ----------
    rule : DeterministicRule
        What is decided.
    version : str
        Of the package, for the module's docstring.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.data.axes import Axes
    >>> made = {}
    >>> rule = DeterministicRule.of(Axes(("no", "yes")), "full", [np.array([[0, 1], [5, 0]])])
    >>> exec(source(rule, "1.0"), made)
    >>> made["decide"]([0.9, 0.1])
    'no'
    """
    calibration = _calibration(rule)
    head = HEAD.format(
        version=version,
        about="".join(f"\n# {line}" for line in rule.about) + "\n" * bool(rule.about),
        imports="exp, fsum, isfinite, log" if _takes_logarithms(rule) else "fsum, isfinite",
        example=", attributes" if rule.attributes else "",
        classes=_literal(rule.classes),
        decisions=_literal(rule.decisions),
        attributes=_literal(rule.attributes),
        cells=_literal({cell: place for place, cell in enumerate(rule.cells)}),
        rules=_literal(_rules(rule)),
    )
    value = (
        "value" if rule.missing is None else f"{rule.missing!r} if value is None or value != value else value"
    )
    told = {"tolerance": SUM_TOLERANCE, "value": value}
    other = rule.otherwise
    if other is None:
        return head + calibration + BODY.format(**told, otherwise=REFUSED)
    head += f"\n#: The branches of rows whose attributes have other values.\nOTHERWISE = {_literal(_rules(other)[0])}\n"
    body = BODY.format(**told, otherwise=ELSEWHERE)
    return head + calibration + _calibration(other, "OTHERWISE_", "_calibrate_otherwise") + body


def _rules(rule: DeterministicRule) -> list[Any]:
    return [list(map(_branch, branches)) for branches in rule.branches]


def _branch(branch: Branch) -> tuple[Any, float, list[Any]]:
    test = None if branch.test is None else _score(branch.test, 0)
    columns = range(len(branch.scores.constant))
    return test, float(branch.limit), [_score(branch.scores, j) for j in columns]


def _score(scores: ScoreFunctions, column: int) -> tuple[list[tuple[int, float]], float]:
    return scores.terms(column), float(scores.constant[column])


def _takes_logarithms(rule: DeterministicRule) -> bool:
    rules = [rule] if rule.otherwise is None else [rule, rule.otherwise]
    return any(factors_of(stage) is None for each in rules for stage in stages(each.calibration))


def _calibration(rule: DeterministicRule, mark: str = "", function: str = "_calibrate") -> str:
    """Return the function that calibrates, and its numbers under names that begin with the mark."""
    made, text = stages(rule.calibration), ""
    if len(made) == 1:
        return _stage(made[0], mark, function)
    calls = "p"
    for number, stage in enumerate(made, 1):
        name = f"{function}_{number}"
        text, calls = text + _stage(stage, f"{mark}STAGE_{number}_", name), f"{name}({calls}, cell)"
    return text + CALIBRATED.format(function=function, calls=calls)


def _stage(made: Calibration, mark: str, function: str) -> str:
    """Return the function of one calibration."""
    factors = factors_of(made)
    parts: dict[str, Any]
    if factors is None:
        template, parts = BY_LOGARITHMS, {"bias": made.bias.tolist(), "steepness": made.steepness.tolist()}
        parts |= {"matrix": _square(made.matrix), "floor": made.floor}
    elif made.curves is None:
        template, parts = BY_FACTORS, {"factors": factors.tolist(), "floor": made.floor}
    else:
        curves = [(x.tolist(), *(part.tolist() for part in segments(x, y))) for x, y in made.curves]
        template, parts = BY_CURVES, {"factors": factors.tolist(), "curves": curves}
    written = {name: _literal(part) for name, part in parts.items()}
    return template.format(mark=mark, function=function, **written)


def _square(matrix: FloatArray | None) -> Any:
    """Return a matrix as rows, also one that is given by its diagonal."""
    if matrix is None or matrix.ndim == 2:
        return None if matrix is None else matrix.tolist()
    return [[float(x) if i == j else 0.0 for j in range(len(matrix))] for i, x in enumerate(matrix)]


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=118, compact=True, sort_dicts=False)
