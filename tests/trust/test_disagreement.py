"""Where calibrated probabilities and labels disagree about a constraint, and where neither says anything."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from metricfit.exceptions import CalibrationWarning
from metricfit.result import ConstraintRecord
from metricfit.trust.disagreement import warn_if_labels_disagree


def judged(value: float) -> SimpleNamespace:
    """Return what the warning looks at: a constraint's value, and an interval of it by labels from 0 to 0.04."""
    counted = SimpleNamespace(constraints=(SimpleNamespace(value=0.0, low=0.0, high=0.04),))
    record = ConstraintRecord("precision(8) >= 0.9", value, 0.9, 0.0, 0.0)
    return SimpleNamespace(constraints=(record,), counted=counted)


def test_a_value_outside_of_its_interval_is_warned_of():
    with pytest.warns(CalibrationWarning, match=r"say 0\.900, the labels of the same rows 0\.000"):
        warn_if_labels_disagree(judged(0.9))


@pytest.mark.parametrize("value", [0.02, float("nan")])
def test_a_value_inside_and_a_rate_of_nothing_are_not(value, recwarn):
    warn_if_labels_disagree(judged(value))
    assert not recwarn.list
