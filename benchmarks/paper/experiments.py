"""The paper's tables on its own data sets: H-mean, micro-F1, both constrained problems (sections 8.4, "
"8.5)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np
import scoring
from cells import Table, Task
from probabilities import FAIRNESS, MULTICLASS, Split, split
from settings import Settings
from solving import solve, told

import metricfit as mf
from metricfit import datasets

LOSSES = ("train_loss", "test_loss")
VIOLATIONS = ("train_violation", "test_violation")
TOLD = ("calls", "status", "solver", "rules")
KEY = ("dataset", "split", "method", "budget")

COVERAGE_SETS = ("abalone", "pageblocks", "macho", "satimage", "adult")
SMALL = ("abalone", "macho", "satimage", "crimes", "compas")

cached = lru_cache(maxsize=4)(split)


def chosen(names: tuple[str, ...], settings: Settings) -> list[str]:
    return [name for name in names if not settings.small_only or name in SMALL]


def hmean(settings: Settings) -> tuple[Table, list[Task]]:
    table = Table(settings.results / "hmean.csv", KEY, LOSSES + TOLD)

    def cell(name: str, seed: int, method: str, budget: object) -> dict[str, object]:
        train, test, result = solve(cached(name, seed), method, "h_mean", max_calls=budget or None)
        return {
            "train_loss": scoring.h_mean_loss(train),
            "test_loss": scoring.h_mean_loss(test),
            **told(result),
        }

    methods = {"plugin": 0, "plugin_bal": 0, "auto": 0, "calibrated": 0, **settings.calls}
    return table, _grid(cell, chosen(MULTICLASS, settings), settings.splits, methods)


def microf1(settings: Settings) -> tuple[Table, list[Task]]:
    table = Table(settings.results / "microf1.csv", KEY, LOSSES + TOLD)

    def cell(name: str, seed: int, method: str, budget: object) -> dict[str, object]:
        default = most_frequent(name)
        train, test, result = solve(cached(name, seed), method, mf.micro_f1(default=default))
        return {
            "train_loss": scoring.micro_f1_loss(train, default),
            "test_loss": scoring.micro_f1_loss(test, default),
            **told(result),
        }

    methods = {"plugin": 0, "plugin_bal": 0, "auto": 0, "calibrated": 0, "bisection": 0}
    return table, _grid(cell, chosen(MULTICLASS, settings), settings.splits, methods)


def coverage(settings: Settings) -> tuple[Table, list[Task]]:
    table = Table(settings.results / "coverage.csv", KEY, LOSSES + VIOLATIONS + TOLD)

    def cell(name: str, seed: int, method: str, budget: object) -> dict[str, object]:
        limits = [] if method == "frank_wolfe" else [mf.coverage_deviation() <= 0.01]
        train, test, result = solve(
            cached(name, seed, "coverage"), method, "h_mean", limits, max_calls=budget or None
        )
        return {
            "train_loss": scoring.h_mean_loss(train),
            "test_loss": scoring.h_mean_loss(test),
            "train_violation": scoring.coverage_violation(train),
            "test_violation": scoring.coverage_violation(test),
            **told(result),
        }

    return table, _grid(cell, chosen(COVERAGE_SETS, settings), settings.splits, _constrained(settings))


def equalopp(settings: Settings) -> tuple[Table, list[Task]]:
    """G-mean subject to equal opportunity.

    Distances are to the mean of the groups, as in the authors' code, and to the overall rate, as in the text.
    """
    values = (*LOSSES, "train_mean", "test_mean", "train_overall", "test_overall", *TOLD)
    table = Table(settings.results / "equalopp.csv", (*KEY, "to"), values)

    def cell(name: str, seed: int, method: str, budget: object, to: str) -> dict[str, object]:
        limits = [mf.disparity(mf.recall(1), over="group", to=to) <= 0.05] if to != "none" else []
        train, test, result = solve(
            cached(name, seed), method, "g_mean", limits, max_calls=budget or None, groups=True
        )
        row: dict[str, object] = {
            "train_loss": scoring.g_mean_loss(train),
            "test_loss": scoring.g_mean_loss(test),
        }
        for rows, C in (("train", train), ("test", test)):
            for centre in ("mean", "overall"):
                row[f"{rows}_{centre}"] = scoring.opportunity_violation(C, centre)
        return {**row, **told(result)}

    free = ("plugin", "plugin_bal", "frank_wolfe")
    tasks = []
    for name in chosen(FAIRNESS, settings):
        for seed in range(settings.splits):
            for method, budget in _constrained(settings).items():
                for to in ("none",) if method in free else ("mean", "overall"):
                    key = (name, seed, method, budget, to)
                    tasks.append(Task(key, partial(cell, *key)))
    return table, tasks


def calls(settings: Settings) -> tuple[Table, list[Task]]:
    """The default's training loss after each oracle call, for all three problems."""
    table = Table(
        settings.results / "calls.csv", ("problem", "dataset", "split"), ("calls", "loss", "violation")
    )

    def cell(problem: str, name: str, seed: int) -> list[dict[str, object]]:
        data = cached(name, seed, problem)
        if problem == "hmean":
            result = mf.optimize(data.P, data.y, "h_mean")
        elif problem == "coverage":
            result = mf.optimize(data.P, data.y, "h_mean", [mf.coverage_deviation() <= 0.01])
        else:
            limit = mf.disparity(mf.recall(1), over="group", to="mean") <= 0.05
            result = mf.optimize(data.P, data.y, "g_mean", [limit], sensitive_features=data.g)
        rows, seen = [], None
        for record in result.history:
            state = (round(record.value, 6), round(record.violation, 9))
            if state != seen:
                rows.append({"calls": record.calls, "loss": 1 - record.value, "violation": record.violation})
            seen = state
        return rows

    problems = {"hmean": MULTICLASS, "coverage": COVERAGE_SETS, "equalopp": FAIRNESS}
    return table, [
        Task((problem, name, seed), partial(cell, problem, name, seed))
        for problem, names in problems.items()
        for name in chosen(names, settings)
        for seed in range(settings.splits)
    ]


