"""The command line as it is used in a shell: files in, files out, and what is printed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import CLASSES, FLOOR, PROBA, apply, fails, fit
from optional import needs

import metricfit as mf
from metricfit.cli import main
from metricfit.methods import METHODS
from metricfit.metrics import METRICS
from metricfit.oracles import PluginOracle
from metricfit.tables.arrow_files import ArrowFiles
from metricfit.verdicts import spelt_out

# The way through: fit, apply, evaluate


def test_fit_gives_the_result_of_optimize(folder, frame, capsys):
    limits = [FLOOR, "equal_opportunity(over='region', c='fraud') <= 0.05"]
    assert fit("--attribute", "region", "--weight", "weight", "--subject-to", *limits) == 0
    result = mf.optimize(
        frame[PROBA].to_numpy(),
        frame["label"],
        "g_mean",
        limits,
        classes=CLASSES,
        sensitive_features=frame[["region"]],
        sample_weight=frame["weight"],
    )
    assert mf.Policy.load("policy.json") == result.policy
    shown = capsys.readouterr().out
    assert f"value   {result.value:.6f}" in shown
    assert f"bound   {result.bound:.6f}" in shown
    assert "3,000 rows of scores.csv, 4 classes, 4 cells of region" in shown
    assert f"{result.constraints[0].price:.4g}" in shown
    assert "metricfit apply policy.json scores.csv --proba-prefix p_ --out decisions.csv" in shown
    # A table is as wide as its longest constraint and 70 characters for numbers; sentences fit a line.
    names = ("constraint", "precision('fraud')", "equal_opportunity(over='region', c='fraud') to all rows")
    lines = shown.splitlines()
    table = [line for line in lines if line.startswith(tuple(f"  {name}  " for name in names))]
    assert len(table) == 2
    assert f"  {names[2]}" in lines  # a long name has a line of its own
    assert max(map(len, table)) <= max(map(len, names)) + 70
    assert max(len(line) for line in lines if line not in table) <= 112


@pytest.mark.parametrize(
    "ending", ["csv", *(pytest.param(e, marks=needs("pyarrow")) for e in ("parquet", "arrow"))]
)
def test_apply_decides_as_the_policy_does_in_python(folder, frame, ending):
    scores = f"scores.{ending}"
    {"csv": frame.to_csv, "parquet": frame.to_parquet, "arrow": frame.to_feather}[ending](
        scores, **({"index": False} if ending == "csv" else {})
    )
    assert fit("--attribute", "region", "--subject-to", FLOOR, scores=scores) == 0
    assert apply("--keep", "id", "--with-probabilities", "--seed", "7", scores=scores, out=f"d.{ending}") == 0
    # As texts, because older versions of pandas read the last bit of a number by the way.
    read = {"csv": lambda p: pd.read_csv(p, dtype=str), "parquet": pd.read_parquet}
    made = read.get(ending, pd.read_feather)(f"d.{ending}")
    policy = mf.Policy.load("policy.json")
    proba, features = frame[PROBA].to_numpy(), frame[["region"]]
    assert made["id"].tolist() == frame["id"].tolist()
    assert made["decision"].tolist() == policy.decide(proba, features, random_state=7).tolist()
    chances = made[[f"decision_proba_{c}" for c in CLASSES]].astype(float).to_numpy()
    np.testing.assert_array_equal(chances, policy.decision_proba(proba, features))
    assert list(made.columns[:2]) == ["id", "decision"]


@needs("pyarrow")
def test_all_formats_give_the_same_policy(folder, frame):
    frame.to_parquet("scores.parquet")
    frame.to_feather("scores.feather")
    for number, scores in enumerate(("scores.csv", "scores.parquet", "scores.feather")):
        assert fit("--attribute", "region", "channel", scores=scores, out=f"{number}.json") == 0
    policies = [mf.Policy.load(f"{number}.json") for number in range(3)]
    assert policies[0] == policies[1] == policies[2]


@pytest.mark.parametrize("randomize", ["hash", "draw", "never"])
def test_each_way_to_randomize_runs(folder, frame, randomize):
    assert fit("--subject-to", FLOOR) == 0
    assert apply("--randomize", randomize, "--seed", "3") == 0
    proba = frame[PROBA].to_numpy()
    expected = mf.Policy.load("policy.json").decide(proba, randomize=randomize, random_state=3)
    assert pd.read_csv("decisions.csv")["decision"].tolist() == expected.tolist()


def test_evaluate_gives_expected_values(folder, frame, capsys):
    assert fit("--attribute", "region", "--subject-to", FLOOR) == 0
    capsys.readouterr()
    texts = ["g_mean", FLOOR, "demographic_parity(over='channel')"]
    argv = ["evaluate", "policy.json", "scores.csv", "--proba-prefix", "p_", "--label", "label"]
    assert main([*argv, "--attribute", "channel", "--metric", *texts]) == 0
    chances = mf.Policy.load("policy.json").decision_proba(frame[PROBA].to_numpy(), frame[["region"]])
    # A row with several possible decisions is as many rows, weighted by their probabilities.
    repeated = frame.loc[frame.index.repeat(len(CLASSES))]
    confusion = mf.Confusion.from_predictions(
        repeated["label"], np.tile(CLASSES, len(frame)), repeated[["region", "channel"]], chances.ravel()
    )
    shown = capsys.readouterr().out
    for metric in (mf.g_mean(), mf.precision("fraud"), mf.demographic_parity(over="channel")):
        name = spelt_out(str(metric))
        line = next(line for line in shown.splitlines() if name in line)
        assert line.removeprefix(f"  {name}").split()[0] == f"{metric(confusion):.4f}"


def test_decisions_that_are_no_class(folder, capsys):
    cost = "cost([[0, 1, 1, 1, 0.3], [9, 0, 9, 9, 0.3], [1, 1, 0, 1, 0.3], [1, 1, 1, 0, 0.3]])"
    decisions = ["--decision", *CLASSES, "review", "--subject-to", "coverage('review') <= 0.05"]
    assert fit(*decisions, "--counting", "model", goal=("--minimize", cost)) == 0
    shown = capsys.readouterr().out
    assert "decisions that are not classes: review" in shown
    assert "(proven)" in shown
    assert "probabilities as soft labels" in shown
    assert apply() == 0
    assert 0 < (pd.read_csv("decisions.csv")["decision"] == "review").mean() < 0.07


@needs("pyarrow")
def test_whole_numbers_as_labels(folder):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], size=300)
    columns = pd.DataFrame(proba[:, ::-1], columns=["p_10", "p_2", "p_1"])
    columns.assign(label=np.array([1, 2, 10])[proba.argmax(axis=1)]).to_csv("scores.csv", index=False)
    assert fit("--decision", "1", "2", "10", "review", goal=("--minimize", "ordinal_error")) == 2
    assert fit(goal=("--minimize", "ordinal_error")) == 0
    policy = mf.Policy.load("policy.json")
    assert policy.axes.classes == (1, 2, 10)  # in their own order, whatever that of the columns
    assert apply(out="d.parquet") == 0
    assert pd.read_parquet("d.parquet")["decision"].tolist() == policy.decide(proba).tolist()


def test_kept_columns_of_a_csv_file_stay_as_written(folder, frame):
    frame.assign(id=["" if i % 2 else f"0{i}" for i in range(len(frame))], empty="").to_csv(
        "scores.csv", index=False
    )
    assert fit() == 0
    assert apply("--keep", "id", "empty") == 0
    lines = Path("decisions.csv").read_text().splitlines()
    assert lines[0] == "id,empty,decision"
    assert lines[1].startswith("00,,")
    assert lines[2].startswith(",,")


def test_an_empty_table_is_decided(folder, frame):
    assert fit() == 0
    frame.iloc[:0].to_csv("none.csv", index=False)
    assert apply(scores="none.csv") == 0
    assert Path("decisions.csv").read_text() == "decision\n"


def test_an_asked_direction_is_honoured(folder, capsys):
    assert fit(goal=("--maximize", "cost([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])")) == 0
    shown = capsys.readouterr()
    assert "lower is better; it is maximized as requested" in shown.err
    first = mf.Policy.load("policy.json")
    assert fit(goal=("--maximize", "accuracy")) == 0
    assert mf.Policy.load("policy.json") == first


def test_ctrl_c_keeps_the_best_so_far(folder, monkeypatch, capsys):
    original, calls = PluginOracle.__call__, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(PluginOracle, "__call__", interrupted)
    assert fit("--tol", "0") == 0
    assert "status  stopped: by Ctrl-C" in capsys.readouterr().out
    assert mf.Policy.load("policy.json").axes.classes == tuple(CLASSES)


def test_normalize_divides_rows_by_their_sum(folder, frame, capsys):
    """A factor of 4 is nothing but another exponent, so that the quotients are equal to the bit."""
    assert fit("--normalize") == 0
    assert apply("--normalize") == 0
    expected = Path("decisions.csv").read_text()
    frame.assign(**{c: 4 * frame[c] for c in PROBA}).to_csv("scores.csv", index=False)
    fails(capsys, (apply(out="raw.csv"), 4), "--normalize")
    assert fit("--normalize", out="again.json") == 0
    assert mf.Policy.load("again.json") == mf.Policy.load("policy.json")
    assert apply("--normalize", policy="again.json") == 0
    assert Path("decisions.csv").read_text() == expected


@needs("pyarrow")
def test_streams_are_read_as_arrow_files_too(folder, frame):
    import pyarrow as pa

    table = pa.Table.from_pandas(frame)
    with pa.OSFile("scores.arrow", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert ArrowFiles.opened("scores.arrow").names == list(frame.columns)
    assert fit(scores="scores.arrow") == 0


# The list of metrics, and the process itself


def test_metrics_lists_every_metric(capsys):
    assert main(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in METRICS:
        assert sum(line.startswith(f"{name}(") for line in lines) == 1
    g_mean = next(line for line in lines if line.startswith("g_mean("))
    assert g_mean.split() == ["g_mean()", "higher", "concave", "yes"]
    assert sum(line.endswith(("  yes", "  no")) for line in lines) == len(METRICS)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", METRICS)
def test_metrics_tells_about_one(name, capsys):
    assert main(["metrics", name]) == 0
    assert capsys.readouterr().out.startswith(f"{name}(")


def test_metrics_suggests_the_nearest(capsys):
    fails(capsys, (main(["metrics", "g_men"]), 2), "did you mean 'g_mean'?")


@pytest.mark.parametrize("argv", [[], ["fitt"], ["fit"], ["apply", "policy.json"]])
def test_incomplete_commands(argv, capsys):
    fails(capsys, (main(argv), 2), "--help")


def test_the_module_runs_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "metricfit", "metrics", "g_men"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("metricfit: unknown metric 'g_men'; did you mean 'g_mean'?")


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["fit", "--help"], ["apply", "--help"]])
def test_help_and_version(argv, capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(argv)
    assert "metricfit" in capsys.readouterr().out


def test_help_lists_the_methods(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["fit", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert ", ".join(METHODS) in shown


def test_a_reader_that_leaves_early_is_no_error():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "metricfit", "metrics"], stdout=closed, stderr=subprocess.PIPE, text=True
        )
    assert done.stderr == ""
    assert done.returncode == 141
