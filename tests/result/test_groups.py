"""Results by group, small groups, missing and unseen attribute values."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from optional import needs, optional
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, recall_score

import metricfit as mf
from metricfit.data.attributes import MISSING
from metricfit.data.cells import Cells
from metricfit.exceptions import FewRowsWarning
from metricfit.methods import Plugin
from metricfit.result.compared import comparisons
from metricfit.result.groups import group_values

pa = optional("pyarrow")


def rows(size: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Probabilities of two classes that lean to one sex, with labels drawn from them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], size), "region": rng.choice([1, 2, 3], size)})
    score = 1 / (1 + np.exp(-rng.normal(0.8 * (frame["sex"] == "M"), 1.5)))
    return np.column_stack([1 - score, score]), (rng.random(size) < score).astype(int), frame


PROBA, Y, FRAME = rows()
LIMIT = mf.demographic_parity("sex", to="pairs") <= 0.05


def test_frame_is_that_of_fairlearn():
    fair = pytest.importorskip("fairlearn.metrics")
    result = mf.optimize(PROBA, Y, "accuracy", sensitive_features=FRAME, method=Plugin(balanced=True))
    made = result.policy.decide(PROBA, FRAME)
    assert result.policy.n_rules == 6  # one rule for each cell, so that decisions are certain
    frame = result.by_group(["accuracy", mf.recall(1), "coverage(1)"], over=["sex", "region"])
    metrics = {"accuracy()": accuracy_score, "recall(1)": recall_score, "coverage(1)": fair.selection_rate}
    for field, decisions in (("value", made), ("before", PROBA.argmax(axis=1))):
        known = fair.MetricFrame(
            metrics=metrics, y_true=Y, y_pred=decisions, sensitive_features=FRAME
        ).by_group
        pd.testing.assert_frame_equal(frame[field], known, check_names=False, check_dtype=False)
        assert list(frame[field].index.names) == list(known.index.names)
    counted = FRAME.assign(one=Y).groupby(["sex", "region"])["one"].agg(["size", "sum"])
    assert (frame["rows"]["accuracy()"] == counted["size"]).all()
    assert (frame["rows"]["recall(1)"] == counted["sum"]).all()
    assert ((frame["low"] <= frame["value"]) & (frame["value"] <= frame["high"])).all(axis=None)


def test_default_metrics_are_what_is_compared():
    limits = [LIMIT, mf.equalized_odds("sex", given="region") <= 0.5]
    result = mf.optimize(PROBA, Y, "accuracy", limits, sensitive_features=FRAME, counting="model")
    frame = result.by_group(over="sex")
    shown = ["accuracy()", "coverage(0)", "coverage(1)", "recall(0)", "recall(1)"]
    assert frame["value"].columns.tolist() == shown
    assert frame.index.tolist() == ["F", "M"]
    assert frame["before"]["coverage(1)"].diff().iloc[1] > 0.1
    assert frame["value"]["coverage(1)"].diff().iloc[1] == pytest.approx(0.05, abs=1e-3)
    assert pickle.loads(pickle.dumps(result)).by_group(over="sex").equals(frame)


def test_precisions_are_rates_of_rows_decided_so():
    confusion = mf.Confusion.from_predictions([0, 1, 1, 0], [1, 1, 0, 0], ["a", "a", "b", "b"])
    found = group_values(mf.precision(1), "group", confusion, np.array([[10, 10], [10, 10]]))
    assert [(g.value, g.rows) for g in found] == [(0.5, 20.0), (0.0, 0.0)]
    assert np.isnan(found[1].low)
    mean = group_values(mf.g_mean(), "group", confusion, np.array([[10, 10], [10, 10]]))
    assert [(g.rows, np.isnan(g.low)) for g in mean] == [(20.0, True)] * 2


def test_no_groups_no_frame():
    with pytest.raises(ValueError, match="by_group: there are no groups"):
        mf.optimize(PROBA, Y, "accuracy").by_group()


def test_comparisons_are_found_anywhere():
    inner = mf.maximum(
        abs(mf.worst(mf.recall(1), "sex") - 0.5), mf.disparity(mf.accuracy(), "sex").at(region=1)
    )
    found = [(str(metric), over) for metric, over in comparisons(inner / 2)]
    assert found == [("recall(1)", ["sex"]), ("accuracy()", ["sex"])]


def test_few_rows_are_warned_of_with_count_and_interval():
    frame = FRAME.assign(sex=np.where(np.arange(len(Y)) < 10, "X", FRAME["sex"]))
    y = Y.copy()
    y[:10] = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    limits = [mf.equal_opportunity("sex", 1) <= 0.1]
    leaves = r"recall\(1\) where sex='X' is .*95 %: 0\..* of 4 rows.*Constraints leave out 1 rate"
    with pytest.warns(FewRowsWarning, match=leaves):
        mf.optimize(PROBA, y, "accuracy", limits, sensitive_features=frame)
    y[:10] = 0
    with pytest.warns(FewRowsWarning, match=r"recall\(1\) where sex='X' is left out, of 0 rows"):
        result = mf.optimize(PROBA, y, "accuracy", limits, sensitive_features=frame, counting="labels")
    assert result.constraints[0].violation <= 1e-6
    assert [one.rows for one in result.left_out] == [0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mf.optimize(PROBA, Y, "accuracy", limits, sensitive_features=FRAME)


# Missing values

GAPS = {
    "list": [None, "a", "b", float("nan"), None],
    "object": np.array([None, "a", "b", np.nan, None], dtype=object),
    "pandas": pd.Series([None, "a", "b", np.nan, None]),
    "category": pd.Series([None, "a", "b", np.nan, None], dtype="category"),
    "pyarrow": pa.chunked_array([[None, "a", "b"], [None, None]]),
    "dictionary": pa.array([None, "a", "b", None, None]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", GAPS)
def test_missing_values_are_a_cell_or_an_error(kind):
    column = GAPS[kind]
    with pytest.raises(ValueError, match=r"column 'group' is missing \(NaN or None\) in 3 rows \(0, 3, 4\)"):
        Cells.observe({"group": column}, 5)
    cells, codes = Cells.observe({"group": column}, 5, missing="cell")
    assert cells.values == ((MISSING,), ("a",), ("b",))
    assert codes.tolist() == [0, 1, 2, 0, 0]
    assert cells.encode({"group": column}, 5).tolist() == codes.tolist()
    known = Cells(("group",), (("a",), ("b",)))
    assert known.encode({"group": column}, 5, unseen="overall").tolist() == [2, 0, 1, 2, 2]


@pytest.mark.parametrize(
    "column_of",
    [
        pytest.param(lambda values: pd.Series(values, dtype="Int64"), id="pandas"),
        pytest.param(
            lambda values: pd.Series(values, dtype="int64[pyarrow]"),
            id="pandas of pyarrow",
            marks=needs("pyarrow"),
        ),
        pytest.param(pa.array, id="pyarrow"),
    ],
)
def test_integers_with_gaps_stay_integers(column_of):
    cells, codes = Cells.observe({"group": column_of([1, None, 2, None])}, 4, missing="cell")
    assert [type(value) for (value,) in cells.values] == [int, int, str]
    assert codes.tolist() == [0, 2, 1, 2]
    assert cells.encode({"group": [2, 1]}, 2).tolist() == [1, 0]


def test_errors_of_attribute_columns_give_the_next_move():
    with pytest.raises(ValueError, match="drop these rows or make them a separate group with missing='cell'"):
        Cells.observe({"sex": ["F", None]}, 2)
    with pytest.raises(ValueError, match=r"column 'age' must be a string.*got Interval.*Turn it into text"):
        Cells.observe({"age": pd.cut(pd.Series([1.0, 5.0]), 2)}, 2)


def test_missing_numbers():
    cells, codes = Cells.observe([1.0, np.nan, 2.0, np.nan], 4, missing="cell")
    assert cells.values == ((1.0,), (2.0,), (MISSING,))
    assert codes.tolist() == [0, 2, 1, 2]


def test_rows_without_the_attribute_are_a_group():
    gaps = FRAME.assign(sex=FRAME["sex"].where(np.arange(len(Y)) % 3 > 0))
    limits = [mf.demographic_parity("sex") <= 0.02, mf.recall(1).at(sex=MISSING) >= 0.7]
    result = mf.optimize(
        PROBA, Y, "accuracy", limits, sensitive_features=gaps[["sex"]], missing="cell", counting="model"
    )
    assert [cell[0] for cell in result.policy.axes.cells.values] == [MISSING, "F", "M"]
    assert all(record.violation <= 1e-6 for record in result.constraints)
    made = result.policy.decide(PROBA, gaps)
    confusion = mf.Confusion.from_predictions(Y, made, gaps["sex"], missing="cell")
    assert confusion.axes.cells == result.policy.axes.cells


# Unseen values


def test_unseen_values_get_the_rule_that_is_best_for_all_rows():
    limits = [LIMIT, mf.recall(1) >= 0.8]
    how = {"counting": "model", "method": "column_generation"}
    policy = mf.optimize(
        PROBA, Y, "accuracy", limits, sensitive_features=FRAME[["sex"]], unseen="overall", **how
    ).policy
    alone = mf.optimize(PROBA, Y, "accuracy", limits[1:], **how).policy
    other = pd.DataFrame({"sex": ["X"] * len(Y)})
    np.testing.assert_allclose(policy.decision_proba(PROBA, other), alone.decision_proba(PROBA), atol=1e-9)
    assert (policy.decide(PROBA, other, "never") == alone.decide(PROBA, randomize="never")).mean() > 0.5
    mixed = pd.DataFrame({"sex": np.where(np.arange(len(Y)) % 2, FRAME["sex"], "X")})
    seen = policy.decision_proba(PROBA, FRAME)
    np.testing.assert_array_equal(policy.decision_proba(PROBA, mixed)[1::2], seen[1::2])
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert mf.Policy.from_dict(policy.to_dict()) == policy
    assert (
        policy != mf.optimize(PROBA, Y, "accuracy", limits, sensitive_features=FRAME[["sex"]], **how).policy
    )


def test_layouts_of_the_overall_rule():
    # Equalized odds of three classes needs the full layout, plain accuracy the diagonal one.
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 300)
    y = np.array([rng.choice(3, p=p) for p in proba])
    limits = [mf.equalized_odds("group") <= 0.1]
    how = {"sensitive_features": rng.integers(0, 2, 300), "counting": "model", "unseen": "overall"}
    policy = mf.optimize(proba, y, "accuracy", limits, **how).policy
    assert (policy.layout, policy.overall.layout) == ("full", "diagonal")
    assert (policy.decide(proba, np.full(300, 7)) == proba.argmax(axis=1)).all()


def test_objectives_of_named_values_have_no_overall_rule():
    with pytest.raises(ValueError, match=r"unseen=.overall.: the objective .* refers to certain values"):
        mf.optimize(PROBA, Y, mf.recall(1).at(sex="F"), sensitive_features=FRAME, unseen="overall")
    worst = mf.worst(mf.balanced_accuracy(), "sex")
    policy = mf.optimize(PROBA, Y, worst, sensitive_features=FRAME[["sex"]], unseen="overall").policy
    assert policy.overall.axes.cells.names == ()


def test_a_limit_that_no_common_rule_keeps_is_left_out():
    # Cells differ so much that rules of their own keep the precision, and no rule of all rows does.
    proba = np.array([[0.4, 0.6], [0.4, 0.6]] * 50)
    y, group = np.array([0, 1] * 50), np.array(["no", "yes"] * 50)
    limit = [mf.precision(1) >= 0.9, mf.coverage(1) >= 0.4]
    with pytest.warns(UserWarning, match="no single rule for all rows keeps the constraints precision"):
        policy = mf.optimize(
            proba, y, "accuracy", limit, sensitive_features=group, unseen="overall", counting="labels"
        ).policy
    assert (policy.decide(proba, group) == y).all()
    assert len(set(policy.decide(proba, ["other"] * 100))) == 1


def test_classifier_takes_missing_and_unseen_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "sex": rng.choice(["F", "M", None], 300)})
    y = (X["x"] + rng.normal(size=300) > 0).astype(int)
    model = LogisticRegression()

    class OneColumn(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X[["x"]], y, sample_weight)

        def predict_proba(self, X):
            return super().predict_proba(X[["x"]])

    clf = mf.MetricClassifier(
        OneColumn(), "accuracy", attributes="sex", missing="cell", unseen="overall"
    ).fit(X, y)
    assert len(clf.predict(X)) == 300
    other = X.assign(sex="X")
    assert (clf.predict(other) == model.fit(X[["x"]], y).predict(X[["x"]])).mean() > 0.9
    with pytest.raises(ValueError, match="is missing"):
        mf.MetricClassifier(OneColumn(), "accuracy", attributes="sex").fit(X, y)
    with pytest.raises(ValueError, match="unknown unseen 'guess'"):
        mf.MetricClassifier(OneColumn(), "accuracy", unseen="guess").fit(X, y)


def test_exports_decide_unseen_values_too():
    limits = [LIMIT, mf.recall(1) >= 0.8]
    how = {"counting": "model", "method": "column_generation", "unseen": "overall"}
    policy = mf.optimize(PROBA, Y, "accuracy", limits, sensitive_features=FRAME[["sex"]], **how).policy
    rule = policy.deterministic.otherwise
    assert rule is not None
    assert rule.attributes == ()
    space: dict[str, object] = {}
    exec(policy.to_python(), space)
    other = pd.DataFrame({"sex": ["X"] * 50})
    made = [space["decide"](row, ("X",)) for row in PROBA[:50].tolist()]
    assert made == policy.decide(PROBA[:50], other, "never").tolist()
