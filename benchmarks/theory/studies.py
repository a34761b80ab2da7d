"""What the theorems say, measured on distributions whose class probabilities are known exactly."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from population import line

import metricfit as mf
from metricfit.datasets import example
from metricfit.methods import GDA, Bisection, Ellipsoid, FrankWolfe, Method, SplitFrankWolfe

BUDGETS = (3, 10, 30, 100, 300, 1000, 3000)
POINTS = 4001
COVERAGE = (mf.coverage_deviation() <= 0.01,)
# With coverage within .01 of the priors, deciding by the priors keeps the constraint by .01: r of Assumption 1. The
# Q-mean loss of three recalls has the Lipschitz constant 1 / sqrt(3).
ROOM, LIPSCHITZ = 0.01, 3**-0.5
# Theorems 14 and 18.
RADIUS, RADIUS_LIMITED = 2 * LIPSCHITZ, 2 * (LIPSCHITZ + (LIPSCHITZ + 1) / ROOM)


@lru_cache
def exact(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return class probabilities at the points of a quadrature, and the shares of the points."""
    if name == "Unif":  # its class probabilities take three values
        return example(name).class_probabilities([-0.5, 0.5, 1.5]), np.array([1 / 3, 1 / 2, 1 / 6])
    _, eta, share = line(name, POINTS)
    return eta, share


def solved(name: str, objective: object, limits: tuple[object, ...] = (), **options: object) -> mf.Result:
    eta, share = exact(name)
    return mf.optimize(
        eta,
        eta.argmax(axis=1),
        objective,
        limits,
        classes=range(eta.shape[1]),
        sample_weight=share,
        counting="model",
        **options,
    )


GAPS: dict[str, tuple[object, tuple[object, ...], dict[str, Method | str]]] = {
    "Q-mean": (
        "q_mean",
        (),
        {
            "Frank-Wolfe": FrankWolfe(as_published=True),
            "GDA": GDA(as_published=True, lipschitz=LIPSCHITZ),
            "Ellipsoid": Ellipsoid(radius=RADIUS, as_published=True),
            "column generation": "column_generation",
        },
    ),
    "Q-mean, coverage within .01": (
        "q_mean",
        COVERAGE,
        {
            "SplitFW": SplitFrankWolfe(as_published=True),
            "SplitFW, step not divided by t": SplitFrankWolfe(as_published=True, over_t=False),
            "GDA": GDA(as_published=True, room=ROOM, lipschitz=LIPSCHITZ),
            "GDA, steps .1": GDA(step=(0.1, 0.1), as_published=True, room=ROOM, lipschitz=LIPSCHITZ),
            "Ellipsoid": Ellipsoid(radius=RADIUS_LIMITED, as_published=True),
            "column generation": "column_generation",
        },
    ),
    "micro-F1": (
        "micro_f1(0)",
        (),
        {"Bisection": Bisection(as_published=True), "column generation": "column_generation"},
    ),
}


def gaps(budgets: tuple[int, ...] = BUDGETS) -> Iterator[dict[str, object]]:
    """Yield how far each method is from the optimum after a budget of calls, and outside the constraint."""
    for problem, (objective, limits, methods) in GAPS.items():
        best = solved("Gauss3", objective, limits, tol=1e-9, max_calls=2000)
        for name, method in methods.items():
            for calls in budgets if problem != "micro-F1" else (2, 4, 6, 8, 10, 12, 14, 16):
                found = solved("Gauss3", objective, limits, method=method, max_calls=calls, tol=1e-12)
                missed = max((record.violation for record in found.constraints), default=-np.inf)
                # The gap of an answer that breaks the constraint may be negative.
                yield {
                    "problem": problem,
                    "method": name,
                    "asked": calls,
                    "calls": found.n_oracle_calls,
                    "gap": best.value - found.value,
                    "violation": missed,
                    "optimum": best.value,
                    "proven": best.bound,
                }


# Problem, distribution, and the entries d of the confusion vector on which objective and constraints depend.
COUNTED: tuple[tuple[str, object, tuple[object, ...], str, int], ...] = (
    ("H-mean", "h_mean", (), "Unif", 2),
    ("H-mean", "h_mean", (), "NormImbal", 2),
    ("H-mean", "h_mean", (), "Gauss3", 3),
    ("smallest recall", "min_recall", (), "Gauss3", 3),
    ("micro-F1", "micro_f1(0)", (), "Gauss3", 3),
    ("H-mean, coverage(1) <= .3", "h_mean", (mf.coverage(1) <= 0.3,), "NormBal", 3),
    ("Q-mean, coverage within .01", "q_mean", COVERAGE, "Gauss3", 6),
    ("G-mean, precision(1) >= .15", "g_mean", (mf.precision(1) >= 0.15,), "Gauss3", 4),
    ("G-mean, three limits", "g_mean", (*COVERAGE, mf.recall(0) >= 0.5, mf.recall(2) >= 0.2), "Gauss3", 6),
)


