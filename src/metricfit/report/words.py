"""Metrics, constraints, prices and statuses in plain words."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from metricfit.metrics import Constraint, Metric
from metricfit.problem import Problem
from metricfit.result import ConstraintRecord, Result
from metricfit.result.records import FAR
from metricfit.types import Label

NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "g_mean": "G-mean (geometric mean of the recalls)",
    "h_mean": "H-mean (harmonic mean of the recalls)",
    "q_mean": "Q-mean (quadratic mean of the recalls)",
    "min_recall": "lowest recall of any class",
    "macro_f1": "macro-F1",
    "micro_f1": "micro-F1",
    "mcc": "Matthews correlation",
    "cohen_kappa": "Cohen's kappa",
    "precision": "precision of {c}",
    "recall": "recall of {c}",
    "specificity": "specificity of {c}",
    "coverage": "share decided {c}",
    "false_positive_rate": "false positive rate of {c}",
    "jaccard": "Jaccard index of {c}",
}
# What is compared between groups, and what the comparison is called.
COMPARED = {
    "demographic_parity": ("decisions", "demographic parity"),
    "equal_opportunity": ("the recall of {c}", "equal opportunity"),
    "equalized_odds": ("recalls", "equalized odds"),
    "equal_error_rates": ("error rates", "equal error rates"),
    "predictive_parity": ("the precision of {c}", "predictive parity"),
}
AGAINST = {
    "overall": "between each group of {over} and all rows",
    "pairs": "between any two groups of {over}",
    "mean": "between each group of {over} and the mean of all groups",
}
STATUS = {
    "optimal": "value and bound are within the tolerance",
    "searched": "the search ended by itself, without a proof that nothing is better",
    "stalled": "nothing better was found",
    "max_calls": "the budget of oracle calls was used up: the best so far",
    "max_seconds": "the time was used up: the best so far",
    "stopped": "it was stopped: the best so far",
}
# A price below this, in points per point, is negligible, or only the inaccuracy of a solver.
NO_PRICE = 5e-3


def named(metric: Metric, short: bool = False) -> str:
    """Return a metric in words, or its text if it has no name; ``short`` leaves out what is in brackets.

    Examples
    --------
    >>> import metricfit as mf
    >>> named(mf.precision("fraud")), named(mf.g_mean(), short=True)
    ('precision of fraud', 'G-mean')
    """
    text = str(metric)
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return text
    given = {key.arg: ast.unparse(key.value) for key in call.keywords if key.arg}
    known = {key: value.strip("'\"[]").replace("', '", " x ") for key, value in given.items()}
    phrase = _comparison(call.func.id, known) if call.func.id in COMPARED else NAMES.get(call.func.id, "")
    if call.args:
        known["c"] = ast.unparse(call.args[0]).strip("'\"")
    if not phrase or ("{c}" in phrase and "c" not in known) or set(known) - {"c", "over"}:
        return text
    return (phrase.partition(" (")[0] if short else phrase).format(**known)


def _comparison(name: str, options: dict[str, str]) -> str:
    """Return the phrase for a comparison between groups; the options it mentions are removed from ``options``."""
    compared, called = COMPARED[name]
    if name == "demographic_parity" and "c" in options:
        compared = "the share decided {c}"
    against = AGAINST[options.pop("to", "overall")]
    kind = "ratio" if options.pop("as_ratio", "False") == "True" else "difference"
    within = f" within each {options.pop('given')}" if "given" in options else ""
    return f"{kind} in {compared} {against}{within} ({called})"


def request(problem: Problem) -> str:
    """Return the objective in words.

    Examples
    --------
    >>> request(Problem.of("g_mean"))
    'Make the G-mean (geometric mean of the recalls) as high as possible'
    """
    goal = "high" if problem.sign < 0 else "low"
    return f"Make the {named(problem.objective)} as {goal} as possible"


def limit_in_words(constraint: Constraint) -> str:
    """Return a constraint in words.

    Examples
    --------
    >>> import metricfit as mf
    >>> limit_in_words(mf.precision("fraud") >= 0.9)
    'precision of fraud at least 0.9'
    """
    side = "at least" if constraint.sense == ">=" else "at most"
    return f"{named(constraint.metric)} {side} {constraint.limit:g}"


def binds(record: ConstraintRecord) -> bool:
    """Return whether a constraint costs something; if prices are unknown, whether it only just holds."""
    if math.isnan(record.price):
        return abs(record.violation) <= 1e-3
    return record.price > NO_PRICE


def price_in_words(problem: Problem, constraint: Constraint, record: ConstraintRecord) -> str:
    """Return what a constraint costs, in points: hundredths.

    Examples
    --------
    >>> import metricfit as mf
    >>> record = ConstraintRecord("precision('fraud') >= 0.9", 0.9, 0.9, 0.0, 0.4)
    >>> price_in_words(Problem.of("g_mean"), mf.precision("fraud") >= 0.9, record)
    'One more point of precision of fraud costs 0.4 points of G-mean.'
    """
    goal, kept = named(problem.objective, short=True), named(constraint.metric, short=True)
    if not record.kept:
        return f"It is not kept: it is missed by {record.violation:.4g}."
    if math.isnan(record.value):
        return "It holds because no row is decided in this way, so the rate has no rows."
    if math.isnan(record.price):
        return "Its cost is unknown: the search gives no prices."
    if record.price <= NO_PRICE:
        return "It costs next to nothing: the best policy would keep it anyway, or nearly so."
    one = "One more point" if constraint.sense == ">=" else "One point less"
    done = "costs" if problem.sign < 0 else "adds"
    points = f"{record.price:.2g} point{'' if f'{record.price:.2g}' == '1' else 's'}"
    of = "of" if problem.sign < 0 else "to the"
    return f"{one} of {kept} {done} {points} {of} {goal}."


def class_in(problem: Problem, labels: Sequence[Label]) -> Label | None:
    """Return the first label that the constraints, or else the objective, mention; None if they mention none.

    Examples
    --------
    >>> class_in(Problem.of("g_mean", ["precision('fraud') >= 0.9"]), ("ok", "fraud"))
    'fraud'
    """
    for metric in (*(c.metric for c in problem.constraints), problem.objective):
        try:
            parts = list(ast.walk(ast.parse(str(metric), mode="eval")))
        except SyntaxError:
            continue
        for call in (part for part in parts if isinstance(part, ast.Call)):
            given = [*call.args, *(key.value for key in call.keywords if key.arg == "c")]
            for value in given:
                if isinstance(value, ast.Constant) and value.value in labels:
                    return labels[labels.index(value.value)]
    return None


def bound_in_words(result: Result) -> str:
    """Return what is known about the best achievable value."""
    if not math.isfinite(result.bound):
        if result.calibrated is not None and math.isfinite(result.calibrated.bound):
            bound, beyond = result.calibrated.bound, result.calibrated.beyond(result.value)
            known = f"If the calibrated probabilities are right, no policy goes beyond {bound:.4f}."
            if not beyond:
                return known
            if beyond > FAR:
                return (
                    "The best achievable value is unknown: the calibrated probabilities do not fit these rows. This "
                    f"policy beats the bound that they give, {bound:.4f}, by {beyond:.4f}."
                )
            return (
                f"{known} By counted labels this policy is {beyond:.4f} beyond that: by chance, or because those "
                "probabilities do not fit these rows."
            )
        return "No bound is known: a better policy may exist."
    return f"No policy at all goes beyond {result.bound:.4f} on these rows, if the probabilities are right."
