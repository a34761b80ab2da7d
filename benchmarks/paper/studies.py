"""The paper's further studies: convergence in oracle calls, retraining, CIFAR, and timings as ratios."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache, partial

import numpy as np
import plain_numpy
import scoring
from cells import Table, Task
from experiments import cached
from probabilities import Split, features, protocol
from settings import RETRAINED, Settings
from solving import METHODS, solve, told

import metricfit as mf
from metricfit import datasets

CURVE_SETS = ("abalone", "pageblocks", "satimage", "macho")
BUDGETS = (3, 5, 10, 20, 50, 100, 200, 500)
CURVE_LOSSES = {"min_recall": scoring.min_max_loss, "h_mean": scoring.h_mean_loss}
GRADIENTS = {"min_recall": plain_numpy.min_max_gradient, "h_mean": plain_numpy.h_mean_gradient}


def curves(settings: Settings) -> tuple[Table, list[Task]]:
    """Loss after a budget of calls, split 0.

    Frank-Wolfe refuses the min-max loss here, so the NumPy version shows what it would do.
    """
    table = Table(
        settings.results / "curves.csv",
        ("objective", "dataset", "method", "budget"),
        ("train_loss", "test_loss", "train_violation", "test_violation", "calls"),
    )

    def cell(objective: str, name: str, method: str, budget: int) -> dict[str, object]:
        constrained = objective == "coverage"
        data = cached(name, 0, objective)
        metric = "h_mean" if constrained else objective
        loss = CURVE_LOSSES[metric]
        if method == "frank_wolfe":
            weights, gains, _ = plain_numpy.frank_wolfe(data.P, data.y, GRADIENTS[metric], budget)
            train = scoring.expected(plain_numpy.mixture(data.P, weights, gains), data.y)
            test = scoring.expected(plain_numpy.mixture(data.Pt, weights, gains), data.yt)
            used = budget
        else:
            limits = [mf.coverage_deviation() <= 0.01] if constrained else []
            train, test, result = solve(data, method, metric, limits, max_calls=budget)
            used = result.n_oracle_calls
        row: dict[str, object] = {"train_loss": loss(train), "test_loss": loss(test), "calls": used}
        if constrained:
            row["train_violation"] = scoring.coverage_violation(train)
            row["test_violation"] = scoring.coverage_violation(test)
        return row

    tasks = []
    for name in CURVE_SETS[: 1 if settings.small_only else None]:
        for objective in ("min_recall", "h_mean", "coverage"):
            first = "split_frank_wolfe" if objective == "coverage" else "frank_wolfe"
            most = {first: 500, "gda": 500, "ellipsoid": 200, "auto": 200}
            for method, top in most.items():
                for budget in BUDGETS:
                    # A constrained walk needs some calls to find any rule that keeps the constraint.
                    if budget <= (50 if settings.small_only else top) and (
                        objective != "coverage" or budget >= 10
                    ):
                        key = (objective, name, method, budget)
                        tasks.append(Task(key, partial(cell, *key)))
    return table, tasks


def retrain(settings: Settings) -> tuple[Table, list[Task]]:
    """H-mean with the plug-in oracle and with weighted logistic regression, at 20 and 100 calls."""
    table = Table(
        settings.results / "retrain.csv",
        ("dataset", "split", "method", "oracle", "budget"),
        ("train_loss", "test_loss", "calls"),
    )

    def cell(name: str, seed: int, method: str, oracle: str, budget: int) -> dict[str, object]:
        from sklearn.exceptions import ConvergenceWarning

        data = cached(name, seed)
        if oracle == "plugin":
            train, test, result = solve(data, method, "h_mean", max_calls=budget)
        else:
            asked, Xt = _retrained(name, seed)
            with warnings.catch_warnings():
                # Extreme cost weights make some fits stop at their iteration limit.
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = mf.optimize(
                    data.P,
                    data.y,
                    "h_mean",
                    oracle=asked,
                    max_calls=budget,
                    method=METHODS.get(method, method),
                    counting="labels",
                )
            train = scoring.expected(result.policy.decision_proba(asked.X), data.y)
            test = scoring.expected(result.policy.decision_proba(Xt), data.yt)
        return {
            "train_loss": scoring.h_mean_loss(train),
            "test_loss": scoring.h_mean_loss(test),
            "calls": result.n_oracle_calls,
        }

    names = CURVE_SETS[:1] if settings.small_only else (*CURVE_SETS, "covtype")
    tasks = []
    for name in names:
        for seed in range(settings.splits):
            for budget in (20,) if settings.small_only else (20, 100):
                for method in RETRAINED:
                    for oracle in RETRAINED[method]:
                        key = (name, seed, method, oracle, budget)
                        tasks.append(Task(key, partial(cell, *key)))
    return table, tasks


@lru_cache(maxsize=1)
def _retrained(name: str, seed: int) -> tuple[mf.RetrainOracle, np.ndarray]:
    """Return the oracle of one split and its test rows; all cells share it, so that no loss is trained twice."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    X, Xt, *_ = features(name, seed, protocol(name, "hmean"))
    scaler = StandardScaler().fit(X)
    model = LogisticRegression(C=10.0, max_iter=300)
    return mf.RetrainOracle(model, scaler.transform(X), cached(name, seed).y), scaler.transform(Xt)


