"""Dask collections: the same answers as in memory, from a cluster of two processes that may lose one."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from dataclasses import replace
from operator import itemgetter

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.exceptions import SchedulerLostError
from metricfit.oracles import PluginOracle, Rows
from metricfit.oracles.choice import oracle_for
from metricfit.oracles.dask import DaskOracle, DaskRows
from metricfit.oracles.dask.worker import OwnCodes, kept_blocks, taken_of
from metricfit.oracles.settings import TUNED, Settings
from metricfit.problem import Problem
from metricfit.solving import solve

pytestmark = [
    # Connections that end with a killed process are left to the garbage collector by distributed itself.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

N, CLASSES = 600, ("blue", "green", "red")

# A scheduler and a worker in a process of their own, which a test can kill.
HOST = """
import asyncio
from distributed import Scheduler, Worker

async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address=":0") as scheduler:
        async with Worker(scheduler.address, nthreads=1):
            print(scheduler.address, flush=True)
            await scheduler.finished()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def cluster():
    options = {"processes": True, "dashboard_address": ":0", "memory_limit": 0, "silence_logs": 50}
    with (
        LocalCluster(2, threads_per_worker=1, host="127.0.0.1", **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    with cluster.as_current():
        yield cluster


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(3), size=N)
    labels = np.array(CLASSES)[(proba.cumsum(axis=1) > random.random((N, 1))).argmax(axis=1)]
    frame = pd.DataFrame({"region": random.choice(["S", "N"], N), "old": random.integers(0, 2, N)})
    return proba, labels, frame, random.random(N)


def collections(data, kind, rows=130):
    """Return the same data as Dask arrays, as Dask frames, or as both with arrays in memory."""
    proba, labels, frame, weight = data
    if kind == "arrays":
        parts = da.from_array(proba, chunks=(rows, 2)), da.from_array(labels, chunks=rows - 30)
        return *parts, dd.from_pandas(frame, chunksize=rows), da.from_array(weight, chunks=rows)
    if kind == "mixed":
        return da.from_array(proba, chunks=(rows, 3)), labels, frame, weight
    whole = dd.from_pandas(
        frame.assign(y=labels, w=weight, **{f"p{i}": proba[:, i] for i in range(3)}), chunksize=rows
    )
    return whole[["p0", "p1", "p2"]], whole["y"], whole[["region", "old"]], whole["w"]


def losses(oracle, layout, count=3):
    shape = len(oracle.axes.cells), 2 if layout == "diagonal" else oracle.axes.n, oracle.axes.k
    return list(np.random.default_rng(1).normal(size=(count, *shape)))


def check_equal(oracle, memory, tolerance):
    assert oracle.axes == memory.axes
    np.testing.assert_allclose(oracle.margins, memory.margins, rtol=0, atol=tolerance)
    for layout in ("diagonal", "full"):
        asked = losses(oracle, layout)
        for vertex, loss in zip(oracle.many(asked, layout), asked, strict=True):
            np.testing.assert_allclose(
                vertex.statistic, memory(loss, layout).statistic, rtol=0, atol=tolerance
            )
        shares = np.random.default_rng(2).dirichlet(np.ones(3), size=len(oracle.axes.cells))
        found = oracle.confusion(np.stack(asked), shares, layout)
        np.testing.assert_allclose(
            found, memory.confusion(np.stack(asked), shares, layout), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("kind", ["arrays", "frames", "mixed"])
@pytest.mark.parametrize(("confusion", "weighted"), [("labels", False), ("labels", True), ("model", False)])
def test_answers_are_those_of_rows_in_memory_without_a_cluster(data, kind, confusion, weighted):
    proba, y, frame, weight = collections(data, kind)
    oracle = oracle_for(
        proba, y, sensitive_features=frame, sample_weight=weight if weighted else None, counting=confusion
    )
    assert isinstance(oracle, DaskOracle)
    rows = Rows.of(*data[:2], sensitive_features=data[2], sample_weight=data[3] if weighted else None)
    exact = confusion == "labels" and not weighted
    check_equal(oracle, PluginOracle(rows, confusion), 0 if exact else 1e-12)


@pytest.mark.parametrize("kind", ["arrays", "frames"])
def test_answers_are_those_of_rows_in_memory_on_a_cluster(client, data, kind):
    proba, y, frame, weight = collections(data, kind)
    rows = Rows.of(*data[:2], sensitive_features=data[2])
    check_equal(oracle_for(proba, y, sensitive_features=frame), PluginOracle(rows), 0)
    rows = Rows.of(*data[:2], sample_weight=data[3])
    check_equal(
        oracle_for(proba, y, sample_weight=weight, counting="model"), PluginOracle(rows, "model"), 1e-12
    )


def test_large_losses_are_sent_once(client, data):
    proba, y, *_ = collections(data, "arrays")
    check_equal(
        oracle_for(proba, y, settings=Settings(large_arguments=0)), PluginOracle(Rows.of(*data[:2])), 0
    )


def check_solves(found, expected, proba, frame):
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.bound == pytest.approx(expected.bound, abs=1e-12)
    assert (found.status, found.n_oracle_calls) == (expected.status, expected.n_oracle_calls)
    chances = [result.policy.decision_proba(proba, frame) for result in (found, expected)]
    np.testing.assert_allclose(*chances, rtol=0, atol=1e-9)


@pytest.mark.parametrize("constraints", [(), ("demographic_parity(over='region') <= 0.05",)])
def test_whole_solves_are_equal(client, data, constraints):
    proba, y, frame, _ = collections(data, "frames")
    found = mf.optimize(proba, y, "h_mean", constraints, sensitive_features=frame)
    expected = mf.optimize(*data[:2], "h_mean", constraints, sensitive_features=data[2])
    check_solves(found, expected, data[0], data[2])


def test_a_worker_killed_in_the_middle_of_a_solve(client, data):
    proba, y, frame, _ = collections(data, "arrays")
    killed = []

    def kill(record):
        if not killed:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    options = dict(method="column_generation")
    found = mf.optimize(proba, y, "h_mean", sensitive_features=frame, callback=kill, **options)
    expected = mf.optimize(*data[:2], "h_mean", sensitive_features=data[2], **options)
    assert len(killed) == 2
    assert len(found.history) > 2
    check_solves(found, expected, data[0], data[2])


def test_start_from_a_sample(data):
    proba, y, *_ = collections(data, "arrays")
    oracle = oracle_for(proba, y, counting="model", settings=Settings(sample_entries=0, sample_part=np.inf))
    assert oracle.costly
    sample = oracle.sample()
    assert len(sample) == N  # fewer than a sample takes
    np.testing.assert_allclose(sample.margins(), Rows.of(*data[:2]).margins(), atol=1e-12)
    found = solve(Problem.of("h_mean"), oracle)
    expected = mf.optimize(*data[:2], "h_mean", counting="model")
    assert found.certified
    assert found.value == pytest.approx(expected.value, abs=1e-4)


def test_the_sample_has_the_rows_that_it_has_in_memory(cluster, data):
    fewer = Settings(sample_rows=120)
    expected = PluginOracle(Rows.of(*data[:2]), settings=fewer).sample()
    assert 60 < len(expected) < 240
    proba, y, *_ = collections(data, "arrays")
    with cluster.as_current():
        found = DaskOracle(DaskRows.of(proba, y, settings=fewer)).sample()
    # The blocks of a worker may be joined, so the order of rows is another one.
    ours, theirs = np.lexsort(found.proba.T), np.lexsort(expected.proba.T)
    np.testing.assert_array_equal(found.proba[ours], expected.proba[theirs])
    np.testing.assert_array_equal(found.labels[ours], expected.labels[theirs])
    np.testing.assert_allclose(found.weights[ours], expected.weights[theirs])


@pytest.fixture
def host():
    """Return the process of a scheduler, with the client that is connected to it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOST], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        with Client(process.stdout.readline().strip(), set_as_default=False) as own, own.as_current():
            yield process
            own.close(timeout=1)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_dead_scheduler_is_an_error(host, data):
    proba, y, *_ = collections(data, "arrays")
    oracle = oracle_for(proba, y)
    (loss,) = losses(oracle, "full", 1)
    assert oracle(loss, "full").statistic.sum() == pytest.approx(1)
    host.kill()
    with pytest.raises(SchedulerLostError, match=r"scheduler at tcp://127\.0\.0\.1.* cannot be reached"):
        oracle(loss, "full")
    with pytest.raises(ValueError, match="cannot be reached"):
        mf.optimize(proba, y, "g_mean")


def test_a_scheduler_that_says_nothing_is_an_error(host, data):
    assert TUNED.patience + TUNED.silence < 30
    proba, y, *_ = collections(data, "arrays")
    oracle = oracle_for(proba, y)
    (loss,) = losses(oracle, "full", 1)
    impatient = Settings(patience=0.5, silence=1.0)
    oracle.rows = replace(oracle.rows, settings=impatient)
    # A stopped process keeps its connections open, unlike a killed one: nothing but time tells.
    host.send_signal(signal.SIGSTOP)
    with pytest.raises(SchedulerLostError, match="cannot be reached"):
        oracle(loss, "full")
    with pytest.raises(SchedulerLostError, match="cannot be reached"):
        oracle_for(proba, y, settings=impatient)


def with_block(data, number, change):
    """Return a Dask array in which one block was changed after its shape was told."""
    blocks = list(da.from_array(data[0], chunks=(150, 3)).to_delayed().ravel())
    blocks[number] = (
        da.from_array(change(np.array(data[0][150 * number : 150 * (number + 1)]))).to_delayed().ravel()[0]
    )
    return da.concatenate([da.from_delayed(block, (150, 3), float) for block in blocks])


def broken(values):
    def change(block):
        block[7] = values
        return block

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (broken(np.nan), r"NaN or infinite in 1 row \(7\).*in block 2"),
        (broken([-0.5, 1, 0.5]), r"negative in 1 row \(7\).*in block 2"),
        (broken([1, 1, 1]), r"does not sum to 1 .* in 1 row \(7\).*in block 2"),
        (lambda block: block[:, :2], r"2 columns but there are 3 classes.*in block 2"),
        (lambda block: block[:149], r"proba has 149 rows, y has 150.*in block 2"),
    ],
)
def test_bad_blocks_say_which(data, change, words):
    with pytest.raises(ValueError, match=words):
        mf.optimize(with_block(data, 2, change), data[1], "g_mean", classes=CLASSES)


def test_bad_blocks_say_which_on_a_cluster(client, data):
    with pytest.raises(ValueError, match=r"negative in 1 row \(7\).*in block 2"):
        mf.optimize(with_block(data, 2, broken([-0.5, 1, 0.5])), data[1], "g_mean", classes=CLASSES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"y": None}, "y is None"),
        ({"y": ["blue"] * 3}, "proba has 600 rows, y has 3"),
        ({"classes": ("blue", "green", "pink")}, r"not classes in .*'red'.*in block \d"),
        ({"sample_weight": np.zeros(N)}, "sample_weight is zero in all 600 rows"),
        ({"sample_weight": np.r_[np.ones(N - 1), -1.0]}, "negative in 1 row .*in block 4"),
        ({"sensitive_features": {"y": ["a"] * 3}}, "has 3"),
        ({"y": da.from_array(np.zeros(9), chunks=3)}, "proba has 600 rows, y has 9"),
        (
            {"y": dd.from_pandas(pd.Series(np.zeros(N)), npartitions=2)},
            "y has 2 blocks of rows but proba has 5",
        ),
    ],
)
def test_bad_arguments(data, options, words):
    proba, y, *_ = collections(data, "arrays")
    given = {"y": y, "objective": "g_mean"} | options
    with pytest.raises(ValueError, match=words):
        mf.optimize(proba, **given)


def test_labels_in_memory_need_known_blocks(data):
    proba, *_ = collections(data, "frames")
    with pytest.raises(ValueError, match="lengths of the blocks of proba are not known"):
        mf.optimize(proba, data[1], "g_mean")


@pytest.mark.parametrize(
    "proba", [da.zeros(3), da.zeros((0, 3)), dd.from_pandas(pd.DataFrame({"a": [1.0]})).to_delayed()[0]]
)
def test_collections_that_are_no_probabilities(proba):
    with pytest.raises(ValueError, match="proba"):
        mf.optimize(proba, np.zeros(0), "g_mean")


def test_blocks_may_be_empty(data):
    # Names of one type: older versions of Dask sort them.
    frame = dd.from_pandas(pd.DataFrame(data[0], columns=list("abc")).assign(y=data[1]), npartitions=4)
    kept = frame[frame["a"] > 0.9]
    some = data[0][:, 0] > 0.9
    memory = PluginOracle(Rows.of(data[0][some], data[1][some], classes=CLASSES))
    few = frame.partitions[:1]
    both = dd.concat([few[few["a"] > 2], kept])
    oracle = oracle_for(both[["a", "b", "c"]], both["y"], classes=CLASSES)
    (loss,) = losses(oracle, "full", 1)
    np.testing.assert_array_equal(oracle(loss, "full").statistic, memory(loss, "full").statistic)


def features(data):
    """Return numbers that a model can learn from, with an attribute beside them."""
    return pd.DataFrame(np.log(data[0]), columns=["a", "b", "c"]).assign(old=data[2]["old"])


def test_samples_do_not_depend_on_which_worker_has_which_block():
    random = np.random.default_rng(0)
    proba, y = random.dirichlet([1.0, 1.0, 1.0], 40), random.integers(0, 3, 40)
    cuts = [slice(10 * k, 10 * k + 10) for k in range(4)]
    raw = [OwnCodes.of(k, 3, proba[cut], y[cut], None, None) for k, cut in enumerate(cuts)]
    axes, starts = Axes((0, 1, 2)), {k: 10 * k for k in range(4)}

    def sampled(groups):
        kept = [kept_blocks([raw[k] for k in group], axes, starts, 10**6) for group in groups]
        taken = [part for blocks in kept for part in taken_of(blocks, np.full((1, 3), 0.6))]
        return np.concatenate([block.proba for _, block in sorted(taken, key=itemgetter(0))])

    wanted = sampled([[0], [1], [2], [3]])
    assert 10 < len(wanted) < 40
    for groups in ([[0, 1], [2, 3]], [[0, 2], [1, 3]], [[3, 1], [2, 0]]):
        np.testing.assert_array_equal(sampled(groups), wanted)


def test_classifier_on_data_frames(client, data):
    X, y = features(data), pd.Series(data[1])
    frozen = FrozenEstimator(LogisticRegression().fit(X[:300], y[:300]))
    make = functools.partial(mf.MetricClassifier, frozen, "h_mean", attributes="old")
    memory = make().fit(X, y)
    blocks = dd.from_pandas(X, npartitions=4)
    cluster = make().fit(blocks, dd.from_pandas(y, npartitions=4))
    assert cluster.result_.value == pytest.approx(memory.result_.value, abs=1e-12)
    assert cluster.policy_.axes == memory.policy_.axes
    made = cluster.predict(blocks)
    assert isinstance(made, da.Array)
    np.testing.assert_array_equal(made.compute(), memory.predict(X))
    np.testing.assert_array_equal(cluster.predict(X), memory.predict(X))
    np.testing.assert_allclose(cluster.predict_proba(blocks).compute(), memory.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(cluster.decision_proba(blocks).compute(), memory.decision_proba(X), atol=1e-9)
    assert cluster.score(blocks, y) == pytest.approx(memory.score(X, y))


def test_classifier_on_arrays_with_a_further_decision(data):
    X, y = features(data)[["a", "b", "c"]].to_numpy(), data[1]
    frozen = FrozenEstimator(LogisticRegression().fit(X[:300], y[:300]))
    options = {"decisions": (*CLASSES, "ask"), "randomize": "draw", "random_state": 0}
    constraint = [mf.selective_accuracy() >= 0.8]
    memory = mf.MetricClassifier(frozen, mf.coverage("blue"), constraint, **options)
    memory.fit(X, y, sensitive_features=data[2]["region"], sample_weight=data[3])
    blocks, groups = (
        da.from_array(X, chunks=(130, 2)),
        da.from_array(data[2]["region"].to_numpy(str), chunks=130),
    )
    found = mf.MetricClassifier(frozen, mf.coverage("blue"), constraint, **options)
    found.fit(blocks, da.from_array(y, chunks=130), sensitive_features=groups, sample_weight=data[3])
    assert found.result_.value == pytest.approx(memory.result_.value, abs=1e-9)
    made = found.predict(blocks, sensitive_features=groups).compute()
    assert made.shape == (N,)
    assert set(made) <= {*CLASSES, "ask"}


def test_classifier_on_collections_needs_a_fitted_model(data):
    X = dd.from_pandas(features(data), npartitions=4)
    y = dd.from_pandas(pd.Series(data[1]), npartitions=4)
    with pytest.raises(ValueError, match="FrozenEstimator"):
        mf.MetricClassifier(LogisticRegression()).fit(X, y)
    frozen = FrozenEstimator(LogisticRegression().fit(features(data), data[1]))
    with pytest.raises(ValueError, match="must name columns of a Dask data frame"):
        mf.MetricClassifier(frozen, attributes="young").fit(X, y)
    with pytest.raises(ValueError, match="pass one of them"):
        mf.MetricClassifier(frozen, attributes="old").fit(X, y, sensitive_features=X["old"])
