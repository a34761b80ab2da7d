"""What is fuzzed: each target takes any bytes, and raises only where the package does what it must not.

A file or text that makes no sense may be refused by the documented error, and by no other. What is accepted must work,
and be the same after it is written and read again.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.oracles.files.chunked import ChunkedRows
from metricfit.oracles.files.scores import Arrays, ScoreFiles
from metricfit.policy import ModelPolicy, Policy, PolicyFileError, Rule, archive
from metricfit.policy import file as policy_file

_FOLDER = tempfile.TemporaryDirectory(prefix="metricfit-fuzz-")  # removed when the process ends
FOLDER = Path(_FOLDER.name)


def policy(data: bytes) -> None:
    """`Policy.load` of the bytes as they are, and of the same document with a checksum that fits it."""
    for content in (data, _signed(data)):
        (FOLDER / "policy.json").write_bytes(content)
        try:
            loaded = Policy.load(FOLDER / "policy.json", max_bytes=1 << 20)
        except PolicyFileError:
            continue
        loaded.save(FOLDER / "again.json")
        assert Policy.load(FOLDER / "again.json") == loaded
        rows = np.full((2, loaded.axes.n), 1 / loaded.axes.n)
        cells = dict(
            zip(loaded.axes.cells.names, zip(*[loaded.axes.cells.values[0]] * 2, strict=True), strict=True)
        )
        assert len(loaded.decide(rows, cells)) == 2
        np.testing.assert_allclose(loaded.decision_proba(rows, cells).sum(axis=1), 1)


def _signed(data: bytes) -> bytes:
    try:
        document = json.loads(data)
        return policy_file.encode({k: v for k, v in document.items() if k != "checksum"})
    except (ValueError, AttributeError, RecursionError):
        return b""


def models(data: bytes) -> None:
    """`ModelPolicy.load` of the bytes as an archive, as a member of one, and as a member of a model."""
    for content in (data, *_packed(data)):
        (FOLDER / "models.zip").write_bytes(content)
        try:
            loaded = ModelPolicy.load(FOLDER / "models.zip", max_bytes=1 << 22)
        except PolicyFileError:
            continue
        assert all(hasattr(model, "predict") for model in loaded.models)


def _packed(data: bytes) -> list[bytes]:
    """Return archives whose checksums fit, in which the bytes take the place of what their first byte says."""
    names = [*MEMBERS, *INNER]
    name = names[data[0] % len(names)] if data else names[0]
    if name in MEMBERS:
        return [archive.pack({**MEMBERS, name: data[1:]})]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        for inner, content in {**INNER, name: data[1:]}.items():
            out.writestr(inner, content)
    return [archive.pack({**MEMBERS, "0.skops": buffer.getvalue()})]


def text(data: bytes) -> None:
    """`parse` of the bytes as text; what it reads is written and read again."""
    try:
        found = mf.parse(data.decode("utf-8", "replace"))
    except ValueError as error:
        _check_length(error, 2000)
        return
    assert str(mf.parse(str(found))) == str(found)


def _check_length(error: Exception, most: int) -> None:
    if len(str(error)) > most:
        raise AssertionError("messages echo at most a line")


ENDINGS = ("csv", "parquet", "arrow")


def tables(data: bytes) -> None:
    """The reader of the bytes as a CSV, Parquet or Arrow file, by their first byte: at once, and block by block."""
    ending = ENDINGS[data[0] % 3] if data else "csv"
    path = FOLDER / f"scores.{ending}"
    path.write_bytes(data[1:])
    try:
        table = ScoreFiles(str(path), "y", "p_", ["g"], "w")
        at_once = table.arrays()
    except ValueError as error:
        _check_length(error, 4000)
        at_once = None
    else:
        assert len(at_once.labels) == len(at_once.proba) == len(at_once.weight)
        assert set(at_once.labels.tolist()) <= set(table.classes)
        np.testing.assert_allclose(at_once.proba.sum(axis=1), 1, atol=2e-3)
    if ending != "csv":
        _block_by_block(path, at_once, () if at_once is None else table.classes)


def _block_by_block(path: Path, at_once: Arrays | None, classes: tuple[object, ...]) -> None:
    """Read a table as one that is larger than memory; where both ways accept it, they read the same."""
    try:
        rows = ChunkedRows(mf.scores(path, label="y", proba_prefix="p_", attributes="g", weight="w"))
        blocks = list(rows.blocks(check=True))
    except ValueError as error:
        _check_length(error, 4000)
        return
    proba = np.concatenate([block.proba for block in blocks])
    assert len(proba) == len(rows)
    if at_once is not None and rows.axes.classes == classes:
        np.testing.assert_array_equal(proba, at_once.proba)
        labels = np.concatenate([block.labels for block in blocks])
        assert [rows.axes.classes[code] for code in labels] == at_once.labels.tolist()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "policy": policy,
    "models": models,
    "text": text,
    "tables": tables,
}


def _seeds() -> dict[str, list[bytes]]:
    """Return bytes that each target accepts, to start from."""
    cells = Cells(("g",), (("a",), (1,)))
    rules = [[Rule(0.25, [[0, 1], [2, 0]]), Rule(0.75, [[0, 3], [1, 0]])], [Rule(1, [[0, 1], [1, 0]])]]
    policies = [
        Policy(Axes(("x", "y"), cells=cells), "full", rules),
        Policy(Axes((0, 1, 2), (0, 1, 2, "r")), "diagonal", [[Rule(1, np.ones((2, 4)))]]),
    ]
    texts = [
        "precision('a') >= 0.9",
        "0.5 * recall(0) - abs(g_mean() - h_mean) / 2 <= 1e-3",
        "worst(f1('b'), over=['sex', 'age']).at(sex='F', **{'age group': [1, 2]})",
        "cost({'a': {'a': 0, 'b': 1}, 'b': [1, 2]})",
        "minimum(macro_f1, disparity(recall(True), 'sex', to='pairs', as_ratio=True))",
        "coverage_deviation({'a': 0.5, 'b': 0.5}) + cohen_kappa(weights='linear')",
    ]
    frame = pd.DataFrame(
        {"p_a": [0.5, 0.25], "p_b": [0.5, 0.75], "y": ["a", "b"], "g": [1, 2], "w": [1.0, 2.0]}
    )
    frame.to_parquet(FOLDER / "seed.parquet")
    frame.to_feather(FOLDER / "seed.arrow", compression="uncompressed")
    csv = frame.to_csv(index=False).encode()
    files = [csv, (FOLDER / "seed.parquet").read_bytes(), (FOLDER / "seed.arrow").read_bytes()]
    numbers = b'\xef\xbb\xbfp_0,p_1,y,g,w,"n,\n"\n.5,.5,0,,1,x\n1,0,1.0,TRUE,0,\n'
    return {
        "policy": [policy_file.encode(p.to_dict()) for p in policies],
        "models": [
            archive.pack(MEMBERS),
            *(bytes([i]) + content for i, content in enumerate([*MEMBERS.values(), *INNER.values()])),
        ],
        "text": [t.encode() for t in texts],
        "tables": [bytes([i]) + content for i, content in enumerate(files)] + [b"\0" + numbers],
    }


def _members() -> tuple[dict[str, bytes], dict[str, bytes]]:
    no = DummyClassifier(strategy="constant", constant=0).fit([[0]], [0])
    ModelPolicy(Axes(("no", "yes")), [no], [[(1.0, 0)]]).save(FOLDER / "seed.zip")
    members = archive.unpack((FOLDER / "seed.zip").read_bytes(), 1 << 20)
    with zipfile.ZipFile(io.BytesIO(members["0.skops"])) as inner:
        return members, {name: inner.read(name) for name in inner.namelist()}


MEMBERS, INNER = _members()
SEEDS = _seeds()