CIFAR_VALUES = tuple(
    f"{rows}_{what}" for rows in ("train", "test") for what in ("error", "loss", "violation")
)
CIFAR_PROBLEMS = {
    "plugin": ("plugin", "accuracy", False),
    "frank_wolfe[h_mean]": ("frank_wolfe", "h_mean", False),
    "split_frank_wolfe[0-1]": ("split_frank_wolfe", "accuracy", True),
    "split_frank_wolfe[h_mean]": ("split_frank_wolfe", "h_mean", True),
    "auto[h_mean]": ("auto", "h_mean", False),
    "auto[0-1]": ("auto", "accuracy", True),
    "auto[h_mean, coverage]": ("auto", "h_mean", True),
}


def cifar55(settings: Settings) -> tuple[Table, list[Task]]:
    """Only the test probabilities exist: half of those rows choose the rule, the other half judge it."""
    table = Table(settings.results / "cifar55.csv", ("split", "method"), (*CIFAR_VALUES, "calls"))

    def cell(seed: int, label: str) -> dict[str, object]:
        from sklearn.model_selection import train_test_split

        stored = datasets.load("cifar55_test")
        P, Pt, y, yt = train_test_split(
            stored.P_test.astype(float), stored.y_test.astype(int), test_size=0.5, random_state=seed
        )
        return _cifar(Split(P, y, Pt, yt, np.zeros(0), np.zeros(0)), label, None, settings)

    splits = 1 if settings.small_only else 5
    return table, [Task((seed, m), partial(cell, seed, m)) for seed in range(splits) for m in CIFAR_PROBLEMS]


def cifar10(settings: Settings) -> tuple[Table, list[Task]]:
    """Noisy labels choose the rule, clean labels judge it; the clean priors are known, as in the paper."""
    table = Table(settings.results / "cifar10.csv", ("split", "method"), (*CIFAR_VALUES, "calls"))

    def cell(seed: int, label: str) -> dict[str, object]:
        s = datasets.load("cifar10_flip")
        clean = np.repeat([2 / 110, 2 / 11], 5)
        data = Split(
            s.P_train.astype(float),
            s.y_train.astype(int),
            s.P_test.astype(float),
            s.true_y_test.astype(int),
            np.zeros(0),
            np.zeros(0),
        )
        return _cifar(data, label, clean, settings)

    return table, [Task((0, m), partial(cell, 0, m)) for m in CIFAR_PROBLEMS]


def _cifar(data: Split, label: str, target: np.ndarray | None, settings: Settings) -> dict[str, object]:
    method, objective, constrained = CIFAR_PROBLEMS[label]
    wanted = "prior" if target is None else target.tolist()
    limits = [mf.coverage_deviation(target=wanted) <= 0.01] if constrained else []
    budget = {**settings.calls, **settings.constrained_calls}.get(method)
    train, test, result = solve(data, method, objective, limits, max_calls=budget)
    row: dict[str, object] = {}
    for rows, C in (("train", train), ("test", test)):
        row[f"{rows}_error"] = scoring.error(C)
        row[f"{rows}_loss"] = scoring.h_mean_loss(C)
        row[f"{rows}_violation"] = scoring.coverage_violation(C, target)
    return {**row, "calls": told(result)["calls"]}


def timing(settings: Settings) -> tuple[Table, list[Task]]:
    """Seconds are never reported: only ratios to Algorithm 1 in NumPy.

    Run in the same process before and after.
    """
    table = Table(
        settings.results / "timing.csv",
        ("dataset", "budget"),
        (
            "frank_wolfe_ratio",
            "default_ratio",
            "numpy_train_loss",
            "frank_wolfe_train_loss",
            "default_train_loss",
        ),
    )

    def cell(name: str, budget: int) -> dict[str, object]:
        data = cached(name, 0)
        mf.optimize(data.P[:500], data.y[:500], "accuracy", max_calls=3)  # compiles
        numpy_seconds, ours, default, losses = [], [], [], []
        for _ in range(3):
            start = time.perf_counter()
            _, _, path = plain_numpy.frank_wolfe(data.P, data.y, plain_numpy.h_mean_gradient, budget)
            numpy_seconds.append(time.perf_counter() - start)
            start = time.perf_counter()
            walked = mf.optimize(
                data.P, data.y, "h_mean", method=METHODS["frank_wolfe"], counting="labels", max_calls=budget
            )
            ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            best = mf.optimize(data.P, data.y, "h_mean")
            default.append(time.perf_counter() - start)
            losses = [1 - path.shape[1] / (1 / path[-1]).sum(), 1 - walked.value, 1 - best.value]
        plain = np.median(numpy_seconds)
        return {
            "frank_wolfe_ratio": float(np.median(ours) / plain),
            "default_ratio": float(np.median(default) / plain),
            "numpy_train_loss": losses[0],
            "frank_wolfe_train_loss": losses[1],
            "default_train_loss": losses[2],
        }

    budget = settings.calls["frank_wolfe"]
    names = CURVE_SETS[:1] if settings.small_only else (*CURVE_SETS, "covtype")
    return table, [Task((name, budget), partial(cell, name, budget)) for name in names]


__all__ = ["cifar10", "cifar55", "curves", "retrain", "timing"]
