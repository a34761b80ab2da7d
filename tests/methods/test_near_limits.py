"""Limits a hair within and a hair beyond what any classifier can do: a policy that keeps them, or an error.

METRICFIT_PROBLEMS=3000 makes it a tenth of so many problems, each with limits on both sides.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from methods import problems as known
from methods.drawn import apart, draw, limits_of
from methods.truth import Bound, Case, Sample

import metricfit as mf
from metricfit.exceptions import WorstValueWarning

# Metrics with a truth, but for rates of decisions that may never be taken: those keep any limit.
NAMES = [
    "accuracy",
    "recall",
    "specificity",
    "coverage",
    "f_beta",
    "jaccard",
    "balanced_accuracy",
    "g_mean",
    "h_mean",
    "q_mean",
    "min_recall",
    "micro_f1",
    "cost",
    "cohen_kappa",
    "coverage_deviation",
    "quantification_kld",
    "demographic_parity",
    "equalized_odds",
    "disparity",
    "worst",
    "minimum",
    "maximum",
    "churn",
    "equal_opportunity",
]
COUNT = int(os.environ.get("METRICFIT_PROBLEMS", "300")) // 10
PARITY = mf.demographic_parity("sex")


def problem(seed: int, beyond: float) -> Case | None:
    """Return a problem with a limit that lies beyond the best value by so much; None where a metric has no truth."""
    random = np.random.default_rng(seed)
    sample = Sample.draw(seed, rows=int(random.choice([24, 60, 150])))
    name = NAMES[seed % len(NAMES)]
    metric, truth = draw(name, random)
    if truth is None:
        return None
    others = ()
    if random.integers(2) and name not in ("demographic_parity", "coverage"):
        others = (Bound(PARITY, "<=", 0.05, limits_of(PARITY, apart(lambda s: s.coverages, "sex"))),)
    objective = (mf.accuracy(), known.accuracy) if random.integers(2) else (mf.g_mean(), known.g_mean)
    best = Case(metric, truth, others, sample=sample).best()
    sense, sign = ("<=", -1) if metric.direction < 0 else (">=", 1)
    bound = Bound(metric, sense, best + sign * beyond, limits_of(metric, truth))
    return Case(*objective, (bound, *others), sample=sample)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("inside", [1e-6, 1e-4])
@pytest.mark.parametrize("seed", range(COUNT))
def test_what_can_be_kept_is_kept(seed, inside):
    case = problem(seed, -inside)
    if case is None:
        return
    result = case.solve()
    assert result.feasible, [(record.name, record.violation) for record in result.constraints]
    assert result.status == "optimal"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("beyond", [1e-6, 1e-3])
@pytest.mark.parametrize("seed", range(COUNT))
def test_what_cannot_be_kept_is_an_error(seed, beyond):
    case = problem(seed, beyond)
    if case is None:
        return
    with pytest.raises(mf.InfeasibleError) as caught:
        case.solve()
    assert caught.value.proven
    # With another limit the violations may be shared between the two.
    assert 0 < max(caught.value.violations.values()) <= beyond + 1e-4


def labelled(seed: int, N: int, k: int, spread: float):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(k, spread), N)
    y = np.array([rng.choice(k, p=p) for p in proba])
    return proba, y, rng.integers(0, 3, N)


@pytest.mark.parametrize("floor", [0.99, 0.9999, 0.99999, 1.0])
@pytest.mark.parametrize("objective", ["g_mean", "accuracy", "f1(0)"])
def test_a_high_precision_is_kept_in_its_own_units(objective, floor):
    """Multiplied out, a precision of few rows is missed by less than rounding; the precision itself is not."""
    proba, y, group = labelled(3, 400, 3, 0.3)
    limits = [mf.precision(0) >= floor, mf.demographic_parity("group") <= 0.05]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mf.optimize(proba, y, objective, limits, sensitive_features=group, counting="model")
    assert result.feasible, [(record.name, record.violation) for record in result.constraints]


def test_a_rate_of_nearly_nothing_is_not_kept_in_name_only():
    """Precision(2) cannot be kept but by never deciding 2: a millionth of the rows decided so has a G-mean of .01."""
    random = np.random.default_rng(27)
    sample = Sample.draw(27, rows=int(random.choice([24, 60, 150])))
    precision = mf.precision(2)
    others = (Bound(PARITY, "<=", 0.05, limits_of(PARITY, apart(lambda s: s.coverages, "sex"))),)
    ceiling = Case(precision, lambda s: [(s.hit(2), s.given(2))], others, sample=sample).best()
    limits = [precision >= ceiling + 1e-5, PARITY <= 0.05]
    with pytest.warns(WorstValueWarning, match=r"keep precision\(2\) >= .* leave the rate without rows"):
        result = mf.optimize(
            objective=mf.g_mean(), constraints=limits, counting="model", **sample.arguments()
        )
    assert result.feasible
    assert result.value == 0


HAIR = {
    "shares as the classes have them": [mf.quantification_kld() <= 0],
    "nearly these shares": [mf.quantification_kld() <= 1e-7],
    "no deviation": [mf.coverage_deviation() <= 1e-7],
    "a class hardly ever": [mf.coverage(0) <= 1e-7],
    "a share of next to nothing": [mf.quantification_kld({0: 1e-7, 1: 0.5, 2: 0.5 - 1e-7}) <= 1e-4],
    "no deviation, in two ways": [mf.quantification_kld() <= 0, mf.coverage_deviation() <= 1e-7],
}


@pytest.mark.parametrize("objective", ["accuracy", "g_mean"])
@pytest.mark.parametrize("name", HAIR)
def test_limits_without_room_take_no_more_calls(objective, name):
    """Such limits once stalled for 20 seconds; the same without a limit takes about 12 calls."""
    proba, y, _ = labelled(5, 600, 3, 1.0)
    result = mf.optimize(proba, y, objective, HAIR[name], counting="model")
    assert (result.status, result.feasible) == ("optimal", True)
    assert result.n_oracle_calls <= 60


@pytest.mark.parametrize("name", HAIR)
def test_limits_without_room_are_kept_by_counted_labels(name):
    proba, y, _ = labelled(6, 600, 3, 1.0)
    result = mf.optimize(proba, y, "accuracy", HAIR[name], counting="labels")
    assert (result.status, result.feasible) == ("searched", True)
    assert result.n_oracle_calls <= 600


def test_equalized_odds_of_many_groups_take_no_more_calls():
    """Each of 30 groups has 64 rates that must be near those of the others; few of these limits bind."""
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(8), 3000)
    y = np.array([random.choice(8, p=p) for p in proba])
    limits = [mf.equalized_odds("group") <= 0.05]
    result = mf.optimize(
        proba,
        y,
        "accuracy",
        limits,
        sensitive_features=random.integers(0, 30, 3000),
        counting="model",
    )
    assert (result.status, result.feasible) == ("optimal", True)
    assert result.n_oracle_calls <= 60
