"""What becomes of a limit on new rows, by an estimate and its interval."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.trust.judgement import ConstraintEstimate


@pytest.mark.parametrize(
    ("value", "low", "high", "sense", "outlook"),
    [
        (0.92, 0.9, 0.94, ">=", "kept"),
        (0.92, 0.85, 0.97, ">=", "likely kept"),
        (0.88, 0.85, 0.93, ">=", "likely broken"),
        (0.8, 0.75, 0.89, ">=", "broken"),
        (0.8, 0.75, 0.9, "<=", "kept"),
        (0.88, 0.8, 0.93, "<=", "likely kept"),
        (0.92, 0.85, 0.95, "<=", "likely broken"),
        (0.95, 0.91, 0.98, "<=", "broken"),
        (np.nan, np.nan, np.nan, ">=", "kept"),
    ],
)
def test_the_outlook_is_where_estimate_and_interval_lie(value, low, high, sense, outlook):
    assert ConstraintEstimate("", value, low, high, 0.9, sense).outlook == outlook


def test_a_result_says_what_becomes_of_its_limits():
    data = mf.datasets.make_fraud_triage(n_rows=1500, random_state=0)
    limits = [mf.coverage("legit") >= 0.05, mf.coverage("fraud") <= 0.02]
    result = mf.optimize(data.proba, data.y, "g_mean", limits, expect=True)
    loose, tight = result.expected.constraints
    assert (loose.sense, loose.outlook) == (">=", "kept")
    assert tight.sense == "<="
    said = [line for line in repr(result).splitlines() if "coverage" in line][-2:]
    assert [line.rpartition("on new rows, ")[2] for line in said] == ["kept", tight.outlook]
