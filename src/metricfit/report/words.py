"""Metrics, constraints, prices and statuses in plain words."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from metricfit.data.axes import Axes
from metricfit.metrics import Constraint, Metric
from metricfit.metrics.fairness import DecisionRates
from metricfit.problem import Problem
from metricfit.report.rates import KINDS, RateKind
from metricfit.result import ConstraintRecord, Result
from metricfit.result.records import FAR
from metricfit.types import Label
from metricfit.verdicts import spelt_out

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
    "f1": "F1-measure of {c}",
    "f_beta": "F-measure of {c} with beta {beta}",
    "selective_accuracy": "selective accuracy (accuracy of the rows that get a class)",
    "selective_recall": "selective recall of {c}",
    "cost": "cost",
    "ordinal_error": "ordinal error",
    "coverage_deviation": "coverage deviation (largest distance of a decision's share from its target)",
    "quantification_kld": "divergence of the decisions' shares from their target",
    "churn": "share of decisions that differ from {c}",
}
# Metrics of one class or decision, which is their last argument.
OF_A_CLASS = {name for name, phrase in NAMES.items() if "{c}" in phrase} - {"churn"}
# Metrics of other metrics.
SEVERAL = {"minimum": "lowest of", "maximum": "highest of"}
# What is compared between groups, and what the comparison is called.
COMPARED = {
    "demographic_parity": ("decisions", "demographic parity"),
    "equal_opportunity": ("the recall of {c}", "equal opportunity"),
    "equalized_odds": ("the rates of decisions within each class", "equalized odds"),
    "equal_error_rates": ("error rates", "equal error rates"),
    "predictive_parity": ("the precision of {c}", "predictive parity"),
}
AGAINST = {
    "overall": "between each group of {over} and all rows",
    "pairs": "between any two groups of {over}",
    "mean": "between each group of {over} and the mean of all groups",
}
STATUS = {
    "optimal": "the gap between value and bound is at most the tolerance",
    "searched": "the search ended by itself, without a proof that nothing is better",
    "stalled": "nothing better was found",
    "max_calls": "the budget of oracle calls was used up: the best so far",
    "max_seconds": "the time was used up: the best so far",
    "stopped": "by Ctrl-C or a callback: the best so far",
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
    >>> named(mf.recall("fraud").at(region="north"))
    'recall of fraud where region is north'
    """
    text = str(metric)
    try:
        return _phrase(ast.parse(text, mode="eval").body, short) or spelt_out(text)
    except (SyntaxError, ValueError, LookupError, RecursionError):  # such as the name of a function
        return spelt_out(text)


def capitalised(text: str) -> str:
    """Return a text with a capital first letter and the rest as it was.

    Examples
    --------
    >>> capitalised("false positive rate of FX")
    'False positive rate of FX'
    """
    return text[:1].upper() + text[1:]


def _phrase(call: ast.expr, short: bool) -> str:
    """Return the words for a call; empty if there are none."""
    match call:
        case ast.Call(func=ast.Attribute(value=inner, attr="at"), keywords=where):
            phrase = _phrase(inner, short)
            return phrase and f"{phrase} where {_slice(where)}"
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            options = {key.arg: ast.literal_eval(key.value) for key in keywords if key.arg}
            phrase = _of_call(name, args, options, short)
            return "" if options else phrase
    return ""


def _of_call(name: str, args: list[ast.expr], options: dict[str, Any], short: bool) -> str:
    """Return the words for a named metric; the options that they mention are removed from ``options``."""
    if name in SEVERAL:
        parts = [_phrase(arg, short) for arg in args]
        return f"{SEVERAL[name]} {' and '.join(parts)}" if all(parts) else ""
    if name in ("worst", "disparity"):
        inner = _phrase(args[0], short=True)
        if not inner:
            return ""
        if name == "disparity":
            return _comparison(f"the {inner}", "", options, short)
        return f"{inner} in the worst group of {_listed(options.pop('over'))}"
    if name in COMPARED:
        compared, called = COMPARED[name]
        c = options.pop("c", None)
        if c is not None and name == "demographic_parity":
            compared = "the share decided {c}"
        return _comparison(compared.format(c=c), called, options, short)
    phrase = NAMES.get(name, "")
    if name == "cohen_kappa" and "weights" in options:
        phrase += f" with {options.pop('weights')} weights"
    values = [ast.literal_eval(arg) for arg in args]
    if "{c}" in phrase and not values:
        return ""
    short_phrase = phrase.partition(" (")[0] if short else phrase
    return short_phrase.format(c=values[-1] if values else "", beta=values[0] if values else "")


def _comparison(compared: str, called: str, options: dict[str, Any], short: bool) -> str:
    """Return the words for a comparison between groups."""
    against = AGAINST[options.pop("to", "overall")].format(over=_listed(options.pop("over")))
    kind = "ratio" if options.pop("as_ratio", False) else "difference"
    within = f" within each {_listed(options.pop('given'))}" if "given" in options else ""
    name = f" ({called})" if called and not short else ""
    return f"{kind} in {compared} {against}{within}{name}"


