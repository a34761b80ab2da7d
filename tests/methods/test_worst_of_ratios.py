"""The worst of several ratios with unlike denominators: found in few steps, against a linear program over the rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import metricfit as mf

LIMIT, TOL = 0.05, 1e-4


def achievable(level: float, proba: np.ndarray, group: np.ndarray) -> bool:
    """Whether decision probabilities of the rows give recall(0) and precision(1) of a level, within the parity."""
    rows, k = proba.shape
    table, right = [], []

    def at_most(coefficients: dict[int, np.ndarray], limit: float) -> None:
        row = np.zeros((rows, k))
        for decision, column in coefficients.items():
            row[:, decision] = column
        table.append(row.ravel())
        right.append(limit)

    at_most({0: -proba[:, 0] / proba[:, 0].sum()}, -level)
    at_most({1: (level - proba[:, 1]) / rows}, 0.0)
    at_most({1: np.full(rows, -1.0)}, -1e-3)  # a precision of no rows is no precision
    for value in np.unique(group):
        for j in range(k):
            apart = (group == value) / (group == value).sum() - 1 / rows
            at_most({j: apart}, LIMIT)
            at_most({j: -apart}, LIMIT)
    sums = np.kron(np.eye(rows), np.ones(k))
    found = linprog(np.zeros(rows * k), np.array(table), right, sums, np.ones(rows), bounds=(0, 1))
    return found.status == 0


@pytest.mark.parametrize("seed", [2, 3])
def test_a_recall_and_the_precision_of_a_rare_decision(seed):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([4.0, 0.5, 2.0], 120)
    y = np.array([rng.choice(3, p=p) for p in proba])
    group = rng.integers(0, 2, 120)
    worst = mf.minimum(mf.recall(0), mf.precision(1))
    result = mf.optimize(
        proba,
        y,
        worst,
        [mf.demographic_parity(over="group") <= LIMIT],
        sensitive_features=group,
        counting="model",
        tol=TOL,
        max_calls=9,  # steps that compare the ratios by their numerators need 12 and more
    )
    assert result.status == "optimal"
    assert result.constraints[0].violation <= 1e-9
    assert achievable(result.value - 1e-6, proba, group)
    assert not achievable(result.value + TOL, proba, group)
