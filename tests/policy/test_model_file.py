"""Files of models: one error for whatever is wrong with them, before anything large is unpacked."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.exceptions import PolicyFileError
from metricfit.policy import ModelPolicy, archive
from metricfit.policy import file as policy_file

skops_io = pytest.importorskip("skops.io")

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
NO = DummyClassifier(strategy="constant", constant=0).fit([[0]], [0])
POLICY = ModelPolicy(Axes(("no", "yes")), [LogisticRegression().fit(X, Y), NO], [[(0.7, 0), (0.3, 1)]])


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "models.zip"
    POLICY.save(path)
    return path


def members(path):
    return archive.unpack(path.read_bytes(), 1 << 28)


def refused(path, words, **options):
    with pytest.raises(PolicyFileError, match=words) as raised:
        mf.ModelPolicy.load(path, **options)
    assert str(raised.value).startswith(f"cannot load a model policy from {str(path)!r}: ")


def test_round_trip(saved, tmp_path):
    loaded = mf.ModelPolicy.load(saved)
    assert loaded.axes == POLICY.axes
    for randomize in ("hash", "draw", "never"):
        ours = POLICY.decide(X, randomize=randomize, random_state=1).tolist()
        assert loaded.decide(X, randomize=randomize, random_state=1).tolist() == ours
    assert set(members(saved)) == {"policy.json", "classes.json", "0.skops", "1.skops"}
    made = loaded.decide(X, key=np.arange(60) + 10**12)
    assert made.tolist() == loaded.decide(X, key=[int(k) for k in np.arange(60) + 10**12]).tolist()


def test_every_cut_is_refused(saved):
    data = saved.read_bytes()
    for size in [*range(0, 60), *range(60, len(data) - 1, 97), len(data) - 1]:
        saved.write_bytes(data[:size])
        refused(saved, "cannot load")


def test_every_flipped_byte_is_refused_or_harmless(saved):
    """Dates and such may change; what is decided may not."""
    data = bytearray(saved.read_bytes())
    expected = POLICY.decision_proba(X)
    # All of the list of members, where places and sizes are, and some of the rest.
    directory = data.index(b"PK\x01\x02")
    for place in [*range(0, directory, 41), *range(directory, len(data), 3)]:
        changed = bytearray(data)
        changed[place] ^= 0x20
        saved.write_bytes(changed)
        try:
            loaded = mf.ModelPolicy.load(saved)
        except PolicyFileError:
            continue
        np.testing.assert_array_equal(loaded.decision_proba(X), expected)


def test_members_that_are_exchanged_are_noticed(saved):
    """Each member has a checksum, so that a model cannot be put in the place of another."""
    kept = members(saved)
    manifest = zipfile.ZipFile(saved).read("manifest.json")
    with zipfile.ZipFile(saved, "w") as out:
        out.writestr("manifest.json", manifest)
        for name, data in {**kept, "0.skops": kept["1.skops"]}.items():
            out.writestr(name, data)
    refused(saved, "the checksum of '0.skops' does not match")


def bomb(path, size):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("manifest.json", bytes(size))


def test_bombs_are_refused_before_they_are_unpacked(tmp_path):
    path = tmp_path / "bomb.zip"
    bomb(path, 300 << 20)
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        refused(path, "unpacked it would have 314572800 bytes, more than 268435456; if you trust it pass")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    refused(path, "unpacked it would have", max_bytes=1 << 20)


def test_bombs_within_a_model_are_refused(saved):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("schema.json", bytes(300 << 20))
    saved.write_bytes(archive.pack({**members(saved), "1.skops": inner.getvalue()}))
    refused(saved, "unpacked it would have")
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("schema.json", b" " * (20 << 20))
    saved.write_bytes(archive.pack({**members_of(POLICY), "1.skops": inner.getvalue()}))
    refused(saved, "model 1 has no schema.json of at most")


def members_of(policy):
    buffer = {f"{m}.skops": skops_io.dumps(model) for m, model in enumerate(policy.models)}
    return {
        "policy.json": policy_file.encode(policy.ballot.to_dict()),
        "classes.json": b'["no", "yes"]',
        **buffer,
    }


def test_a_size_that_lies_unpacks_no_more_than_it_says(tmp_path):
    path = tmp_path / "bomb.zip"
    bomb(path, 50 << 20)
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 1000)
    path.write_bytes(data)
    refused(path, "no intact archive")


def test_encrypted_archives(saved):
    data = bytearray(saved.read_bytes())
    start = 0
    while (start := data.find(b"PK\x01\x02", start)) >= 0:
        data[start + 8] |= 1
        start += 4
    saved.write_bytes(data)
    refused(saved, "it is encrypted")


def test_archives_packed_otherwise(saved):
    kept = members(saved)
    manifest = zipfile.ZipFile(saved).read("manifest.json")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(saved, "w", method) as out:
            for name, data in {"manifest.json": manifest, **kept}.items():
                out.writestr(name, data)
        refused(saved, "packed in another way")
    with zipfile.ZipFile(saved, "w") as out:
        out.comment = b"hello"
        for name, data in {"manifest.json": manifest, **kept}.items():
            out.writestr(name, data)
    refused(saved, "without a comment")


def test_too_many_or_doubled_members(saved):
    with zipfile.ZipFile(saved, "w") as out:
        for number in range(24_000):
            out.writestr(f"{number:05d}", b"")
    refused(saved, "list of members is too large")
    with zipfile.ZipFile(saved, "w") as out:
        out.writestr("manifest.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            out.writestr("manifest.json", b"{}")
    refused(saved, "two members of one name")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"0.skops": None}, "it must hold 2 models"),
        ({"7.skops": b""}, "it must hold 2 models"),
        ({"policy.json": None}, "member policy.json is missing"),
        ({"classes.json": None}, "member classes.json is missing"),
        ({"classes.json": b"{}"}, "classes must be an array"),
        ({"classes.json": b"[[]]"}, "holds"),
        ({"classes.json": b"[1, 1]"}, "same label twice"),
        ({"classes.json": b"\xff"}, "make no sense"),
        ({"classes.json": b"[" * 100_000}, "make no sense"),
        ({"policy.json": b"{}"}, '"format" is None'),
        ({"1.skops": b""}, "does not end as a zip file"),
        ({"1.skops": b"PK" * 100}, "does not end as a zip file"),
        (
            {"1.skops": lambda: skops_io.dumps(DummyRegressor().fit([[0]], [0]))},
            "type DummyRegressor; it must be",
        ),
        ({"1.skops": lambda: skops_io.dumps([1, 2])}, "type list; it must be a fitted classifier"),
        ({"1.skops": lambda: skops_io.dumps(LogisticRegression())}, "model 1 cannot be read: AttributeError"),
        ({"1.skops": lambda: skops_io.dumps(DummyClassifier().fit([[0]], [5]))}, "numbers, 0 to 1"),
        (
            {"1.skops": lambda: skops_io.dumps(DummyClassifier().fit([[0]], ["a"]))},
            "cannot be read: ValueError",
        ),
    ],
)
def test_archives_of_other_things(saved, change, words):
    made = {name: data() if callable(data) else data for name, data in {**members(saved), **change}.items()}
    saved.write_bytes(archive.pack({name: data for name, data in made.items() if data is not None}))
    refused(saved, words)


def test_rules_of_an_ordinary_policy_are_refused(saved):
    result = mf.optimize([[0.9, 0.1], [0.2, 0.8]], [0, 1], "accuracy")
    changed = {**members(saved), "policy.json": policy_file.encode(result.policy.to_dict())}
    saved.write_bytes(archive.pack(changed))
    refused(saved, "not those of a policy over models")


def test_files_that_are_no_archive(tmp_path):
    path = tmp_path / "file"
    for data in (b"", b"PK", bytes(100), b"PK\x05\x06" + bytes(18), b"{}" * 1000):
        path.write_bytes(data)
        refused(path, "cannot load")
    with pytest.raises(FileNotFoundError):
        mf.ModelPolicy.load(tmp_path / "none")
