"""Rows from files: the same answers as from memory, in bounded memory, and errors that say where."""

from __future__ import annotations

import mmap
import subprocess
import sys

import numpy as np
import pytest
from optional import needs, optional

import metricfit as mf
from metricfit.oracles import PluginOracle, Rows
from metricfit.oracles.choice import oracle_for
from metricfit.oracles.files.chunked import ChunkedOracle, ChunkedRows
from metricfit.oracles.files.sources import MappedArray, ahead, mapping_of
from metricfit.oracles.samples import fractions
from metricfit.oracles.settings import Settings
from metricfit.problem import Problem
from metricfit.solving import solve

pa = optional("pyarrow")
ds = optional("pyarrow.dataset")
pq = optional("pyarrow.parquet")

N, CLASSES = 500, ("blue", "green", "red")


# Blocks of 64 rows, and nothing small enough to be solved in memory.
SMALL = Settings(block_entries=64 * 3, batch_entries=50 * 3, part_rows=70, in_memory=0)


def oracle_of(proba, y, settings=SMALL, **options):
    return oracle_for(proba, y, settings=settings, **options)


def solved(proba, y, objective, constraints=(), **options):
    return solve(Problem.of(objective, constraints), oracle_of(proba, y, **options))


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(3), size=N)
    labels = np.array(CLASSES)[(proba.cumsum(axis=1) > random.random((N, 1))).argmax(axis=1)]
    frame = {"region": random.choice(["S", "N"], N), "old": random.integers(0, 2, N)}
    return proba.astype(np.float32), labels, frame, random.random(N)


def mapped(folder, array, mode="r"):
    np.save(folder / "proba.npy", array)
    return np.load(folder / "proba.npy", mmap_mode=mode)


def write(folder, proba, labels, frame, weight, kind="parquet", files=2):
    """Write a table of scores in several files and row groups; return their paths."""
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(len(proba)), files)):
        columns = {f"p_{c}": proba[rows, i] for i, c in enumerate(CLASSES)}
        columns |= {"y": labels[rows], "w": weight[rows], **{k: v[rows] for k, v in frame.items()}}
        table = pa.table(columns)
        paths.append(folder / f"{number}.{kind}")
        if kind == "parquet":
            pq.write_table(table, paths[-1], row_group_size=90)
        else:
            with pa.ipc.new_file(paths[-1], table.schema) as writer:
                writer.write_table(table, max_chunksize=90)
    return paths


def losses(oracle, layout, count=3):
    shape = len(oracle.axes.cells), 2 if layout == "diagonal" else oracle.axes.n, oracle.axes.k
    return list(np.random.default_rng(1).normal(size=(count, *shape)))


