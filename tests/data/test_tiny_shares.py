"""Classes whose weight is too small to divide by count as absent: an error or a value, never NaN or infinity."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.rows import Rows, priors

RNG = np.random.default_rng(0)
N = 300
Y = RNG.integers(0, 3, N)
PROBA = RNG.dirichlet(np.ones(3), N) * 0.5 + 0.5 * np.eye(3)[Y]


@pytest.mark.parametrize("share", [1e-320, 1e-310, 1e-295])
@pytest.mark.parametrize("objective", ["g_mean", "balanced_accuracy", "min_recall", "recall(1)"])
def test_a_rate_of_a_class_of_hardly_any_weight_is_undefined(objective, share):
    weight = np.where(Y == 1, share, 1.0)
    with pytest.raises(ValueError, match="class 1 has no rows at all"):
        mf.optimize(PROBA, Y, objective, sample_weight=weight, counting="labels")


@pytest.mark.parametrize("objective", ["accuracy", "macro_f1", "mcc", "cohen_kappa", "f1(1)"])
def test_other_metrics_are_those_of_the_rows_without_it(objective):
    tiny, none = (
        mf.optimize(PROBA, Y, objective, sample_weight=np.where(Y == 1, share, 1.0), counting="labels")
        for share in (1e-310, 0.0)
    )
    assert tiny.value == pytest.approx(none.value)
    assert np.isfinite(tiny.policy.decision_proba(PROBA)).all()


def test_probabilities_that_small_are_no_share_either():
    proba = np.column_stack([np.ones(N), np.full(N, 1e-310)])
    y = np.arange(N) % 2
    with pytest.raises(ValueError, match="class 1 has no rows at all, or by soft labels no probability"):
        mf.optimize(proba, y, "g_mean", counting="model")
    assert mf.optimize(proba, y, "accuracy", counting="model").value == 1.0


def test_the_smallest_share_that_counts_is_solved():
    weight = np.where(Y == 1, 1e-280, 1.0)
    result = mf.optimize(PROBA, Y, "g_mean", sample_weight=weight, counting="labels")
    recalls = [result.policy.decision_proba(PROBA[c == Y])[:, c].mean() for c in range(3)]
    assert result.value == pytest.approx(np.prod(recalls) ** (1 / 3), abs=1e-9)


def test_oracles_of_files_and_of_dask_agree(tmp_path):
    da = pytest.importorskip("dask.array")
    from metricfit.oracles.choice import oracle_for
    from metricfit.oracles.files.chunked import ChunkedOracle, ChunkedRows
    from metricfit.oracles.files.sources import MappedArray

    weight = np.where(Y == 1, 1e-310, 1.0)
    expected = Rows.of(PROBA, Y, sample_weight=weight).margins()
    assert expected[0, 1] == 0
    np.save(tmp_path / "p.npy", PROBA)
    source = MappedArray(np.load(tmp_path / "p.npy", mmap_mode="r"), Y, None, weight)
    blocks = da.from_array(PROBA, chunks=(100, 3))
    for oracle in (ChunkedOracle(ChunkedRows(source)), oracle_for(blocks, Y, sample_weight=weight)):
        np.testing.assert_allclose(oracle.margins, expected)
    assert priors(np.array([1.0, 1e-300]), 2.0).tolist() == [0.5, 0.0]
