"""The folder of data sets is made of checked sources: with small fakes, and against the hashes of the real files."""

from __future__ import annotations

import bz2
import hashlib
import io
import os
import pickle

import numpy as np
import pytest

from metricfit import datasets
from metricfit.cli import main
from metricfit.datasets import sources
from metricfit.datasets.files import sha256
from metricfit.datasets.registry import FILES, Array
from metricfit.datasets.sources import NOT_BUILT, RECIPES, Recipe, Source
from metricfit.exceptions import DatasetError


def npy(value: object) -> bytes:
    """Return an .npy file; of a dictionary as the paper's authors wrote theirs."""
    file = io.BytesIO()
    np.save(file, value, allow_pickle=True)
    return file.getvalue()


ROWS = {"X": np.arange(6.0).reshape(3, 2), "Y": np.array([0, 1, 1])}
PARTS = {
    "X_train": np.array([[1.0, 5.0]]),
    "y_train": np.array([1]),
    "X_test": np.array([[0.0, 6.0]]),
    "y_test": np.array([0]),
}


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Make a data set "tiny" known, whose source is a file in a folder of originals."""
    original = npy(ROWS)
    source = Source("https://nowhere.invalid/rows.npy", hashlib.sha256(original).hexdigest())
    monkeypatch.setitem(RECIPES, "tiny", Recipe((source,), sources.whole))
    made = sources.whole([original])
    known = {key: Array(a.shape, str(a.dtype), sha256(a)) for key, a in made.items()}
    monkeypatch.setitem(FILES, "tiny", known)
    (tmp_path / "originals").mkdir()
    (tmp_path / "originals" / "rows.npy").write_bytes(original)
    return tmp_path


def test_a_folder_is_made_once_and_loads(fake, monkeypatch, capsys):
    def build():
        return list(datasets.build(fake / "data", ["tiny"], fake / "originals"))

    assert build() == ["tiny: made from rows.npy"]
    np.testing.assert_array_equal(datasets.load("tiny", fake / "data").X, ROWS["X"])
    assert build() == ["tiny: is there"]
    assert [path.name for path in (fake / "data").iterdir()] == ["tiny.npz"]
    # A damaged file is made again.
    (fake / "data" / "tiny.npz").write_bytes(b"PK")
    command = [
        "datasets",
        "build",
        str(fake / "data"),
        "--only",
        "tiny",
        "--originals",
        str(fake / "originals"),
    ]
    assert main(command) == 0
    assert capsys.readouterr().out == "tiny: made from rows.npy\n"


def test_a_source_with_another_hash_is_named_with_what_it_should_be(fake, capsys):
    (fake / "originals" / "rows.npy").write_bytes(npy({**ROWS, "Y": np.array([1, 1, 1])}))
    message = rf"rows\.npy is not the file that is known.*it should be {RECIPES['tiny'].sources[0].sha256}"
    with pytest.raises(DatasetError, match=message):
        list(datasets.build(fake / "data", ["tiny"], fake / "originals"))
    assert list((fake / "data").iterdir()) == []
    command = [
        "datasets",
        "build",
        str(fake / "data"),
        "--only",
        "tiny",
        "--originals",
        str(fake / "originals"),
    ]
    assert main(command) == 4
    assert "SHA-256" in capsys.readouterr().err


def test_what_is_made_must_have_the_known_bytes(fake, monkeypatch):
    monkeypatch.setitem(FILES, "tiny", {**FILES["tiny"], "y": Array((3,), "int16", "0" * 64)})
    with pytest.raises(DatasetError, match="SHA-256 of y differs"):
        list(datasets.build(fake / "data", ["tiny"], fake / "originals"))
    assert not (fake / "data" / "tiny.npz").exists()


def test_what_cannot_be_fetched_names_the_way_round(fake, monkeypatch):
    def refused(url: str, timeout: float) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", refused)
    with pytest.raises(DatasetError, match=r"rows\.npy cannot be fetched \(no route to host\).*--originals"):
        list(datasets.build(fake / "data", ["tiny"]))


def test_sources_are_fetched_where_there_are_no_originals(fake, monkeypatch):
    asked = []

    def opened(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(npy(ROWS))

    monkeypatch.setattr("urllib.request.urlopen", opened)
    assert list(datasets.build(fake / "data", ["tiny"])) == ["tiny: made from rows.npy"]
    assert asked == ["https://nowhere.invalid/rows.npy"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything may be written")
def test_a_folder_without_write_access_is_named(fake):
    (fake / "locked").mkdir(mode=0o500)
    with pytest.raises(DatasetError, match=r"folder='.*locked' cannot be written \(Permission denied\)"):
        list(datasets.build(fake / "locked", ["tiny"], fake / "originals"))


def test_a_folder_that_is_a_file_is_named(fake):
    (fake / "file").write_text("")
    with pytest.raises(DatasetError, match=r"folder='.*file' cannot be written \(File exists\)"):
        list(datasets.build(fake / "file", ["tiny"], fake / "originals"))


def test_every_data_set_is_made_or_has_a_reason():
    assert {*RECIPES, *NOT_BUILT} == set(datasets.names())
    assert not set(RECIPES) & set(NOT_BUILT)


def test_reasons_are_told(tmp_path):
    (line,) = datasets.build(tmp_path, ["covtype"])
    assert line.startswith(
        "covtype: cannot be made from public files, because our rows are those of UCI Covertype"
    )


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_data_set_that_is_missing_names_the_command(name, tmp_path, monkeypatch):
    monkeypatch.setenv("METRICFIT_DATA", str(tmp_path))
    monkeypatch.setattr(
        "metricfit.datasets.openml.fetch", lambda name: (_ for _ in ()).throw(OSError("offline"))
    )
    with pytest.raises(
        DatasetError, match=rf"Run 'metricfit datasets build FOLDER', which makes {name}\.npz"
    ):
        datasets.load(name)


class Harmful:
    """An object whose pickle would run code."""

    def __reduce__(self):
        return os.system, ("exit 1",)


def test_a_pickle_of_anything_but_arrays_is_refused():
    with pytest.raises(pickle.UnpicklingError, match="no part of an array"):
        sources.loaded(npy({"X": Harmful()}))
    np.testing.assert_array_equal(sources.loaded(npy(ROWS))["X"], ROWS["X"])
    np.testing.assert_array_equal(sources.loaded(npy(np.arange(3))), [0, 1, 2])


def test_parts_are_stacked_and_the_first_column_is_the_group():
    made = sources.stacked([npy(PARTS)])
    np.testing.assert_array_equal(made["X"], [[1, 5], [0, 6]])
    np.testing.assert_array_equal(made["y"], [1, 0])
    np.testing.assert_array_equal(made["group"], [1, 0])


def test_credit_cards_begin_with_sex():
    header = "LIMIT_BAL,SEX,AGE,default payment"
    made = sources.credit_cards([f"{header}\n20000,2,24,1\n120000,1,26,0\n".encode()])
    np.testing.assert_array_equal(made["X"], [[1, 20000, 24], [0, 120000, 26]])
    np.testing.assert_array_equal(made["y"], [1, 0])
    np.testing.assert_array_equal(made["group"], [1, 0])


def test_the_census_is_read_from_both_files():
    parts = [bz2.compress(text.encode()) for text in ("-1 0:1 71:1\n+1 72:1\n", "1 122:1\n")]
    made = sources.census(parts)
    assert made["X"].shape == (3, 123)
    assert [np.flatnonzero(row).tolist() for row in made["X"]] == [[0, 1], [72], [122]]
    np.testing.assert_array_equal(made["y"], [0, 1, 1])
    np.testing.assert_array_equal(made["group"], [1, 0, 0])


def test_every_array_has_its_own_file():
    made = sources.one_file_each(("P_test", "y_test"), [npy(np.ones((2, 3))), npy(np.array([1, 2]))])
    assert (str(made["P_test"].dtype), str(made["y_test"].dtype)) == ("float32", "int16")


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(DatasetError, match="unknown data set 'mach'; did you mean 'macho'"):
        list(datasets.build(tmp_path, ["mach"]))
