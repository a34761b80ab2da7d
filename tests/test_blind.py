"""Decisions that do not see the attribute: against a linear program over all randomised rules, and new rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog, minimize
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.estimator.joint import JointModel, fit_joint
from metricfit.estimator.pairs import ADDED_ROWS, CellTiltedByClass, ClassThenCell, tilt, tilted
from metricfit.result.most_probable import of_most_probable

CELLS, CLASSES, DECISIONS = 2, 3, 3


def joint_rows(rows: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities of pairs, with a cell and a class drawn from them."""
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(CELLS * CLASSES, 0.4), rows)
    pairs = np.array([rng.choice(CELLS * CLASSES, p=row) for row in joint])
    pairs[: CELLS * CLASSES] = np.arange(CELLS * CLASSES)
    return joint, pairs // CLASSES, pairs % CLASSES


def best_rule(joint: np.ndarray, costs: np.ndarray, limit: float) -> float:
    """The least cost of any randomised rule of x whose shares of decisions differ by at most the limit over cells."""
    rows, q = len(joint), joint.reshape(-1, CELLS, CLASSES)
    cost = np.einsum("xai,ij->xj", q, costs) / rows
    of_cell = q.sum(axis=2) / q.sum(axis=(0, 2))  # how much of a cell a row is
    above, below = [], []
    for j in range(DECISIONS):
        one = np.zeros((rows, DECISIONS))
        one[:, j] = of_cell[:, 0] - of_cell[:, 1]
        above += [one.ravel(), -one.ravel()]
        below += [limit, limit]
    whole = np.kron(np.eye(rows), np.ones((1, DECISIONS)))
    found = linprog(cost.ravel(), np.array(above), below, whole, np.ones(rows), bounds=(0, 1))
    assert found.status == 0
    return float(found.fun)


def test_exact_over_all_randomised_rules_that_do_not_see_the_cell():
    joint, cell, y = joint_rows()
    costs = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 7.0], [5.0, 3.0, 0.0]])
    limit = mf.demographic_parity("group", to="pairs") <= 0.02
    result = mf.optimize(
        joint, y, mf.cost(costs), [limit], sensitive_features=cell, blind=True, counting="model", tol=1e-6
    )
    assert result.certified
    assert result.status == "optimal"
    assert result.constraints[0].value <= 0.02 + 1e-6
    assert result.value == pytest.approx(best_rule(joint, costs, 0.02), abs=1e-5)
    free = mf.optimize(joint, y, mf.cost(costs), sensitive_features=cell, blind=True, counting="model")
    assert free.value < result.value - 1e-3  # the limit costs something, so the test can fail


def test_a_frontier_of_blind_policies():
    joint, cell, y = joint_rows()
    costs = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 7.0], [5.0, 3.0, 0.0]])
    levels = [0.3, 0.1, 0.02]
    front = mf.frontier(
        joint,
        y,
        mf.cost(costs),
        mf.demographic_parity("group", to="pairs"),
        levels,
        sensitive_features=cell,
        blind=True,
        counting="model",
        tol=1e-6,
    )
    expected = [best_rule(joint, costs, level) for level in sorted(levels)]
    found = {point.levels[0]: point.result.value for point in front}
    assert [found[level] for level in sorted(levels)] == pytest.approx(expected, abs=1e-5)
    assert expected[0] > expected[-1] + 1e-3


@pytest.mark.parametrize("confusion", ["model", "labels"])
def test_features_that_tell_the_cell_are_as_good_as_seeing_it(confusion):
    rng = np.random.default_rng(1)
    proba, cell = rng.dirichlet([1.0, 2.0], 400), rng.integers(0, 2, 400)
    proba[cell == 1] = proba[cell == 1, ::-1]
    y = (rng.random(400) < proba[:, 1]).astype(int)
    told = np.zeros((400, 2, 2))
    told[np.arange(400), cell] = proba
    how = {"sensitive_features": cell, "counting": confusion, "method": "column_generation"}
    limits = [mf.equalized_odds("group") <= 0.03]
    blind = mf.optimize(told, y, "accuracy", limits, blind=True, **how)
    seeing = mf.optimize(proba, y, "accuracy", limits, **how)
    assert blind.confusion.axes == seeing.confusion.axes
    assert blind.constraints[0].violation <= 1e-6
    if confusion == "model":
        assert blind.value == pytest.approx(seeing.value, abs=2e-4)