@pytest.mark.parametrize("layout", ["diagonal", "full"])
@pytest.mark.parametrize("confusion", ["labels", "model"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", ["npy", "parquet", "arrow"])
def test_answers_are_those_of_rows_in_memory(tmp_path, data, kind, grouped, weighted, confusion, layout):
    proba, labels, frame, weight = data
    frame, given = frame if grouped else None, weight if weighted else None
    decisions = (*CLASSES, "ask")
    memory = PluginOracle(
        Rows.of(proba, labels, decisions=decisions, sensitive_features=frame, sample_weight=given), confusion
    )
    if kind == "npy":
        rows, y, options = (
            mapped(tmp_path, proba),
            labels,
            {"sensitive_features": frame, "sample_weight": given},
        )
    else:
        paths = write(tmp_path, proba, labels, frame or {}, weight, kind)
        rows, y, options = (
            mf.scores(
                paths, label="y", proba_prefix="p_", attributes=frame or (), weight="w" if weighted else None
            ),
            None,
            {},
        )
    oracle = oracle_of(rows, y, decisions=decisions, counting=confusion, threads=2, **options)
    assert isinstance(oracle, ChunkedOracle)
    assert oracle.axes == memory.axes
    assert oracle.passes == 1
    tolerance = 0 if confusion == "labels" and not weighted else 1e-12
    np.testing.assert_allclose(oracle.margins, memory.margins, rtol=0, atol=tolerance)
    asked = losses(oracle, layout)
    for vertex, loss in zip(oracle.many(asked, layout), asked, strict=True):
        np.testing.assert_allclose(vertex.statistic, memory(loss, layout).statistic, rtol=0, atol=tolerance)
    assert oracle.passes == 2
    shares = np.random.default_rng(2).dirichlet(np.ones(3), size=len(oracle.axes.cells))
    found = oracle.confusion(np.stack(asked), shares, layout)
    np.testing.assert_allclose(found, memory.confusion(np.stack(asked), shares, layout), rtol=0, atol=1e-12)
    assert oracle.passes == 3


@pytest.mark.parametrize(
    "change", [np.asfortranarray, lambda p: p.astype(np.float64), lambda p: p.astype(np.float16)]
)
def test_any_stored_order_and_type(tmp_path, data, change):
    proba, labels, *_ = data
    stored = change(proba)
    memory = PluginOracle(Rows.of(stored, labels))
    oracle = oracle_of(mapped(tmp_path, stored), labels)
    for loss in losses(oracle, "diagonal"):
        np.testing.assert_array_equal(oracle(loss, "diagonal").statistic, memory(loss, "diagonal").statistic)


@pytest.mark.parametrize("objective", ["h_mean", "micro_f1(default='blue')"])
@pytest.mark.parametrize("constraints", [(), ("demographic_parity(over='region') <= 0.05",)])
def test_whole_solves_are_equal(tmp_path, data, objective, constraints):
    proba, labels, frame, weight = data
    expected = mf.optimize(proba, labels, objective, constraints, sensitive_features=frame, counting="labels")
    folder = tmp_path / "table"
    folder.mkdir()
    write(folder, proba, labels, frame, weight)
    from_map = solved(mapped(tmp_path, proba), labels, objective, constraints, sensitive_features=frame)
    table = mf.scores(folder, label="y", proba_prefix="p_", attributes=["region", "old"])
    from_files = solved(table, None, objective, constraints)
    for found in (from_map, from_files):
        assert found.value == pytest.approx(expected.value, abs=1e-12)
        assert found.bound == pytest.approx(expected.bound, abs=1e-12)
        assert (found.status, found.n_oracle_calls) == (expected.status, expected.n_oracle_calls)
        chances = [result.policy.decision_proba(proba, frame) for result in (found, expected)]
        np.testing.assert_allclose(*chances, rtol=0, atol=1e-9)


def test_a_certified_solve_is_equal(tmp_path, data):
    proba, labels, *_ = data
    expected = mf.optimize(proba, labels, "h_mean", counting="model")
    found = solved(mapped(tmp_path, proba), labels, "h_mean", counting="model")
    assert found.certified
    assert found.value == pytest.approx(expected.value, abs=1e-4)
    assert found.bound >= expected.value - 1e-12


def test_start_from_a_sample_saves_passes_and_is_certified_on_all_rows(tmp_path, data):
    random = np.random.default_rng(3)
    proba = random.dirichlet([4, 2, 1], size=6000).astype(np.float32)
    labels = (proba.cumsum(axis=1) > random.random((6000, 1))).argmax(axis=1)
    expected = mf.optimize(proba, labels, "h_mean", counting="model")
    fewer = {"counting": "model", "settings": SMALL._replace(sample_rows=600)}
    oracle = oracle_of(mapped(tmp_path, proba), labels, **fewer)
    sample = oracle.sample()
    assert 300 < len(sample) < 1200
    np.testing.assert_allclose(sample.margins(), Rows.of(proba, labels).margins(), atol=1e-12)
    found = solved(mapped(tmp_path, proba), labels, "h_mean", **fewer)
    assert found.status == "optimal"
    assert found.certified
    assert found.value == pytest.approx(expected.value, abs=1e-4)
    assert found.bound >= expected.value - 1e-12


def test_small_tables_are_solved_in_memory(tmp_path, data):
    proba, labels, frame, weight = data
    paths = write(tmp_path, proba, labels, frame, weight)
    table = mf.scores(paths, label="y", proba_prefix="p_", attributes="region", weight="w")
    oracle = oracle_of(table, None, SMALL._replace(in_memory=2**20))
    memory = PluginOracle(
        Rows.of(proba, labels, sensitive_features={"region": frame["region"]}, sample_weight=weight)
    )
    assert isinstance(oracle, PluginOracle)
    (loss,) = losses(oracle, "full", 1)
    np.testing.assert_allclose(
        oracle(loss, "full").statistic, memory(loss, "full").statistic, rtol=0, atol=1e-15
    )
    assert isinstance(oracle_for(mapped(tmp_path, proba), labels), PluginOracle)


def test_codes_beyond_their_share_of_memory_go_to_a_file(tmp_path, data):
    proba, labels, frame, weight = data
    source = MappedArray(mapped(tmp_path, proba), labels, frame, weight)
    rows = ChunkedRows(source, settings=SMALL._replace(spool=100))
    assert rows.codes.file._rolled
    memory = Rows.of(proba, labels, sensitive_features=frame, sample_weight=weight)
    again = list(rows.blocks())
    for name in ("labels", "cells"):
        joined = np.concatenate([getattr(block, name) for block in again])
        np.testing.assert_array_equal(joined, getattr(memory, name))
    weights = np.concatenate([block.weights for block in again])
    np.testing.assert_allclose(weights / weights.sum(), memory.weights, rtol=1e-14)


def test_pages_are_given_back_behind_the_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(mmap, "MADV_DONTNEED", 4, raising=False)
    monkeypatch.setattr(mmap, "MADV_WILLNEED", 3, raising=False)
    told = []

    class Recorder(mmap.mmap):
        def madvise(self, option, start, length):
            told.append((option, start, start + length))

    rows, row = 64 * 40, 3 * 4
    np.full((rows, 3), 1 / 3, np.float32).tofile(tmp_path / "raw")
    with open(tmp_path / "raw", "r+b") as file:
        array = np.frombuffer(Recorder(file.fileno(), 0), np.float32).reshape(rows, 3)
    source = MappedArray(array, np.zeros(rows, int))
    assert source.map is not None
    source.shared = True
    needed = 0
    for number, _ in enumerate(source.blocks()):
        needed = max([stop for option, _, stop in told if option == 3], default=0)
        dropped = max([stop for option, _, stop in told if option == 4], default=0)
        assert needed >= (number + 1) * 64 * row
        assert dropped >= (number - 1) * 64 * row
        assert dropped <= (number - 1) * 64 * row + mmap.PAGESIZE or number < 2
    assert told[-1] == (4, 0, rows * row)


def test_a_private_copy_keeps_what_was_written_to_it(tmp_path, data):
    proba, labels, *_ = data
    private = mapped(tmp_path, proba[:, [2, 0, 1]], mode="c")
    private[:] = proba
    oracle, memory = oracle_of(private, labels), PluginOracle(Rows.of(proba, labels))
    for loss in losses(oracle, "full"):
        np.testing.assert_array_equal(oracle(loss, "full").statistic, memory(loss, "full").statistic)


def test_what_counts_as_mapped(tmp_path, data):
    array = mapped(tmp_path, data[0])
    assert mapping_of(array) is mapping_of(array[10:20]) is mapping_of(np.asarray(array)) is not None
    assert mapping_of(array[[1, 2]]) is None
    assert mapping_of(np.array(array)) is None
    assert mapping_of([1.0]) is None


def test_blocks_are_read_ahead_in_order():
    made = []

    def source():
        for number in range(5):
            made.append(number)
            yield np.full(1, number)

    for number, block in enumerate(ahead(source())):
        assert block[0] == number
        assert len(made) <= number + 2
    assert made == [0, 1, 2, 3, 4]


def broken(proba, row, values):
    changed = np.array(proba)
    changed[row] = values
    return changed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: broken(p, 130, np.nan), r"NaN or infinite in 1 row \(130\)"),
        (lambda p: broken(p, 130, [-0.5, 1, 0.5]), r"negative in 1 row \(130\)"),
        (lambda p: broken(p, 3, [1, 1, 1]), r"does not sum to 1 \(within 0.001\) in 1 row \(3\)"),
    ],
)
def test_bad_probabilities_say_where(tmp_path, data, change, words):
    proba, labels, *_ = data
    with pytest.raises(ValueError, match=words):
        solved(mapped(tmp_path, change(proba)), labels, "g_mean", classes=CLASSES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"y": None}, "y is None"),
        ({"y": ["blue"] * 499}, "proba has 500 rows, y has 499"),
        ({"classes": ("blue", "green", "pink")}, r"not classes in .*'red'"),
        ({"sample_weight": np.zeros(N)}, "sample_weight is zero in all 500 rows"),
        ({"sample_weight": np.r_[np.ones(N - 1), -1.0]}, r"negative in 1 row \(499\)"),
        ({"sensitive_features": {"y": ["a"] * 3}}, "'y'\" has 3|'y' has 3"),
        ({"classes": ("blue", "green")}, "names 2 classes but proba has 3 columns"),
        ({"y": np.zeros(N)}, "1 distinct label "),
    ],
)
def test_bad_labels_attributes_and_weights(tmp_path, data, options, words):
    proba, labels, *_ = data
    given = {"y": labels, "objective": "g_mean"} | options
    with pytest.raises(ValueError, match=words):
        solved(mapped(tmp_path, proba), **given)


