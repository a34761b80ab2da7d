"""Names go before places: frames of probabilities and costs in any order, labels with their types."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.policy import Policy, Rule

dd = pytest.importorskip("dask.dataframe")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

CLASSES = ["ant", "bee", "cow"]
RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet([1, 1, 1], 400)
Y = np.array(CLASSES)[(RNG.random((400, 1)) > PROBA.cumsum(axis=1)).sum(axis=1)]
SHUFFLED = ["cow", "ant", "bee"]
FRAME = pd.DataFrame(PROBA, columns=CLASSES)[SHUFFLED]
PLAIN = mf.optimize(PROBA, Y, "accuracy", counting="model")

FRAMES = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "pyarrow": pa.Table.from_pandas(FRAME),
    "prefixed": FRAME.add_prefix("p_"),
    "suffixed": FRAME.add_suffix(" score"),
    "surrounded": FRAME.add_prefix("p(").add_suffix(")"),
    "capitals": FRAME.rename(columns=str.upper),
    "categories": FRAME.set_axis(pd.CategoricalIndex(SHUFFLED), axis=1),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_are_aligned_with_the_classes(kind):
    result = mf.optimize(FRAMES[kind], Y, "accuracy", counting="model")
    assert result.value == PLAIN.value
    assert result.policy.axes.classes == tuple(CLASSES)
    made = PLAIN.policy.decide(PROBA)
    assert PLAIN.policy.decide(FRAMES[kind]).tolist() == made.tolist()
    np.testing.assert_array_equal(
        PLAIN.policy.decision_proba(FRAMES[kind]), PLAIN.policy.decision_proba(PROBA)
    )


@pytest.mark.parametrize(
    "columns",
    [
        range(3),
        ["score a", "score b", "score c"],
        ["column_0", "column_1", "column_2"],
        ["the ants", "bees", "cattle"],
        ["p_ape", "p_bee", "p_cow"],
    ],
)
def test_columns_without_names_of_classes_go_by_place(columns):
    frame = pd.DataFrame(PROBA, columns=columns)
    assert mf.optimize(frame, Y, "accuracy", counting="model").value == PLAIN.value


def test_columns_named_after_numbers():
    codes = np.array([CLASSES.index(label) for label in Y])
    frame = pd.DataFrame(PROBA, columns=[0, 1, 2])
    for shuffled in (frame[[2, 0, 1]], frame[[2, 0, 1]].rename(columns=str)):
        result = mf.optimize(shuffled, codes, "accuracy", counting="model")
        assert result.value == PLAIN.value
        assert result.policy.axes.classes == (0, 1, 2)
    # Labels 1 and 2 only: by place, 1 would be the second column.
    few = codes > 0
    with pytest.raises(ValueError, match=r"columns 1, 2, 3, of which '1', '2' are named after classes"):
        mf.optimize(frame.set_axis([1, 2, 3], axis=1)[few], codes[few], "accuracy")


def test_columns_named_after_other_classes_are_refused():
    strange = FRAME.rename(columns={"ant": "ape"})
    with pytest.raises(
        ValueError, match=r"proba has the columns .*'ape'.* are named after classes and others"
    ):
        mf.optimize(strange, Y, "accuracy")
    with pytest.raises(ValueError, match="named after classes and others"):
        PLAIN.policy.decide(strange)


@pytest.mark.parametrize("columns", [["p_cow", "p_ape", "p_bee"], ["p_bee", "p_cow", "p_dog"]])
def test_classes_in_another_place_are_refused_among_strangers(columns):
    frame = pd.DataFrame(PROBA, columns=columns)
    with pytest.raises(ValueError, match=r"of which 'p_bee', 'p_cow'|of which 'p_cow', 'p_bee'"):
        mf.optimize(frame, Y, "accuracy")


@pytest.mark.parametrize("columns", [["ant", "bee", "bee"], ["p_ant", "p_bee", "p_bee"], ["p", "p", "p"]])
def test_columns_of_one_name_are_refused(columns):
    frame = pd.DataFrame(PROBA, columns=columns)
    for use in (PLAIN.policy.decide, lambda proba: mf.optimize(proba, Y, "accuracy")):
        with pytest.raises(ValueError, match=f"more than one column named '{columns[2]}'"):
            use(frame)


@pytest.mark.parametrize("names", [[True, False], ["TRUE", "FALSE"], ["p_true", "p_false"]])
def test_columns_named_true_and_false(names):
    rare = np.stack([PROBA[:, 0], 1 - PROBA[:, 0]], axis=1)
    result = mf.optimize(pd.DataFrame(rare, columns=names), Y == "ant", "accuracy", counting="model")
    assert result.policy.axes.classes == (False, True)
    assert result.policy.decide(rare[:, ::-1]).tolist() == (PROBA[:, 0] >= 0.5).tolist()


def test_texts_of_numbers_are_told_from_numbers_by_the_classes():
    codes = [str(CLASSES.index(label)) for label in Y]
    frame = pd.DataFrame(PROBA, columns=[0, 1, 2])[[2, 0, 1]]
    made = mf.optimize(frame, codes, "accuracy", counting="model").policy.decide(frame)
    assert made.tolist() == [str(code) for code in PROBA.argmax(axis=1)]


def test_dask_frames_in_another_order_are_refused():
    frame = dd.from_pandas(FRAME, npartitions=2)
    labels = dd.from_pandas(pd.Series(Y), npartitions=2)
    with pytest.raises(ValueError, match=r"another order than the classes.*pass classes="):
        mf.optimize(frame, labels, "accuracy", counting="model")
    result = mf.optimize(frame, labels, "accuracy", classes=SHUFFLED, counting="model")
    assert result.value == pytest.approx(PLAIN.value, abs=1e-12)


# Costs

COSTS = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 7.0], [5.0, 3.0, 0.0]])
NAMED = pd.DataFrame(COSTS, index=CLASSES, columns=CLASSES)
EXPECTED = mf.cost(COSTS)(PLAIN.confusion)

COST_TABLES = {
    "both": NAMED.loc[["cow", "ant", "bee"], ["bee", "cow", "ant"]],
    "columns": pd.DataFrame(COSTS, columns=CLASSES)[["bee", "cow", "ant"]],
    "rows": pd.DataFrame(COSTS, index=CLASSES).loc[["cow", "ant", "bee"]],
    "numbered": pd.DataFrame(COSTS),
    "polars": pl.DataFrame(dict(zip(SHUFFLED, COSTS.T[[2, 0, 1]], strict=True))),
    "mapping": {
        c: dict(zip(CLASSES, COSTS[i].tolist(), strict=True)) for c, i in (("cow", 2), ("ant", 0), ("bee", 1))
    },
}


@pytest.mark.parametrize("kind", COST_TABLES)
def test_costs_go_by_their_names(kind):
    metric = mf.cost(COST_TABLES[kind])
    assert metric(PLAIN.confusion) == pytest.approx(EXPECTED, abs=1e-15)
    for again in (mf.parse(str(metric)), pickle.loads(pickle.dumps(metric))):
        assert str(again) == str(metric)
        assert again(PLAIN.confusion) == pytest.approx(EXPECTED, abs=1e-15)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (NAMED.rename(index={"ant": "ape"}), r"rows of matrix are named 'ape', .* but the classes are 'ant'"),
        (
            NAMED.rename(columns={"ant": "ape"}),
            r"columns of matrix are named 'ape', .* but the decisions are",
        ),
        (NAMED.set_axis(["ant", "ant", "bee"], axis=1), "columns of matrix are named 'ant', 'ant'"),
        ([{"ant": 1, "bee": 2}, {"ant": 1, "cow": 2}], "the same decisions in each row"),
        (NAMED.iloc[:2], r"matrix has shape \(2, 3\)"),
    ],
)
def test_costs_with_other_names_are_refused(table, words):
    with pytest.raises(ValueError, match=words):
        mf.cost(table)(PLAIN.confusion)


# Limits that only a rate of nothing keeps


@pytest.mark.parametrize("confusion", ["labels", "model"])
@pytest.mark.parametrize(
    "limit",
    [mf.precision("ant") >= 90, mf.precision("ant") <= -0.1, mf.f1("bee") >= 1.01, mf.recall("ant") >= 1.5],
    ids=str,
)
def test_limits_beyond_all_values_are_infeasible(confusion, limit):
    with pytest.raises(mf.InfeasibleError, match="cannot be kept at all") as raised:
        mf.optimize(PROBA, Y, "accuracy", [limit], counting=confusion)
    assert raised.value.alone[str(limit)] == pytest.approx(
        abs(limit.limit - (1 if limit.sense == ">=" else 0)), abs=1e-6
    )


def test_the_largest_value_itself_is_no_such_limit():
    assert mf.optimize(PROBA, Y, "accuracy", [mf.precision("ant") >= 1], counting="model").feasible


# Labels of several types


def test_a_list_of_mixed_labels_keeps_its_types():
    labels = [1, "1", 1, "1"]
    result = mf.optimize([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]], labels, "accuracy")
    assert [(type(c), c) for c in result.policy.axes.classes] == [(int, 1), (str, "1")]
    made = result.policy.decide([[0.9, 0.1], [0.1, 0.9]]).tolist()
    assert [(type(d), d) for d in made] == [(int, 1), (str, "1")]


def test_the_estimator_refuses_mixed_labels():
    from sklearn.naive_bayes import GaussianNB

    with pytest.raises(ValueError, match="labels of several types, such as '1' and 1"):
        mf.MetricClassifier(GaussianNB()).fit([[0.0], [1.0], [2.0], [3.0]], [1, "1", 1, "1"])


@pytest.mark.parametrize(
    "decisions", [(2**63, -1), (2**70, 3), ("a\x00", "a"), (0, 0.5), (True, "True"), (0, 1, "1")]
)
def test_decisions_come_back_as_they_are(decisions):
    rules = [[Rule(1, 1 - np.eye(2, len(decisions)))]]
    policy = Policy(Axes((0, 1), decisions), "full", rules)
    made = policy.decide([[1.0, 0.0], [0.0, 1.0]]).tolist()
    assert [(type(d), d) for d in made] == [(type(d), d) for d in decisions[:2]]


def test_classes_without_an_order_are_refused():
    with pytest.raises(
        ValueError, match="classes must be a list of labels, because their order counts; got a set"
    ):
        mf.optimize([[0.9, 0.1], [0.2, 0.8]], ["a", "b"], "accuracy", classes={"a", "b"})