def test_labels_are_those_of_cells_and_classes():
    joint, cell, y = joint_rows(500, seed=2)
    result = mf.optimize(joint, y, "accuracy", sensitive_features=cell, blind=True, counting="labels")
    made = result.policy.decide(joint, randomize="never")
    counted = mf.Confusion.from_predictions(y, made, cell, classes=range(CLASSES))
    assert result.policy.n_rules == 1
    np.testing.assert_allclose(result.confusion.values, counted.values, atol=1e-12)


def test_files_and_three_dimensions(tmp_path):
    joint, cell, y = joint_rows(200, seed=3)
    limit = mf.equal_opportunity("group", 1) <= 0.05
    policy = mf.optimize(joint, y, "accuracy", [limit], sensitive_features=cell, blind=True).policy
    policy.save(tmp_path / "policy.json")
    loaded = mf.Policy.load(tmp_path / "policy.json")
    assert loaded == policy
    assert loaded.axes.seen == policy.axes.seen
    made = loaded.decide(joint)
    assert (loaded.decide(joint.reshape(200, CELLS, CLASSES)) == made).all()
    assert (policy.decide(joint, cell) == made).all()  # attributes may be passed, and are not looked at
    with pytest.raises(ValueError, match="proba has 3 columns"):
        loaded.decide(joint.reshape(200, CELLS, CLASSES).sum(axis=1))
    broken = {**policy.to_dict(), "blind": 1}
    with pytest.raises(mf.exceptions.PolicyFileError, match='"blind" must be true or false'):
        mf.Policy.from_dict(broken)


def test_judged_on_labelled_rows_by_classes_and_cells():
    joint, cell, y = joint_rows(300, seed=4)
    frame = pd.DataFrame({"sex": np.array(["F", "M"])[cell], "site": np.arange(300) % 2})
    limits = [mf.demographic_parity("sex", to="pairs") <= 0.05]
    result = mf.optimize(joint, y, "accuracy", limits, sensitive_features=frame[["sex"]], blind=True)
    chances = result.policy.decision_proba(joint)
    shares = pd.DataFrame(chances).groupby(frame["sex"]).mean()
    told = result.policy.evaluate(joint, y, sensitive_features=frame).set_index("metric")["value"]
    assert told["accuracy()"] == pytest.approx(chances[np.arange(300), y].mean())
    assert told[str(limits[0].metric)] == pytest.approx(float((shares.max() - shares.min()).max()))
    by_site = result.policy.evaluate(joint, y, "accuracy", sensitive_features=frame, by="site")
    one = frame["site"] == 1
    assert by_site["value"].iloc[2] == pytest.approx(chances[one, y[one]].mean())


def test_the_report_compares_a_blind_policy_with_the_most_probable_class(tmp_path):
    """The probability of a class is that of its pairs with all cells; by labels, argmax is counted in each cell."""
    joint, cell, y = joint_rows(200)
    limit = mf.demographic_parity("group") <= 0.1
    result = mf.optimize(
        joint, y, "accuracy", [limit], sensitive_features=cell, blind=True, counting="labels"
    )
    made = joint.reshape(-1, CELLS, CLASSES).sum(axis=1).argmax(axis=1)
    expected = mf.Confusion.from_predictions(y, made, cell, classes=range(CLASSES))
    found = of_most_probable(result.origin.oracle)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
    pytest.importorskip("matplotlib")
    result.report(tmp_path / "report.html")
    assert f"{mf.accuracy()(expected):.4f}" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_is_wrong_is_said():
    joint, cell, y = joint_rows()
    with pytest.raises(ValueError, match="blind=True needs the attributes"):
        mf.optimize(joint, y, "accuracy", classes=range(6), blind=True)
    with pytest.raises(ValueError, match=r"proba must have shape \(N, cells, classes\).*there are 2 cells"):
        mf.optimize(joint[:, :5], y, "accuracy", sensitive_features=cell, blind=True)
    with pytest.raises(ValueError, match="blind=True needs the attributes"):
        mf.MetricClassifier(GaussianNB(), blind=True).fit(np.arange(20.0)[:, None], [0, 1] * 10)
    with pytest.raises(ValueError, match="blind must be True or False"):
        mf.MetricClassifier(GaussianNB(), blind="yes").fit([[0.0]], [0])


