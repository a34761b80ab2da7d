"""Rows of pandas objects: an index that is another's in another order is refused, in every door."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import metricfit as mf
from metricfit.data.row_order import check_row_order

RNG = np.random.default_rng(0)
N = 60
INDEX = pd.Index([f"case {i}" for i in range(N)])
Y = pd.Series(np.arange(N) % 2, INDEX)
X = pd.DataFrame({"x": Y + RNG.normal(0, 0.8, N), "z": RNG.normal(size=N)}, INDEX)
SCORE = 1 / (1 + np.exp(1 - 2 * X["x"]))
PROBA = pd.DataFrame({0: 1 - SCORE, 1: SCORE})
SEX = pd.DataFrame({"sex": np.where(RNG.random(N) < 0.5, "F", "M")}, INDEX)
WEIGHT = pd.Series(RNG.random(N) + 0.5, INDEX)
DECISIONS = pd.Series(np.arange(N) % 2, INDEX)
LIMIT = mf.demographic_parity(over="sex") <= 0.5
FITTED = mf.optimize(PROBA, Y, "accuracy", [LIMIT], sensitive_features=SEX, counting="model")
CLF = mf.MetricClassifier(GaussianNB(), "accuracy", [LIMIT], cv=3, counting="model")
CLF.fit(X, Y, sensitive_features=SEX)


def shuffled(data):
    """Return the rows in another order, with their index."""
    return data.iloc[np.random.default_rng(1).permutation(N)]


DOORS = {
    "optimize": (
        lambda proba, y, **beside: mf.optimize(proba, y, "accuracy", counting="model", **beside),
        {"proba": PROBA, "y": Y, "sensitive_features": SEX, "sample_weight": WEIGHT},
    ),
    "frontier": (
        lambda proba, y, **beside: mf.frontier(
            proba, y, "accuracy", mf.recall(1), [0.5], counting="model", **beside
        ),
        {"proba": PROBA, "y": Y, "sensitive_features": SEX, "sample_weight": WEIGHT},
    ),
    "fit": (
        lambda X, y, **beside: mf.MetricClassifier(GaussianNB(), cv=3, counting="model").fit(X, y, **beside),
        {"X": X, "y": Y, "sensitive_features": SEX, "sample_weight": WEIGHT},
    ),
    "retrain": (
        lambda X, y, **beside: mf.RetrainOracle(GaussianNB(), X, y, **beside),
        {"X": X, "y": Y, "sensitive_features": SEX, "sample_weight": WEIGHT},
    ),
    "predict": (CLF.predict, {"X": X, "sensitive_features": SEX, "key": DECISIONS}),
    "decision_proba": (CLF.decision_proba, {"X": X, "sensitive_features": SEX}),
    "score": (CLF.score, {"X": X, "y": Y, "sensitive_features": SEX, "sample_weight": WEIGHT}),
    "decide": (
        FITTED.policy.decide,
        {"proba": PROBA, "sensitive_features": SEX, "key": DECISIONS},
    ),
    "policy's decision_proba": (FITTED.policy.decision_proba, {"proba": PROBA, "sensitive_features": SEX}),
    "evaluate": (
        FITTED.policy.evaluate,
        {"proba": PROBA, "y": Y, "sensitive_features": SEX, "sample_weight": WEIGHT},
    ),
    "Confusion": (
        mf.Confusion.from_predictions,
        {"y_true": Y, "decisions": DECISIONS, "sensitive_features": SEX, "sample_weight": WEIGHT},
    ),
}


@pytest.mark.parametrize(
    ("door", "argument"), [(door, name) for door, (_, given) in DOORS.items() for name in given]
)
def test_a_shuffled_argument_is_refused_in_every_door(door, argument):
    function, given = DOORS[door]
    function(**given)
    with pytest.raises(ValueError, match=r"has the index of .* in another order, in \d+ rows"):
        function(**given | {argument: shuffled(given[argument])})
    # What the message offers gives the answer of the rows in their order.
    function(**given | {argument: shuffled(given[argument]).loc[INDEX]})
    plain = shuffled(given[argument]).to_numpy()
    if argument not in ("sensitive_features", "X"):  # of which the names are needed
        function(**given | {argument: plain})


def test_the_explorer_refuses_them_before_it_serves():
    pytest.importorskip("starlette")
    with pytest.raises(ValueError, match="y has the index of proba"):
        mf.explore(PROBA, shuffled(Y), "accuracy", [mf.recall(1) >= 0.5])


@pytest.mark.parametrize("display", ["ConfusionDisplay", "GroupsDisplay"])
def test_pictures_of_an_estimator_refuse_shuffled_rows(display):
    pytest.importorskip("matplotlib")
    made = getattr(mf.report, display).from_estimator
    with pytest.raises(ValueError, match="y has the index of X in another order"):
        made(CLF, X, shuffled(Y), sensitive_features=SEX)


def test_dask_blocks_and_what_is_in_memory_beside_them_are_refused():
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    proba = da.from_array(PROBA.to_numpy(), chunks=(30, 2))
    with pytest.raises(ValueError, match="sample_weight has the index of y"):
        mf.optimize(proba, Y, "accuracy", sample_weight=shuffled(WEIGHT))
    frames = [dd.from_pandas(part, npartitions=1, sort=False) for part in (PROBA, shuffled(Y))]
    with pytest.raises(ValueError, match="y has the index of proba"):
        mf.optimize(*frames, "accuracy", classes=[0, 1])


def test_memory_mapped_probabilities_leave_the_others_to_be_compared(tmp_path):
    from metricfit.oracles.files.sources import MappedArray

    np.save(tmp_path / "p.npy", PROBA.to_numpy())
    proba = np.load(tmp_path / "p.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="sensitive_features has the index of y"):
        MappedArray(proba, Y, shuffled(SEX))


def test_columns_of_a_mapping_are_compared():
    with pytest.raises(ValueError, match="sensitive_features column 'sex' has the index of y"):
        check_row_order(y=Y, sensitive_features={"sex": shuffled(SEX["sex"])})


@pytest.mark.parametrize("index", [range(N), range(100, 100 + N), [f"case {i}" for i in range(1, N + 1)]])
def test_an_index_with_other_values_says_nothing(index):
    given = PROBA.set_axis(pd.Index(index), axis=0)
    assert mf.optimize(given, Y, "accuracy", counting="model").value == pytest.approx(
        mf.optimize(PROBA, Y, "accuracy", counting="model").value
    )


def test_two_shuffled_arguments_are_compared_with_each_other_too():
    """The first one's index tells nothing; the other two contradict each other."""
    with pytest.raises(ValueError, match="sample_weight has the index of y"):
        check_row_order(proba=PROBA.reset_index(drop=True), y=Y, sample_weight=shuffled(WEIGHT))


def test_repeated_values_get_another_next_move():
    twice = pd.Series([0, 1, 1], index=["a", "a", "b"])
    with pytest.raises(ValueError, match="repeats values"):
        check_row_order(y=twice, sample_weight=pd.Series([1.0, 1.0, 1.0], index=["b", "a", "a"]))


def test_levels_are_compared_as_pairs():
    pairs = pd.MultiIndex.from_product([["a", "b"], [1, 2]])
    y = pd.Series([0, 1, 0, 1], index=pairs)
    check_row_order(y=y, sample_weight=pd.Series([1.0] * 4, index=pd.MultiIndex.from_tuples(list(pairs))))
    with pytest.raises(ValueError, match="2 rows"):
        check_row_order(y=y, sample_weight=y.iloc[[1, 0, 2, 3]])


def test_pandas_is_not_imported_to_compare():
    program = (
        "import sys; from metricfit.data.row_order import check_row_order\n"
        "check_row_order(y=[0, 1], sample_weight=[1, 2]); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
