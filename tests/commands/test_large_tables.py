"""Tables that are larger than memory: the command line reads them block by block, as Python does."""

import numpy as np
import pytest
from command_line import CLASSES, FLOOR, PROBA, fails, fit

import metricfit as mf
from metricfit.commands import fit as fit_command
from metricfit.commands import scores
from metricfit.oracles import choice

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def large(monkeypatch):
    """Every table counts as larger than memory, and the reader of whole tables must not be asked."""

    def refuse(*args, **options):
        raise AssertionError("the whole table was read")

    for module in (choice, scores):
        monkeypatch.setattr(module, "is_large", lambda *_: True)
    monkeypatch.setattr(fit_command, "read_scores", refuse)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_large_file_gives_the_policy_of_python(folder, frame, large, ending, capsys):
    scores = f"scores.{ending}"
    {"parquet": frame.to_parquet, "arrow": frame.to_feather}[ending](scores)
    limits = ["--attribute", "region", "--weight", "weight", "--subject-to", FLOOR]
    assert fit(*limits, "--confusion", "model", scores=scores) == 0
    shown = capsys.readouterr().out
    data = mf.scores(scores, label="label", proba_prefix="p_", attributes="region", weight="weight")
    result = mf.optimize(data, None, "g_mean", [FLOOR], confusion="model")
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
    assert fit("--subject-to", FLOOR, "--confusion", "model", scores="parts") == 0
    in_parts = mf.Policy.load("policy.json")
    assert fit("--subject-to", FLOOR, "--confusion", "model", scores="whole.parquet") == 0
    whole, proba = mf.Policy.load("policy.json"), frame[PROBA].to_numpy()
    np.testing.assert_allclose(in_parts.decision_proba(proba), whole.decision_proba(proba), atol=1e-6)


def test_what_needs_all_rows_at_once_is_refused(folder, frame, large, capsys):
    frame.to_parquet("scores.parquet")
    for option in (["--normalize"], ["--subject-to", FLOOR, "--confidence", "0.9"]):
        fails(
            capsys, (fit(*option, scores="scores.parquet"), 2), option[-2] if len(option) > 2 else option[0]
        )
