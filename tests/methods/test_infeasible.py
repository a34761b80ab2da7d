"""Problems that no policy solves: smallest violations and smallest conflict, against the full program."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
from methods.problems import (
    accuracy,
    cap_cost,
    cap_coverage,
    cap_deviation,
    churn,
    floor_g_mean,
    floor_precision,
    floor_recall,
    parity,
)
from methods.truth import Case, Sample

import metricfit as mf

PAIR = (floor_recall(2, 0.8), cap_coverage(2, 0.2))
TRIPLE = (floor_recall(0, 0.7), floor_recall(1, 0.6), floor_recall(2, 0.55))

IMPOSSIBLE = {
    "one": (floor_g_mean(0.7),),
    "one linear": (cap_cost(0.5),),
    "one of two": (cap_coverage(0, 0.5), floor_g_mean(0.7)),
    "pair": PAIR,
    "pair of three": (floor_recall(0, 0.1), *PAIR),
    "triple": TRIPLE,
    "triple of four": (parity(0.3), *TRIPLE),
    "cost of change": (churn(0.2), cap_cost(0.8)),
    "shares": (cap_deviation(0.01), floor_recall(1, 0.8)),
    "ratio": (floor_precision(2, 0.9), floor_recall(2, 0.6)),
}


def case_of(name: str) -> Case:
    return Case(mf.accuracy(), accuracy, IMPOSSIBLE[name])


def error_of(case: Case, **options: object) -> mf.InfeasibleError:
    with pytest.raises(mf.InfeasibleError) as caught:
        case.solve(**options)
    return caught.value


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_smallest_violations(name):
    case = case_of(name)
    error = error_of(case)
    names = [str(constraint) for constraint in case.constraints]
    assert list(error.violations) == names
    assert list(error.alone) == names
    assert max(error.violations.values()) == pytest.approx(case.least_violation(), abs=1e-4)
    assert error.proven
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("name", [name for name in IMPOSSIBLE if name != "ratio"])
def test_each_constraint_alone(name):
    case = case_of(name)
    for k, found in enumerate(error_of(case).alone.values()):
        assert found == pytest.approx(case.least_violation([k]), abs=1e-4)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_conflict_is_a_smallest_one(name):
    case = case_of(name)
    names = [str(constraint) for constraint in case.constraints]
    for size in range(1, len(names) + 1):
        conflicts = {
            tuple(names[k] for k in chosen)
            for chosen in combinations(range(len(names)), size)
            if case.excess([case.bounds[k] for k in chosen]) > 1e-7
        }
        if conflicts:
            break
    assert error_of(case).conflict in conflicts


def test_a_rate_of_nothing_keeps_its_limit():
    """No row is decided 2 with a precision of 0.9, but deciding none so is never wrong."""
    case = case_of("ratio")
    assert error_of(case).alone["precision(2) >= 0.9"] <= 0
    alone = Case(mf.accuracy(), accuracy, IMPOSSIBLE["ratio"][:1]).solve()
    assert alone.feasible
    assert np.isnan(alone.constraints[0].value)
    assert alone.confusion.matrix[:, 2].sum() == pytest.approx(0, abs=1e-8)


def test_message_says_what_to_do():
    text = str(error_of(case_of("pair of three")))
    assert "recall(2) >= 0.8, coverage(2) <= 0.2 cannot be kept together" in text
    assert "0.1318" in text
    assert "Relax each limit by the amount it is missed by" in text
    assert "recall(0) >= 0.1 is " in text
    assert "g_mean() >= 0.7 cannot be kept at all" in str(error_of(case_of("one")))


def test_relaxing_by_the_violation_is_enough():
    """What the message advises works."""
    case = case_of("triple of four")
    least = max(error_of(case).violations.values())
    relaxed = tuple(bound.relaxed(least + 1e-4) for bound in case.bounds)
    assert Case(mf.accuracy(), accuracy, relaxed).solve().feasible


def test_pickles():
    error = error_of(case_of("pair"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is mf.InfeasibleError
    assert (again.violations, again.alone, again.conflict, again.proven) == (
        error.violations,
        error.alone,
        error.conflict,
        error.proven,
    )
    assert str(again) == str(error)


def test_counted_labels_prove_nothing():
    case = Case(mf.accuracy(), accuracy, IMPOSSIBLE["pair of three"], sample=Sample.draw(seed=1, rows=200))
    error = error_of(case, counting="labels")
    assert not error.proven
    assert "no policy found" in str(error)
    assert error.conflict == ("recall(2) >= 0.8", "coverage(2) <= 0.2")


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_budget_ends_the_search_before_anything_is_proven():
    result = case_of("triple").solve(max_calls=2)
    assert result.status == "max_calls"
    assert not result.feasible
    assert result.n_oracle_calls == 2


def test_barely_feasible_is_feasible():
    """Limits a hair inside and outside of what can be reached are told apart."""
    least = Case(mf.accuracy(), accuracy, IMPOSSIBLE["one linear"]).least_violation()
    for room, works in ((1e-6, True), (-1e-6, False)):
        bound = IMPOSSIBLE["one linear"][0].relaxed(least + room)
        case = Case(mf.accuracy(), accuracy, (bound,))
        if works:
            assert case.solve().feasible
        else:
            assert error_of(case).proven


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_the_search_for_the_cause_obeys_the_budget():
    """Ten floors of which no pair conflicts: without more calls it is known that they conflict, but not which."""
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.full(10, 0.3), 400)
    y = np.array([random.choice(10, p=p) for p in proba])
    sample = Sample(proba, y, None, np.ones(400))
    case = Case(mf.accuracy(), accuracy, tuple(floor_recall(c, 0.75) for c in range(10)), sample=sample)
    whole = error_of(case)
    assert whole.complete
    assert 1 < len(whole.conflict) < 10
    assert "cut short" not in str(whole)
    for calls in range(1, 1000):
        try:
            result = case.solve(max_calls=calls)
        except mf.InfeasibleError as caught:
            error = caught
            break
        assert result.status == "max_calls"
    assert not error.complete
    assert error.proven
    assert len(error.conflict) == 10
    assert max(error.violations.values()) >= max(whole.violations.values()) - 1e-4
    assert np.isnan(list(error.alone.values())).any()
    assert "cut short by max_calls or max_seconds" in str(error)
    assert "nan" not in str(error)
    assert not pickle.loads(pickle.dumps(error)).complete
