"""Local search: against brute force on tiny data, against its own starts, under constraints of any kind."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricfit as mf
from metricfit.exceptions import OverfitWarning
from metricfit.methods import Local

few_rows = pytest.mark.filterwarnings("ignore::metricfit.methods.OverfitWarning")

search = partial(mf.optimize, method="local")


def draw(seed, N, n, power=0.0):
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, n + 1) ** power
    y = np.concatenate([np.arange(n), rng.choice(n, N - n, p=share / share.sum())])
    proba = rng.dirichlet(np.full(n, 0.8), N) + 0.7 * np.eye(n)[y] * rng.random((N, 1))
    return proba / proba.sum(axis=1, keepdims=True), y


def measured(metric, y, decisions, **options):
    return (
        mf.parse(metric)(mf.Confusion.from_predictions(y, decisions, **options))
        if isinstance(metric, str)
        else (metric(mf.Confusion.from_predictions(y, decisions, **options)))
    )


def best_of_all_weights(metric, proba, y):
    """Return the best value of all rules argmax w_j p_j, by one set of weights from each region there is.

    With logarithms of the weights as coordinates (the first is 0), row x prefers i to j on one side of the
    line ``v_i - v_j = log p_j - log p_i``. For n = 2 these are points; for n = 3, the vertices of the lines'
    arrangement, moved a little in all directions, touch every region that has one.
    """
    n = proba.shape[1]
    logs = np.log(proba)
    if n == 2:
        cuts = np.sort(logs[:, 0] - logs[:, 1])
        points = np.concatenate([[cuts[0] - 1], (cuts[1:] + cuts[:-1]) / 2, [cuts[-1] + 1]])[:, None]
    else:
        a, b = logs[:, 0] - logs[:, 1], logs[:, 0] - logs[:, 2]
        c = logs[:, 1] - logs[:, 2]  # lines v1 = a, v2 = b, v2 - v1 = c
        corners = [
            *((x, z) for x, z in product(a, b)),
            *((x, x + z) for x, z in product(a, c)),
            *((x - z, x) for x, z in product(b, c)),
        ]
        nudges = 1e-7 * np.array([[np.cos(t), np.sin(t)] for t in np.arange(12) * np.pi / 6 + 0.1])
        points = (np.array(corners)[:, None] + nudges).reshape(-1, 2)
    best, seen = -np.inf, set()
    for point in points:
        decisions = (logs + np.concatenate([[0.0], point])).argmax(axis=1)
        if decisions.tobytes() not in seen:
            seen.add(decisions.tobytes())
            best = max(best, measured(metric, y, decisions, classes=range(n)))
    return best


@few_rows
@pytest.mark.parametrize("metric", ["macro_f1", "mcc", "macro_f1 * accuracy", "jaccard(average='macro')"])
@pytest.mark.parametrize(("n", "N"), [(2, 14), (3, 9)])
@pytest.mark.parametrize("seed", range(3))
def test_never_below_the_best_of_all_weight_orderings(metric, n, N, seed):
    proba, y = draw(seed, N, n)
    result = search(proba, y, metric, method=Local(tries=12))
    assert result.value >= best_of_all_weights(metric, proba, y) - 1e-9
    decided = result.policy.decide(proba)
    if result.policy.n_rules == 1:
        assert measured(metric, y, decided, classes=range(n)) == pytest.approx(result.value, abs=1e-12)


@few_rows
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 5),
    metric=st.sampled_from(["macro_f1", "mcc", "cohen_kappa", "macro_f1 * min_recall", "g_mean"]),
    soft=st.booleans(),
)
def test_never_worse_than_argmax_and_balanced(seed, n, metric, soft):
    proba, y = draw(seed, 60, n, power=1.0)
    prior = proba.mean(axis=0) if soft else np.bincount(y, minlength=n) / len(y)
    kind = "model" if soft else "labels"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverfitWarning)
        result = search(proba, y, metric, method=Local(tries=1), counting=kind)
    for start in (proba, proba / prior):
        matrix = np.zeros((1, n, n))
        truth = proba if soft else np.eye(n)[y]
        np.add.at(matrix[0].T, start.argmax(axis=1), truth / len(y))
        value = mf.parse(metric)(mf.Confusion(matrix, result.confusion.axes))
        assert result.value >= value - 1e-9


@few_rows
def test_auto_takes_local_where_nothing_is_certified():
    proba, y = draw(0, 80, 4)
    for metric in ("macro_f1", "mcc", lambda m: np.trace(m) ** 2):
        result = mf.optimize(proba, y, metric, counting="labels")
        assert result.method == "local"
        assert not result.certified
        assert result.gap == np.inf
        assert result.bound == np.inf
    assert mf.optimize(proba, y, "g_mean", counting="labels").method == "local"
    soft = mf.optimize(proba, y, "macro_f1", counting="calibrated")
    assert soft.method == "local"


def test_a_bound_is_reported_where_it_is_proven():
    proba, y = draw(1, 200, 4, power=1.0)
    result = search(proba, y, "macro_f1", counting="model")
    assert result.certified
    assert result.value <= result.bound < 1
    # The bound is the mean of the best F1-measures that each class has alone.
    alone = []
    for i in range(4):
        p = np.sort(proba[:, i])[::-1]
        alone.append(max(2 * p[:m].sum() / (p.sum() + m) for m in range(1, len(p) + 1)))
    assert result.bound == pytest.approx(np.mean(alone), abs=1e-9)
    # With two classes of which one is never in doubt, nothing is lost by deciding both.
    sure = np.repeat(np.eye(2), 50, axis=0)
    assert search(sure, np.repeat([0, 1], 50), "macro_f1", counting="model").status == "optimal"


@few_rows
def test_predictive_parity_is_kept():
    rng = np.random.default_rng(0)
    group = np.resize(["a", "b"], 400)
    y = (rng.random(400) < np.where(group == "a", 0.6, 0.3)).astype(int)
    score = np.clip(0.25 + 0.5 * y + 0.25 * rng.normal(size=400), 0.01, 0.99)
    proba = np.stack([1 - score, score], axis=1)
    limit = mf.predictive_parity("group", 1) <= 0.01
    free = search(proba, y, "accuracy", sensitive_features=group)
    kept = search(proba, y, "accuracy", limit, sensitive_features=group)
    assert kept.method == "local"
    assert limit.metric(free.confusion) > 0.05
    assert limit.metric(kept.confusion) <= 0.01 + 1e-9
    assert kept.constraints[0].violation <= 1e-9
    assert free.value >= kept.value > free.value - 0.05


@few_rows
def test_convex_constraints_may_be_kept_by_a_mixture():
    proba, y = draw(3, 300, 3, power=1.0)
    # Of 300 rows, no rule decides between 30 and 31; and the 30 likeliest of class 2 are right in 4 of 10 cases.
    limits = [mf.precision(2) >= 0.4, mf.coverage(2) >= 0.101, mf.coverage(2) <= 0.102]
    result = search(proba, y, "mcc", limits)
    assert result.method == "local"
    assert result.policy.n_rules > 1
    assert all(record.violation <= 1e-9 for record in result.constraints)
    assert result.value <= search(proba, y, "mcc").value + 1e-9
    expected = result.policy.decision_proba(proba)
    tensor = np.einsum("ri,rj->ij", np.eye(3)[y], expected)[None] / len(y)
    assert mf.mcc()(mf.Confusion(tensor, result.confusion.axes)) == pytest.approx(result.value, abs=1e-9)


@few_rows
def test_impossible_constraints_are_named():
    proba, y = draw(4, 60, 3)
    with pytest.raises(mf.InfeasibleError, match=r"recall\(0\)"):
        search(proba, y, "macro_f1", [mf.recall(0) >= 0.9, mf.recall(0) <= 0.5])
    with pytest.raises(mf.InfeasibleError, match="no policy found"):
        search(proba, y, "accuracy", mf.macro_f1() >= 0.999)


@few_rows
def test_a_users_function_under_a_constraint():
    proba, y = draw(5, 150, 3, power=1.0)

    def gain(matrix):
        recalls = np.diag(matrix) / matrix.sum(axis=1)
        return float(np.prod(recalls + 0.1))

    plain = mf.custom(gain)(mf.Confusion.from_predictions(y, proba.argmax(axis=1)))
    result = search(proba, y, gain, mf.coverage(0) <= 0.5)
    assert result.constraints[0].value <= 0.5 + 1e-9
    assert search(proba, y, gain).value >= max(plain, result.value)


@few_rows
def test_a_decision_that_is_no_class_is_scanned_too():
    proba, y = draw(6, 300, 3)
    free = search(proba, y, mf.selective_accuracy() * mf.macro_f1(), decisions=[0, 1, 2, "review"])
    kept = search(
        proba,
        y,
        mf.selective_accuracy() * mf.macro_f1(),
        mf.coverage("review") <= 0.05,
        decisions=[0, 1, 2, "review"],
    )
    assert free.method == kept.method == "local"
    assert kept.constraints[0].value <= 0.05 + 1e-9
    assert free.value >= kept.value - 1e-9
    fewer = search(proba, y, "macro_f1", decisions=[0, 2])
    assert fewer.confusion.values.shape == (1, 3, 2)


@few_rows
def test_same_seed_same_answer_and_the_budget_is_kept():
    proba, y = draw(7, 200, 4, power=1.0)
    one, two = (search(proba, y, "macro_f1", random_state=3) for _ in range(2))
    assert one.value == two.value
    np.testing.assert_array_equal(one.policy.decide(proba), two.policy.decide(proba))
    best = -np.inf
    for budget in (1, 3, 12, 30, 60, 200):
        result = search(proba, y, "macro_f1", max_calls=budget)
        assert result.n_oracle_calls <= budget
        assert result.status == ("max_calls" if budget < 200 else result.status)
        assert result.value >= best - 1e-12
        best = result.value


@few_rows
def test_groups_have_weights_of_their_own_where_the_problem_speaks_of_them():
    rng = np.random.default_rng(8)
    proba, y = draw(8, 300, 3, power=1.0)
    group = rng.choice(["a", "b"], 300)
    worst = mf.worst(mf.macro_f1(), "group")
    result = search(proba, y, worst, sensitive_features=group)
    plain = worst(mf.Confusion.from_predictions(y, proba.argmax(axis=1), sensitive_features=group))
    assert result.value > plain
    shared = search(proba, y, "macro_f1", sensitive_features=group)
    losses = [rules[0].loss for rules in shared.policy.rules]
    np.testing.assert_array_equal(losses[0], losses[1])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rules_of_many_cells_are_mixed_and_not_scanned(seed):
    """A user's function that is the accuracy has the optimum of the accuracy, which column generation proves."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([2.0, 1.0, 1.0], 300)
    y = np.array([rng.choice(3, p=p) for p in proba])
    group = rng.integers(0, 4, 300)
    ratio = mf.disparity(mf.coverage(0), over="group", as_ratio=True) >= 0.95
    own = mf.custom(lambda matrix: matrix.trace(), name="own")

    def solve(floor):
        return mf.optimize(
            proba,
            y,
            "min_recall",
            [ratio, floor],
            sensitive_features=group,
            counting="model",
            random_state=0,
        )

    known, found = solve(mf.accuracy() >= 0.59), solve(own >= 0.59)
    assert known.status == "optimal"
    assert max(record.violation for record in found.constraints) <= 1e-6
    assert abs(found.value - known.value) <= 2e-4
    assert found.n_oracle_calls <= 100  # a sweep over the weights of all cells alone has 24
