"""The text form of metrics and constraints: a whitelist over Python's syntax tree, without any eval."""

from __future__ import annotations

import ast
import difflib
import inspect
import operator
import warnings
from collections.abc import Callable
from typing import Any

from metricfit.messages import brief, cut
from metricfit.metrics.base import Metric
from metricfit.metrics.constraint import Constraint
from metricfit.metrics.registry import METRICS

OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.LtE: operator.le,
    ast.GtE: operator.ge,
}
LONGEST = 10_000
# The deepest nesting of brackets and calls. A sum is one level, however long it is.
DEEPEST = 50
TOO_DEEP = "it is nested too deeply"
# Well-known scores that are not functions of a confusion matrix.
OF_PROBABILITIES = (
    "auc",
    "roc_auc",
    "pr_auc",
    "average_precision",
    "log_loss",
    "brier",
    "brier_score",
    "ece",
)
# Common notations that cannot be parsed: their characters, and what to write instead.
HINTS = {
    "%": "shares are written as numbers: 0.9 for 90 %",
    "\u2265": "at least is written >=",
    "\u2264": "at most is written <=",
    "=>": "at least is written >=",
    "=<": "at most is written <=",
    **dict.fromkeys("\u2018\u2019\u201c\u201d", "quotes are straight: 'fraud'"),
}
# What takes metrics without a keyword; other functions take classes, attributes and numbers.
OF_METRICS = ("abs", "disparity", "maximum", "minimum", "worst")
# How to write an argument that is missing.
WRITTEN = {"c": "a class, as in {}('fraud')", "over": "an attribute, as in {}(over='region')"}


