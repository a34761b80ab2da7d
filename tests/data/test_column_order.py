"""Probabilities whose columns are the classes in another order."""

import warnings

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.column_order import warn_of_another_order
from metricfit.exceptions import CalibrationWarning

NAMES = ["legit", "odd", "fraud"]


def drawn(rows, seed=0, n=3):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n, 0.4), rows)
    return proba, np.array([rng.choice(n, p=p) for p in proba])


def test_another_order_is_told_with_the_order_that_fits():
    proba, y = drawn(400)
    labels = np.array(NAMES)[y]
    with pytest.warns(CalibrationWarning, match="if they are 'legit', 'odd', 'fraud'. Pass classes= in the"):
        mf.optimize(proba, labels, "accuracy", counting="labels", method="local")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mf.optimize(proba, labels, "accuracy", counting="labels", method="local", classes=NAMES)


@pytest.mark.parametrize(("rows", "n"), [(6, 2), (40, 10), (400, 10), (3000, 3)])
def test_chance_is_no_other_order(rows, n):
    rng = np.random.default_rng(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):  # probabilities that say nothing, and those of a model that always says the same
            warn_of_another_order(rng.dirichlet(np.ones(n), rows), rng.integers(n, size=rows), range(n))
            warn_of_another_order(np.eye(n)[np.zeros(rows, int)], rng.integers(n, size=rows) // 2, range(n))
