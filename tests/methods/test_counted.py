"""Counted labels: rules in use are improved by exact scans of their weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.kernels.scan import Scan
from metricfit.methods import ColumnGeneration
from metricfit.methods.master import counted
from metricfit.methods.master.counted import cheapest, smoothed
from metricfit.oracles import PluginOracle, Rows


def crooked(rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels from probabilities, and return the probabilities bent out of shape."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet([1.2, 0.8, 0.5], rows)
    y = (proba.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    bent = proba ** np.array([0.3, 1.0, 2.5])
    return bent / bent.sum(axis=1, keepdims=True), y


class TestCheapest:
    @pytest.mark.parametrize("decision", [0, 1, 2])
    def test_is_the_least_counted_cost_of_all_places(self, decision, monkeypatch):
        monkeypatch.setattr(counted, "SMOOTH", 0.0)
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
        scan.move(line, cheapest(scan, line, price))
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


class TestLines:
    @pytest.mark.parametrize("objective", ["h_mean", "micro_f1", "accuracy"])
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_bent_probabilities_cost_little(self, objective, seed):
        proba, y = crooked(seed=seed)
        without = mf.optimize(proba, y, objective, method=ColumnGeneration(lines=0))
        result = mf.optimize(proba, y, objective)
        assert result.value >= without.value - 1e-9
        random = np.random.default_rng(seed)
        best = 0.0
        for weights in np.exp(2 * random.normal(size=(2000, 3))):
            C = np.zeros((3, 3))
            np.add.at(C, (y, (proba * weights).argmax(axis=1)), 1 / len(y))
            best = max(best, _value(C, objective))
        # Smoothing and the budget leave a little to two thousand rules drawn at random.
        assert result.value >= best - 0.01

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

    def test_lines_are_counted_and_may_be_none(self):
        proba, y = crooked()
        for lines in (0, 1, 5):
            result = mf.optimize(proba, y, "h_mean", method=ColumnGeneration(lines=lines), max_calls=200)
            assert result.n_oracle_calls <= 200
        with pytest.raises(ValueError, match="lines must be >= 0"):
            ColumnGeneration(lines=-1)

    def test_probabilities_next_to_nothing_overflow_no_breakpoint(self):
        proba = np.array([[1.0, 1e-320], [0.7, 0.3], [0.4, 0.6], [1e-310, 1.0]])
        assert mf.optimize(proba, [0, 1, 0, 1], "h_mean").value >= 0.5

    def test_an_exact_oracle_has_none(self):
        proba, y = crooked()
        first, second = (
            mf.optimize(proba, y, "h_mean", method=ColumnGeneration(lines=lines), confusion="model")
            for lines in (0, 24)
        )
        assert first.value == second.value
        assert first.n_oracle_calls == second.n_oracle_calls


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
    assert result.value == pytest.approx(best, abs=1e-3)


class TestTrust:
    """Scans count rows half by their probabilities, if labels follow these about as they should."""

    def test_right_probabilities_are_trusted_and_flat_steep_or_few_ones_are_not(self):
        random = np.random.default_rng(0)
        proba = random.dirichlet([1.2, 0.8, 0.5], 3000)
        y = (proba.cumsum(axis=1) > random.random((3000, 1))).argmax(axis=1)
        assert Rows.of(proba, y).trust == 0.5
        # A factor for each class is no matter: the shift takes it out.
        tilted = proba * [1.0, 3.0, 0.4]
        assert Rows.of(tilted / tilted.sum(axis=1, keepdims=True), y).trust == 0.5
        assert Rows.of(*crooked(3000)).trust == 0.5  # a bend is no reason to follow single labels
        assert Rows.of(1 / 6 + proba / 2, y).trust == 0.0
        steep = proba**6 / (proba**6).sum(axis=1, keepdims=True)
        assert Rows.of(steep, y).trust == 0.0
        assert Rows.of(proba[:200], y[:200]).trust == 0.0

    def test_they_hold_better_on_new_rows(self):
        gains = []
        for seed in range(6):
            data = mf.datasets.make_fraud_triage(n_rows=4000, random_state=seed)
            new = mf.datasets.make_fraud_triage(n_rows=40_000, random_state=seed + 50)
            found = []
            for trust in (0.0, 0.5):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(Rows, "trust", trust)
                    policy = mf.optimize(data.proba, data.y, "g_mean").policy
                found.append(_held_out(policy, new))
            gains.append(found[1] - found[0])
        assert np.mean(gains) > 0


def _held_out(policy, new):
    shares, classes = policy.decision_proba(new.proba), list(policy.axes.classes)
    codes = np.array([classes.index(value) for value in new.y])
    recalls = [shares[codes == i, i].mean() for i in range(len(classes))]
    return float(np.prod(recalls) ** (1 / len(classes)))
