"""Files as other programs write them: hidden files beside the data, decimals, texts that look like numbers."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pytest
from optional import optional

import metricfit as mf
from metricfit.cli import main
from metricfit.oracles.settings import TUNED
from metricfit.tables.keys import keys_of

pa = optional("pyarrow")
pytestmark = pytest.mark.skipif(pa is None, reason="pyarrow is not installed")

RNG = np.random.default_rng(0)
N = 120
Y = RNG.integers(0, 2, N)
SCORE = np.clip(Y * 0.4 + 0.3 + RNG.normal(0, 0.2, N), 0.01, 0.99).round(4)
TABLE = {"y": Y, "p_0": 1 - SCORE, "p_1": SCORE, "w": SCORE + 1, "g": Y + 0.5}


def write(path, **changed):
    import pyarrow.parquet as pq

    pq.write_table(pa.table(TABLE | changed), path)


def decimals(values, scale):
    return pa.array([Decimal(str(round(float(v), scale))) for v in values], pa.decimal128(12, scale))


def solved(path, **more):
    return mf.optimize(
        mf.scores(path, label="y", proba_prefix="p_", **more), None, "accuracy", counting="model"
    )


HIDDEN = (
    ".part-0.parquet.crc",
    "_SUCCESS",
    ".DS_Store",
    "._part-0.parquet",
    "_committed_1.json",
    "_metadata",
)


def test_hidden_files_of_a_folder_are_no_part_of_the_table(tmp_path, capsys):
    write(tmp_path / "part-0.parquet")
    for name in HIDDEN:
        (tmp_path / name).write_bytes(b"no table")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "scores.csv").write_text("y\n1\n")
    assert solved(tmp_path).value == solved(tmp_path / "part-0.parquet").value
    limits = ["--maximize", "accuracy", "--out", str(tmp_path / "policy.json"), "--json"]
    assert main(["fit", str(tmp_path), "--label", "y", "--proba-prefix", "p_", *limits]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == N


def test_a_folder_of_hidden_files_alone_has_no_files(tmp_path):
    for name in HIDDEN:
        (tmp_path / name).write_bytes(b"no table")
    with pytest.raises(ValueError, match="a folder without files"):
        solved(tmp_path)


@pytest.mark.parametrize("folder", [False, True])
def test_decimals_are_numbers(tmp_path, folder, monkeypatch):
    """Databases write DECIMAL; labels of scale 2 are 1.00."""
    path = tmp_path / "d" / "one.parquet"
    path.parent.mkdir()
    write(
        path,
        y=decimals(Y, 2),
        p_0=decimals(1 - SCORE, 4),
        p_1=decimals(SCORE, 4),
        w=decimals(SCORE + 1, 4),
        g=decimals(Y + 0.5, 1),
    )
    write(tmp_path / "plain.parquet")
    more = {"weight": "w", "attributes": "g"}
    found = solved(path.parent if folder else path, **more)
    expected = solved(tmp_path / "plain.parquet", **more)
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.policy.axes == expected.policy.axes
    table = mf.scores(path, label="y", proba_prefix="p_")
    blocks = np.concatenate(list(table.blocks(TUNED._replace(block_entries=50))))
    np.testing.assert_allclose(blocks, np.column_stack([1 - SCORE, SCORE]), atol=1e-12)


def test_decimals_of_python_are_labels_attributes_and_keys():
    y, proba = [Decimal(0), Decimal("1.00")] * 4, [[0.9, 0.1], [0.2, 0.8]] * 4
    policy = mf.optimize(
        proba, y, "accuracy", sensitive_features=[Decimal("1.50")] * 8, counting="model"
    ).policy
    assert policy.axes.classes == (0, 1)
    assert policy.axes.cells.values == ((1.5,),)
    with pytest.raises(ValueError, match="y is missing"):
        mf.optimize(proba, [Decimal("NaN"), *y[1:]], "accuracy")
    whole = pa.array([Decimal("5.00"), Decimal("123456789012345678")], pa.decimal128(20, 2))
    made = policy.decide(proba[:2], [1.5] * 2, key=keys_of(whole, "case"))
    assert made.tolist() == policy.decide(proba[:2], [1.5] * 2, key=[5, 123456789012345678]).tolist()
    with pytest.raises(ValueError, match=r"it has 0\.50, which is not a whole number"):
        keys_of(pa.array([Decimal("0.50")]), "case")


@pytest.mark.parametrize("text", ["1_0", "٠.٥", "0x1", "1e", "True", "0.5 x"])
def test_the_error_quotes_the_text_that_is_no_number(tmp_path, text):
    """Python reads 1_0 and other digits as numbers, files do not: a valid entry was quoted in their place."""
    rows = "\n".join(f"{label},{1 - score:.4f},{score:.4f}" for label, score in zip(Y, SCORE, strict=True))
    path = tmp_path / "scores.csv"
    path.write_text(f"y,p_0,p_1\n{rows}\n0,{text},0.5\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=rf"column 'p_0' must hold numbers; it holds '{text}' in 1 row \({N}\)"
    ):
        solved(path)
