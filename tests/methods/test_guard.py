"""The guard against overfitting of local search: its warning, and counting a share of each row by probabilities."""

from __future__ import annotations

import pytest
from methods.test_local import draw

import metricfit as mf
from metricfit.exceptions import CalibrationWarning, OverfitWarning
from metricfit.methods import Local


def test_the_guard_warns_of_few_rows_and_of_rare_classes():
    proba, y = draw(9, 100, 4)
    with pytest.warns(OverfitWarning, match="8 weights are tuned on 100 rows"):
        mf.optimize(proba, y, "macro_f1", method="local")
    mf.optimize(proba, y, "macro_f1")  # the default calibrates instead; a warning would be an error
    proba, y = draw(9, 2000, 3)
    mf.optimize(proba, y, "macro_f1", method=Local(tries=0))
    y[y == 2] = 0
    y[:9] = 2
    with pytest.warns(OverfitWarning, match=r"1 class has fewer than 10 rows \(the first is 2\)"):
        mf.optimize(proba, y, "macro_f1", method=Local(tries=0))
    with pytest.warns(
        CalibrationWarning, match="refute"
    ):  # soft labels are not overfitted, and these are wrong
        mf.optimize(proba, y, "macro_f1", method=Local(tries=0), counting="model")


def test_wrong_parameters_are_named():
    with pytest.raises(ValueError, match="tries"):
        Local(tries=-1)
