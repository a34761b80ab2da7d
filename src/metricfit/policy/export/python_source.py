"""A policy's deterministic rule as the source text of a Python function that imports the standard library only."""

from __future__ import annotations

import pprint
from typing import Any

from metricfit.data.validation import SUM_TOLERANCE
from metricfit.policy.export.rule import Branch, DeterministicRule, Linear, segments
from metricfit.types import FloatArray

HEAD = '''\
"""A decision rule, written by metricfit {version}. It needs nothing but Python itself.

    decide(probabilities{example}) -> one of DECISIONS

It is the rule of the policy's randomize="never": the same decision for the same row, always.
"""

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

BODY = '''

def decide(probabilities, attributes=()):
    """Return the decision of one row.

    probabilities: one for each of CLASSES, in their order, or a mapping of class to probability.
    attributes: one value for each of ATTRIBUTES, in their order, or a mapping of name to value.

    Raises ValueError if these are no probabilities, or if the attributes have values that the rule does not know.
    """
    p = _in_order(probabilities, CLASSES, "probabilities")
    if not all(isfinite(x) and x >= 0 for x in p) or not abs(fsum(p) - 1) <= {tolerance!r}:
        raise ValueError(f"probabilities must be at least 0 and sum to 1; got {{p}}")
    values = tuple(_in_order(attributes, ATTRIBUTES, "attributes"))
    if values not in CELLS:
        raise ValueError(f"no rule for {{dict(zip(ATTRIBUTES, values))}}: these values were not seen in fit")
    cell = CELLS[values]
    p = _calibrate(p, cell)
    for test, limit, scores in RULES[cell]:
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
    if len(given) != len(names):
        raise ValueError(f"{{what}} must be {{len(names)}}, one for each of {{names}}; got {{len(given)}}")
    return list(given)


def _value(score, p):
    terms, constant = score
    total = 0.0
    for i, weight in terms:
        total += p[i] * weight
    return total + constant
'''

UNCALIBRATED = """

def _calibrate(p, cell):
    return p
"""

BY_FACTORS = """

#: Factors of the classes, one row for all cells or one for each.
FACTORS = {factors}
FLOOR = {floor}


def _calibrate(p, cell):
    made = [max(x, FLOOR) * factor for x, factor in zip(p, FACTORS[cell % len(FACTORS)])]
    total = sum(made)
    return [x / total for x in made]
"""

BY_CURVES = """

#: Factors of the classes, one row for all cells or one for each.
FACTORS = {factors}

#: For each class the knots of its curve; then slope, start and height of the pieces before, between and after them.
CURVES = {curves}


def _calibrate(p, cell):
    made = []
    for x, (knots, slope, start, height), factor in zip(p, CURVES, FACTORS[cell % len(FACTORS)]):
        piece = sum(knot <= x for knot in knots)
        made.append((slope[piece] * (x - start[piece]) + height[piece]) * factor)
    total = sum(made)
    return [x / total for x in made]
"""

BY_LOGARITHMS = """

#: One row for all cells or one for each, as for STEEPNESS.
BIAS = {bias}
STEEPNESS = {steepness}
MATRIX = {matrix}
FLOOR = {floor}


def _calibrate(p, cell):
    logs = [log(max(x, FLOOR)) for x in p]
    if MATRIX is not None:
        logs = [sum(weight * x for weight, x in zip(row, logs)) for row in MATRIX]
    steepness = STEEPNESS[cell % len(STEEPNESS)]
    logs = [steepness * x + bias for x, bias in zip(logs, BIAS[cell % len(BIAS)])]
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
        imports="exp, fsum, isfinite, log" if "log(" in calibration else "fsum, isfinite",
        example=", attributes" if rule.attributes else "",
        classes=_literal(rule.classes),
        decisions=_literal(rule.decisions),
        attributes=_literal(rule.attributes),
        cells=_literal({cell: place for place, cell in enumerate(rule.cells)}),
        rules=_literal([list(map(_branch, branches)) for branches in rule.branches]),
    )
    return head + calibration + BODY.format(tolerance=SUM_TOLERANCE)


def _branch(branch: Branch) -> tuple[Any, float, list[Any]]:
    test = None if branch.test is None else _score(branch.test, 0)
    columns = range(len(branch.scores.constant))
    return test, float(branch.limit), [_score(branch.scores, j) for j in columns]


def _score(scores: Linear, column: int) -> tuple[list[tuple[int, float]], float]:
    return scores.terms(column), float(scores.constant[column])


def _calibration(rule: DeterministicRule) -> str:
    made, factors = rule.calibration, rule.factors
    if made is None:
        return UNCALIBRATED
    if factors is None:
        matrix = _square(made.matrix)
        parts = {"bias": made.bias.tolist(), "steepness": made.steepness.tolist(), "matrix": matrix}
        return BY_LOGARITHMS.format(
            **{name: _literal(part) for name, part in parts.items()}, floor=made.floor
        )
    if made.curves is None:
        return BY_FACTORS.format(factors=_literal(factors.tolist()), floor=made.floor)
    curves = [(x.tolist(), *(part.tolist() for part in segments(x, y))) for x, y in made.curves]
    return BY_CURVES.format(factors=_literal(factors.tolist()), curves=_literal(curves))


def _square(matrix: FloatArray | None) -> Any:
    """Return a matrix as rows, also one that is given by its diagonal."""
    if matrix is None or matrix.ndim == 2:
        return None if matrix is None else matrix.tolist()
    return [[float(x) if i == j else 0.0 for j in range(len(matrix))] for i, x in enumerate(matrix)]


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=118, compact=True, sort_dicts=False)