def test_weights_may_be_zero_in_a_whole_block(tmp_path, data):
    proba, labels, *_ = data
    weight = np.r_[np.zeros(200), np.ones(300)]
    memory = PluginOracle(Rows.of(proba[200:], labels[200:]))
    oracle = oracle_of(mapped(tmp_path, proba), labels, sample_weight=weight)
    (loss,) = losses(oracle, "full", 1)
    np.testing.assert_allclose(oracle(loss, "full").statistic, memory(loss, "full").statistic, atol=1e-15)


def replaced(paths, number, change):
    pq.write_table(change(pq.read_table(paths[number])), paths[number])


def with_null(name):
    def change(table):
        column = table[name].to_pylist()
        column[7] = None
        return table.set_column(
            table.column_names.index(name), name, pa.array(column, table.schema.field(name).type)
        )

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.drop_columns(["p_red"]), "1.parquet has no column 'p_red'"),
        (lambda t: t.drop_columns(["y"]), "1.parquet has no column 'y'"),
        (lambda t: t.append_column("p_pink", t["p_red"]), "another number of classes: 'p_pink'"),
        (
            lambda t: t.set_column(0, "p_blue", t["p_blue"].cast("double")),
            "'p_blue' is double, but in .* float",
        ),
        (with_null("p_green"), r"1.parquet: column 'p_green' is null in 1 row \(7\)"),
        (with_null("y"), r"1.parquet: column 'y' is null in 1 row \(7\)"),
        (with_null("region"), r"1.parquet: column 'region' is null in 1 row \(7\)"),
        (with_null("w"), r"1.parquet: column 'w' is null in 1 row \(7\)"),
    ],
)
def test_files_that_do_not_fit_together(tmp_path, data, change, words):
    paths = write(tmp_path, *data)
    replaced(paths, 1, change)
    with pytest.raises(ValueError, match=words):
        mf.optimize(
            mf.scores(paths, label="y", proba_prefix="p_", attributes=["region"], weight="w"), None, "g_mean"
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "why"}, "unknown column 'why'"),
        ({"attributes": "regions"}, "unknown column 'regions'; did you mean 'region'"),
        ({"weight": "weights"}, "unknown column 'weights'"),
        ({"proba_prefix": "q_"}, "no probability columns that begin with 'q_'"),
        ({"proba_prefix": ""}, "proba_prefix is empty"),
        ({"classes": ["blue", "black"]}, "no probability columns 'p_black'"),
        ({"proba_prefix": "r"}, "column 'region' must hold numbers"),
    ],
)
def test_columns_that_are_not_there(tmp_path, data, options, words):
    paths = write(tmp_path, *data)
    with pytest.raises(ValueError, match=words):
        mf.scores(paths, **({"label": "y", "proba_prefix": "p_"} | options))


