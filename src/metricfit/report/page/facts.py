"""The content of the report: every number, sentence and picture, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import metricfit
from metricfit.data.attributes import names_of
from metricfit.data.confusion import Confusion
from metricfit.intervals.estimate import Estimate
from metricfit.metrics import Metric, recall
from metricfit.metrics.comparison import comparisons_in
from metricfit.report import words
from metricfit.report.page import made
from metricfit.report.page.svg import inline_svg
from metricfit.report.pictures.achievable import AchievableDisplay
from metricfit.report.pictures.confusions import ConfusionDisplay
from metricfit.report.pictures.convergence import ConvergenceDisplay
from metricfit.report.pictures.display import Display
from metricfit.report.pictures.frontiers import FrontierDisplay
from metricfit.report.pictures.groups import GroupsDisplay
from metricfit.report.pictures.regions import RegionsDisplay
from metricfit.report.pictures.reliability import ReliabilityDisplay
from metricfit.report.pictures.weights import WeightsDisplay
from metricfit.report.rates import KINDS, rate
from metricfit.result import Result
from metricfit.result.most_probable import of_most_probable
from metricfit.verdicts import MARKS, MET, VIOLATED, spelt_out

# Classes in the table; trade-offs and attributes that are drawn; levels of a trade-off.
CLASSES, TRADE_OFFS, ATTRIBUTES, LEVELS = 40, 3, 3, 21


@dataclass(frozen=True)
class Figure:
    """A picture of the page with its heading and its description in words."""

    name: str
    title: str
    words: str
    svg: str


class Facts:
    """The content of the page, in its order."""

    def __init__(self, result: Result, title: str | None, made_by: str | None) -> None:
        self.result, self.title, self.made_by = result, title, made_by
        self.origin = result.origin
        self.before = None if self.origin is None else of_most_probable(self.origin.baseline)
        self.rows = None if self.origin is None else self.origin.oracle.effective_rows or None

    def all(self) -> dict[str, Any]:
        """Return everything that the template needs."""
        result = self.result
        problem = None if self.origin is None else self.origin.problem
        objective = "the objective" if problem is None else words.named(problem.objective)
        short = "the objective" if problem is None else words.named(problem.objective, short=True)
        expected = result.expected
        return {
            "title": self.title or words.capitalised(short),
            "request": result.problem if problem is None else words.request(problem),
            "text": spelt_out(result.problem),
            "limits": [] if problem is None else [words.limit_in_words(c) for c in problem.constraints],
            "objective": objective,
            "short": short,
            "value": result.value,
            "value_before": None
            if problem is None or self.before is None
            else problem.objective(self.before),
            "feasible": result.feasible,
            "bound": words.bound_in_words(result),
            "certified": result.certified,
            "expected": expected,
            "expected_note": result.expected_note or (expected.note if expected is not None else ""),
            "confidence": None if result.confidence is None else str(result.confidence),
            "counted": result.counted,
            "constraints": self._constraints(),
            "classes": self._classes(),
            "more_classes": max(result.confusion.axes.n - CLASSES, 0),
            "others": self._other_decisions(),
            "figures": self._figures(),
            "groups": self._groups(),
            "calibration": result.calibration,
            "status": result.status,
            "status_words": words.STATUS[result.status],
            "facts": made.about(result),
            "rules": result.policy.n_rules,
            "cells": len(result.policy.rules),
            "attributes": " x ".join(result.policy.axes.cells.names),
            "mixed": any(sum(rule.weight > 0 for rule in mixture) > 1 for mixture in result.policy.rules),
            "decides": result.rule_in_words,
            "alone": result.deterministic,
            "made_by": self.made_by or made.code(result),
            "marks": MARKS,
            "version": metricfit.__version__,
        }

    def _constraints(self) -> list[dict[str, Any]]:
        records = self.result.constraints
        expected = self.result.expected
        found = []
        for place, record in enumerate(records):
            row: dict[str, Any] = {
                "name": record.name,
                "words": record.name,
                "value": record.value,
                "limit": record.limit,
                "kept": record.kept,
                "verdict": MET if record.kept else VIOLATED,
                "price": "",
                "before": None,
                "expected": None if expected is None else expected.constraints[place],
            }
            if self.origin is not None:
                constraint = self.origin.problem.constraints[place]
                row["words"] = words.named(constraint.metric)
                row["side"] = constraint.side
                row["price"] = words.price_in_words(
                    self.origin.problem, constraint, record, self.origin.oracle.counting == "labels"
                )
                row["before"] = None if self.before is None else constraint.metric(self.before)
            else:
                row["side"] = ""
            found.append(row)
        return found

    def _classes(self) -> list[dict[str, Any]]:
        after = self.result.confusion
        found: list[dict[str, Any]] = []
        prior, axes = after.matrix.sum(axis=1), after.axes
        for i in np.argsort(-prior, kind="stable")[:CLASSES]:
            places = np.flatnonzero(axes.match == i)
            row: dict[str, Any] = {"name": str(axes.classes[i]), "share": float(prior[i]), "rates": []}
            for kind in ("precision", "recall"):
                for side in (self.before, after):
                    known = side is not None and places.size
                    row["rates"].append(self._rate(side, kind, int(places[0])) if known else None)
            found.append(row)
        return found

    def _rate(self, confusion: Confusion | None, kind: Any, place: int) -> Estimate | None:
        return None if confusion is None else rate(confusion, kind, place, self.rows)

    def _other_decisions(self) -> list[tuple[str, float]]:
        after = self.result.confusion
        shares = after.matrix.sum(axis=0)
        return [(str(after.decisions[j]), float(shares[j])) for j in np.flatnonzero(after.axes.match < 0)]

    def _groups(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        axes, limited = self.result.confusion.axes, self._limited()
        # Intersections whose rates are limited are groups of their own.
        several = [over for over in limited if len(over) > 1]
        for over in [*((name,) for name in axes.cells.names[:ATTRIBUTES]), *several]:
            told = None if self.origin is None else words.decision_in(self.origin.problem, axes)
            kinds = words.rates_to_show(axes, told, limited.get(over, ()))
            display = GroupsDisplay.from_result(self.result, over=over, decision=told, kinds=kinds)
            sides = [False, True] if self.before is not None else [False]
            every = tuple(display.places)
            rates = {
                kind: [display.rates(kind, before=side, of=every) for side in reversed(sides)]
                for kind in display.kinds
            }
            rows = [
                {"name": str(group), "rates": [side[g] for kind in display.kinds for side in rates[kind]]}
                for g, group in enumerate(every)
            ]
            figure = self._figure(f"groups-{len(found)}", f"Groups of {display.over}", lambda d=display: d)  # type: ignore[misc]
            name = str(display.after.decisions[display.decision])
            heads = [KINDS[kind].removesuffix(" {}").removesuffix(" of") for kind in display.kinds]
            found.append(
                {
                    "over": display.over,
                    "decision": name,
                    "kinds": heads,
                    "rows": rows,
                    "sides": len(sides),
                    "figure": figure,
                }
            )
        return found

    def _limited(self) -> dict[tuple[str, ...], list[Metric]]:
        """Return what is compared between groups by the constraints, for each set of attributes."""
        found: dict[tuple[str, ...], list[Metric]] = {}
        for constraint in () if self.origin is None else self.origin.problem.constraints:
            for one in comparisons_in(constraint.metric):
                found.setdefault(tuple(names_of(one.over)), []).append(one.metric)
        return found

    def _figures(self) -> dict[str, list[Figure]]:
        """Return the pictures of each section that this result can have."""
        result = self.result
        found: dict[str, list[Figure | None]] = {
            "confusion": [
                self._figure(
                    "confusion", "Confusion", lambda: ConfusionDisplay(result.confusion, self.before)
                )
            ],
            "trade": self._trade_offs(),
            "reach": [self._figure("reach", "What policies can achieve", self._reach)],
            "reliability": [
                self._figure("reliability", "Reliability", lambda: ReliabilityDisplay.from_result(result))
            ],
            "policy": [
                self._figure("weights", "Weights of the rules", lambda: WeightsDisplay.from_result(result)),
                self._figure(
                    "regions", "Decisions by probability", lambda: RegionsDisplay.from_result(result)
                ),
            ],
            "search": [
                self._figure("search", "The search", lambda: ConvergenceDisplay.from_result(result))
                if len(result.history) > 1
                else None
            ],
        }
        return {name: [one for one in some if one is not None] for name, some in found.items()}

    def _trade_offs(self) -> list[Figure | None]:
        if self.origin is None:
            return []
        binding = [k for k, record in enumerate(self.result.constraints) if words.binds(record)][:TRADE_OFFS]
        found = []
        for k in binding:
            name = words.named(self.origin.problem.constraints[k].metric, short=True)
            found.append(
                self._figure(
                    f"trade-{k}",
                    f"The trade-off with {name}",
                    lambda k=k: FrontierDisplay.from_result(self.result, k, LEVELS),  # type: ignore[misc]
                )
            )
        return found

    def _reach(self) -> Display:
        prior, axes = self.result.confusion.matrix.sum(axis=1), self.result.confusion.axes
        named = [i for i in np.argsort(prior, kind="stable") if (axes.match == i).any() and prior[i] > 0]
        if len(named) < 2:
            raise ValueError("fewer than two classes have a decision")
        # The class that the problem names, or else the rarest one, against the most frequent other class.
        told = None if self.origin is None else words.decision_in(self.origin.problem, axes)
        first = next((i for i in named if axes.classes[i] == told), named[0])
        other = next(i for i in reversed(named) if i != first)
        pair = recall(axes.classes[first]), recall(axes.classes[other])
        return AchievableDisplay.from_result(self.result, *pair)

    @staticmethod
    def _figure(name: str, title: str, make: Callable[[], Display]) -> Figure | None:
        try:
            display = make()
        except ValueError:  # what this result cannot show: too many classes, rows elsewhere, no weights
            return None
        return Figure(name, title, display.describe(), inline_svg(display, name))
