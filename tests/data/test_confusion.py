"""The confusion tensor, its axes and the labels: known answers, and errors that give the next move."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from optional import optional
from sklearn.metrics import confusion_matrix

from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.confusion import Confusion
from metricfit.data.labels import class_labels, encode_labels

pl = optional("polars")
pa = optional("pyarrow")

TRUE = ["a", "a", "b", "b", "c", "a"]
MADE = ["a", "b", "b", "?", "c", "a"]
SEX = ["F", "F", "F", "M", "M", "M"]


def test_class_labels():
    assert class_labels([2, 0, 2], None, 3) == (0, 1, 2)
    assert class_labels(np.array([2, 0], np.uint8), None, 3) == (0, 1, 2)
    assert class_labels(None, None, 2) == (0, 1)
    assert class_labels(np.array(["b", "a", "b"]), None, 2) == ("a", "b")
    assert class_labels([True, False], None, 2) == (False, True)
    assert class_labels([1.5, 0.5], None, 2) == (0.5, 1.5)
    assert class_labels(["b"], np.array(["b", "a"]), 2) == ("b", "a")
    assert class_labels(pd.Series(["b", "a"], dtype="category"), None, 2) == ("a", "b")


@pytest.mark.parametrize(
    ("y", "classes", "words"),
    [
        (["a", "b"], None, r"y has 2 distinct labels \('a', 'b'\) but proba has 3 columns; pass classes="),
        (["a"], ["a", "b"], "classes names 2 classes but proba has 3 columns"),
        (["a"], ["a", "b", "b"], "classes holds the same label twice: 'b'"),
        ([1], [0, 1, 1.0], "same label twice: 1"),
        (["a"], [None, "b", "c"], "an entry of classes must be"),
        (["a"], "abc", "classes must be a list of labels"),
        (["a"], [], "classes is empty"),
        (["a", None], None, r"y is missing .* in 1 row \(1\)"),
    ],
)
def test_bad_class_labels(y, classes, words):
    with pytest.raises(ValueError, match=words):
        class_labels(y, classes, 3)


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", "b"],
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], object),
        pd.Series(["b", "a", "b"], index=[5, 6, 7]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pl.Series(["b", "a", "b"]),
        pa.array(["b", "a", "b"]),
    ],
)
def test_encode_labels_of_any_library(y):
    codes = encode_labels(y, ("z", "b", "a"))
    assert codes.dtype == np.int32
    assert codes.tolist() == [1, 2, 1]


def test_encode_numbers():
    assert encode_labels(np.array([2.0, 0.0]), (0, 1, 2)).tolist() == [2, 0]
    assert encode_labels([np.int64(2), 0], (0, 1, 2)).tolist() == [2, 0]
    assert encode_labels(np.array([True, False]), (False, True)).tolist() == [1, 0]
    assert encode_labels([], (0, 1)).tolist() == []


def test_labels_outside_say_which_and_where():
    with pytest.raises(
        ValueError, match=r"y has labels that are not classes in 3 rows \(0, 2, 3\): 'x', 'z'"
    ):
        encode_labels(["x", "a", "z", "x"], ("a", "b"))
    with pytest.raises(ValueError, match=r"1 row \(2\): 3. The classes are 0, 1, 2; pass classes="):
        encode_labels([1, 2, 3], (0, 1, 2))
    with pytest.raises(ValueError, match="not classes in 2 rows"):
        encode_labels(["0", "1"], (0, 1))


def test_axes():
    axes = Axes(("a", "b", "c"), ("c", "wait", "a"), Cells(("sex",), (("F",), ("M",))))
    assert (axes.n, axes.k, axes.shape) == (3, 3, (2, 3, 3))
    assert axes.match.tolist() == [2, -1, 0]
    assert not axes.match.flags.writeable
    assert axes.class_index("c") == 2
    assert axes.decision_index("c") == 0
    with pytest.raises(
        ValueError,
        match="unknown decision 'wiat'; did you mean 'wait'? Known: 'c', 'wait', 'a'".replace("?", r"\?"),
    ):
        axes.decision_index("wiat")
    with pytest.raises(ValueError, match="unknown class 'wait'"):
        axes.class_index("wait")
    assert pickle.loads(pickle.dumps(axes)) == axes
    assert hash(Axes([0, 1])) == hash(Axes((0, 1)))


def test_axes_of_numbers():
    axes = Axes(np.array([10, 20]), [np.int64(20), "review"])
    assert axes.classes == (10, 20)
    assert [type(value) for value in axes.decisions] == [int, str]
    assert axes.match.tolist() == [1, -1]
    assert axes.class_index(np.int64(20)) == axes.class_index(20.0) == 1
    with pytest.raises(ValueError, match="unknown class '20'; did you mean 20"):
        axes.class_index("20")
    assert Axes((0, 1)).decisions == (0, 1)


def test_long_lists_of_labels_are_shortened():
    with pytest.raises(ValueError, match=r"Known: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more$"):
        Axes(range(1000)).class_index("zzz")


@pytest.mark.parametrize(("classes", "decisions"), [((), ()), ((0, 0), ()), ((0, 1), ("x", "x")), ("ab", ())])
def test_bad_axes(classes, decisions):
    with pytest.raises(ValueError, match=r"classes|decisions"):
        Axes(classes, decisions)


def test_from_predictions_counts():
    confusion = Confusion.from_predictions(
        TRUE, MADE, pd.Series(SEX, name="sex"), sample_weight=[1, 2, 3, 4, 5, 5]
    )
    assert confusion.classes == ("a", "b", "c")
    assert confusion.decisions == ("a", "b", "c", "?")
    assert confusion.cells.values == (("F",), ("M",))
    expected = np.zeros((2, 3, 4))
    expected[0, 0, 0], expected[0, 0, 1], expected[0, 1, 1] = 1, 2, 3
    expected[1, 1, 3], expected[1, 2, 2], expected[1, 0, 0] = 4, 5, 5
    np.testing.assert_allclose(confusion.values, expected / 20, rtol=1e-15)
    np.testing.assert_allclose(confusion.matrix, expected.sum(axis=0) / 20, rtol=1e-15)
    np.testing.assert_allclose(confusion.margins, np.array([[3, 3, 0], [5, 4, 5]]) / 20, rtol=1e-15)
    np.testing.assert_array_equal(np.asarray(confusion), confusion.values)
    assert np.array(confusion) is not confusion.values
    assert np.asarray(confusion, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="leave copy=False out"):
        confusion.__array__(np.float32, copy=False)
    assert np.asarray(confusion, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        confusion.values[0, 0, 0] = 1


@pytest.mark.parametrize("weighted", [False, True])
def test_same_as_scikit_learn(weighted):
    rng = np.random.default_rng(0)
    y, made, weights = rng.integers(0, 4, 300), rng.integers(0, 4, 300), rng.random(300) if weighted else None
    expected = confusion_matrix(y, made, sample_weight=weights, normalize="all")
    np.testing.assert_allclose(
        Confusion.from_predictions(y, made, sample_weight=weights).matrix, expected, rtol=1e-12
    )


def test_classes_set_the_order_and_extra_decisions_follow_sorted():
    confusion = Confusion.from_predictions([1, 2], ["z", 0], classes=[2, 1, 0])
    assert confusion.classes == (2, 1, 0)
    assert confusion.decisions == (2, 1, 0, "z")
    assert confusion.matrix[1, 3] == confusion.matrix[0, 2] == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((TRUE, MADE[:-1]), "y_true has 6 rows, decisions has 5"),
        (([], []), "y_true has no rows"),
        ((TRUE, MADE, None, [1] * 5), "sample_weight has 5"),
        ((TRUE, MADE, None, [0] * 6), "zero in all 6 rows"),
        ((TRUE, MADE, None, [-1] * 6), "negative in 6 rows"),
        ((TRUE, MADE, None, [np.nan] * 6), "NaN"),
        ((TRUE, MADE, SEX[:-1]), "column 'group' has 5"),
        ((TRUE, MADE, None, None, ["a", "b"]), r"y_true has labels that are not classes in 1 row \(4\): 'c'"),
        (([None, "a"], ["a", "a"]), "y_true is missing"),
        ((["a", "a"], [None, "a"]), "decisions is missing"),
    ],
)
def test_bad_predictions(arguments, words):
    with pytest.raises(ValueError, match=words):
        Confusion.from_predictions(*arguments)


def test_slices():
    frame = {"sex": SEX, "old": [0, 0, 1, 0, 0, 0]}
    confusion = Confusion.from_predictions(TRUE, MADE, frame)
    women = confusion.at(sex="F")
    alone = Confusion.from_predictions(TRUE[:3], MADE[:3], classes=["a", "b", "c"])
    np.testing.assert_allclose(women.matrix[:, :3], alone.matrix)
    assert women.cells.values == (("F", 0), ("F", 1))
    assert women.values.sum() == pytest.approx(1)
    np.testing.assert_allclose(confusion.at(sex=["F", "M"]).values, confusion.values)
    np.testing.assert_allclose(women.at(old=1).matrix[1], [0, 1, 0, 0])
    with pytest.raises(ValueError, match=r"the slice at\(sex='M', old=1\) has no rows"):
        confusion.at(sex="M", old=1)
    with pytest.raises(ValueError, match="did you mean 'sex'"):
        confusion.at(sexx="M")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.full((2, 2), 0.25), r"shape \(1, 2, 2\)"),
        (np.full((1, 2, 2), np.nan), "finite"),
        ([[[-0.5, 0.5], [0.5, 0.5]]], "not negative"),
        (np.ones((1, 2, 2)), "sum to 1; they sum to 4"),
    ],
)
def test_bad_tensors(values, words):
    with pytest.raises(ValueError, match=words):
        Confusion(values, Axes((0, 1)))


def test_the_tensor_is_a_copy():
    values = np.full((1, 2, 2), 0.25)
    confusion = Confusion(values, Axes((0, 1)))
    values[:] = 0
    assert confusion.values.sum() == 1


def test_to_frame():
    frame = Confusion.from_predictions(TRUE, MADE, {"sex": SEX}).to_frame()
    assert frame.index.names == ["sex", "class"]
    assert frame.loc[("M", "b"), "?"] == pytest.approx(1 / 6)
    assert frame.shape == (6, 4)
    plain = Confusion.from_predictions(TRUE, MADE).to_frame()
    assert plain.index.tolist() == ["a", "b", "c"]
    assert plain.columns.tolist() == ["a", "b", "c", "?"]


def test_repr():
    text = repr(Confusion.from_predictions(["ok", "fraud"], ["ok", "review"], ["F", "M"]))
    assert text.splitlines() == [
        "Confusion: 2 classes x 3 decisions x 2 cells",
        "         'fraud'    'ok'  'review'",
        "'fraud'        0       0    0.5000",
        "   'ok'        0  0.5000         0",
    ]
    assert repr(Confusion.from_predictions(range(50), range(50))).endswith("(the first of them)")
