"""Known distributions: exact optima by quadrature, and how fast the methods get there (sections 3, 8.3)."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import scoring
from cells import Table, Task
from scipy.optimize import minimize
from settings import Settings
from solving import METHODS

import metricfit as mf
from metricfit.datasets import example, make_gaussians

SIZES = (300, 1000, 3000, 10_000, 30_000, 100_000)
DRAWS = 5
TEST_ROWS = 200_000
CALLS = {"frank_wolfe": 300, "split_frank_wolfe": 500, "gda": 500, "ellipsoid": 200, "auto": None}


def line(name: str, points: int = 20_001) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points on the line of a Gaussian example's means, their class probabilities and their shares.

    The class probabilities depend on the place on that line only, so these weighted rows have the
    achievable set of the distribution, up to the error of the quadrature.
    """
    d = example(name)
    span = d.means[-1] - d.means[0]
    u = np.linalg.solve(d.covariance, span)
    direction = u / np.sqrt(u @ d.covariance @ u)
    places = d.means @ direction
    t = np.linspace(places.min() - 7, places.max() + 7, points)
    density = (d.priors * np.exp(-((t[:, None] - places) ** 2) / 2)).sum(axis=1)
    rows = (t / (span @ direction))[:, None] * span
    return rows, d.class_probabilities(rows), density / density.sum()


def on_line(name: str, objective: object, constraints: object = (), **options: object) -> mf.Result:
    """Solve a problem on the exact distribution."""
    _, proba, weight = line(name)
    return mf.optimize(
        proba,
        proba.argmax(axis=1),
        objective,
        constraints,
        classes=range(proba.shape[1]),
        sample_weight=weight,
        counting="model",
        **options,
    )


@lru_cache
def bayes(grid_calls: int = 3600) -> dict[str, float]:
    """Return the smallest Q-mean loss of the 3-class Gaussians, with and without the coverage constraint.

    Without it: a search over weights with exact confusion matrices, and column generation on the quadrature
    as a check. With it: the mixture of two or more rules that column generation certifies, and the search
    of the paper over a grid of weights.
    """
    d = example("Gauss3")

    def loss(logs: np.ndarray) -> float:
        return scoring.q_mean_loss(d.confusion(np.exp([0.0, *logs]))[None])

    starts = [(a, b) for a in np.linspace(0, 4, 9) for b in np.linspace(0, 5, 11)]
    start = min(starts, key=lambda s: loss(np.array(s)))
    searched = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    free = on_line("Gauss3", "q_mean", tol=1e-7)
    limit = [mf.coverage_deviation() <= 0.01]
    kept = on_line("Gauss3", "q_mean", limit, tol=1e-7)
    grid = on_line("Gauss3", "q_mean", limit, method="grid", max_calls=grid_calls)
    return {
        "unconstrained": float(searched.fun),
        "unconstrained_bound": 1 - free.bound,
        "coverage": 1 - kept.value,
        "coverage_bound": 1 - kept.bound,
        "coverage_grid": 1 - grid.value,
    }


def gaussians(settings: Settings) -> tuple[Table, list[Task]]:
    """Q-mean on samples of growing size, judged on new rows with exact class probabilities."""
    table = Table(
        settings.results / "gaussians.csv",
        ("problem", "rows", "draw", "method", "budget"),
        ("train_loss", "test_loss", "test_violation", "calls"),
    )

    def cell(problem: str, size: int, draw: int, method: str, budget: object) -> dict[str, object]:
        from sklearn.linear_model import LogisticRegression

        sample = make_gaussians(size, draw)
        model = LogisticRegression().fit(sample.X, sample.y)
        limits = [mf.coverage_deviation() <= 0.01] if problem == "coverage" else []
        result = mf.optimize(
            model.predict_proba(sample.X),
            sample.y,
            "q_mean",
            limits,
            method=METHODS.get(method, method),
            counting="auto" if method == "auto" else "labels",
            max_calls=budget,
        )
        X, eta = _test_rows()
        shares = result.policy.decision_proba(model.predict_proba(X))
        C = (eta.T @ shares / len(X))[None]
        return {
            "train_loss": 1 - result.value,
            "test_loss": scoring.q_mean_loss(C),
            "test_violation": scoring.coverage_violation(C, example("Gauss3").priors),
            "calls": result.n_oracle_calls,
        }

    tasks = []
    sizes, draws = (SIZES[:3], 2) if settings.small_only else (SIZES, DRAWS)
    for problem, first in (("unconstrained", "frank_wolfe"), ("coverage", "split_frank_wolfe")):
        for size in sizes:
            for draw in range(draws):
                for method in (first, "gda", "ellipsoid", "auto"):
                    key = (problem, size, draw, method, CALLS[method])
                    tasks.append(Task(key, partial(cell, *key)))
    return table, tasks


def optima(settings: Settings) -> tuple[Table, list[Task]]:
    table = Table(settings.results / "optima.csv", ("problem",), ("loss",))
    names = ("unconstrained", "unconstrained_bound", "coverage", "coverage_bound", "coverage_grid")
    calls = 400 if settings.small_only else 3600
    return table, [Task((name,), partial(lambda n: {"loss": bayes(calls)[n]}, name)) for name in names]


@lru_cache
def _test_rows() -> tuple[np.ndarray, np.ndarray]:
    sample = make_gaussians(TEST_ROWS, random_state=12345)
    return sample.X, sample.class_probabilities(sample.X)
