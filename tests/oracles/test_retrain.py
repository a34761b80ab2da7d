"""The retraining oracle and the policies over its models."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import metricfit as mf
from metricfit.layout import statistic
from metricfit.policy import PolicyFileError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.choice(3, 400, p=[0.7, 0.2, 0.1])
    X = rng.normal(size=(400, 3)) + 1.2 * np.eye(3)[y]
    group = np.where(X[:, 0] + rng.normal(size=400) > 0.5, "a", "b")
    return X, y, group


def oracle_on(data, estimator=None, **options):
    X, y, _ = data
    return mf.RetrainOracle(LogisticRegression() if estimator is None else estimator, X, y, **options)


def counted(decisions, y):
    return np.bincount(3 * y + decisions, minlength=9).reshape(1, 3, 3) / len(y)


def test_a_loss_that_rewards_hits_trains_with_class_weights(data):
    X, y, _ = data
    gain = np.array([1.0, 3.0, 6.0])
    loss = np.zeros((1, 2, 3))
    loss[0, 0] = -gain
    vertex = oracle_on(data)(loss, "diagonal")
    weight = gain[y] * (len(y) / gain[y].sum())
    expected = LogisticRegression(warm_start=True).fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(vertex.rule.predict(X), expected)
    axes = oracle_on(data).axes
    np.testing.assert_allclose(vertex.statistic, statistic(counted(expected, y), "diagonal", axes))


def test_cost_proportionate_weighting_minimises_an_asymmetric_cost(data):
    # A tree grown to the end fits every row, so each row gets the decision that costs it least.
    X, y, _ = data
    cost = np.array([[[2.0, 5.0, 1.0], [4.0, 0.5, 3.0], [0.0, 7.0, 6.0]]])
    vertex = oracle_on(data, DecisionTreeClassifier(random_state=0))(cost, "full")
    best = cost[0].argmin(axis=1)
    np.testing.assert_array_equal(vertex.rule.predict(X), best[y])
    np.testing.assert_allclose(vertex.statistic, counted(best[y], y))


def test_layouts_agree(data):
    loss = np.zeros((1, 2, 3))
    loss[0] = [[-1.0, -2.0, -4.0], [0.0, 0.1, 0.3]]
    oracle = oracle_on(data, DecisionTreeClassifier(max_depth=3, random_state=0))
    full = np.repeat(loss[:, 1:], 3, axis=1) + np.eye(3) * loss[:, 0, None, :]
    kept = statistic(oracle(full, "full").statistic, "full", oracle.axes)
    np.testing.assert_allclose(oracle(loss, "diagonal").statistic, statistic(kept, "diagonal", oracle.axes))


@pytest.mark.parametrize("method", ["column_generation", "frank_wolfe", "gda"])
def test_the_policy_reaches_what_the_result_says(data, method):
    X, y, _ = data
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    result = mf.optimize(proba, y, "h_mean", method=method, oracle=oracle_on(data), max_calls=12)
    shares = result.policy.decision_proba(X)
    tensor = np.zeros((3, 3))
    np.add.at(tensor, y, shares / len(y))
    np.testing.assert_allclose(result.confusion.matrix, tensor, atol=1e-12)
    assert mf.h_mean()(result.confusion) == pytest.approx(result.value, abs=1e-9)
    assert result.n_oracle_calls <= 12
    assert not result.certified
    plain = counted(LogisticRegression().fit(X, y).predict(X), y)[0]
    assert result.value > 3 / np.sum(plain.sum(axis=1) / np.maximum(plain.diagonal(), 1e-9))


def test_constraints_hold_with_groups(data):
    X, y, group = data
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    limit = mf.demographic_parity(over="group") <= 0.05
    oracle = oracle_on(data, sensitive_features=group)
    result = mf.optimize(proba, y, "g_mean", [limit], oracle=oracle, max_calls=30)
    assert result.constraints[0].violation <= 1e-9
    shares = result.policy.decision_proba(X, group)
    overall = shares.mean(axis=0)
    apart = max(np.abs(shares[group == g].mean(axis=0) - overall).max() for g in "ab")
    assert apart <= 0.05 + 1e-9


def test_saved_models_decide_alike(data, tmp_path):
    X, y, _ = data
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    limit = mf.coverage_deviation() <= 0.02
    policy = mf.optimize(proba, y, "h_mean", [limit], oracle=oracle_on(data), max_calls=25).policy
    path = tmp_path / "models.zip"
    policy.save(path)
    loaded = mf.ModelPolicy.load(path)
    np.testing.assert_array_equal(loaded.decision_proba(X), policy.decision_proba(X))
    for randomize in ("hash", "draw", "never"):
        ours = policy.decide(X, randomize=randomize, random_state=3)
        np.testing.assert_array_equal(loaded.decide(X, randomize=randomize, random_state=3), ours)
    order = np.random.default_rng(1).permutation(len(y))
    np.testing.assert_array_equal(policy.decide(X[order]), policy.decide(X)[order])
    often = np.bincount(policy.decide(X), minlength=3) / len(y)
    np.testing.assert_allclose(often, policy.decision_proba(X).mean(axis=0), atol=0.06)


def test_untrusted_types_and_damaged_files_are_refused(data, tmp_path):
    X, y, _ = data
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    policy = mf.optimize(proba, y, "g_mean", oracle=oracle_on(data, tree), max_calls=5).policy
    path = tmp_path / "models.zip"
    policy.save(path)
    with pytest.raises(PolicyFileError, match="trusted=\\["):
        mf.ModelPolicy.load(path)
    loaded = mf.ModelPolicy.load(path, trusted=["sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(loaded.decide(X), policy.decide(X))
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(PolicyFileError, match="cannot load"):
        mf.ModelPolicy.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("policy.json", "{}")
    with pytest.raises(PolicyFileError, match="cannot load"):
        mf.ModelPolicy.load(path)


def test_bad_input(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="takes no sample_weight"):
        mf.RetrainOracle(KNeighborsClassifier(), X, y)
    with pytest.raises(ValueError, match="y"):
        mf.RetrainOracle(LogisticRegression(), X, y[:-1])
    oracle = oracle_on(data)
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    first = mf.optimize(proba, y, "g_mean", oracle=oracle, max_calls=3)
    with pytest.raises(ValueError, match="start"):
        mf.optimize(proba, y, "g_mean", oracle=oracle, max_calls=3, start=first)


def test_the_estimator_handed_in_is_not_changed(data):
    X, y, _ = data
    model = LogisticRegression()
    oracle = mf.RetrainOracle(model, X, y)
    loss = np.zeros((1, 2, 3))
    loss[0, 0] = -1.0
    oracle(loss, "diagonal")
    assert not hasattr(model, "coef_")
    assert model.get_params()["warm_start"] is False
