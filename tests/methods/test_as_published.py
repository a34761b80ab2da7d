"""The paper's methods without our aids, against the full convex program: their own steps alone must lead there."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from methods.problems import PROBLEMS

import metricfit as mf
from metricfit.methods import GDA, Bisection, Ellipsoid, FrankWolfe, Method, SplitFrankWolfe, Walk
from metricfit.methods.base import Budget

# Steps of the appendix's grid. The constants of the theorems are worst cases: with the room that random classifiers
# have, the first thousand steps lead almost nowhere.
GAME = GDA(step=(0.01, 0.1), room=0.5, as_published=True)
SPLIT = SplitFrankWolfe(as_published=True)
ELLIPSOID = Ellipsoid(radius=20.0, as_published=True)
HALVES = Bisection(inner=GDA(step=(0.1, 0.1), room=0.5, as_published=True), as_published=True)

# Problem, method, calls, and how far from the optimum and outside the constraints the answer may be. The methods come
# to between a half and a tenth of that.
REACHED = [
    ("h_mean", FrankWolfe(), 500, 2e-3, 0.0),
    ("q_mean", FrankWolfe(), 500, 2e-3, 0.0),
    ("min_recall", GAME, 2000, 0.015, 0.0),
    ("h_mean, deviation", GAME, 2000, 0.01, 4e-3),
    ("accuracy, opportunity", GAME, 2000, 0.01, 4e-3),
    ("accuracy, q_mean", GAME, 2000, 0.01, 0.015),
    ("q_mean", SPLIT, 500, 2e-3, 0.0),
    ("h_mean, deviation", SPLIT, 500, 2e-3, 2e-3),
    ("accuracy, opportunity", SPLIT, 500, 4e-3, 4e-3),
    ("h_mean, deviation", SplitFrankWolfe(line_search=True, as_published=True), 500, 5e-3, 2e-3),
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


@pytest.mark.parametrize("method", [GAME, GDA(step="grid", room=0.5, as_published=True)])
@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_the_answer_of_descent_and_ascent_is_a_plain_average(method: GDA) -> None:
    program, oracle = PROBLEMS["h_mean, deviation"].bind()
    walk = Walk(program, oracle, budget=Budget(90))
    *_, last = method.steps(program, walk)
    used = np.flatnonzero(last.weights)
    runs = 9 if method.step == "grid" else 1
    np.testing.assert_allclose(last.weights[used], runs / 90)
    np.testing.assert_allclose(last.u, walk.vectors[used].mean(axis=0))
    result = PROBLEMS["h_mean, deviation"].solve(method=method, max_calls=90)
    assert result.value == pytest.approx(program.sign * program.value(last.u))


def test_frank_wolfe_takes_the_steps_of_algorithm_1() -> None:
    program, oracle = PROBLEMS["h_mean"].bind()
    steps = 20
    walk = Walk(program, oracle, budget=Budget(steps + 2))
    *_, last = islice(FrankWolfe().steps(program, walk), steps + 1)
    # With steps of 2 / (t + 1), the rule of step t has weight 2 t / (T (T + 1)), and the first rule none.
    expected = np.arange(steps + 1) * 2 / (steps * (steps + 1))
    np.testing.assert_allclose(last.weights, expected, atol=1e-12)
    np.testing.assert_allclose(last.u, walk.mix(last.weights))


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_published_methods_do_not_tell_that_constraints_conflict() -> None:
    case = PROBLEMS["accuracy"]
    limits = [mf.recall(0) >= 0.99, mf.recall(2) >= 0.99]
    for method in (GAME, SPLIT):
        given = case.sample.arguments()
        if method is SPLIT:
            method = SplitFrankWolfe(as_published=True, zeta=1.0)
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
    from metricfit.methods.gda import Game

    program, oracle = PROBLEMS["g_mean, parity"].bind()
    game = Game(program, Walk(program, oracle), as_published=True)
    # Random classifiers have no disparity, so that the room is the limit of the constraint.
    assert game.inverse_room == pytest.approx(1 / 0.02)
    assert game.ball == pytest.approx(2 * game.lipschitz * (1 + 50))
    down, up = game.theorem_steps(200)
    reach = 4 * (1 + 50) * game.lipschitz + 2 * 50
    assert down == pytest.approx(1 / (reach * 20))
    assert up == pytest.approx(reach / ((1 + 2 * np.sqrt(game.limits.size)) * 20))
