from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metricfit import datasets
from metricfit.datasets.registry import FILES
from metricfit.exceptions import DatasetError

DATA = os.environ.get("METRICFIT_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="METRICFIT_DATA does not name a folder with the data sets")


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("METRICFIT_DATA", raising=False)


def write(folder: Path, name: str = "abalone", **changes) -> Path:
    """Write a file with the shapes and types of `name`, but not its content."""
    arrays = {key: np.zeros(a.shape, a.dtype) for key, a in FILES[name].items()} | changes
    path = folder / f"{name}.npz"
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


@needs_data
@pytest.mark.parametrize("name", datasets.names())
def test_every_file_loads(name):
    data = datasets.load(name)
    assert data.source == "folder"
    for key, expected in FILES[name].items():
        assert getattr(data, key).shape == expected.shape
    for features, labels in [("X", "y"), ("P", "y"), ("P_train", "y_train"), ("P_test", "y_test")]:
        if getattr(data, features) is not None:
            assert len(getattr(data, features)) == len(getattr(data, labels))
    assert (data.group is None) == (data.group_name is None)
    if data.group is not None:
        np.testing.assert_array_equal(data.X[:, 0], data.group)


@needs_data
def test_a_changed_byte_is_seen(tmp_path):
    with np.load(Path(DATA) / "pageblocks.npz") as stored:
        X, y = stored["X"].copy(), stored["y"]
    X[7, 3] = np.nextafter(X[7, 3], np.float32(np.inf))
    write(tmp_path, "pageblocks", X=X, y=y)
    with pytest.raises(DatasetError, match="SHA-256 of X differs"):
        datasets.load("pageblocks", folder=tmp_path)


def test_wrong_content_is_refused(tmp_path):
    path = write(tmp_path)
    with pytest.raises(DatasetError, match=r"abalone\.npz is damaged.*SHA-256 of X differs"):
        datasets.load("abalone", folder=path.parent)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros((3, 8), np.float32)}, r"X of shape \(3, 8\).*\(4177, 8\)"),
        ({"X": np.zeros((4177, 8))}, "type float64"),
        ({"y": None}, r"lacks the arrays \['y'\]"),
        ({"y": np.array([{}], dtype=object)}, "cannot be read"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path, changes, message):
    write(tmp_path, **changes)
    with pytest.raises(DatasetError, match=message):
        datasets.load("abalone", folder=tmp_path)


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.99])
def test_cut_files_are_refused(tmp_path, keep):
    path = write(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(DatasetError, match="cannot be read"):
        datasets.load("abalone", folder=tmp_path)


def test_a_flipped_byte_in_the_archive_is_refused(tmp_path):
    path = write(tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(DatasetError, match=r"cannot be read|SHA-256"):
        datasets.load("abalone", folder=tmp_path)


def test_unknown_names_get_the_nearest():
    with pytest.raises(DatasetError, match=r"did you mean 'pageblocks'.*names\(\)"):
        datasets.load("page-blocks")


def test_a_given_folder_is_final(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: pytest.fail("asked the network"))
    with pytest.raises(DatasetError, match=r"has no file abalone\.npz.*METRICFIT_DATA"):
        datasets.load("abalone", folder=tmp_path)


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setenv("METRICFIT_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match="damaged"):
        datasets.load("abalone")


def test_sets_that_openml_lacks_say_where_to_put_them(no_folder, tmp_path, monkeypatch):
    with pytest.raises(DatasetError, match=r"METRICFIT_DATA is not set.*OpenML does not have it"):
        datasets.load("macho")
    monkeypatch.setenv("METRICFIT_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=r"has no macho\.npz.*OpenML does not have it"):
        datasets.load("macho")


# ---- OpenML, played by a function that answers in its form


def as_openml(name, folder):
    """Undo the coding of the paper's authors, in another row order."""
    with np.load(Path(folder) / f"{name}.npz") as stored:
        X, y = stored["X"].astype(float), stored["y"].astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    frame = pd.DataFrame(X)
    if name == "abalone":
        frame = frame.astype({0: object})
        frame[0] = np.array(["I", "F", "M"])[X[:, 0].astype(int)]
        rings = np.where(y == 0, 16, y + 4)
        return frame, pd.Series(rings.astype(str)).astype("category")
    if name == "pageblocks":
        return frame, pd.Series((y + 1).astype(str)).astype("category")
    raw = pd.DataFrame(np.column_stack([X[:, 1], X[:, 0] + 1, X[:, 2:]]))
    raw[1] = raw[1].astype(int).astype(str).astype("category")
    return raw, pd.Series(y.astype(str)).astype("category")


def answer_with(monkeypatch, features, target):
    class Answer:
        data, target = None, None

    Answer.data, Answer.target = features, target
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Answer)


@needs_data
@pytest.mark.parametrize("name", ["abalone", "pageblocks", "default"])
def test_openml_gives_the_same_rows(name, no_folder, monkeypatch):
    answer_with(monkeypatch, *as_openml(name, DATA))
    data = datasets.load(name)
    assert data.source == "openml"
    stored = datasets.load(name, folder=DATA)
    assert data.X.dtype == stored.X.dtype
    np.testing.assert_array_equal(np.bincount(data.y), np.bincount(stored.y))
    np.testing.assert_array_equal(np.sort(data.X, axis=0), np.sort(stored.X, axis=0))
    assert data.group_name == stored.group_name


@needs_data
def test_openml_with_another_row_is_refused(no_folder, monkeypatch):
    features, target = as_openml("pageblocks", DATA)
    features.iloc[5, 2] += 1
    answer_with(monkeypatch, features, target)
    with pytest.raises(DatasetError, match="OpenML's data set 30 has other rows than pageblocks"):
        datasets.load("pageblocks")


def test_openml_with_another_shape_is_refused(no_folder, monkeypatch):
    answer_with(monkeypatch, pd.DataFrame(np.zeros((9, 10))), pd.Series(["1"] * 9))
    with pytest.raises(DatasetError, match=r"\(9, 10\).*instead of \(5473, 10\)"):
        datasets.load("pageblocks")


def test_no_network_says_how_to_do_without(no_folder, monkeypatch):
    def fail(**_):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(DatasetError, match=r"OpenML failed.*no route to host.*METRICFIT_DATA"):
        datasets.load("abalone")


def test_import_brings_in_nothing_more():
    code = (
        "import sys, metricfit; before = set(sys.modules); import metricfit.datasets; "
        "print({'matplotlib', 'pandas', 'sklearn'} & (set(sys.modules) - before))"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-c", code]
    shown = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert shown.stdout.strip() == "set()"
