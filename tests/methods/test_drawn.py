"""Random problems of any metrics and up to three constraints, against the full convex program.

METRICFIT_PROBLEMS=3000 makes it three thousand.
"""

from __future__ import annotations

import os
import warnings

import pytest
from methods.drawn import problem

from metricfit.metrics import METRICS

COUNT = int(os.environ.get("METRICFIT_PROBLEMS", "300"))
# Limits of any shape that mixtures keep but no single rule does, and a best value of zero.
MIXED = (1248, 1625, 2234, 2489)


@pytest.mark.parametrize("seed", sorted({*range(COUNT), *MIXED}))
def test_is_solved_as_well_as_can_be(seed):
    case = problem(seed, list(METRICS))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of few rows, and of labels that happen to refute their probabilities
        result = case.solve()
    assert case.objective(result.confusion) == pytest.approx(result.value, abs=1e-9)
    convex = all(bound.convex for bound in case.bounds)
    assert result.feasible, [(record.name, record.violation) for record in result.constraints]
    if case.truth is None:
        return
    # Constraints that keep no convex set are left out of the program, whose best value is then a bound.
    best = case.best()
    assert case.sign * result.value <= case.sign * best + 1e-6
    if convex:
        assert result.status == "optimal"
        assert result.value == pytest.approx(best, abs=1.1e-4)
        assert case.sign * result.bound >= case.sign * best - 1e-6
