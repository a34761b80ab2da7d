"""The retraining oracle and the policies over its models."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from optional import needs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import metricfit as mf
from metricfit.data.layout import statistic
from metricfit.exceptions import PolicyFileError
from metricfit.oracles.retrain import undominated


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


def hits(*costs):
    """Return the loss that charges each class for its hits."""
    loss = np.zeros((1, 2, 3))
    loss[0, 0] = costs
    return loss


def test_decisions_that_another_one_never_exceeds_are_left_out():
    #                  a    b    c    d = b   e: dearer than b or as dear for every class
    costs = np.array([[[1.0, 2.0, 3.0, 2.0, 2.0], [3.0, 2.0, 1.0, 2.0, 4.0]]])
    assert undominated(costs).tolist() == [0, 2, 3]
    # In another cell e is the cheapest one.
    assert undominated(np.concatenate([costs, costs[..., [4, 3, 2, 1, 0]]])).tolist() == [0, 2, 3, 4]
    assert undominated(np.zeros((1, 3, 4))).tolist() == [3]


def test_a_class_whose_hits_cost_is_not_decided_and_its_rows_do_not_count(data):
    X, y, _ = data
    vertex = oracle_on(data)(hits(-1.0, 2.0, -4.0), "diagonal")
    rows = y != 1
    gain = np.array([1.0, 0.0, 4.0])[y[rows]]
    weight = gain * (len(gain) / gain.sum())
    expected = LogisticRegression().fit(X[rows], y[rows], sample_weight=weight).predict(X)
    np.testing.assert_array_equal(vertex.rule.predict(X), expected)
    # If all hits cost something, every row stands for the two classes it is not of.
    all_cost = oracle_on(data)(hits(1.0, 2.0, 4.0), "diagonal")
    row, other = np.nonzero(np.arange(3) != y[:, None])
    cost = np.array([1.0, 2.0, 4.0])[y[row]]
    weight = cost * (len(cost) / cost.sum())
    expected = LogisticRegression().fit(X[row], other, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(all_cost.rule.predict(X), expected)
    # Only one class rewards its hits: no model is needed.
    assert set(oracle_on(data)(hits(1.0, 2.0, -4.0), "diagonal").rule.predict(X)) == {2}


def test_a_forest_is_grown_anew_for_every_loss(data):
    # Its own warm_start would keep the trees of the first loss.
    X, y, _ = data
    forest = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0)
    oracle = oracle_on(data, forest)
    oracle(hits(-1.0, -1.0, -1.0), "diagonal")
    gain = np.array([0.1, 1.0, 3.0])
    vertex = oracle(hits(*-gain), "diagonal")
    expected = forest.fit(X, y, sample_weight=gain[y] * (len(y) / gain[y].sum())).predict(X)
    np.testing.assert_array_equal(vertex.rule.predict(X), expected)


def test_a_fit_starts_from_the_model_of_the_nearest_loss_and_none_is_made_twice(data):
    oracle = oracle_on(data)
    near = oracle(hits(-1.0, -2.0, -4.0), "diagonal")
    oracle(hits(-9.0, -1.0, -1.0), "diagonal")
    close = oracle(hits(-1.00001, -2.0, -4.0), "diagonal")
    assert close.rule.n_iter_[0] <= 1 < 5 < near.rule.n_iter_[0]
    assert close.rule is not near.rule
    assert oracle(hits(-1.0, -2.0, -4.0), "diagonal").rule is near.rule


def test_a_loss_of_another_layout_is_another_loss():
    # With two classes the losses of both layouts have one shape, and here the same numbers.
    X = np.array([[-2.0], [-1.0], [0.5], [3.0]])
    oracle = mf.RetrainOracle(LogisticRegression(), X, [0, 0, 1, 1])
    loss = np.array([[[-1.0, 0.0], [0.0, -1.0]]])
    # Hits of class 0 pay, and decision 1 always pays as much; against: all hits pay.
    assert oracle(loss, "diagonal").rule.predict(X).tolist() == [1, 1, 1, 1]
    assert oracle(loss, "full").rule.predict(X).tolist() == [0, 0, 1, 1]


@needs("skops")
def test_a_pipeline_hands_the_weights_to_its_last_step(data, tmp_path):
    X, y, _ = data
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    oracle = oracle_on(data, scaled)
    gain = np.array([1.0, 3.0, 6.0])
    expected = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X, y, logisticregression__sample_weight=gain[y] * (len(y) / gain[y].sum())
    )
    rule = oracle(hits(*-gain), "diagonal").rule
    np.testing.assert_array_equal(rule.predict(X), expected.predict(X))
    proba = scaled.fit(X, y).predict_proba(X)
    policy = mf.optimize(proba, y, "h_mean", oracle=oracle, max_calls=8).policy
    policy.save(tmp_path / "models.zip")
    loaded = mf.ModelPolicy.load(tmp_path / "models.zip")
    np.testing.assert_array_equal(loaded.decide(X), policy.decide(X))
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit takes no sample_weight"):
        oracle_on(data, make_pipeline(StandardScaler(), KNeighborsClassifier()))


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


@needs("skops")
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


@needs("skops")
class OwnTree(DecisionTreeClassifier):
    """A type that no version of skops knows."""


@needs("skops")
def test_untrusted_types_and_damaged_files_are_refused(data, tmp_path):
    X, y, _ = data
    proba = LogisticRegression().fit(X, y).predict_proba(X)
    tree = OwnTree(max_depth=3, random_state=0)
    policy = mf.optimize(proba, y, "g_mean", oracle=oracle_on(data, tree), max_calls=5).policy
    path = tmp_path / "models.zip"
    policy.save(path)
    with pytest.raises(PolicyFileError, match=r"trusted=\[.*OwnTree"):
        mf.ModelPolicy.load(path)
    loaded = mf.ModelPolicy.load(path, trusted=[f"{__name__}.OwnTree", "sklearn.tree._tree.Tree"])
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
    with pytest.raises(
        ValueError, match=r"oracle: class 2 has 0\.125 of its weight, but 0\.\d+ of that of y"
    ):
        mf.optimize(proba[:150], y[:150], "g_mean", oracle=oracle, max_calls=3)
    with pytest.raises(ValueError, match="give both the same y and sample_weight"):
        mf.optimize(proba, y, "g_mean", oracle=oracle, max_calls=3, sample_weight=1.0 + y)
    with pytest.raises(ValueError, match=r"its classes are \[0, 1, 2\], those of y are \['a', 'b', 'c'\]"):
        mf.optimize(proba, np.array(["a", "b", "c"])[y], "g_mean", oracle=oracle, max_calls=3)
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
