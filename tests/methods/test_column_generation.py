"""Column generation against the full convex program on tiny data: value, bound, prices and policy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from methods.problems import CONSTRAINED, OTHER_DECISIONS, PROBLEMS, UNCONSTRAINED
from methods.truth import Case, Sample

import metricfit as mf
from metricfit.methods import METHODS

TOL = 1e-4
BOUNDED = [name for name, case in PROBLEMS.items() if case.bounds]


@cache
def solved(name: str) -> mf.Result:
    return PROBLEMS[name].solve(tol=TOL)


@cache
def truth(name: str) -> float:
    return PROBLEMS[name].best()


def soft_confusion(case: Case, chances: np.ndarray) -> np.ndarray:
    """Return C[a, i, j] of soft labels and the policy's decision probabilities, one row at a time."""
    sample = case.sample
    cells = sorted(set(map(tuple, sample.groups.to_numpy().tolist())))
    tensor = np.zeros((len(cells), sample.proba.shape[1], chances.shape[1]))
    for group, p, d, w in zip(
        sample.groups.to_numpy().tolist(), sample.proba, chances, sample.weight, strict=True
    ):
        tensor[cells.index(tuple(group))] += w * np.outer(p, d)
    return tensor / tensor.sum()


@pytest.mark.parametrize("name", PROBLEMS)
def test_value_and_bound_enclose_the_truth(name):
    result, sign = solved(name), PROBLEMS[name].sign
    assert result.value == pytest.approx(truth(name), abs=TOL)
    assert sign * result.value <= sign * truth(name) + 1e-7
    assert sign * result.bound >= sign * truth(name) - 1e-7
    assert result.status == "optimal"
    assert result.certified
    assert result.gap == pytest.approx(abs(result.bound - result.value), abs=1e-12)
    assert result.gap <= TOL