@needs("pyarrow")
def test_labels_of_no_class_are_named_by_their_rows_in_the_table(tmp_path, data):
    proba, labels, frame, weight = data
    strange = np.array(labels, dtype=object)
    strange[[300, 310]] = "pink"
    table = mf.scores(write(tmp_path, proba, strange, frame, weight), label="y", proba_prefix="p_")
    with pytest.raises(ValueError, match=r"2 rows \(300, 310\): 'pink'"):
        oracle_for(table, None, settings=SMALL)


@needs("pyarrow")
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("none.parquet", "No such file"),
        ("table.csv", "No such file"),
        (["a.csv", "b.csv"], r"files of one kind.*one \.csv file"),
        ("table.txt", r"files of one kind.*'\.txt'"),
        ([], "empty list"),
        (3, "must be a file"),
        (["a.parquet", "b.arrow"], "files of one kind"),
    ],
)
def test_paths_that_are_no_table(path, words):
    with pytest.raises(ValueError, match=words):
        mf.scores(path, label="y", proba_prefix="p_")


@needs("pyarrow")
def test_a_file_that_is_no_table(tmp_path):
    (tmp_path / "bad.parquet").write_text("no table")
    with pytest.raises(ValueError, match="parquet"):
        mf.scores(tmp_path / "bad.parquet", label="y", proba_prefix="p_")


