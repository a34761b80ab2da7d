"""The guard against overfitting: warnings, shrinking towards plain argmax, counting by probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from methods.test_local import draw, few_rows, measured

import metricfit as mf
from metricfit.exceptions import OverfitWarning
from metricfit.methods import Local
from metricfit.methods.search.guard import between
from metricfit.oracles import PluginOracle, Rows


def test_the_guard_warns_of_few_rows_and_of_rare_classes():
    proba, y = draw(9, 100, 4)
    with pytest.warns(OverfitWarning, match="8 weights are tuned on 100 rows"):
        mf.optimize(proba, y, "macro_f1")
    proba, y = draw(9, 2000, 3)
    mf.optimize(proba, y, "macro_f1", method=Local(tries=0))
    y[y == 2] = 0
    y[:9] = 2
    with pytest.warns(OverfitWarning, match=r"1 class has fewer than 10 rows \(the first is 2\)"):
        mf.optimize(proba, y, "macro_f1", method=Local(tries=0))
    mf.optimize(proba, y, "macro_f1", method=Local(tries=0), confusion="model")


def fair_rows(seed, N, n=5):
    """Draw rows of equal classes with calibrated probabilities: plain argmax is best, and weights are noise."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n, 0.5), N)
    y = (proba.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)
    return proba, y


@few_rows
def test_shrinking_helps_where_weights_are_noise():
    gains = []
    for seed in range(4):
        proba, y = fair_rows(seed, 150)
        new, truth = fair_rows(100 + seed, 20_000)
        value = {}
        for shrink in (False, True):
            result = mf.optimize(proba, y, "macro_f1", method=Local(shrink=shrink), random_state=0)
            value[shrink] = measured("macro_f1", truth, result.policy.decide(new))
        gains.append(value[True] - value[False])
    assert min(gains) > -0.005
    assert np.mean(gains) > 0.005


def test_shrinking_does_nothing_where_weights_are_needed():
    proba, y = draw(11, 3000, 3)
    proba = proba * [1.0, 1.0, 0.2]
    proba /= proba.sum(axis=1, keepdims=True)
    tuned, kept = (
        mf.optimize(proba, y, "macro_f1", method=Local(shrink=shrink), random_state=0)
        for shrink in (False, True)
    )
    assert kept.value == tuned.value > measured("macro_f1", y, proba.argmax(axis=1)) + 0.01
    np.testing.assert_array_equal(kept.policy.decide(proba), tuned.policy.decide(proba))


def test_shrinking_warns_of_nothing_but_says_which_oracle_it_needs():
    proba, y = fair_rows(0, 100)
    mf.optimize(proba, y, "macro_f1", method=Local(tries=1, shrink=True))  # a warning would be an error

    class Wrapped:
        """An oracle that does not show its rows."""

        def __init__(self, oracle):
            self.axes, self.margins, self.exact = oracle.axes, oracle.margins, oracle.exact
            self.inner, self.confusion = oracle, oracle.confusion

        def __call__(self, loss, layout):
            return self.inner(loss, layout)

    oracle = Wrapped(PluginOracle(Rows.of(proba, y)))
    with pytest.raises(ValueError, match="needs the plug-in oracle on rows in memory, got Wrapped"):
        mf.optimize(proba, y, "macro_f1", method=Local(tries=1, shrink=True), oracle=oracle)


def test_counting_half_by_probabilities_is_better_on_new_rows():
    gains = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        bias = np.exp(0.5 * rng.normal(size=10))
        proba, y = fair_rows(seed, 21_000, 10)
        proba = proba * bias
        proba /= proba.sum(axis=1, keepdims=True)
        value = {}
        for trust in (0.0, None):
            result = mf.optimize(
                proba[:1000], y[:1000], "macro_f1", method=Local(trust=trust), random_state=0
            )
            value[trust] = measured("macro_f1", y[1000:], result.policy.decide(proba[1000:]))
        gains.append(value[None] - value[0.0])
    assert np.mean(gains) > 0.003


@few_rows
def test_trust_is_for_many_rows_of_several_classes_without_constraints():
    for N, n, limits, same in ((3000, 2, [], True), (400, 4, [], True), (3000, 4, ["accuracy >= 0.3"], True)):
        proba, y = draw(3, N, n, power=1.0)
        default, labels = (
            mf.optimize(proba, y, "macro_f1", limits, method=Local(tries=2, trust=trust))
            for trust in (None, 0.0)
        )
        assert (default.value == labels.value) is same
    proba, y = draw(3, 3000, 4, power=1.0)
    default, half, labels = (
        mf.optimize(proba, y, "macro_f1", method=Local(tries=2, trust=trust)).value
        for trust in (None, 0.5, 0.0)
    )
    assert default == half != labels


def test_half_way_to_argmax_is_the_root_of_the_weights():
    plain = np.array([[[-1.0, -1.0], [0.0, 0.0]]])
    tuned = np.array([[[-1.0, -4.0], [0.0, 0.0]]])
    half = between(plain, tuned, 0.5, "diagonal")
    assert half[0, 0, 1] / half[0, 0, 0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tries": -1}, "tries"), ({"shrink": "yes"}, "shrink"), ({"trust": 1.5}, "trust")],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Local(**options)