def test_axes_of_pairs():
    joint = Axes((0, 1), (1, "review"), Cells(("sex",), (("F",), ("M",)))).blind()
    assert joint.shape == (1, 4, 2)
    assert joint.seen.shape == (2, 2, 2)
    assert joint.right.tolist() == [[False, False], [True, False]] * 2


def people(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two groups of different base rates; one feature tells the class, the other most of the group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    y = (rng.random(rows) < np.where(group == 1, 0.6, 0.3)).astype(int)
    X = pd.DataFrame({"score": y + rng.normal(size=rows), "hint": group + 0.5 * rng.normal(size=rows)})
    return X.assign(group=np.where(group == 1, "b", "a")), y


def test_classifier_decides_without_the_attribute():
    X, y = people(4000, 0)
    new, new_y = people(20000, 1)
    limits = [mf.demographic_parity("group", to="pairs") <= 0.05]
    clf = mf.MetricClassifier(LogisticRegression(), "accuracy", limits, attributes="group", blind=True).fit(
        X, y
    )
    features = new.drop(columns="group")
    made = clf.predict(features)
    assert (clf.predict(new) == made).all()  # the column may be there, and is not looked at
    assert clf.n_features_in_ == 2
    assert isinstance(clf.estimator_, JointModel)
    assert clf.predict_proba(features).shape == clf.decision_proba(features).shape == (20000, 2)
    parity = limits[0].metric
    counted = mf.Confusion.from_predictions(new_y, made, new["group"])
    plain = LogisticRegression().fit(X[["score", "hint"]], y).predict(features)
    before = mf.Confusion.from_predictions(new_y, plain, new["group"])
    assert parity(before) > 0.3  # what there is to mend
    # 2,000 rows of each group in fit: two standard errors of a difference of shares are 0.03.
    assert parity(counted) < 0.05 + 0.035
    assert clf.result_.constraints[0].violation <= 1e-6


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [1, 2]])
def test_frozen_estimators_keep_their_class_probabilities(labels):
    X, y = people(2000, 3)
    features, y = X[["score", "hint"]], np.array(labels)[y]
    model = LogisticRegression().fit(features, y)
    clf = mf.MetricClassifier(
        FrozenEstimator(model), "accuracy", [mf.equalized_odds("group") <= 0.1], blind=True
    )
    clf.fit(features, y, sensitive_features=X["group"])
    np.testing.assert_allclose(clf.predict_proba(features), model.predict_proba(features), atol=1e-9)
    assert clf.result_.constraints[0].violation <= 1e-6
    assert set(clf.predict(features)) == set(labels)


def test_a_frozen_model_that_sees_the_attribute_is_refused():
    X, y = people(200, 3)
    X = X.assign(group=pd.factorize(X["group"])[0])
    model = FrozenEstimator(LogisticRegression().fit(X, y))
    clf = mf.MetricClassifier(model, "accuracy", attributes="group", blind=True)
    with pytest.raises(ValueError, match=r"trained with 'group'.*mf.optimize\(..., blind=True\)"):
        clf.fit(X, y)


def test_class_probabilities_are_not_those_of_pairs():
    joint, cell, y = joint_rows()
    policy = mf.optimize(joint, y, "accuracy", sensitive_features=cell, blind=True, counting="model").policy
    classes = joint.reshape(-1, CELLS, CLASSES).sum(axis=1)
    for use in (policy.decide, lambda proba: policy.evaluate(proba, y)):
        with pytest.raises(ValueError, match=r"3 columns.*decides by 6.*clf.estimator_.joint_proba\(X\)"):
            use(classes)


