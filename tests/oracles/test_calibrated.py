"""counting="calibrated": equal answers from memory, files and Dask, and a policy that takes the model's own rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from optional import optional

import metricfit as mf
from metricfit.oracles.choice import oracle_for
from metricfit.oracles.files.chunked import ChunkedOracle
from metricfit.oracles.settings import Settings
from metricfit.problem import Problem
from metricfit.solving import solve

pa = optional("pyarrow")
pq = optional("pyarrow.parquet")

CLASSES = ("blue", "green", "red")
LIMITS = ["precision('red') >= 0.5", "coverage('blue') >= 0.2"]


@pytest.fixture
def data():
    """Rows whose probabilities are too flat and wrong by a factor for each class."""
    random = np.random.default_rng(5)
    true = random.dirichlet([2.0, 1.0, 1.0], 500)
    labels = np.array(CLASSES)[(true.cumsum(axis=1) > random.random((500, 1))).argmax(axis=1)]
    proba = np.sqrt(true) * [1.0, 2.0, 0.6]
    return proba / proba.sum(axis=1, keepdims=True), labels, random.choice(["N", "S"], 500)


def solved(*given, limits=LIMITS, **options):
    return mf.optimize(*given, "h_mean", limits, counting="calibrated", **options)


def same(one, other):
    assert one.calibration.family == other.calibration.family != "none"
    assert one.value == pytest.approx(other.value, abs=1e-6)
    assert one.bound == pytest.approx(other.bound, abs=1e-6)
    assert [r.value for r in one.constraints] == pytest.approx([r.value for r in other.constraints], abs=1e-6)
    np.testing.assert_allclose(one.confusion.values, other.confusion.values, atol=1e-6)


def test_it_is_certified_and_the_policy_takes_the_models_own_probabilities(data):
    proba, labels, group = data
    found = solved(proba, labels, sensitive_features=group)
    assert (found.status, found.certified) == ("optimal", True)
    assert 0 <= found.gap <= 1e-4
    assert found.policy.calibration is not None
    # The chances of the rows, given their own probabilities, and the calibrated ones as soft labels.
    cells = (group == "S").astype(int)
    soft = found.policy.calibration(proba, cells)
    chances = found.policy.decision_proba(proba, group)
    tensor = np.stack([soft[cells == a].T @ chances[cells == a] for a in (0, 1)]) / len(proba)
    np.testing.assert_allclose(found.confusion.values, tensor, atol=1e-9)
    assert np.abs(soft - proba).max() > 0.05


@pytest.mark.parametrize("limits", [(), LIMITS], ids=["free", "limits"])
def test_decisions_by_labels_reproduce_the_confusion(data, limits):
    """With labels the policy decides the model's own probabilities too, and its confusion is what was counted."""
    proba, labels, group = data
    found = mf.optimize(proba, labels, "h_mean", limits, sensitive_features=group, counting="labels")
    cells = (group == "S").astype(int)
    chances = found.policy.decision_proba(proba, group)
    tensor = np.zeros((2, 3, 3))
    np.add.at(tensor, (cells, np.searchsorted(CLASSES, labels)), chances / len(proba))
    np.testing.assert_allclose(found.confusion.values, tensor, atol=1e-9)


def test_decide_reproduces_the_confusion_of_a_policy_without_mixtures(data):
    proba, labels, _ = data
    found = mf.optimize(proba, labels, "macro_f1", counting="labels")
    assert len(found.policy.rules[0]) == 1
    counted = mf.Confusion.from_predictions(labels, found.policy.decide(proba))
    np.testing.assert_allclose(found.confusion.values, counted.values, atol=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
def test_files_answer_as_memory_does(tmp_path, data, grouped):
    proba, labels, group = data
    small = Settings(block_entries=64 * 3, batch_entries=50 * 3, part_rows=70, in_memory=0)
    columns = {f"p_{c}": proba[:, i] for i, c in enumerate(CLASSES)}
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table({**columns, "y": labels, "region": group}), path, row_group_size=90)
    attributes = {"region": group} if grouped else None
    table = mf.scores(path, label="y", proba_prefix="p_", attributes=["region"] if grouped else [])
    oracle = oracle_for(table, None, counting="calibrated", settings=small)
    assert isinstance(oracle, ChunkedOracle)
    assert oracle.calibrates
    found = solve(Problem.of("h_mean", LIMITS), oracle)
    same(found, solved(proba, labels, sensitive_features=attributes))


def test_dask_answers_as_memory_does(data):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    proba, labels, group = data
    frame = pd.DataFrame({"region": group})
    lazy = da.from_array(proba, chunks=(130, 3)), da.from_array(labels, chunks=100)
    region = dd.from_pandas(frame, chunksize=130)
    same(solved(*lazy, sensitive_features=region), solved(proba, labels, sensitive_features=frame))
