"""What a solve ends with: attributes of the contract, the frame, and the words it prints."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import metricfit as mf
from metricfit.data.layout import statistic
from metricfit.exceptions import BrokenLimitWarning
from metricfit.methods import Record
from metricfit.problem import Problem
from metricfit.result import ConstraintRecord, Result, constraint_records
from metricfit.trust.judgement import ConstraintEstimate, Judgement

RANDOM = np.random.default_rng(0)
PROBA = RANDOM.dirichlet([2.0, 1.0, 0.7], 120)
Y = np.array([RANDOM.choice(3, p=p) for p in PROBA])


LIMITS = (mf.precision(1) >= 0.6, mf.coverage(2) <= 0.9)


def solved(objective="g_mean", constraints=LIMITS, **options) -> Result:
    return mf.optimize(PROBA, Y, objective, constraints, **{"counting": "model", **options})


@pytest.fixture(scope="module")
def result() -> Result:
    return solved()


def test_attributes_of_the_contract(result):
    assert isinstance(result.policy, mf.Policy)
    assert isinstance(result.confusion, mf.Confusion)
    for name in ("value", "bound", "gap", "seconds"):
        assert type(getattr(result, name)) is float
    assert type(result.n_oracle_calls) is int
    assert type(result.certified) is bool
    assert result.status == "optimal"
    assert isinstance(result.constraints, tuple)
    assert isinstance(result.history, tuple)
    assert {f.name for f in dataclasses.fields(ConstraintRecord)} == {
        "name",
        "value",
        "limit",
        "violation",
        "price",
    }
    assert {f.name for f in dataclasses.fields(Record)} == {"calls", "seconds", "value", "bound", "violation"}


def test_is_not_changed_by_accident(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.value = 1.0
    with pytest.raises(ValueError, match="read-only"):
        result.confusion.values[0] = 0.0


def test_binding_constraints_have_a_price_and_others_none(result):
    floor, cap = result.constraints
    assert floor.price > 0.01
    assert floor.value == pytest.approx(0.6, abs=1e-6)
    assert cap.price == pytest.approx(0, abs=1e-6)
    assert cap.violation < 0
    assert result.feasible


def test_frame(result):
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["value", "limit", "violation", "price"]
    assert list(frame.index) == ["precision(1) >= 0.6", "coverage(2) <= 0.9"]
    assert frame.index.name == "constraint"
    assert frame.loc["coverage(2) <= 0.9", "limit"] == 0.9


def test_frame_without_constraints():
    frame = solved(constraints=()).to_frame()
    assert frame.shape == (0, 4)
    assert frame.dtypes.eq(float).all()


def test_words(result):
    lines = repr(result).splitlines()
    assert lines[0] == "maximize g_mean() subject to precision(1) >= 0.6, coverage(2) <= 0.9"
    assert lines[1] == f"  value  {result.value:.6f}"
    assert "(proven), gap" in lines[2]
    assert "status optimal after" in lines[3]
    assert "column_generation" in lines[3]
    assert lines[5].startswith("  precision(1) >= 0.6: 0.600000, met, price ")


def test_counted_labels_claim_no_bound_but_tell_that_of_the_calibrated_problem():
    result = solved(counting="labels")
    assert result.bound == np.inf
    assert result.status == "searched"
    assert not result.certified
    assert f"none claimed; {result.calibrated.beside(result.value, indent=9)}" in repr(result)
    assert result.calibrated.value <= result.calibrated.bound + 1e-9


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_words_of_no_bound_at_all():
    with pytest.warns(BrokenLimitWarning, match="raise max_calls"):
        result = solved(max_calls=1)
    assert result.bound == np.inf
    assert result.gap == np.inf
    assert not result.certified
    assert "bound  none claimed" in repr(result)


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
def test_words_of_a_violation():
    with pytest.warns(BrokenLimitWarning):
        result = solved(
            constraints=(mf.recall(0) >= 0.7, mf.recall(1) >= 0.6, mf.recall(2) >= 0.5), max_calls=2
        )
    assert not result.feasible
    assert ", violated by 0." in repr(result)


def test_lower_is_better_in_its_own_sign():
    table = [[0, 1, 4], [2, 0, 1.5], [7, 0.5, 0]]
    result = solved(mf.cost(table))
    assert result.value > 0
    assert result.bound <= result.value
    assert result.problem.startswith("minimize cost(")
    assert result.history[-1].value == pytest.approx(result.value)


def test_pickles(result):
    again = pickle.loads(pickle.dumps(result))
    assert again.value == result.value
    assert again.policy == result.policy
    assert again.history == result.history
    np.testing.assert_array_equal(again.confusion.values, result.confusion.values)


def test_a_price_that_only_says_that_a_limit_can_just_be_kept_is_none():
    confusion = mf.Confusion.from_predictions(Y, PROBA.argmax(axis=1))
    problem = Problem.of("accuracy", [mf.recall(1) >= 0.3, mf.coverage(2) <= 0.9, mf.mcc() >= 0.1])
    program = problem.bind(confusion.axes, confusion.margins)
    u = program.vector(statistic(confusion.values, program.layout, program.axes))
    multipliers = [np.full(1, 0.5), np.full(1, 1e9), np.zeros(1)]
    recall, coverage, _ = constraint_records(program, u, multipliers)
    assert recall.price == pytest.approx(0.5 * program.limits[0].unit(u)[0])
    assert recall.value == pytest.approx(mf.recall(1)(confusion))
    assert coverage.limit == 0.9
    assert np.isnan(coverage.price)
    assert all(np.isnan(record.price) for record in constraint_records(program, u, None))


@pytest.mark.parametrize(("low", "high", "said"), [(0.4, 0.5, True), (0.5, 0.7, False), (0.61, 0.7, False)])
def test_what_to_do_where_a_limit_is_likely_violated_on_new_rows(result, low, high, said):
    first, second = (
        ConstraintEstimate(one.name, middle, *ends, one.limit, sense)
        for one, middle, ends, sense in zip(
            result.constraints, ((low + high) / 2, 0.2), ((low, high), (0.1, 0.3)), (">=", "<="), strict=True
        )
    )
    told = repr(replace(result, expected=Judgement(0.7, 0.6, 0.8, (first, second), 600)))
    assert ("confidence=0.95 looks for a policy" in told) is said