def test_an_arrow_file_whose_texts_lie_outside_of_it(tmp_path):
    """pyarrow reads the offsets of texts as they are stored, and ends the process where they lead nowhere."""
    table = pa.table({"y": ["ant", "bee", "ant", "bee"], "p_ant": [0.5] * 4, "p_bee": [0.5] * 4})
    with pa.ipc.new_file(tmp_path / "scores.arrow", table.schema) as writer:
        writer.write_table(table)
    content = (tmp_path / "scores.arrow").read_bytes()
    offsets, wild = np.arange(0, 15, 3, dtype=np.int32), np.array([0, 3, 2**30, 9, 2**31 - 1], dtype=np.int32)
    assert content.count(offsets.tobytes()) == 1
    (tmp_path / "scores.arrow").write_bytes(content.replace(offsets.tobytes(), wild.tobytes()))
    with pytest.raises(ValueError, match=r"scores\.arrow: it cannot be read as Arrow.*check that the file"):
        mf.optimize(mf.scores(tmp_path / "scores.arrow", label="y", proba_prefix="p_"), None, "g_mean")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_table_that_is_cut_short(tmp_path, data, ending):
    path = tmp_path / f"scores.{ending}"
    write(tmp_path, *data, kind=ending, files=1)[0].rename(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match=rf"scores\.{ending}: it cannot be read as {ending.title()}"):
        mf.scores(path, label="y", proba_prefix="p_")


@needs("pyarrow")
def test_a_damaged_page_loses_no_rows(tmp_path):
    """Whichever byte before the footer is another one: all rows are read, or the file is refused."""
    table = {"y": ["a", "b"] * 5, "p_a": np.linspace(0, 1, 10), "p_b": np.linspace(1, 0, 10)}
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table(table), path, compression="none")
    intact = path.read_bytes()
    footer = int.from_bytes(intact[-8:-4], "little")
    refused = 0
    for place in range(4, len(intact) - 8 - footer):
        changed = bytearray(intact)
        changed[place] ^= 2
        path.write_bytes(changed)
        try:
            rows = ChunkedRows(mf.scores(path, label="y", proba_prefix="p_"))
            read = sum(len(block.proba) for block in rows.blocks(check=True))
        except ValueError:
            refused += 1
        else:
            assert read == len(rows), place
    assert refused


DAMAGED = """
import sys
from pathlib import Path
import metricfit as mf
from metricfit.oracles.files.chunked import ChunkedRows
path = Path(sys.argv[1])
intact = path.read_bytes()
for place in range(320, 480, 8):  # eight bytes too many: what the end of the file says leads elsewhere
    for other in range(720, 780, 4):
        changed = bytearray(intact[:place] + bytes([255] * 5 + [0, 134, 160]) + intact[place:])
        changed[other] = 8
        path.write_bytes(changed)
        try:
            list(ChunkedRows(mf.scores(path, label="y", proba_prefix="p_")).blocks(check=True))
        except ValueError:
            continue
"""


