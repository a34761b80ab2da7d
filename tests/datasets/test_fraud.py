from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metricfit import datasets


@pytest.fixture(scope="module")
def fraud():
    return datasets.make_fraud_triage(20_000, random_state=0)


def test_fraud_triage_has_the_promised_form(fraud):
    assert fraud.X.shape == (20_000, 10)
    assert set(fraud.attributes) < set(fraud.X.columns)
    assert not fraud.X.isna().any().any()
    assert fraud.classes == tuple(sorted(set(fraud.y)))
    np.testing.assert_allclose(fraud.proba.sum(axis=1), 1)
    shares = pd.Series(fraud.y).value_counts(normalize=True)
    assert shares["legit"] > 0.9
    assert shares.drop("legit").between(0.01, 0.035).all()


def test_fraud_triage_probabilities_are_calibrated():
    data = datasets.make_fraud_triage(200_000, random_state=1)
    hits = np.asarray(data.classes) == data.y[:, None]
    for column, hit in zip(data.proba.T, hits.T, strict=True):
        for low, high in zip([0, 0.05, 0.2, 0.5, 0.8], [0.05, 0.2, 0.5, 0.8, 1.01], strict=True):
            bucket = (column >= low) & (column < high)
            error = 5 * np.sqrt(column[bucket] @ (1 - column[bucket])) / bucket.sum()
            assert hit[bucket].mean() == pytest.approx(column[bucket].mean(), abs=error)


def test_fraud_triage_is_hard_for_the_most_probable_class(fraud):
    decided = np.asarray(fraud.classes)[fraud.proba.argmax(axis=1)]
    recall = {c: (decided[fraud.y == c] == c).mean() for c in fraud.classes}
    assert recall["legit"] > 0.98
    assert recall["chargeback"] < 0.3
    assert recall["suspicious"] < 0.3
    assert (fraud.y[decided == "fraud"] == "fraud").mean() < 0.9


def test_fraud_triage_allows_a_precision_of_nine_in_ten(fraud):
    score = fraud.proba[:, fraud.classes.index("fraud")]
    hits = (fraud.y == "fraud")[np.argsort(-score)]
    precision = hits.cumsum() / np.arange(1, len(hits) + 1)
    recall = hits.cumsum() / hits.sum()
    assert 0.4 < recall[precision >= 0.9].max() < 0.8


def test_fraud_triage_attributes_shift_the_outcome_mildly():
    data = datasets.make_fraud_triage(200_000, random_state=1)
    score = pd.Series(data.proba[:, data.classes.index("fraud")])
    for attribute in data.attributes:
        rates = score.groupby(data.X[attribute].astype(str)).mean()
        assert 1.3 < rates.max() / rates.min() < 2


def test_fraud_triage_repeats_with_the_seed():
    first, again, other = (datasets.make_fraud_triage(200, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not first.X.equals(other.X)
