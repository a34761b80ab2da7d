"""What a policy file says about the tuning rows: their shares, in bins that give no row away."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.exceptions import PolicyFileError
from metricfit.policy.at_fit import LEAST, AtFit


def rows_of(n_rows, n, seed=0):
    rng = np.random.default_rng(seed)
    calibrated = rng.dirichlet(np.full(n, 0.4), n_rows)
    labels = (calibrated.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1)
    return calibrated, labels, np.eye(n)[calibrated.argmax(axis=1)]


@pytest.mark.parametrize(("n_rows", "n"), [(5, 2), (45, 3), (1000, 2), (3000, 4), (2000, 60)])
def test_every_bin_holds_enough_rows_and_all_of_them_are_counted(n_rows, n):
    calibrated, labels, chances = rows_of(n_rows, n)
    known = AtFit.of(calibrated, labels, chances)
    held = known.scores.sum(axis=1) * n_rows
    assert held.min() >= min(LEAST, n_rows) - 1e-9
    assert len(held) * n <= 20_000 + n
    np.testing.assert_allclose(known.classes, np.bincount(labels, minlength=n) / n_rows)
    np.testing.assert_allclose(known.shares_of_bins(calibrated), known.scores.sum(axis=1))
    np.testing.assert_allclose(known.decisions, chances.mean(axis=0))
    again = AtFit.from_dict(known.to_dict(), n, n)
    np.testing.assert_array_equal(again.scores, known.scores)
    np.testing.assert_array_equal(again.bins, known.bins)


def test_weights_count():
    calibrated, labels, chances = rows_of(400, 2, 1)
    twice = np.random.default_rng(0).integers(1, 3, 400)
    one = AtFit.of(calibrated, labels, chances, twice.astype(float))
    two = AtFit.of(*(np.repeat(part, twice, axis=0) for part in (calibrated, labels, chances)))
    np.testing.assert_allclose(one.classes, two.classes)
    np.testing.assert_allclose(one.decisions, two.decisions)
    assert one.rows == pytest.approx(twice.sum() ** 2 / (twice**2).sum())


def test_a_solved_policy_knows_its_rows_and_keeps_them_in_its_file(tmp_path):
    data = mf.datasets.make_fraud_triage(n_rows=1500, random_state=0)
    result = mf.optimize(
        data.proba, data.y, "g_mean", counting="calibrated", sensitive_features=data.X[["region"]]
    )
    known = result.policy.at_fit
    shares = [np.mean(data.y == c) for c in result.policy.axes.classes]
    np.testing.assert_allclose(known.classes, shares)
    decided = result.policy.decision_proba(data.proba, data.X[["region"]]).mean(axis=0)
    np.testing.assert_allclose(known.decisions, decided)
    result.policy.save(tmp_path / "policy.json")
    read = mf.Policy.load(tmp_path / "policy.json").at_fit
    np.testing.assert_array_equal(read.scores, known.scores)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 0},
        {"rows": "many"},
        {"rows": float("inf")},
        {"decisions": [1.0]},
        {"decisions": [0.7, 0.7]},
        {"decisions": [1.5, -0.5]},
        {"bins": [[0] * 12]},
        {"bins": [[9] * 12] * 2},
        {"scores": [[0.5, 0.5], [0.5]]},
        {"scores": None},
        {"more": 1},
    ],
)
def test_damaged_entries_are_refused(change):
    known = AtFit.of(*rows_of(300, 2)).to_dict()
    with pytest.raises(PolicyFileError, match="at_fit"):
        AtFit.from_dict(known | change, 2, 2)