def rules() -> Iterator[dict[str, object]]:
    """Yield how many rules the best classifier mixes (Proposition 10: d + 1 are enough; continuous: 2)."""
    for problem, objective, limits, name, d in COUNTED:
        found = solved(name, objective, limits, tol=1e-6, max_calls=2000)
        yield {"problem": problem, "distribution": name, "d + 1": d + 1, "rules": found.policy.n_rules}


def gradient(objective: str, r: np.ndarray) -> np.ndarray:
    """Return the slopes of a mean of recalls."""
    if objective == "h_mean":
        return r.size / (np.sum(1 / r) * r) ** 2
    if objective == "g_mean":
        return np.prod(r) ** (1 / r.size) / (r.size * r)
    return (1 - r) / np.sqrt(r.size * np.sum((1 - r) ** 2))


def loss_matrices() -> Iterator[dict[str, object]]:
    """Yield the loss matrix that a metric amounts to (Proposition 9), and how good its best rule is for the metric."""
    for name in ("NormImbal", "NormBal", "Norm3", "Gauss3"):
        for objective in ("h_mean", "g_mean", "q_mean"):
            best = solved(name, objective, tol=1e-9, max_calls=2000)
            C = best.confusion.values.sum(axis=0)
            weights = gradient(objective, C.diagonal() / C.sum(axis=1)) / C.sum(axis=1)
            weights /= weights.max()
            # Nothing is paid for a right decision; a wrong one costs what a hit of the true class would gain.
            cost = weights[:, None] * (1 - np.eye(weights.size))
            table = solved(name, mf.cost(cost), tol=1e-9)
            D = table.confusion.values.sum(axis=0)
            recovered = _mean(objective, D.diagonal() / D.sum(axis=1))
            yield {
                "distribution": name,
                "metric": objective,
                "costs of a miss": " ".join(f"{w:.3f}" for w in weights),
                "optimum": best.value,
                "best rule of the costs": recovered,
                "rules": table.policy.n_rules,
            }


def _mean(objective: str, r: np.ndarray) -> float:
    if objective == "h_mean":
        return float(r.size / np.sum(1 / r))
    if objective == "g_mean":
        return float(np.prod(r) ** (1 / r.size))
    return float(1 - np.sqrt(np.mean((1 - r) ** 2)))


COST = np.array([[0.0, 0.2, 0.4], [0.6, 0.0, 0.3], [1.0, 0.8, 0.0]])


def regrets() -> Iterator[dict[str, object]]:
    """Yield the regret of rules for wrong probabilities against their error (Theorem 20: at most the error)."""
    eta, share = exact("Gauss3")
    for kind, wrong in (("flattened", _flattened), ("sharpened", _sharpened), ("noisy", _noisy)):
        for size in (0.05, 0.1, 0.2, 0.4, 0.8):
            given = wrong(eta, size)
            error = float(share @ np.abs(given - eta).sum(axis=1))
            row: dict[str, object] = {"kind": kind, "size": size, "error": error}
            for name, objective in (("cost", mf.cost(COST)), ("H-mean", "h_mean")):
                best = solved("Gauss3", objective, tol=1e-9, max_calls=2000)
                policy = mf.optimize(
                    given,
                    eta.argmax(axis=1),
                    objective,
                    classes=range(3),
                    sample_weight=share,
                    counting="model",
                    tol=1e-9,
                    max_calls=2000,
                ).policy
                C = (eta * share[:, None]).T @ policy.decision_proba(given)
                value = (
                    float((COST * C).sum())
                    if name == "cost"
                    else -_mean("h_mean", C.diagonal() / C.sum(axis=1))
                )
                row[name] = value - (best.value if name == "cost" else -best.value)
            yield row


def _flattened(eta: np.ndarray, size: float) -> np.ndarray:
    return (1 - size) * eta + size / eta.shape[1]


def _sharpened(eta: np.ndarray, size: float) -> np.ndarray:
    powered = eta ** (1 + 2 * size)
    return powered / powered.sum(axis=1, keepdims=True)


def _noisy(eta: np.ndarray, size: float) -> np.ndarray:
    drawn = eta * np.exp(size * np.random.default_rng(0).normal(size=eta.shape))
    return drawn / drawn.sum(axis=1, keepdims=True)
