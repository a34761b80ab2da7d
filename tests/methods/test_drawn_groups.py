"""Random problems of groups and precisions that are kept by never deciding so, against the full convex program.

METRICFIT_PROBLEMS=3000 makes it three thousand.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress

import numpy as np
import pytest
from methods.drawn_groups import problem

import metricfit as mf

COUNT = int(os.environ.get("METRICFIT_PROBLEMS", "100"))
# Precisions as objectives, whose best value hardly any row has.
FEW_ROWS = (309, 425, 480)


@pytest.mark.parametrize("seed", sorted({*range(COUNT), *FEW_ROWS}))
def test_is_solved_as_well_as_can_be(seed):
    case = problem(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, and of objectives that could not be worse
        result = case.solve()
    assert result.feasible, [(record.name, record.violation) for record in result.constraints]
    best = None
    with suppress(
        AssertionError
    ):  # one program in a hundred, with a mean that can only be 0, has no accurate truth
        best = case.best()
    if best is None:
        return
    assert result.value == pytest.approx(best, abs=1.1e-4)
    assert case.sign * result.bound >= case.sign * best - 1e-6


P = np.array([0.9, 0.6, 0.2, 0.1, 0.3, 0.2, 0.1, 0.35])
ROWS = dict(
    proba=np.column_stack([1 - P, P]), y=[1, 1, 0, 0, 0, 0, 0, 1], sensitive_features={"g": list("aaaabbbb")}
)


@pytest.mark.parametrize("mean", ["g_mean", "h_mean", "q_mean", "min_recall"])
def test_a_group_keeps_a_precision_by_never_getting_the_decision(mean):
    """No row of group b has .7, so its four rows are right with .7, .8, .9 and .65, those of a with .9, .6, .8, .9."""
    limits = ["precision(1).at(g='b') >= 0.7", f"{mean}() >= 0"]
    result = mf.optimize(**ROWS, objective="accuracy", constraints=limits, counting="model")
    assert result.status == "optimal"
    assert result.feasible
    assert result.value == pytest.approx(6.25 / 8)
    assert np.isnan(result.constraints[0].value)
    assert result.policy.decision_proba(ROWS["proba"], ROWS["sensitive_features"])[4:, 1].max() == 0


@pytest.mark.parametrize("mean", ["g_mean", "h_mean", "q_mean"])
def test_a_curved_floor_binds_beside_a_group_that_never_gets_the_decision(mean):
    """Group b never gets decision 1, so recall 1 comes from group a alone, at the price of accuracy."""
    free = mf.optimize(
        **ROWS, objective=mean, constraints=["precision(1).at(g='b') >= 0.7"], counting="model"
    )
    floor = free.value - 1e-3
    limits = ["precision(1).at(g='b') >= 0.7", f"{mean}() >= {floor!r}"]
    result = mf.optimize(**ROWS, objective="accuracy", constraints=limits, counting="model")
    assert result.status == "optimal"
    assert result.feasible
    assert result.constraints[1].value >= floor - 1e-9
    assert result.policy.decision_proba(ROWS["proba"], ROWS["sensitive_features"])[4:, 1].max() == 0


def test_a_limit_on_a_group_that_nothing_can_keep_is_refused():
    limits = ["precision(1).at(g='b') >= 0.7", "recall(1).at(g='b') >= 0.1", "g_mean() >= 0"]
    with pytest.raises(mf.InfeasibleError) as caught:
        mf.optimize(**ROWS, objective="accuracy", constraints=limits, counting="model")
    assert set(caught.value.conflict) == {"precision(1).at(g='b') >= 0.7", "recall(1).at(g='b') >= 0.1"}
    assert caught.value.proven