def test_the_factors_win_where_classes_and_cells_need_different_lines():
    # Given the class, the cell is told by another feature than the class: a product of two logistic models is right.
    rng = np.random.default_rng(0)
    cell, y = rng.integers(0, 2, 3000), rng.integers(0, 2, 3000)
    X = np.stack(
        [y + rng.normal(size=3000), np.where(y == 1, cell, -cell) * 3 + rng.normal(size=3000)], axis=1
    )
    pairs = (cell * 2 + y).astype(np.int32)
    model, held_out = fit_joint(
        LogisticRegression(), X, pairs, 2, np.array([0, 1]), cv=3, sample_weight=None, n_jobs=None
    )
    assert held_out.proba.shape == (3000, 4)
    losses = []
    for candidate in (LogisticRegression(), ClassThenCell(LogisticRegression(), LogisticRegression(), 2)):
        said = candidate.fit(X[:2000], pairs[:2000]).predict_proba(X[2000:])
        losses.append(-np.log(said[np.arange(1000), pairs[2000:]]).mean())
    assert isinstance(model.model, ClassThenCell) == (losses[1] < losses[0])


def test_tilted_probabilities_are_the_likeliest():
    rng = np.random.default_rng(0)
    proba, weights = rng.dirichlet(np.ones(3), 400), rng.exponential(size=400)
    cells = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    counts = np.bincount(cells, weights, minlength=3)
    mean = weights @ proba / weights.sum()

    def unlikely(biases: np.ndarray) -> float:
        said = np.log(tilted(proba, np.exp(biases)))
        added = np.log(tilted(mean[None], np.exp(biases))[0])
        return float(-(weights * said[np.arange(400), cells]).sum() - ADDED_ROWS * mean @ added)

    factors = tilt(proba, weights, counts)
    best = minimize(unlikely, np.zeros(3))
    assert unlikely(np.log(factors)) == pytest.approx(best.fun, abs=1e-3)
    np.testing.assert_allclose(tilted(proba, factors), tilted(proba, np.exp(best.x)), atol=2e-3)


def test_few_rows_teach_one_model_of_cells_better_than_one_for_each_class():
    rng = np.random.default_rng(2)
    cell, y = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 40))
    X[:, 0] += 2 * y
    X[:, 1] += 2 * cell
    how = {"cv": 3, "sample_weight": rng.exponential(size=300), "n_jobs": None}
    pairs = (cell * 2 + y).astype(np.int32)
    model, _ = fit_joint(LogisticRegression(max_iter=500), X, pairs, 2, np.array([0, 1]), **how)
    assert isinstance(model.model, CellTiltedByClass)


@pytest.mark.parametrize("kind", [ClassThenCell, CellTiltedByClass])
def test_a_class_that_a_cell_lacks_has_no_probability_there(kind):
    X, pairs = np.arange(30.0)[:, None] % 3, np.array([0, 1, 2] * 10)  # no row of class 1 in cell 1
    model = kind(GaussianNB(), GaussianNB(), 2).fit(X, pairs)
    joint = JointModel(model, 2, np.array([0, 1]), ()).joint_proba(X)
    assert joint.shape == (30, 4)
    assert not joint[:, 3].any()
    np.testing.assert_allclose(joint.sum(axis=1), 1.0)


class Counted(LogisticRegression):
    """Logistic regression that counts its fits to two labels: those of a model of the class, then of the cell."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fits += len(np.unique(y)) == 2
        return super().fit(X, y, sample_weight)


def test_a_model_that_the_first_fold_shows_to_be_worse_is_fitted_to_no_other():
    """Groups lie to either side of one class: pairs are Gaussian, but the class is no linear function of x."""
    rng = np.random.default_rng(0)
    y, cell = rng.integers(0, 2, 1500), rng.integers(0, 2, 1500)
    side = np.where(y == 1, 2 * cell - 1, 0) * 4.0
    X, pairs = (
        np.stack([side, cell * 2.0], axis=1) + rng.normal(size=(1500, 2)),
        (cell * 2 + y).astype(np.int32),
    )
    Counted.fits = 0
    how = {"cv": 3, "sample_weight": None, "n_jobs": None}
    model, held_out = fit_joint(Counted(), X, pairs, 2, np.array([0, 1]), **how)
    assert isinstance(model.model, Counted)
    assert held_out.whole(1500)
    # In one fold of three: the class and the cell; the class again, and the cells of both classes.
    assert Counted.fits == 5
