"""Under `randomize="hash"` rows are told apart by their features, or by a key."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

import metricfit as mf
from metricfit.policy.row_hash import feature_words

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 3))
Y = (RNG.random(4000) < 1 / (1 + np.exp(1.5 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)


def test_a_tree_of_eight_leaves_decides_the_share_that_its_policy_has():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    clf = mf.MetricClassifier(tree, "g_mean", [mf.coverage(1) <= 0.15], counting="model", cv=None).fit(X, Y)
    chances = clf.decision_proba(X)[:, 1]
    assert ((chances > 0) & (chances < 1)).any()
    assert abs((clf.predict(X) == 1).mean() - chances.mean()) < 0.02


def test_rounding_of_probabilities_changes_no_decision():
    class Rounded(DecisionTreeClassifier):
        digits = 17

        def predict_proba(self, X):
            return super().predict_proba(X).round(self.digits)

    clf = mf.MetricClassifier(
        Rounded(max_depth=3, random_state=0), "g_mean", [mf.coverage(1) <= 0.15], counting="model", cv=None
    ).fit(X, Y)
    before = clf.predict(X)
    clf.estimator_.digits = 12
    np.testing.assert_array_equal(clf.predict(X), before)


def test_a_key_takes_the_place_of_features():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    clf = mf.MetricClassifier(tree, "g_mean", [mf.coverage(1) <= 0.15], counting="model", cv=None).fit(X, Y)
    key = np.arange(len(X))
    moved = X.copy()
    moved[:, 2] += 1e-3 * RNG.random(len(X))  # noise that no leaf sees much of
    same = (clf.predict_proba(moved) == clf.predict_proba(X)).all(axis=1)
    np.testing.assert_array_equal(clf.predict(moved, key=key)[same], clf.predict(X, key=key)[same])
    assert (clf.predict(X, key=key) != clf.predict(X)).any()


def test_words_of_features_do_not_depend_on_their_container():
    rows = np.round(X[:50], 1)
    rows[rows < 0] = 0.0
    words = feature_words(rows, 50)
    assert len(set(words.tolist())) > 40
    for other in (
        rows.tolist(),
        rows.astype(np.float32),
        pd.DataFrame(rows),
        sparse.csr_matrix(rows),
        rows + 0j.real,
    ):
        np.testing.assert_array_equal(feature_words(other, 50), words)
    np.testing.assert_array_equal(feature_words(rows[::-1], 50), words[::-1])


def test_words_of_texts_and_mixed_frames():
    frame = pd.DataFrame({"name": ["a", "b", "a", None], "age": [1.0, 2.0, 1.0, np.nan]})
    words = feature_words(frame, 4)
    assert words[0] == words[2]
    assert len(set(words.tolist())) == 3
    assert feature_words(["some text", "another", "some text"], 3)[0] != feature_words(["another"], 1)[0]


def test_each_text_of_a_column_is_hashed_once_and_categories_like_texts(monkeypatch):
    from metricfit.policy import row_hash

    texts = pd.DataFrame({"a": RNG.choice(["x", "y", "z"], 5000), "b": RNG.choice(["u", None], 5000)})
    frames = {
        "texts": texts,
        "categories": texts.astype("category"),
        "whole": pd.DataFrame({"n": pd.Categorical(RNG.choice([1, 5], 5000), categories=[1, 2, 5])}),
    }
    frames["missing"] = frames["whole"].mask(RNG.random((5000, 1)) < 0.5)
    looked_up = []
    plain = row_hash._text_of
    monkeypatch.setattr(row_hash, "_text_of", lambda value: looked_up.append(value) or plain(value))
    words = {name: feature_words(frame, 5000) for name, frame in frames.items()}
    assert len(looked_up) <= 12
    np.testing.assert_array_equal(words["whole"], feature_words(frames["whole"].astype(int), 5000))
    np.testing.assert_array_equal(words["missing"], feature_words(frames["missing"].astype(float), 5000))
    np.testing.assert_array_equal(
        words["categories"], feature_words(texts.astype(object).fillna(np.nan), 5000)
    )


def test_values_that_are_equal_and_of_other_types_keep_their_words():
    column = np.array([1, True, 1.0, "1", None, float("nan"), 2**60, "x"], dtype=object)
    words = feature_words(column[:, None], 8)
    one_by_one = [feature_words(column[i : i + 1, None], 1)[0] for i in range(8)]
    assert words.tolist() == one_by_one
    assert len(set(words.tolist())) == 6
