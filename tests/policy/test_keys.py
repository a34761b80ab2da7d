"""Keys of rows: 64-bit words of any whole number or text, by which a row gets its rule whatever else it has."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.policy import Policy, Rule
from metricfit.policy.row_hash import key_words, mix, uniform_of_keys

da = pytest.importorskip("dask.array")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ALWAYS = [Rule(0.5, [[0, 1], [0, 1]]), Rule(0.5, [[1, 0], [1, 0]])]
COIN = Policy(Axes(("no", "yes")), "full", [ALWAYS])
LARGE = 10**12 + np.arange(4000)


def proba(rows):
    return np.full((rows, 2), 0.5)


@pytest.mark.parametrize("kind", ["int64", "float64", "text"])
def test_large_keys_do_not_collapse(kind):
    key = [f"case {k}" for k in LARGE] if kind == "text" else LARGE.astype(kind)
    assert len(set(key_words(key, len(LARGE)).tolist())) == len(LARGE)
    share = np.mean(COIN.decide(proba(len(LARGE)), key=key) == "yes")
    assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(len(LARGE))


def test_numbers_of_keys_are_uniform_and_independent_of_the_salt():
    first, second = (uniform_of_keys(key_words(LARGE, len(LARGE)), salt) for salt in (0, 1))
    assert stats.kstest(first, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.07


def test_a_key_decides_alone():
    """Neither the probabilities nor the cell of a row say which share of a mixture it gets."""
    policy = Policy(Axes(("no", "yes"), cells=Cells(("g",), ((0,), (1,)))), "full", [ALWAYS, ALWAYS])
    other = np.random.default_rng(0).dirichlet([1, 1], len(LARGE))
    first = policy.decide(proba(len(LARGE)), np.zeros(len(LARGE), int), key=LARGE)
    second = policy.decide(other, np.ones(len(LARGE), int), key=LARGE)
    assert first.tolist() == second.tolist()
    order = np.random.default_rng(1).permutation(len(LARGE))
    assert policy.decide(other, np.ones(len(LARGE), int), key=LARGE[order]).tolist() == first[order].tolist()
    assert (
        policy.decide(other, np.ones(len(LARGE), int), key=LARGE, random_state=1).tolist() != first.tolist()
    )


def test_equal_keys_are_equal_in_all_libraries():
    numbers = [3, 2**40, -5]
    expected = key_words(np.array(numbers), 3).tolist()
    assert expected == [3, 2**40, 2**64 - 5]
    for column in (
        numbers,
        pd.Series(numbers),
        pd.Series(numbers, dtype="Int64"),
        pl.Series(numbers),
        pa.array(numbers),
        np.array(numbers, float),
        np.array(numbers, object),
    ):
        assert key_words(column, 3).tolist() == expected
    texts = ["a", "ä", "a"]
    expected = [int.from_bytes(hashlib.sha256(t.encode()).digest()[:8], "little") for t in texts]
    for column in (
        texts,
        pd.Series(texts),
        pd.Categorical(texts),
        pl.Series(texts),
        pa.array(texts),
        np.array(texts),
    ):
        assert key_words(column, 3).tolist() == expected


def test_the_number_as_documented():
    def number(word, salt):
        def once(w):
            w = (w + 0x9E3779B97F4A7C15) % 2**64
            w = ((w ^ (w >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
            w = ((w ^ (w >> 27)) * 0x94D049BB133111EB) % 2**64
            return w ^ (w >> 31)

        return (once(once(salt) ^ word) >> 11) * 2.0**-53

    words = key_words([0, 1, -1, 10**12, 2**64 - 1, 0.5, "1"], 7)
    for salt in (0, 7):
        assert uniform_of_keys(words, salt).tolist() == [number(int(word), salt) for word in words]
    assert mix(np.zeros(1, np.uint64))[0] == 0xE220A8397B1DCDAF


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ([1.0, np.nan], r"key is missing \(NaN or None\) in 1 row \(1\)"),
        (np.ma.masked_array([1, 2], mask=[True, False]), r"key is missing \(NaN or None\) in 1 row \(0\)"),
        (np.array([np.nan, 1.0]), r"key is missing \(NaN or None\) in 1 row \(0\)"),
        ([1, None], "key is missing"),
        (pd.Series([1, None], dtype="Int64"), "key is missing"),
        (pl.Series([1, None]), "key is missing"),
        (pa.array(["a", None]), "key is missing"),
        ([1.0, np.inf], "a value of key must be"),
        ([1, [2]], "one-dimensional"),
        ([1, (2,)], "a value of key must be"),
        (np.zeros((2, 1), int), "one-dimensional"),
        ([1], "lengths differ"),
        (np.arange(3), "lengths differ"),
    ],
    ids=str,
)
def test_keys_that_are_none(key, words):
    with pytest.raises(ValueError, match=words):
        COIN.decide(proba(2), key=key)


@given(st.lists(st.one_of(st.integers(), st.text(max_size=8)), max_size=20))
def test_any_whole_number_or_text_is_a_key(keys):
    words = key_words(keys, len(keys))
    assert words.dtype == np.uint64
    again = key_words(keys[::-1], len(keys))[::-1]
    assert words.tolist() == again.tolist()


def test_the_estimator_takes_keys():
    from sklearn.dummy import DummyClassifier

    features, labels = np.zeros((300, 1)), [0, 1] * 150
    clf = mf.MetricClassifier(DummyClassifier(), "g_mean", cv=None).fit(features, labels)
    assert len(set(clf.predict(features).tolist())) == 1  # all rows are alike
    made = clf.predict(features, key=LARGE[:300])
    assert set(made.tolist()) == {0, 1}
    assert made.tolist() == clf.policy_.decide(proba(300), key=LARGE[:300]).tolist()
    lazy = clf.predict(da.from_array(features, chunks=(100, 1)), key=LARGE[:300])
    assert lazy.compute().tolist() == made.tolist()


@pytest.mark.parametrize("name", ["fit", "predict", "decision_proba", "score"])
def test_attributes_and_weights_go_by_keyword(name):
    from sklearn.naive_bayes import GaussianNB

    features, labels = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    clf = mf.MetricClassifier(GaussianNB()).fit(features, labels)
    given = (features, labels) if name in ("fit", "score") else (features,)
    with pytest.raises(TypeError, match="positional argument"):
        getattr(clf, name)(*given, np.ones(20))