def trivial(settings: Settings) -> tuple[Table, list[Task]]:
    """The classifier that decides each class equally often: its expected losses have a closed form."""
    table = Table(settings.results / "trivial.csv", ("dataset",), ("hmean_loss", "microf1_loss", "error"))

    def cell(name: str) -> dict[str, object]:
        y = datasets.load(name).y.astype(int)
        k = y.max() + 1
        C = scoring.expected(np.full((len(y), k), 1 / k), y)
        return {
            "hmean_loss": scoring.h_mean_loss(C),
            "microf1_loss": scoring.micro_f1_loss(C, most_frequent(name)),
            "error": scoring.error(C),
        }

    return table, [Task((name,), partial(cell, name)) for name in chosen(FAIRNESS + MULTICLASS, settings)]


@lru_cache
def most_frequent(name: str) -> int:
    """Return the most frequent class of the whole set: micro-F1's default class."""
    return int(np.bincount(datasets.load(name).y).argmax())


def _constrained(settings: Settings) -> dict[str, int]:
    free = {"plugin": 0, "plugin_bal": 0, "frank_wolfe": settings.calls["frank_wolfe"]}
    return {**free, "auto": 0, "calibrated": 0, **settings.constrained_calls}


def _grid(cell: object, names: list[str], splits: int, methods: dict[str, int]) -> list[Task]:
    return list(_tasks(cell, names, splits, methods))


def _tasks(cell: object, names: list[str], splits: int, methods: dict[str, int]) -> Iterator[Task]:
    for name in names:
        for seed in range(splits):
            for method, budget in methods.items():
                key = (name, seed, method, budget)
                yield Task(key, partial(cell, *key))


__all__ = ["Split", "calls", "coverage", "equalopp", "hmean", "microf1", "trivial"]
