"""Cells: the same rows get the same cells whatever library they come in."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optional import optional

from metricfit.data.cells import Cells

pl = optional("polars")
pa = optional("pyarrow")

COLUMNS = {"sex": ["F", "M", "F", "M", "F"], "old": [1, 0, 0, 0, 1]}
KNOWN = (("F", 0), ("F", 1), ("M", 0))
CODES = [1, 2, 0, 2, 1]
FRAMES = {
    "dict": COLUMNS,
    "dict of arrays": {name: np.array(column) for name, column in COLUMNS.items()},
    "pandas": pd.DataFrame(COLUMNS, index=list("vwxyz")),
    "pandas object": pd.DataFrame(COLUMNS).astype(object),
    "pandas category": pd.DataFrame(COLUMNS).astype("category"),
    "pandas nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas float": pd.DataFrame(COLUMNS).astype({"old": float}),
    "pandas bool": pd.DataFrame(COLUMNS).astype({"old": bool}),
    "polars": pl.DataFrame(COLUMNS),
    "polars category": pl.DataFrame(COLUMNS).with_columns(pl.col("sex").cast(pl.Categorical)),
    "pyarrow": pa.table(COLUMNS),
    "pyarrow batch": pa.RecordBatch.from_pydict(COLUMNS),
    "pyarrow dictionary": pa.table({**COLUMNS, "sex": pa.array(COLUMNS["sex"]).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_observe_and_encode_agree_over_libraries(kind):
    cells, codes = Cells.observe(FRAMES[kind], 5)
    assert (cells.names, cells.values) == (("sex", "old"), KNOWN)
    assert codes.dtype == np.int32
    assert codes.tolist() == CODES
    for frame in FRAMES.values():
        assert cells.encode(frame, 5).tolist() == CODES


def test_values_are_python_scalars():
    frame = {
        "i": np.array([1, 2], np.int8),
        "f": np.array([0.5, 1.5]),
        "b": np.array([True, False]),
        "s": np.array(["x", "y"]),
    }
    cells, _ = Cells.observe(frame, 2)
    assert [type(value) for value in cells.values[0]] == [int, float, bool, str]


def test_no_attributes_make_one_cell():
    cells, codes = Cells.observe(None, 3)
    assert cells == Cells() == Cells((), ((),))
    assert len(cells) == 1
    assert codes.tolist() == [0, 0, 0]
    assert cells.encode(None, 2).tolist() == [0, 0]
    assert cells.encode({"anything": [1, 2]}, 2).tolist() == [0, 0]


@pytest.mark.parametrize(
    "column",
    [
        ["b", "a"],
        ("b", "a"),
        np.array(["b", "a"]),
        np.array(["b", "a"], object),
        pl.Series(["b", "a"]),
        pa.array(["b", "a"]),
    ],
)
def test_one_column_is_called_group_unless_it_has_a_name(column):
    cells, codes = Cells.observe(column, 2)
    assert (cells.names, cells.values, codes.tolist()) == (("group",), (("a",), ("b",)), [1, 0])


@pytest.mark.parametrize("column", [pd.Series(["b", "a"], name="sex"), pl.Series("sex", ["b", "a"])])
def test_one_named_column(column):
    cells, _ = Cells.observe(column, 2)
    assert cells.names == ("sex",)
    assert cells.encode(["a", "b"], 2).tolist() == [0, 1]
    with pytest.raises(ValueError, match="lacks the columns 'sex'; it has 'age'"):
        cells.encode(pd.Series(["a", "b"], name="age"), 2)


def test_a_name_given_later_is_fine():
    cells, _ = Cells.observe(["a", "b"], 2)
    assert cells.encode(pd.Series(["b", "a"], name="sex"), 2).tolist() == [1, 0]


def test_column_order_and_extra_columns_do_not_matter():
    cells, _ = Cells.observe(COLUMNS, 5)
    frame = pd.DataFrame(COLUMNS)[["old", "sex"]].assign(zip_code=[None] * 5)
    assert cells.encode(frame, 5).tolist() == CODES


def test_equal_numbers_match_and_strings_do_not():
    cells, _ = Cells.observe([0, 1, 2], 3)
    for same in (
        [1.0, 2.0],
        np.array([1, 2], np.uint8),
        np.array([1, 2.0], object),
        [np.int64(1), np.float32(2)],
    ):
        assert cells.encode(same, 2).tolist() == [1, 2]
    with pytest.raises(ValueError, match="group='1'"):
        cells.encode(["1", "2"], 2)
    flags, _ = Cells.observe([True, False], 2)
    with pytest.raises(ValueError, match="group='True'"):
        flags.encode(["True", "False"], 2)


@pytest.mark.parametrize(
    "column",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        np.array([1.0, np.nan, 2.0]),
        np.array(["a", np.nan, "b"], object),
        pd.Series(["a", None, "b"]),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.to_datetime(pd.Series(["2020", None, "2021"])).astype(object),
        pl.Series([1, None, 2]),
        pl.Series(["a", None, "b"]),
        pa.array([1, None, 2]),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.chunked_array([["a"], [None, "b"]]),
    ],
)
def test_missing_values_name_column_and_rows(column):
    with pytest.raises(ValueError, match=r"column 'sex' is missing .* in 1 row \(1\)"):
        Cells.observe({"sex": column}, 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sex": ["F", "M"]}, r"the data has 3 rows, sensitive_features column 'sex' has 2"),
        (["F", "M"], "column 'group' has 2"),
        (np.zeros((3, 2)), "two-dimensional array without column names; pass a frame"),
        ([[1, 2], [3, 4], [5, 6]], "one-dimensional"),
        ({"sex": np.zeros((3, 2))}, r"column 'sex' must be one-dimensional.*\(3, 2\)"),
        (pd.DataFrame(np.zeros((3, 2))), "column named 0; column names must be strings"),
        (pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]), "more than one column named 'a'"),
        ("sex", "must be a frame or one value per row; got 'sex'"),
        (3, "must be a frame or one value per row; got 3"),
        (pd.to_datetime(pd.Series(["2020", "2021", "2022"])), "must be a string, an integer"),
        (np.array(["2020", "2021", "2022"], "datetime64[ns]"), "must be a string, an integer"),
        (np.array([1, 2, 3], "timedelta64[ns]"), "must be a string, an integer"),
        ([(1,), (2,), (3,)], "must be a string, an integer"),
        ([1.0, np.inf, 2.0], "finite float"),
    ],
)
def test_bad_attributes(given, words):
    with pytest.raises(ValueError, match=words):
        Cells.observe(given, 3)


def test_no_rows():
    with pytest.raises(ValueError, match="no rows"):
        Cells.observe([], 0)
    cells, _ = Cells.observe(COLUMNS, 5)
    assert cells.encode({"sex": [], "old": []}, 0).tolist() == []


def test_encode_says_what_is_missing_or_new():
    cells, _ = Cells.observe(COLUMNS, 5)
    with pytest.raises(ValueError, match=r"sensitive_features is needed.*'sex', 'old'"):
        cells.encode(None, 5)
    with pytest.raises(ValueError, match="lacks the columns 'old'; it has 'sex'"):
        cells.encode({"sex": ["F"]}, 1)
    with pytest.raises(ValueError, match="lacks the columns 'sex', 'old'"):
        cells.encode(["F"], 1)
    with pytest.raises(ValueError, match=r"in 2 rows \(1, 3\): sex='X', old=0; sex='M', old=1\. Map them"):
        cells.encode({"sex": ["F", "X", "M", "M"], "old": [0, 0, 0, 1]}, 4)
    with pytest.raises(ValueError, match="the data has 2 rows"):
        cells.encode({"sex": ["F"], "old": [0]}, 2)


def test_mask():
    cells = Cells(("sex", "old"), KNOWN)
    assert cells.mask().tolist() == [True, True, True]
    assert cells.mask(sex="F").tolist() == [True, True, False]
    assert cells.mask(sex=["F", "M"], old=np.int64(0)).tolist() == [True, False, True]
    assert cells.mask(sex=np.array(["M"]), old=1.0).tolist() == [False, False, False]
    with pytest.raises(ValueError, match="unknown attribute 'sexe'; did you mean 'sex'"):
        cells.mask(sexe="F")
    with pytest.raises(ValueError, match="unknown value of attribute 'sex': 'f'; did you mean 'F'"):
        cells.mask(sex="f")
    with pytest.raises(ValueError, match="unknown value of attribute 'old': '1'; did you mean 1"):
        cells.mask(old="1")
    with pytest.raises(ValueError, match="pass sensitive_features"):
        Cells().mask(sex="F")


def test_groups():
    cells = Cells(("sex", "old"), KNOWN)
    by_old = cells.groups("old")
    assert {key: mask.tolist() for key, mask in by_old.items()} == {
        (0,): [True, False, True],
        (1,): [False, True, False],
    }
    both = cells.groups(["old", "sex"])
    assert list(both) == [(0, "F"), (1, "F"), (0, "M")]
    np.testing.assert_array_equal(sum(both.values()), 1)
    with pytest.raises(ValueError, match="unknown attribute 'age'"):
        cells.groups(["old", "age"])
    with pytest.raises(ValueError, match="at least one"):
        cells.groups([])


@pytest.mark.parametrize(
    ("names", "values", "words"),
    [
        (("a",), (), "at least one cell"),
        (("a",), ((1, 2),), "one value for each attribute"),
        (("a", "a"), ((1, 2),), "names must differ"),
        (("a",), ((1,), (1.0,)), "cells must differ"),
        ((1,), ((1,),), "names must be strings"),
        (("a",), ((None,),), "an attribute value must be"),
    ],
)
def test_contradictory_cells(names, values, words):
    with pytest.raises(ValueError, match=words):
        Cells(names, values)


def test_repr_and_pickle():
    cells = Cells(("sex", "old"), KNOWN)
    assert repr(cells) == "Cells(sex, old: ('F', 0), ('F', 1), ('M', 0))"
    assert repr(Cells()) == "Cells()"
    cells.encode(COLUMNS, 5)
    assert pickle.loads(pickle.dumps(cells)) == cells


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(0)
    frame = {f"c{i}": rng.integers(0, 10**6, size=500) for i in range(12)}
    cells, codes = Cells.observe(frame, 500)
    assert len(cells) == len(set(codes.tolist())) == 500
    np.testing.assert_array_equal(cells.encode(frame, 500), codes)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_integers_of_any_width(dtype):
    limits = np.iinfo(dtype)
    column = np.array([limits.max, limits.min, limits.max - 1, limits.max], dtype)
    cells, codes = Cells.observe(column, 4)
    assert cells.values == ((limits.min,), (limits.max - 1,), (limits.max,))
    assert codes.tolist() == [2, 0, 1, 2]


VALUES = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", "1"]), st.sampled_from([0.5, 1.0]))


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30))
def test_codes_name_each_rows_own_values(rows):
    frame = {"u": [row[0] for row in rows], "v": [row[1] for row in rows]}
    cells, codes = Cells.observe(frame, len(rows))
    assert [cells.values[code] for code in codes] == rows
    assert cells.encode(frame, len(rows)).tolist() == codes.tolist()
    assert len(set(rows)) == len(cells)


def test_an_identifier_is_no_attribute():
    rows = 4000
    cells, _ = Cells.observe({"sex": ["F", "M"] * 2000, "id": np.arange(rows)}, rows)
    with pytest.raises(ValueError, match=r"4,000 rows have 4,000 combinations.*'id' alone has 4,000 values"):
        cells.check_filled(rows)
    cells.check_filled(5 * rows)  # five rows each
    few, _ = Cells.observe(np.arange(900), 900)
    few.check_filled(900)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical])
def test_a_value_called_like_the_missing_group_is_not_mixed_with_it(kind):
    mixed, filled = kind(["a", "(missing)", None]), kind(["a", "(missing)", "a"])
    with pytest.raises(ValueError, match=r"missing entries beside others with the value '\(missing\)'"):
        Cells.observe({"g": mixed}, 3, "cell")
    with pytest.raises(ValueError, match=r"has the value '\(missing\)', which is the name of the group"):
        Cells.observe({"g": filled}, 3)
    # Entries that were filled in before are the group of missing ones, alone.
    cells, codes = Cells.observe({"g": filled}, 3, "cell")
    assert cells.values == (("(missing)",), ("a",))
    assert codes.tolist() == [1, 0, 1]
    assert cells.encode({"g": kind(["a", None, "(missing)"])}, 3).tolist() == [1, 0, 0]


@pytest.mark.parametrize("door", ["optimize", "Confusion", "fit"])
def test_the_doors_refuse_it_too(door):
    from sklearn.naive_bayes import GaussianNB

    import metricfit as mf

    proba, y, g = [[0.9, 0.1], [0.2, 0.8]] * 6, [0, 1] * 6, ["a", "(missing)", None] * 4
    doors = {
        "optimize": lambda: mf.optimize(proba, y, "accuracy", sensitive_features=g, missing="cell"),
        "Confusion": lambda: mf.Confusion.from_predictions(y, y, g, missing="cell"),
        "fit": lambda: mf.MetricClassifier(GaussianNB(), cv=2, missing="cell").fit(
            proba, y, sensitive_features=g
        ),
    }
    with pytest.raises(ValueError, match="missing entries beside others"):
        doors[door]()
