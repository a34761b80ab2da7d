"""The guard against overfitting of local search: its warning, and counting a share of each row by probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from methods.test_local import draw, measured

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


def fair_rows(seed, N, n=5):
    """Draw rows of equal classes with calibrated probabilities: plain argmax is best, and weights are noise."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n, 0.5), N)
    y = (proba.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)
    return proba, y


def test_counting_half_by_probabilities_is_better_on_new_rows():
    gains = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        bias = np.exp(0.5 * rng.normal(size=10))
        proba, y = fair_rows(seed, 21_000, 10)
        proba = proba * bias
        proba /= proba.sum(axis=1, keepdims=True)
        value = {}
        for trust in (0.0, 0.5):
            result = mf.optimize(
                proba[:1000], y[:1000], "macro_f1", method=Local(trust=trust), random_state=0
            )
            value[trust] = measured("macro_f1", y[1000:], result.policy.decide(proba[1000:]))
        gains.append(value[0.5] - value[0.0])
    assert np.mean(gains) > 0.003


def test_trust_counts_only_without_constraints_and_where_labels_are_counted():
    proba, y = draw(3, 3000, 4, power=1.0)
    for limits, same in (([], False), (["accuracy >= 0.3"], True)):
        half, labels = (
            mf.optimize(proba, y, "macro_f1", limits, method=Local(tries=2, trust=trust)).value
            for trust in (0.5, 0.0)
        )
        assert (half == labels) is same
        assert half <= labels  # labels alone are followed further
    assert Local().trust == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tries": -1}, "tries"), ({"trust": 1.5}, "trust"), ({"trust": -0.1}, "trust")],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Local(**options)