@needs("pyarrow")
def test_a_damaged_arrow_file_does_not_end_the_process(tmp_path):
    """In a process of its own, which pyarrow's reader of data sets would end."""
    table = pa.table({"y": ["a", "b"] * 5, "p_a": np.linspace(0, 1, 10), "p_b": np.linspace(1, 0, 10)})
    with pa.ipc.new_file(tmp_path / "scores.arrow", table.schema) as writer:
        writer.write_table(table)
    ended = subprocess.run([sys.executable, "-c", DAMAGED, tmp_path / "scores.arrow"], capture_output=True)
    assert ended.returncode == 0, ended.stderr.decode()[-500:]


def test_what_files_already_say_is_not_passed_again(tmp_path, data):
    table = mf.scores(write(tmp_path, *data), label="y", proba_prefix="p_")
    assert repr(table) == "ScoreFiles(2 files, 500 rows, 3 classes)"
    with pytest.raises(ValueError, match="y must be None"):
        mf.optimize(table, data[1], "g_mean")
    with pytest.raises(ValueError, match="sample_weight must be None"):
        mf.optimize(table, None, "g_mean", sample_weight=data[3])


def test_data_sets_and_folders_named_by_a_column(tmp_path, data):
    proba, labels, frame, _ = data
    table = pa.table(
        {f"p_{c}": proba[:, i] for i, c in enumerate(CLASSES)} | {"y": labels, "region": frame["region"]}
    )
    pq.write_to_dataset(table, tmp_path / "table", partition_cols=["region"])
    order = np.argsort(frame["region"], kind="stable")
    memory = PluginOracle(
        Rows.of(proba[order], labels[order], sensitive_features={"region": frame["region"][order]})
    )
    opened = ds.dataset(tmp_path / "table", partitioning="hive")
    for path in (tmp_path / "table", opened):
        oracle = oracle_of(mf.scores(path, label="y", proba_prefix="p_", attributes="region"), None)
        assert oracle.axes == memory.axes
        (loss,) = losses(oracle, "full", 1)
        np.testing.assert_array_equal(oracle(loss, "full").statistic, memory(loss, "full").statistic)
    with pytest.raises(ValueError, match="filtered"):
        mf.scores(opened.filter(ds.field("y") == "red"), label="y", proba_prefix="p_")


@pytest.mark.parametrize(
    ("labels", "names", "classes"),
    [
        (pa.array([10, 2]), ["p_10", "p_2"], (2, 10)),
        (pa.array([True, False]), ["p_True", "p_False"], (True, False)),
        (pa.array(["10", "2"]), ["p_10", "p_2"], ("10", "2")),
        (pa.array(["b", "a"]).dictionary_encode(), ["p_b", "p_a"], ("b", "a")),
    ],
)
def test_classes_have_the_type_of_the_labels(tmp_path, labels, names, classes):
    pq.write_table(
        pa.table({"y": labels, names[0]: [0.5, 0.5], names[1]: [0.5, 0.5]}), tmp_path / "t.parquet"
    )
    table = mf.scores(tmp_path / "t.parquet", label="y", proba_prefix="p_")
    assert table.classes == classes
    assert oracle_of(table, None).margins.sum() == 1


def test_samples_take_rare_classes_whole():
    counts = np.array([[30, 1_000_000], [0, 500_000]])
    wanted = fractions(counts, Settings(sample_rows=10_030))
    np.testing.assert_allclose(wanted, [[1, 0.005], [1, 0.01]])
    assert (fractions(np.array([[3, 4]]), Settings(sample_rows=100)) == 1).all()


@pytest.mark.parametrize("seed", [0, 1, 42])
def test_labels_drawn_with_a_common_seed_do_not_decide_which_rows_are_sampled(seed):
    labels = np.random.default_rng(seed).choice(4, 8000, p=[0.1, 0.2, 0.3, 0.4])
    proba = np.random.default_rng(99).dirichlet(np.ones(4), 8000)
    sample = PluginOracle(Rows.of(proba, labels), settings=SMALL._replace(sample_rows=2000)).sample()
    # As many rows of each class, 500, but for chance: seven standard errors.
    assert np.abs(np.bincount(sample.labels, minlength=4) - 500).max() < 7 * np.sqrt(500)
