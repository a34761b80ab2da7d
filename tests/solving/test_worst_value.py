"""Limits that leave only policies of the worst value: a warning, and of these policies a sensible one."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.exceptions import WorstValueWarning


def rows(size=600):
    """Three classes; among the rows that look like class 2 no share is nearly all of class 2."""
    random = np.random.default_rng(0)
    seen = random.choice(3, size, p=[0.5, 0.3, 0.2])
    right = random.random(size) < 0.7
    y = np.where(right, seen, random.choice(3, size))
    y[(seen == 2) & (np.arange(size) % 3 == 0)] = 0
    proba = np.full((size, 3), 0.15)
    proba[np.arange(size), seen] = 0.7
    return proba, y


@pytest.mark.parametrize("confusion", ["labels", "calibrated"])
def test_a_floor_that_only_an_undecided_class_keeps(confusion):
    proba, y = rows()
    with pytest.warns(
        WorstValueWarning, match=r"objective is 0.*keep precision\(2\) >= 0.95 leave the rate without"
    ):
        result = mf.optimize(proba, y, "g_mean", [mf.precision(2) >= 0.95], counting=confusion)
    assert result.value == 0
    assert np.isnan(result.constraints[0].value)
    assert 2 not in result.policy.decide(proba)


def test_no_warning_where_something_is_gained(recwarn):
    proba, y = rows()
    assert mf.optimize(proba, y, "g_mean", [mf.precision(2) >= 0.3]).value > 0
    assert not [found for found in recwarn if found.category is WorstValueWarning]
