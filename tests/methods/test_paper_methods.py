"""The paper's methods against the full convex program: optima, certificates, budgets, pruning, refusals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from methods.problems import PROBLEMS
from methods.truth import Case, Sample

import metricfit as mf
from metricfit.exceptions import DivergenceWarning
from metricfit.methods import GDA, METHODS, Bisection, Ellipsoid, Grid, Method, Plugin, SplitFrankWolfe

# Every objective and constraint that one of the methods treats in a way of its own.
CASES = [
    "cost",
    "h_mean",
    "q_mean",
    "min_recall",
    "kld",
    "micro_f1",
    "worst f_beta",
    "mean less deviation",
    "h_mean, deviation",
    "accuracy, opportunity",
    "g_mean, parity",
    "cost, g_mean",
    "q_mean, ratio",
    "min_recall, kld",
    "micro_f1, parity",
    "jaccard, precision",
    "review",
    "fewer decisions",
]
PAPER = ("frank_wolfe", "split_frank_wolfe", "gda", "ellipsoid", "bisection", "grid")
# Enough on tiny data; the defaults are those of the paper.
CALLS = {"frank_wolfe": 500, "split_frank_wolfe": 300, "gda": 300, "ellipsoid": 250, "grid": 400}
CONSTRAINED = [GDA(), GDA(step="grid"), SplitFrankWolfe(), SplitFrankWolfe(line_search=True), Ellipsoid()]


@cache
def truth(name: str, groups: int) -> tuple[Case, float]:
    case = replace(PROBLEMS[name], sample=Sample.draw(groups=groups))
    return case, case.best()


def pairs() -> list[tuple[str, str, int]]:
    """Every method with every problem it takes; the grid without attributes, which multiply its weights."""
    found = []
    for method in PAPER:
        for name in CASES:
            groups = 0 if method == "grid" else 2
            needs = any(word in name for word in ("parity", "opportunity", "worst", "ratio"))
            if groups == 0 and needs:
                continue
            program, _ = replace(PROBLEMS[name], sample=Sample.draw(groups=groups)).bind()
            if METHODS[method]().refusal(program) is None:
                found.append((method, name, groups))
    return found


@pytest.mark.parametrize(("method", "name", "groups"), pairs())
def test_methods_reach_the_optimum_of_the_full_program(method: str, name: str, groups: int) -> None:
    case, best = truth(name, groups)
    result = case.solve(method=method, max_calls=CALLS.get(method))
    assert result.value == pytest.approx(best, abs=0.01)
    assert all(record.violation <= 1e-6 for record in result.constraints)
    assert result.n_oracle_calls <= CALLS.get(method, METHODS[method].default_calls)
    # In minimisation, no bound is above the optimum.
    assert not result.certified or case.sign * (result.bound - best) >= -1e-6


def test_every_method_is_listed_and_auto_stays_column_generation() -> None:
    assert set(PAPER) < set(METHODS)
    assert next(iter(METHODS)) == "column_generation"
    assert PROBLEMS["h_mean, deviation"].solve().method == "column_generation"


def test_ellipsoid_certifies_its_answer() -> None:
    case, best = truth("h_mean, deviation", 2)
    result = case.solve(method="ellipsoid", tol=1e-3)
    assert (result.status, result.certified) == ("optimal", True)
    assert result.value >= best - 1e-3
    assert result.bound >= best - 1e-6


def test_central_cuts_work_too() -> None:
    case, best = truth("h_mean", 2)
    result = case.solve(method=Ellipsoid(radius=10.0, deep=False), max_calls=800)
    assert result.value == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("name", ["micro_f1, parity", "worst f_beta"])
def test_bisection_with_an_inner_problem_is_certified(name: str) -> None:
    case, best = truth(name, 2)
    result = case.solve(method="bisection", tol=1e-3)
    assert (result.status, result.certified) == ("optimal", True)
    assert best - 1e-3 <= result.value <= best + 1e-6
    assert result.bound >= best - 1e-6


@pytest.mark.parametrize("method", CONSTRAINED, ids=lambda method: method.name)
@pytest.mark.parametrize("calls", [1, 2, 3, 30, 111])
@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_the_budget_of_calls_is_obeyed(method: Method, calls: int) -> None:
    result = PROBLEMS["g_mean, parity"].solve(method=method, max_calls=calls)
    assert result.n_oracle_calls == calls
    assert result.status == "max_calls"


@pytest.mark.parametrize("method", [*CONSTRAINED, Bisection(), Grid()], ids=lambda method: method.name)
def test_runs_repeat_themselves(method: Method) -> None:
    name = "micro_f1" if method.name == "bisection" else "h_mean"
    case, _ = truth(name, 0)
    first, second = (case.solve(method=method, max_calls=60) for _ in range(2))
    assert (first.value, first.n_oracle_calls) == (second.value, second.n_oracle_calls)
    np.testing.assert_array_equal(first.confusion.values, second.confusion.values)


@pytest.mark.parametrize("method", CONSTRAINED, ids=lambda method: method.name)
def test_constraints_hold_where_labels_are_counted(method: Method) -> None:
    # Rows whose labels follow the probabilities only roughly, so that the plug-in rule is not the cheapest.
    random = np.random.default_rng(3)
    proba = random.dirichlet([6.0, 2.0, 1.0], 600)
    y = np.array([random.choice(3, p=p**0.7 / np.sum(p**0.7)) for p in proba])
    group = random.integers(0, 2, 600)
    limits = [mf.coverage_deviation() <= 0.01, mf.disparity(mf.recall(1), "group", to="mean") <= 0.02]
    result = mf.optimize(proba, y, "h_mean", limits, sensitive_features=group, method=method, max_calls=300)
    default = mf.optimize(proba, y, "h_mean", limits, sensitive_features=group)
    assert max(record.violation for record in result.constraints) <= 1e-9
    assert result.value >= default.value - 0.06


# Pruning


@pytest.mark.parametrize("kind", [GDA, SplitFrankWolfe])
@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_pruning_keeps_the_constraints_and_reports_prices(kind: type[Method]) -> None:
    # The floor costs accuracy, so that the average comes to it from below; a mixture of its rules keeps it.
    case, best = truth("accuracy, q_mean", 2)
    plain = case.solve(method=kind(prune="none"), max_calls=300)
    linear = case.solve(method=kind(prune="linear"), max_calls=300)
    mixed = case.solve(method=kind(prune="objective"), max_calls=300)
    assert plain.constraints[0].violation > 1e-3
    assert linear.constraints[0].violation <= 0 >= mixed.constraints[0].violation
    # Section 8.2 weighs iterates by an upper bound of the objective.
    assert linear.value <= mixed.value + 1e-9
    assert mixed.value == pytest.approx(best, abs=1e-3)
    gain = (case.best([0.0005]) - best) / 0.0005
    assert mixed.constraints[0].price == pytest.approx(gain, rel=0.1)
    assert linear.constraints[0].price >= 0
    # Without pruning there are no multipliers to tell a price by.
    assert np.isnan(plain.constraints[0].price)


@pytest.mark.parametrize("method", [GDA(), SplitFrankWolfe(), Ellipsoid()], ids=lambda method: method.name)
def test_infeasible_problems_are_told(method: Method) -> None:
    case = PROBLEMS["accuracy"]
    limits = [mf.recall(0) >= 0.99, mf.recall(2) >= 0.99]
    with pytest.raises(mf.InfeasibleError, match="cannot be kept together"):
        mf.optimize(
            objective=case.objective,
            constraints=limits,
            **case.sample.arguments(),
            method=method,
            counting="model",
        )


# Parameters and warnings


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GDA(step=(0.0, 0.1)), "step"),
        (lambda: GDA(step=(0.1, -1.0)), "step"),
        (lambda: GDA(step=(0.1, float("nan"))), "step"),
        (lambda: GDA(step=(0.1,)), "pair"),
        (lambda: GDA(step="fast"), "'theorem', 'grid'"),
        (lambda: GDA(prune="some"), "prune"),
        (lambda: Ellipsoid(radius=0.0), "radius"),
        (lambda: Ellipsoid(radius=float("inf")), "radius"),
        (lambda: Ellipsoid(radius=True), "radius"),
        (lambda: SplitFrankWolfe(zeta=-10.0), "zeta"),
        (lambda: SplitFrankWolfe(zeta="10"), "zeta"),
        (lambda: SplitFrankWolfe(eta=0.0), "eta"),
        (lambda: SplitFrankWolfe(prune="best"), "prune"),
        (lambda: Ellipsoid(prune="none"), "prune"),
        (lambda: Ellipsoid(cuts="both"), "cuts"),
        (lambda: GDA(room="large"), "room"),
        (lambda: GDA(room="mixture", as_published=True), "room='mixture' needs feasible_start"),
        (lambda: GDA(lipschitz=0.0), "lipschitz"),
        (lambda: GDA(lambda_max=-1.0), "lambda_max"),
        (lambda: GDA(mu_max=float("nan")), "mu_max"),
    ],
)
def test_bad_parameters_are_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_methods_name_those_that_can() -> None:
    with pytest.raises(ValueError, match=r"min_recall\(\) is not smooth.*'column_generation'"):
        PROBLEMS["min_recall"].solve(method="split_frank_wolfe")
    with pytest.raises(ValueError, match=r"bisection minimises.*'column_generation'"):
        PROBLEMS["g_mean"].solve(method="bisection")
    with pytest.raises(ValueError, match=r"there are 12 free weights.*at most 3.*Try"):
        PROBLEMS["g_mean"].solve(method="grid")
    with pytest.raises(ValueError, match=r"single entries.*Try"):
        PROBLEMS["cost"].solve(method="grid")


def test_a_diverging_run_warns_with_what_it_reached() -> None:
    with pytest.warns(DivergenceWarning, match=r"gda diverged: after 200 calls.*best reached.*option step"):
        PROBLEMS["min_recall"].solve(method=GDA(step=(1e3, 1e-3), prune="none"), max_calls=200)


def test_single_grid_rules() -> None:
    case, best = truth("min_recall", 0)
    single, mixed = (case.solve(method=Grid(mixed=mixed), max_calls=900) for mixed in (False, True))
    assert single.policy.n_rules == 1
    assert single.value < mixed.value <= best + 1e-9


@pytest.mark.parametrize("confusion", ["labels", "model"])
@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_baselines_are_argmax_and_inverse_priors(confusion):
    random = np.random.default_rng(0)
    proba = random.dirichlet([2.0, 1.0, 0.5], 400)
    y = (proba.cumsum(axis=1) > random.random((400, 1))).argmax(axis=1)
    prior = proba.mean(axis=0) if confusion == "model" else np.bincount(y) / 400
    kept = ["precision(2) >= 0.99"]  # which neither rule cares for
    for balanced, scores in ((False, proba), (True, proba / prior)):
        result = mf.optimize(proba, y, "macro_f1", kept, counting=confusion, method=Plugin(balanced))
        np.testing.assert_array_equal(result.policy.decide(proba), scores.argmax(axis=1))
        assert (result.n_oracle_calls, result.policy.n_rules, result.method) == (1, 1, "plugin")
        assert result.constraints[0].violation > 0.2
