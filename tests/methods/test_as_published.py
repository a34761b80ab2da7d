"""The paper's methods without our aids, against the full convex program: their own steps alone must lead there."""

from __future__ import annotations

import numpy as np
import pytest
from methods.problems import PROBLEMS

import metricfit as mf
from metricfit.methods import GDA, Bisection, Ellipsoid, FrankWolfe, Method, SplitFrankWolfe, Walk
from metricfit.methods.dual.constants import Constants

# Steps of the appendix's grid. The constants of the theorems are worst cases: with the room that random classifiers
# have, the first thousand steps lead almost nowhere.
GAME = GDA(step=(0.01, 0.1), room=0.5, as_published=True)
# Divided by t as printed, the multipliers hardly move: 1,000 calls leave a violation of .02.
SPLIT = SplitFrankWolfe(as_published=True, over_t=False)
ELLIPSOID = Ellipsoid(radius=20.0, as_published=True)
HALVES = Bisection(inner=GDA(step=(0.1, 0.1), room=0.5, as_published=True), as_published=True)

# Problem, method, calls, and how far from the optimum and outside the constraints the answer may be. The methods come
# to between a half and a tenth of that.
REACHED = [
    ("h_mean", FrankWolfe(as_published=True), 500, 2e-3, 0.0),
    ("q_mean", FrankWolfe(as_published=True), 500, 2e-3, 0.0),
    ("min_recall", GAME, 2000, 0.015, 0.0),
    ("h_mean, deviation", GAME, 2000, 0.01, 4e-3),
    ("accuracy, opportunity", GAME, 2000, 0.01, 4e-3),
    ("accuracy, q_mean", GAME, 2000, 0.01, 0.015),
    ("q_mean", SPLIT, 500, 2e-3, 0.0),
    ("h_mean, deviation", SPLIT, 500, 2e-3, 2e-3),
    ("accuracy, opportunity", SPLIT, 500, 4e-3, 4e-3),
    (
        "h_mean, deviation",
        SplitFrankWolfe(line_search=True, as_published=True, over_t=False),
        500,
        5e-3,
        2e-3,
    ),
    ("micro_f1", HALVES, 50, 2e-3, 0.0),
    ("micro_f1, parity", HALVES, 4500, 4e-3, 4e-3),
    ("jaccard, precision", HALVES, 9000, 4e-3, 0.015),
    ("worst f_beta", HALVES, 4500, 4e-3, 0.0),
]


@pytest.mark.parametrize(("name", "method", "calls", "near", "missed"), REACHED)
@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_methods_converge_without_aids(
    name: str, method: Method, calls: int, near: float, missed: float
) -> None:
    case = PROBLEMS[name]
    result = case.solve(method=method, max_calls=calls, tol=1e-4 if method is not HALVES else 2e-3)
    assert result.value == pytest.approx(case.best(), abs=near)
    assert max((record.violation for record in result.constraints), default=0.0) <= missed


@pytest.mark.parametrize("name", ["h_mean", "min_recall", "h_mean, deviation", "accuracy, opportunity"])
def test_the_ellipsoid_closes_in_on_the_dual_optimum(name: str) -> None:
    # A mixture of many rules is good whatever made them; the bound is good only if the multipliers are.
    case = PROBLEMS[name]
    best, result = case.best(), case.solve(method=ELLIPSOID, max_calls=600)
    assert result.bound == pytest.approx(best, abs=2e-4)
    assert case.sign * (result.bound - best) >= -1e-6
    assert result.value == pytest.approx(best, abs=2e-4)
    assert max((record.violation for record in result.constraints), default=0.0) <= 1e-9


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_published_methods_do_not_tell_that_constraints_conflict() -> None:
    case = PROBLEMS["accuracy"]
    limits = [mf.recall(0) >= 0.99, mf.recall(2) >= 0.99]
    for method in (GAME, SPLIT):
        given = case.sample.arguments()
        if method is SPLIT:
            method = SplitFrankWolfe(as_published=True, zeta=1.0, over_t=False)
        result = mf.optimize(
            objective=case.objective,
            constraints=limits,
            method=method,
            counting="model",
            max_calls=60,
            **given,
        )
        assert max(record.violation for record in result.constraints) > 0.05


def test_without_room_the_constants_of_the_theorem_are_asked_for() -> None:
    with pytest.raises(ValueError, match=r"r of Assumption 1 is unknown; give room"):
        PROBLEMS["cost, g_mean"].solve(method=GDA(as_published=True), max_calls=10)
    with pytest.raises(ValueError, match="room"):
        GDA(room=0.0)


def test_constants_of_the_theorem_come_from_random_classifiers() -> None:
    program, oracle = PROBLEMS["g_mean, parity"].bind()
    constants = Constants.of(program, Walk(program, oracle), "random", {})
    # Random classifiers have no disparity, so that the room is the limit of the constraint.
    assert constants.inverse_room == pytest.approx(1 / 0.02, rel=1e-4)
    assert constants.lambda_max == pytest.approx(2 * constants.lipschitz * 51, rel=1e-4)
    assert constants.mu_max == pytest.approx(100, rel=1e-4)
    down, up = constants.steps(200, program)
    reach = 4 * (1 + 50) * constants.lipschitz + 2 * 50
    functions = sum(node.size for node in program.bounds)
    assert down == pytest.approx(1 / (reach * 20), rel=1e-4)
    assert up == pytest.approx(reach / ((1 + 2 * np.sqrt(functions)) * 20), rel=1e-4)
