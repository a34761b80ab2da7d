"""Counted labels: rules in use are improved by exact scans of their weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.kernels.scan import Scan
from metricfit.methods import Bisection, Walk, run
from metricfit.methods.dual.pruning import mixture
from metricfit.methods.search.lines import cheapest, smoothed
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem


def crooked(rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels from probabilities, and return the probabilities bent out of shape."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet([1.2, 0.8, 0.5], rows)
    y = (proba.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    bent = proba ** np.array([0.3, 1.0, 2.5])
    return bent / bent.sum(axis=1, keepdims=True), y


class TestCheapest:
    @pytest.mark.parametrize("decision", [0, 1, 2])
    def test_is_the_least_counted_cost_of_all_places(self, decision):
        proba, y = crooked(60)
        price = np.random.default_rng(1).normal(size=(1, 2, 3))
        oracle = PluginOracle(Rows.of(proba, y))
        scan = Scan(oracle.rows, False, np.array([[[-1.0, -1.0, -1.0], [0.0, 0.0, 0.0]]]), "diagonal")
        line = scan.line(decision, "slope", 0)
        costs = []
        for count in np.flatnonzero(line.apart):
            loss = scan.loss.copy()
            loss[0, 0, decision] = -line.weight_for(count)
            costs.append((price * oracle(loss, "diagonal").statistic).sum())
        scan.move(line, cheapest(scan, line, price, smooth=0.0))
        assert (price * oracle(scan.loss, "diagonal").statistic).sum() == pytest.approx(min(costs), abs=1e-12)


class TestSmoothed:
    @given(st.lists(st.floats(-1, 1), min_size=2, max_size=8), st.integers(0, 5), st.floats(0.01, 3))
    def test_a_row_of_weight_two_is_two_rows(self, series, cut, reach):
        series = np.array(series)
        at = np.arange(series.size, dtype=float)
        cut = min(cut, series.size - 2)
        finer = np.insert(at, cut + 1, cut + 0.5)
        between = np.insert(series, cut + 1, (series[cut] + series[cut + 1]) / 2)
        both = np.delete(smoothed(between, finer, reach), cut + 1)
        assert both == pytest.approx(smoothed(series, at, reach), abs=1e-9)

    def test_a_constant_stays_one_and_no_reach_changes_nothing(self):
        at = np.array([0.0, 0.1, 0.1, 0.5])
        assert smoothed(np.full(4, 2.0), at, 0.2) == pytest.approx(np.full(4, 2.0))
        series = np.array([1.0, 3.0, 2.0, 0.0])
        assert smoothed(series, at, 0.0) is series


class TestGuided:
    @pytest.mark.parametrize("objective", ["h_mean", "micro_f1", "accuracy"])
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_bent_probabilities_cost_little(self, objective, seed):
        """Class by class bent probabilities are unbent by the calibration, so few rules are better by chance."""
        proba, y = crooked(seed=seed)
        result = mf.optimize(proba, y, objective)
        random = np.random.default_rng(seed)
        drawn = []
        for weights in np.exp(2 * random.normal(size=(2000, 3))):
            C = np.zeros((3, 3))
            np.add.at(C, (y, (proba * weights).argmax(axis=1)), 1 / len(y))
            drawn.append(_value(C, objective))
        # The best of two thousand rules drawn at random is lucky on 400 rows.
        assert result.value >= max(drawn) - 0.04
        assert result.value >= np.quantile(drawn, 0.97)

    def test_rows_of_a_cell_move_its_rules_only(self):
        """Two groups whose probabilities are bent in opposite ways need opposite thresholds."""
        random = np.random.default_rng(3)
        true = random.random(2000)
        y = (random.random(2000) < true).astype(int)
        group = np.repeat(["up", "down"], 1000)
        bent = np.where(group == "up", true**0.25, true**4)
        proba = np.stack([1 - bent, bent], axis=1)
        options = dict(sensitive_features={"group": group})
        limits = ["disparity(coverage(1), over='group') <= 0.02"]
        result = mf.optimize(proba, y, "accuracy", limits, **options)
        oracle = np.mean((true > 0.5) == y)
        assert result.value >= oracle - 0.01
        assert result.constraints[0].violation <= 1e-6

    def test_probabilities_next_to_nothing_overflow_no_breakpoint(self):
        proba = np.array([[1.0, 1e-320], [0.7, 0.3], [0.4, 0.6], [1e-310, 1.0]])
        assert mf.optimize(proba, [0, 1, 0, 1], "h_mean").value >= 0.5


def _value(C: np.ndarray, objective: str) -> float:
    recall = np.diag(C) / C.sum(axis=1)
    if objective == "accuracy":
        return float(np.trace(C))
    if objective == "h_mean":
        return float(3 / np.sum(1 / np.maximum(recall, 1e-9)))
    return float(2 * np.trace(C[1:, 1:]) / (2 - C[0].sum() - C[:, 0].sum()))


def test_a_class_that_no_priced_rule_decides_is_not_given_up():
    """Class 2 has probability 0 in all rows, so that only the rule that always says 2 finds any of it."""
    random = np.random.default_rng(0)
    proba = np.column_stack([random.dirichlet([1.0, 1.0], 300), np.zeros(300)])
    y = np.where(np.arange(300) < 60, 2, proba.argmax(axis=1))
    result = mf.optimize(proba, y, "h_mean")
    # Argmax is right about 0 and 1; said with probability a, class 2 has recall a and the others 1 - a.
    a = np.linspace(0.001, 0.999, 999)
    best = (3 / (2 / (1 - a) + 1 / a)).max()
    assert result.value >= best - 1e-3


@pytest.mark.parametrize("seed", [2, 7, 14])
def test_prices_of_bisection_are_what_a_unit_of_slack_gains(seed):
    """The prices belong to the mixture whose rules were scanned last, not to the last level that bisection tried."""
    random = np.random.default_rng(seed)
    y = random.choice(3, 400, p=[0.5, 0.3, 0.2])
    proba = np.exp(random.normal(size=(400, 3)) + 1.2 * np.eye(3)[y])
    oracle = PluginOracle(Rows.of(proba / proba.sum(axis=1, keepdims=True), y))

    def program(limit):
        limits = [mf.coverage(0) <= limit, mf.recall(1) >= 0.5]
        return Problem.of("f1(0)", limits).bind(oracle.axes, oracle.margins)

    walk, slack = Walk(program(0.3), oracle), 1e-5
    outcome = run(Bisection(), walk.program, walk)
    worse, better = (walk.program.value(mixture(program(0.3 + s), walk).u) for s in (-slack, slack))
    assert outcome.best.multipliers[0] == pytest.approx((worse - better) / (2 * slack), rel=1e-4)