@pytest.mark.parametrize("name", BOUNDED)
def test_constraints_hold_exactly(name):
    result = solved(name)
    assert result.feasible
    assert len(result.constraints) == len(PROBLEMS[name].bounds)
    for record, bound in zip(result.constraints, PROBLEMS[name].bounds, strict=True):
        assert record.violation <= 1e-9
        assert record.name == str(bound.constraint)
        assert record.limit == bound.limit
        assert record.value == pytest.approx(bound.metric(result.confusion), abs=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_policy_does_what_the_result_says(name):
    case, result = PROBLEMS[name], solved(name)
    chances = result.policy.decision_proba(case.sample.proba, case.sample.groups)
    np.testing.assert_allclose(soft_confusion(case, chances), result.confusion.values, atol=1e-12)
    assert case.objective(result.confusion) == pytest.approx(result.value, abs=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_policy_has_few_rules(name):
    # A corner of a linear program has a rule for each cell and one for each constraint that binds; a curved
    # objective adds at most one for each rate it bends in.
    case, result = PROBLEMS[name], solved(name)
    rates = 6 if name.startswith("worst") else 3  # three in each of two groups
    assert result.policy.n_rules <= len(result.policy.rules) + len(case.bounds) + rates


@pytest.mark.parametrize("name", ["accuracy", "cost", "f_beta", "kappa", "quadratic kappa"])
def test_linear_and_ratio_objectives_need_no_mixture(name):
    assert solved(name).policy.n_rules == len(solved(name).policy.rules)


@pytest.mark.parametrize("name", BOUNDED)
def test_prices_are_the_slopes_of_the_truth(name):
    """The price of a constraint lies between what a little slack gains and what the same tightening costs."""
    case, step = PROBLEMS[name], 1e-3
    result = case.solve(tol=1e-7)
    for k, record in enumerate(result.constraints):
        at = {
            s: case.sign * case.best([s * (t == k) for t in range(len(case.bounds))])
            for s in (-step, 0.0, step)
        }
        slopes = (at[step] - at[0.0]) / step, (at[0.0] - at[-step]) / step
        margin = 2e-3 * (1 + max(slopes))
        assert min(slopes) - margin <= record.price <= max(slopes) + margin
        assert record.price >= 0


@pytest.mark.parametrize("name", ["g_mean, parity", "cost, odds", "kld, recalls", "several", "review"])
def test_prices_bound_what_slack_can_gain(name):
    """No slack gains more than the prices say: the Lagrangian is a bound for every limit."""
    case = PROBLEMS[name]
    result = case.solve(tol=1e-7)
    prices = np.array([record.price for record in result.constraints])
    for slack in (0.01, 0.05, 0.3):
        most = case.sign * result.value + slack * prices.sum() + 1e-6
        assert case.sign * case.best([slack] * len(prices)) <= most


def test_tolerance_is_obeyed():
    case = PROBLEMS["g_mean, parity"]
    for tol in (1e-2, 1e-4, 1e-7):
        result = case.solve(tol=tol)
        assert result.status == "optimal"
        assert result.gap <= tol
        assert result.value == pytest.approx(case.best(), abs=tol + 1e-8)


def test_mixes_cell_by_cell():
    """Twelve cells, one constraint that couples them: all cells but one keep one rule."""
    random = np.random.default_rng(3)
    proba = random.dirichlet([2.0, 1.0, 1.0], 240)
    group = np.arange(240) % 12
    result = mf.optimize(
        proba,
        np.zeros(240, int),
        "accuracy",
        mf.coverage(2) <= 0.1013,  # no whole number of rows
        sensitive_features=group,
        counting="model",
        tol=1e-7,
    )
    assert result.status == "optimal"
    mixed = [[rule for rule in mixture if rule.weight > 0] for mixture in result.policy.rules]
    assert sorted(map(len, mixed)) == [1] * 11 + [2]


def test_more_rows_than_enter_the_program_at_a_time():
    """Equalized odds of 20 groups of 6 classes are 1,440 rows; the bound, which the oracle proves, knows them all."""
    random = np.random.default_rng(0)
    proba, group = random.dirichlet(np.ones(6), 1000), random.integers(0, 20, 1000)
    y = (proba.cumsum(axis=1) < random.random((1000, 1))).sum(axis=1).clip(max=5)
    limit = mf.equalized_odds("group") <= 0.05
    found = mf.optimize(
        proba, y, "accuracy", [limit], sensitive_features={"group": group}, counting="model", tol=TOL
    )
    assert found.constraints[0].violation <= 1e-9
    assert found.status == "optimal"
    assert found.gap <= TOL


def test_is_the_default_for_everything_convex():
    assert next(iter(METHODS)) == "column_generation"
    assert {solved(name).method for name in PROBLEMS} == {"column_generation"}


def test_lists_are_not_empty():
    assert len(UNCONSTRAINED) > 20
    assert len(CONSTRAINED) > 15
    assert len(OTHER_DECISIONS) > 5


class TestLabels:
    """Counted labels: the oracle is approximate, so the bound is an estimate, and says so."""

    sample = Sample.draw(seed=5, rows=400)

    def solve(self, objective="g_mean", constraints=(), **options):
        return mf.optimize(
            objective=objective,
            constraints=constraints,
            **self.sample.arguments(),
            **{"counting": "labels", **options},
        )

    def baseline(self, metric, loss):
        """Return a metric of the plug-in rule of one loss for all cells."""
        decided = np.argmin(self.sample.proba @ loss, axis=1)
        confusion = mf.Confusion.from_predictions(
            self.sample.y, decided, self.sample.groups, self.sample.weight, classes=range(3)
        )
        return metric(confusion)

    def test_is_not_certified(self):
        result = self.solve()
        assert not result.certified
        assert result.gap == np.inf
        assert result.status == "searched"
        assert "none claimed" in repr(result)

    @pytest.mark.parametrize(
        "objective", ["g_mean", "min_recall", "micro_f1", "cohen_kappa('quadratic')", "accuracy"]
    )
    def test_is_never_worse_than_argmax_and_balanced(self, objective):
        result, metric = self.solve(objective), mf.parse(objective)
        prior = np.bincount(self.sample.y, self.sample.weight)
        # What is tuned must gain more than noise over the most probable class, so it may be a little behind the other.
        assert result.value >= self.baseline(metric, -np.eye(3)) - 0.01
        assert result.value >= self.baseline(metric, -np.diag(1 / prior)) - 0.03

    def test_counts_what_the_policy_decides(self):
        result = self.solve("g_mean", [mf.precision(1) >= 0.45, mf.demographic_parity(over="sex") <= 0.05])
        chances = result.policy.decision_proba(self.sample.proba, self.sample.groups)
        tensor = np.zeros((3, 3))
        for y, d, w in zip(self.sample.y, chances, self.sample.weight, strict=True):
            tensor[y] += w * d
        np.testing.assert_allclose(tensor / tensor.sum(), result.confusion.matrix, atol=1e-12)
        assert mf.g_mean()(result.confusion) == pytest.approx(result.value, abs=1e-9)
        assert result.feasible

    def test_is_deterministic(self):
        first, second = self.solve(), self.solve()
        assert first.policy == second.policy
        assert first.value == second.value
        assert [r.value for r in first.history] == [r.value for r in second.history]

    def test_seed_changes_only_what_is_drawn(self):
        values = {self.solve(random_state=seed).value for seed in (None, 0, 1, 2)}
        assert max(values) - min(values) <= 0.02

    def test_matches_the_model_where_labels_are_certain(self):
        """With one-hot probabilities labels and soft labels are the same."""
        proba = np.eye(3)[self.sample.y]
        both = [
            mf.optimize(proba, self.sample.y, "h_mean", mf.coverage(0) <= 0.2, counting=confusion, tol=1e-6)
            for confusion in ("labels", "model")
        ]
        assert both[0].value == pytest.approx(both[1].value, abs=1e-5)
        assert [r.certified for r in both] == [False, True]
