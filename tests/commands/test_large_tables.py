"""Tables that are larger than memory: the command line reads them block by block, as Python does."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from command_line import CLASSES, FLOOR, PROBA, apply, fails, fit

import metricfit as mf
from metricfit.cli import main
from metricfit.oracles import choice
from metricfit.oracles.files.scores import ScoreFiles
from metricfit.oracles.settings import TUNED

pa = pytest.importorskip("pyarrow")


def read_in_parts(monkeypatch):
    """Let tables be read 700 rows at a time."""
    small, chunks = TUNED._replace(batch_entries=4 * 700), ScoreFiles.chunks
    monkeypatch.setattr(ScoreFiles, "chunks", lambda *given: chunks(*given, settings=small))


@pytest.fixture
def large(monkeypatch):
    """Every table counts as larger than memory, and the reader of whole tables must not be asked."""

    def refuse(*args, **options):
        raise AssertionError("the whole table was read")

    monkeypatch.setattr(choice, "is_large", lambda *_: True)
    monkeypatch.setattr(ScoreFiles, "arrays", refuse)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_large_file_gives_the_policy_of_python(folder, frame, large, ending, capsys):
    scores = f"scores.{ending}"
    {"parquet": frame.to_parquet, "arrow": frame.to_feather}[ending](scores)
    limits = ["--attribute", "region", "--weight", "weight", "--subject-to", FLOOR]
    assert fit(*limits, "--counting", "model", scores=scores) == 0
    shown = capsys.readouterr().out
    data = mf.scores(scores, label="label", proba_prefix="p_", attributes="region", weight="weight")
    result = mf.optimize(data, None, "g_mean", [FLOOR], counting="model")
    made = mf.Policy.load("policy.json")
    assert sorted(made.axes.classes) == sorted(CLASSES)
    assert made == result.policy
    assert f"value   {result.value:.6f}" in shown
    assert f"3,000 rows of {scores}, 4 classes" in shown


def test_a_folder_of_files_is_one_table(folder, frame):
    (folder / "parts").mkdir()
    frame[:1000].to_parquet("parts/a.parquet")
    frame[1000:].to_parquet("parts/b.parquet")
    frame.to_parquet("whole.parquet")
    assert fit("--subject-to", FLOOR, "--counting", "model", scores="parts") == 0
    in_parts = mf.Policy.load("policy.json")
    assert fit("--subject-to", FLOOR, "--counting", "model", scores="whole.parquet") == 0
    whole, proba = mf.Policy.load("policy.json"), frame[PROBA].to_numpy()
    np.testing.assert_allclose(in_parts.decision_proba(proba), whole.decision_proba(proba), atol=1e-6)


def test_what_needs_all_rows_at_once_is_refused(folder, frame, large, capsys):
    frame.to_parquet("scores.parquet")
    for option in (["--unseen", "overall"], ["--subject-to", FLOOR, "--confidence", "0.9"]):
        fails(capsys, (fit(*option, scores="scores.parquet"), 2), option[-2], "needs all rows in memory")


def test_large_tables_are_divided_by_their_sums(folder, frame, large):
    frame.assign(**{name: 3 * frame[name] for name in PROBA}).to_parquet("scores.parquet")
    frame.to_parquet("right.parquet")
    policies = []
    for name, option in (("scores", ["--normalize"]), ("right", [])):
        assert fit("--counting", "model", *option, scores=f"{name}.parquet", out=f"{name}.json") == 0
        policies.append(mf.Policy.load(f"{name}.json").decision_proba(frame[PROBA].to_numpy()))
    np.testing.assert_allclose(*policies, atol=1e-6)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("randomize", ["hash", "draw"])
def test_tables_are_decided_some_rows_after_the_other(folder, frame, monkeypatch, ending, randomize):
    frame.to_parquet("scores.parquet")
    assert fit("--subject-to", FLOOR, "--attribute", "region", scores="scores.parquet") == 0
    policy = mf.Policy.load("policy.json")
    read_in_parts(monkeypatch)
    options = ["--keep", "id", "region", "--with-probabilities", "--randomize", randomize, "--seed", "3"]
    assert apply(*options, scores="scores.parquet", out=f"decisions.{ending}") == 0
    reader = {
        "parquet": pd.read_parquet,
        "arrow": pd.read_feather,
        "csv": partial(pd.read_csv, dtype={"id": str}),
    }
    made = reader[ending](f"decisions.{ending}")
    proba, groups = frame[[f"p_{c}" for c in policy.axes.classes]].to_numpy(), frame[["region"]]
    expected = policy.decide(proba, groups, randomize, 3)
    assert made["decision"].tolist() == expected.tolist()
    assert made["id"].tolist() == frame["id"].tolist()
    chances = made[[f"decision_proba_{d}" for d in policy.axes.decisions]].to_numpy()
    np.testing.assert_allclose(chances, policy.decision_proba(proba, groups), atol=1e-12)


@pytest.mark.parametrize(
    ("column", "entry"),
    [("id", None), ("p_fraud", np.nan), ("p_fraud", 2.0), ("region", "moon"), ("region", None)],
)
def test_rows_are_those_of_the_file_not_of_the_part_that_is_read(
    folder, frame, monkeypatch, capsys, column, entry
):
    frame.to_parquet("scores.parquet")
    assert fit("--attribute", "region", "--counting", "model", scores="scores.parquet") == 0
    frame = frame.copy()
    frame.loc[1500, column] = entry
    frame.to_parquet("scores.parquet")
    read_in_parts(monkeypatch)
    fails(capsys, (apply("--key", "id", scores="scores.parquet"), 4), "1 row (1500)")
    if column != "id":
        asked = ["evaluate", "policy.json", "scores.parquet", "--label", "label"]
        fails(capsys, (main(asked), 4), "1 row (1500)")


def test_evaluation_adds_up_over_parts_of_the_rows(folder, frame, monkeypatch, capsys):
    """Rows of one group after the other, so that no part has all groups."""
    frame.sort_values("region").to_parquet("scores.parquet")
    assert fit("--subject-to", FLOOR, "--attribute", "region", scores="scores.parquet") == 0
    capsys.readouterr()
    asked = [
        "evaluate",
        "policy.json",
        "scores.parquet",
        "--proba-prefix",
        "p_",
        "--label",
        "label",
        "--json",
    ]
    asked += ["--weight", "weight", "--by", "region"]
    assert main(asked) == 0
    whole = json.loads(capsys.readouterr().out)
    read_in_parts(monkeypatch)
    assert main(asked) == 0
    parts = json.loads(capsys.readouterr().out)
    assert len(whole["metrics"]) == 10
    for a, b in zip(whole["metrics"], parts["metrics"], strict=True):
        assert (a["metric"], a["group"]) == (b["metric"], b["group"])
        np.testing.assert_allclose(
            [a[k] for k in ("value", "low", "high")], [b[k] for k in ("value", "low", "high")], atol=1e-9
        )