def _listed(names: str | list[str]) -> str:
    return names if isinstance(names, str) else " x ".join(names)


def _slice(where: list[ast.keyword]) -> str:
    """Return the words for a slice: its attributes and their values."""
    pairs: dict[str, Any] = {}
    for key in where:
        value = ast.literal_eval(key.value)
        pairs |= value if key.arg is None else {key.arg: value}
    told = [
        f"{name} is {' or '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in pairs.items()
    ]
    return " and ".join(told)


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
    return f"{named(constraint.metric)} {constraint.side} {constraint.limit:g}"


def binds(record: ConstraintRecord) -> bool:
    """Return whether a constraint costs something; if prices are unknown, whether it is only just met."""
    if math.isnan(record.price):
        return abs(record.violation) <= 1e-3
    return record.price > NO_PRICE


def price_in_words(
    problem: Problem, constraint: Constraint, record: ConstraintRecord, about: bool = False
) -> str:
    """Return what a constraint costs, in points: hundredths.

    If labels are counted, the price is that of the calibrated problem, and ``about`` says so.

    Examples
    --------
    >>> import metricfit as mf
    >>> record = ConstraintRecord("precision('fraud') >= 0.9", 0.9, 0.9, 0.0, 0.4)
    >>> price_in_words(Problem.of("g_mean"), mf.precision("fraud") >= 0.9, record)
    'One more point of precision of fraud costs 0.4 points of G-mean.'
    >>> price_in_words(Problem.of("g_mean"), mf.precision("fraud") >= 0.9, record, about=True)
    'One more point of precision of fraud costs about 0.4 points of G-mean.'
    """
    goal, kept = named(problem.objective, short=True), named(constraint.metric, short=True)
    if not record.kept:
        return f"It is {record.verdict} on the fitted rows."
    if math.isnan(record.value):
        return "It is met because no row is decided in this way, so the rate has no rows."
    if math.isnan(record.price):
        return "Its cost is unknown: the search gives no prices."
    if record.price <= NO_PRICE:
        return "It costs next to nothing: the best policy would keep it anyway, or nearly so."
    one = "One more point" if constraint.sense == ">=" else "One point less"
    done = "costs" if problem.sign < 0 else "adds"
    points = f"{record.price:.2g} point{'' if f'{record.price:.2g}' == '1' else 's'}"
    points = f"about {points}" if about else points
    of = "of" if problem.sign < 0 else "to the"
    return f"{one} of {kept} {done} {points} {of} {goal}."


def decision_in(problem: Problem, axes: Axes) -> Label | None:
    """Return the decision whose rates tell most about a problem; None if the problem names no decision.

    It is the first class that the constraints, or else the objective, mention. Other decisions, such as "review", have
    neither recall nor precision, so one of them is returned only if no class is mentioned.

    Examples
    --------
    >>> axes = Axes(("ok", "fraud"), ("ok", "fraud", "review"))
    >>> decision_in(Problem.of("g_mean", ["coverage('review') <= 0.1", "precision('fraud') >= 0.9"]), axes)
    'fraud'
    >>> decision_in(Problem.of("g_mean", ["coverage('review') <= 0.1"]), axes)
    'review'
    """
    classes = tuple(decision for decision in axes.decisions if decision in axes.classes)
    found = _mentioned(problem, classes)
    return _mentioned(problem, axes.decisions) if found is None else found


def rates_to_show(
    axes: Axes, decision: Label | None, limited: Sequence[Metric]
) -> tuple[RateKind, ...] | None:
    """Return the rates of groups that a report shows: false-positive rates too where these are limited; None for all.

    Examples
    --------
    >>> import metricfit as mf
    >>> odds = mf.equalized_odds("sex").metric.metric
    >>> rates_to_show(Axes((0, 1)), 1, [odds])
    ('decided', 'recall', 'precision', 'false_positive_rate')
    >>> rates_to_show(Axes((0, 1)), 1, [mf.recall(1)]) is None
    True
    """
    of_class = decision is None or decision in axes.classes
    odds = any(isinstance(one, DecisionRates) or "false_positive_rate" in str(one) for one in limited)
    return tuple(KINDS) if odds and of_class else None


def _mentioned(problem: Problem, labels: Sequence[Label]) -> Label | None:
    for metric in (*(c.metric for c in problem.constraints), problem.objective):
        try:
            parts = list(ast.walk(ast.parse(str(metric), mode="eval")))
        except SyntaxError:
            continue
        for call in (part for part in parts if isinstance(part, ast.Call)):
            # Other arguments may look like a class: a beta of 2, or the attribute of a churn.
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            last = call.args[-1:] if name in OF_A_CLASS else []
            for value in [*last, *(key.value for key in call.keywords if key.arg == "c")]:
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