def parse(text: str) -> Metric | Constraint:
    """Read a metric or a constraint from text.

    The text is Python syntax, limited to the names of the metrics, numbers, strings, lists, ``+ - * /``, ``abs``,
    ``.at(...)``, ``<=`` and ``>=``; anything else raises. A bare name such as ``g_mean`` means ``g_mean()``.

    Parameters
    ----------
    text : str
        For example ``"precision('fraud') >= 0.9"``.

    Returns
    -------
    Metric or Constraint

    Examples
    --------
    >>> import metricfit as mf
    >>> print(mf.parse("recall('fraud').at(region='north') >= 0.5"))
    recall('fraud').at(region='north') >= 0.5
    >>> mf.parse("g_men")
    Traceback (most recent call last):
        ...
    ValueError: unknown metric 'g_men' in 'g_men'; did you mean 'g_mean'?
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"expected the text of a metric or constraint, got {brief(text)}")
    if len(text) > LONGEST:
        raise ValueError(f"the text of a metric has {len(text)} characters; at most {LONGEST} are read")
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError(f"cannot read {brief(text)}: it is no Unicode; give it as UTF-8")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an unknown escape in a string is a mistake, not a warning
            tree = ast.parse(text.strip(), mode="eval")
        found = _Reader(text.strip()).read(tree.body)
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        why = {SyntaxError: _syntax(text, error), OverflowError: "a number is too large"}
        raise ValueError(f"cannot read {brief(text)}: {why.get(type(error), TOO_DEEP)}") from None
    if not isinstance(found, Metric | Constraint):
        hint = "; decimals have a point: 0.5" if isinstance(found, list) else ""
        raise ValueError(f"{brief(text)} is neither a metric nor a constraint{hint}")
    return found


def constraint_of(given: Any) -> Constraint:
    """Return a constraint that is given as an object or as text.

    Examples
    --------
    >>> import metricfit as mf
    >>> constraint_of(mf.recall(1) == 0.5)
    Traceback (most recent call last):
        ...
    ValueError: constraints must be comparisons such as precision('a') >= 0.9, got False; == makes no constraint: ...
    """
    found = parse(given) if isinstance(given, str) else given
    if isinstance(found, Constraint):
        return found
    why = "; == makes no constraint: use <= or >=, or both" if isinstance(found, bool) else ""
    raise ValueError(f"constraints must be comparisons such as precision('a') >= 0.9, got {found!r}{why}")


def character_of(text: str, error: SyntaxError) -> int | None:
    """Return the character, counted from 1, at which Python stopped parsing a text; None if it does not say.

    Examples
    --------
    >>> try:
    ...     ast.parse("g_mean >=", mode="eval")
    ... except SyntaxError as error:
    ...     character_of("g_mean >=", error)
    10
    """
    if error.offset is None or error.lineno != 1:
        return None
    if error.offset < 1:  # the end came too early
        return len(text.rstrip()) + 1
    return error.offset + len(text) - len(text.lstrip())


def _syntax(text: str, error: BaseException) -> str:
    place = character_of(text, error) if isinstance(error, SyntaxError) else None
    if place is None:
        return getattr(error, "msg", "")
    end = ", the end" if place > len(text.rstrip()) else ""
    hint = next((f"; {told}" for sign, told in HINTS.items() if sign in text), "")
    if not hint and text[place - 1 : place] == "=" and "=" not in text[place : place + 1]:
        hint = "; a limit is written <= or >="
    said = getattr(error, "msg", "")
    if said.startswith("unterminated string"):
        said = "a quote is never closed"
    return f"{said} at character {place}{end}{hint}"


class _Reader:
    """Turns syntax into metrics, one kind of node at a time."""

    def __init__(self, text: str) -> None:
        self.text, self.depth = text, 0

    def read(self, node: ast.expr) -> Any:
        """Return the value of a node, or raise an error that names it."""
        if self.depth >= DEEPEST:
            raise self._error(f"{TOO_DEEP}: at most {DEEPEST} levels are read")
        self.depth += 1
        try:
            return self._read(node)
        finally:
            self.depth -= 1

    def _read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.read(item) for item in items]
            case ast.Dict(keys=keys, values=values):
                return {self._key(k): self.read(v) for k, v in zip(keys, values, strict=True)}
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._number_or_metric(inner)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._sum(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._combine(op, self._number_or_metric(left), self._number_or_metric(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return self._combine(op, self._number_or_metric(left), self._number_or_metric(right))
            case ast.Compare(ops=[_]):
                raise self._error("constraints use <= or >=")
            case ast.Compare():
                raise self._error("write 'a <= metric <= b' as two constraints")
            case ast.BoolOp():
                raise self._error("give each constraint by itself, without 'and' and 'or'")
            case ast.Name(id=name):
                return self._apply(self._metric(name), [], {})
            case ast.Call(func=func, args=args, keywords=keywords):
                of_metrics = isinstance(func, ast.Name) and func.id in OF_METRICS
                return self._call(func, [self._argument(a, of_metrics) for a in args], keywords)
        raise self._error(f"{_text(node)} is not allowed here")

    def _sum(self, node: ast.expr) -> Any:
        """Read a sum of any length from left to right: in Python's syntax tree its first terms are the deepest."""
        later: list[tuple[ast.AST, ast.expr]] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            later.append((node.op, node.right))
            node = node.left
        total = self._number_or_metric(node)
        for op, term in reversed(later):
            total = self._combine(op, total, self._number_or_metric(term))
        return total

    def _combine(self, op: ast.AST, left: Any, right: Any) -> Any:
        try:
            return OPERATORS[type(op)](left, right)
        except ZeroDivisionError:
            raise self._error("division by zero") from None

    def _number_or_metric(self, node: ast.expr) -> Any:
        value = self.read(node)
        if isinstance(value, Metric) or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise self._error(f"{_text(node)} is neither a number nor a metric")

    def _key(self, node: ast.expr | None) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
            case None:
                raise self._error("** is not allowed in a mapping")
        raise self._error(f"{_text(node)} cannot be the key of a mapping")

    def _argument(self, node: ast.expr, of_metrics: bool) -> Any:
        """Read an argument; a shell may have removed the quotes of a class or an attribute.

        Only where metrics are taken, a bare name may be a misspelt metric.
        """
        if isinstance(node, ast.Name) and node.id not in METRICS and not (of_metrics and _near(node.id)):
            name = brief(node.id)
            raise self._error(f"{name[1:-1]} is not a metric; classes and attributes need quotes: {name}")
        return self.read(node)

    def _call(self, func: ast.expr, args: list[Any], keywords: list[ast.keyword]) -> Any:
        named: dict[str, Any] = {}
        for word in keywords:
            if word.arg in named:
                raise self._error(f"keyword argument repeated: {brief(word.arg)}")
            if word.arg is not None:
                named[word.arg] = self._argument(word.value, word.arg == "metric")
            elif isinstance(func, ast.Attribute) and isinstance(word.value, ast.Dict):
                named.update(self.read(word.value))  # attributes whose names are no Python names
            else:
                raise self._error("** is not allowed here")
        match func:
            case ast.Name(id="abs"):
                if len(args) != 1 or named or not isinstance(args[0], Metric):
                    raise self._error("abs takes one metric")
                return abs(args[0])
            case ast.Name(id=name):
                return self._apply(self._metric(name), args, named)
            case ast.Attribute(value=inner, attr="at"):
                metric = self.read(inner)
                if not isinstance(metric, Metric) or args or not all(isinstance(n, str) for n in named):
                    raise self._error("slices are written metric.at(attribute=value)")
                return metric.at(**named)
        raise self._error(f"{_text(func)} cannot be called here; metrics have .at(attribute=value)")

    def _apply(self, function: Callable[..., Metric], args: list[Any], named: dict[str, Any]) -> Metric:
        try:
            return function(*args, **named)
        except TypeError as error:
            raise self._error(_lacking(function, args, named) or cut(str(error))) from None

    def _metric(self, name: str) -> Callable[..., Metric]:
        if name in METRICS:
            return METRICS[name]
        # A hyphen is read as minus: 'G-mean' arrives as 'G'.
        hyphened = self.text.replace("-", "_").casefold()
        near = [hyphened] if hyphened in METRICS else _near(name)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(METRICS))}"
        if name in OF_PROBABILITIES:
            hint = "it scores probabilities, while a metric here is a function of the confusion matrix of decisions"
        raise ValueError(f"unknown metric {brief(name)} in {brief(self.text)}; {hint}")

    def _error(self, why: str) -> ValueError:
        return ValueError(f"cannot read {brief(self.text)}: {why}")


def _text(node: ast.expr) -> str:
    return brief(ast.unparse(node))


def _lacking(function: Callable[..., Metric], args: list[Any], named: dict[str, Any]) -> str:
    """Return which arguments of a metric are missing, in words; empty if something else is wrong."""
    known = inspect.signature(function).parameters
    if not set(named) <= set(known):
        return ""  # an argument that the metric does not have: the call says so itself
    parameters = list(known.values())[len(args) :]
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    lacking = [p.name for p in parameters if p.kind in plain and p.default is p.empty and p.name not in named]
    name = function.__name__
    wanted = [WRITTEN[p].format(name) if p in WRITTEN else p for p in lacking]
    return f"{name} needs {' and '.join(wanted)}" if lacking else ""


def _near(name: str) -> list[str]:
    return difflib.get_close_matches(name.casefold(), [*METRICS, "abs"], 1)
