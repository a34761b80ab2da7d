"""`metricfit export` and `metricfit completion`: what is written is what the policy exports."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import shtab
from command_line import FLOOR, PROBA, fails, fit
from optional import needs, optional

import metricfit as mf
from metricfit.cli import main

onnx = optional("onnx")


@pytest.fixture
def policy(folder):
    assert fit("--attribute", "region", "--subject-to", FLOOR) == 0
    return mf.Policy.load("policy.json")


def export(*arguments):
    return main(["export", "policy.json", *arguments])


def test_sql_decides_the_table(policy, frame, capsys):
    capsys.readouterr()
    assert export("--to", "sql", "--dialect", "sqlite", "--table", "main.payments", "--keep", "id") == 0
    query = capsys.readouterr().out
    base = sqlite3.connect(":memory:")
    frame.to_sql("payments", base, index=False)
    made = pd.read_sql(query, base)
    base.close()
    expected = policy.decide(frame[PROBA].to_numpy(), frame[["region"]], randomize="never")
    assert made["id"].tolist() == frame["id"].tolist()
    assert made["decision"].tolist() == expected.tolist()


def test_python_is_printed_or_written(policy, capsys):
    capsys.readouterr()
    assert export("--to", "python") == 0
    printed = capsys.readouterr().out
    assert export("--to", "python", "--out", "rule.py") == 0
    assert Path("rule.py").read_text(encoding="utf-8") == printed == policy.to_python()
    assert "written to rule.py" in capsys.readouterr().out


@needs("onnx")
def test_onnx_is_written(policy):
    assert export("--to", "onnx", "--out", "rule.onnx") == 0
    assert onnx.load("rule.onnx") == policy.to_onnx()


def test_sql_is_of_duckdb_unless_another_dialect_is_named(policy, capsys):
    capsys.readouterr()
    assert export("--to", "sql") == 0
    assert capsys.readouterr().out == policy.to_sql("duckdb")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "onnx"), "name it with --out"),
        (("--to", "python", "--keep", "id"), "--keep belongs to --to sql"),
        (("--to", "sql", "--dialect", "oracle"), "invalid choice: 'oracle'"),
        (("--to", "sql", "--dialect", "duckdb", "--keep", "decision"), "keep names a column twice"),
    ],
)
def test_refusals(policy, capsys, arguments, words):
    capsys.readouterr()
    fails(capsys, (export(*arguments), 2), words)


def test_no_file_is_replaced_unless_forced(policy, capsys):
    before = Path("policy.json").read_bytes()
    commands = {
        "policy.json": [
            "fit",
            "scores.csv",
            "--label",
            "label",
            "--proba-prefix",
            "p_",
            "--maximize",
            "accuracy",
        ],
        "made.csv": ["apply", "policy.json", "scores.csv", "--proba-prefix", "p_"],
        "rule.py": ["export", "policy.json", "--to", "python"],
    }
    for name in ("made.csv", "rule.py"):
        Path(name).write_text("precious")
    for name, command in commands.items():
        kept = Path(name).read_bytes()
        capsys.readouterr()
        fails(
            capsys, (main([*command, "--out", name]), 2), f"--out {name}: it exists", "--force to replace it"
        )
        assert Path(name).read_bytes() == kept
        assert main([*command, "--out", name, "--force"]) == 0
        assert Path(name).read_bytes() != kept
    assert Path("policy.json").read_bytes() != before


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_scripts_name_commands_and_options(shell, capsys):
    if shell not in shtab.SUPPORTED_SHELLS:
        fails(capsys, (main(["completion", shell]), 2), f"does not know {shell}", "--upgrade shtab")
        return
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("fit", "export", "--subject-to" if shell in ("bash", "zsh") else "subject-to", "duckdb"):
        assert word in script


def test_an_older_shtab_is_named(monkeypatch, capsys):
    monkeypatch.setattr(shtab, "SUPPORTED_SHELLS", ["bash"])
    fails(capsys, (main(["completion", "fish"]), 2), "does not know fish", "pip install --upgrade shtab")


def test_fish_completes(tmp_path, capsys):
    if shutil.which("fish") is None or "fish" not in shtab.SUPPORTED_SHELLS:
        pytest.skip("fish is not installed")
    assert main(["completion", "fish"]) == 0
    script = tmp_path / "metricfit.fish"
    script.write_text(capsys.readouterr().out)
    ask = f"source {script}; complete --do-complete 'metricfit exp'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, check=False)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["explore", "export"], done.stderr


def test_bash_completes(tmp_path, capsys):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.sh"
    script.write_text(capsys.readouterr().out)
    ask = 'COMP_WORDS=(metricfit exp); COMP_CWORD=1; _shtab_metricfit metricfit exp metricfit; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", f"source {script}; {ask}"], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["explore", "export"], done.stderr


# --json


def document(capsys, *arguments, code=0):
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


FIT = ["fit", "scores.csv", "--label", "label", "--proba-prefix", "p_", "--maximize", "g_mean"]


def test_fit_as_json(folder, capsys):
    found = document(capsys, *FIT, "--subject-to", FLOOR, "--out", "policy.json")
    assert found["problem"]["objective"] == "g_mean()"
    (constraint,) = found["constraints"]
    assert constraint["value"] >= 0.85 - 1e-9
    assert constraint["violation"] <= 1e-9
    assert found["argmax"] < found["value"]
    assert found["policy"]["file"] == "policy.json"
    assert [entry["class"] for entry in found["classes"]] == ["chargeback", "fraud", "legit", "suspicious"]
    assert found["classes"][1]["precision"]["policy"] == pytest.approx(constraint["value"])
    assert sum(entry["share"]["policy"] for entry in found["decisions"]) == pytest.approx(1)


def test_apply_and_evaluate_as_json(policy, capsys):
    found = document(
        capsys, "apply", "policy.json", "scores.csv", "--proba-prefix", "p_", "--out", "made.csv"
    )
    counts = pd.read_csv("made.csv")["decision"].value_counts()
    assert {
        entry["decision"]: entry["rows"] for entry in found["decisions"] if entry["rows"]
    } == counts.to_dict()
    command = ["evaluate", "policy.json", "scores.csv", "--label", "label", "--proba-prefix", "p_"]
    found = document(capsys, *command, "--metric", "precision('fraud')")
    (entry,) = found["metrics"]
    assert entry["metric"] == "precision('fraud')"
    assert entry["low"] <= entry["value"] <= entry["high"]
    assert entry["value"] == pytest.approx(found["classes"][1]["precision"]["policy"])


def test_metrics_as_json(capsys):
    every = {entry["name"]: entry for entry in document(capsys, "metrics")}
    assert every["min_recall"]["curvature"] == "concave"
    assert "recall" in document(capsys, "metrics", "min_recall")["text"]


def test_errors_as_json(folder, capsys):
    found = document(capsys, *FIT, "--subject-to", "recall('fraud') >= 1.5", "--out", "policy.json", code=3)
    assert found["exit_code"] == 3
    assert found["conflict"] == ["recall('fraud') >= 1.5"]
    assert found["alone"]["recall('fraud') >= 1.5"] == pytest.approx(0.5)
    assert document(capsys, *FIT, code=2)["error"].startswith("the following arguments are required: --out")
