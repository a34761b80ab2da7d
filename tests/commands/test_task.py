"""Task files: a command's options in TOML."""

from pathlib import Path

import pytest
from command_line import FLOOR, fails, fit

import metricfit as mf
from metricfit.cli import main

TASK = f"""
scores = "scores.csv"
label = "label"
proba-prefix = "p_"
attribute = ["region"]
maximize = "g_mean"
subject-to = ["{FLOOR}"]
tol = 0.001
out = "by_task.json"
"""


@pytest.fixture
def task(folder):
    path = folder / "task.toml"
    path.write_text(TASK)
    return path


def test_a_task_is_the_command_with_its_options(task, capsys):
    assert main(["fit", "task.toml"]) == 0
    by_task = capsys.readouterr().out
    assert fit("--attribute", "region", "--subject-to", FLOOR, "--tol", "0.001") == 0
    by_flags = capsys.readouterr().out
    assert mf.Policy.load("by_task.json") == mf.Policy.load("policy.json")
    assert by_task.split("status")[0] == by_flags.split("status")[0]


def test_options_after_the_file_come_on_top(task, capsys):
    extra = "coverage('legit') >= 0.1"
    assert main(["fit", "task.toml", "--out", "other.json", "--subject-to", extra]) == 0
    shown = capsys.readouterr().out
    assert not Path("by_task.json").exists()
    assert f"subject to {FLOOR}" in shown
    assert extra in shown


def test_files_are_found_from_the_folder_of_the_task(task, folder, monkeypatch):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["fit", "../task.toml"]) == 0
    assert (folder / "by_task.json").exists()


def test_one_file_for_several_commands(folder, capsys):
    Path("task.toml").write_text(
        'scores = "scores.csv"\nproba-prefix = "p_"\n'
        '[fit]\nlabel = "label"\nmaximize = "g_mean"\nout = "policy.json"\n'
        '[apply]\npolicy = "policy.json"\nout = "made.csv"\nwith-probabilities = true\n'
    )
    assert main(["fit", "task.toml"]) == 0
    assert main(["apply", "task.toml"]) == 0
    assert "decision_proba_fraud" in Path("made.csv").read_text().splitlines()[0]
    capsys.readouterr()
    fails(capsys, (main(["evaluate", "task.toml"]), 2), "no table [evaluate]", "[fit], [apply]")


SHARED = """
scores = "scores.csv"
proba_prefix = "p_"
label = "label"
maximize = "g_mean"
[fit]
out = "policy.json"
[apply]
policy = "policy.json"
out = "made.csv"
"""


def test_shared_keys_of_another_command_are_left_out(folder, capsys):
    Path("task.toml").write_text(SHARED)
    assert main(["fit", "task.toml"]) == 0
    assert main(["apply", "task.toml"]) == 0
    assert Path("made.csv").exists()


def test_shared_keys_of_no_command_are_errors(folder, capsys):
    Path("task.toml").write_text(f'labell = "label"{SHARED}')
    for command in ("fit", "apply"):
        fails(capsys, (main([command, "task.toml"]), 2), "unknown key 'labell'; did you mean 'label'?")


def test_keys_of_another_command_in_a_table_are_errors(folder, capsys):
    Path("task.toml").write_text(f'{SHARED}label = "label"\n')
    fails(capsys, (main(["apply", "task.toml"]), 2), "unknown key 'label'")
    Path("task.toml").write_text('policy = "policy.json"\nlabel = "label"\n')  # for a single command
    fails(capsys, (main(["apply", "task.toml"]), 2), "unknown key 'label'")


@pytest.mark.parametrize("table", ["", "[fit]\n"])
def test_keys_are_named_as_the_options_are(folder, capsys, table):
    Path("task.toml").write_text(f'{table}proba_prefx = "p_"\n')
    fails(
        capsys, (main(["fit", "task.toml"]), 2), "did you mean 'proba-prefix'?", "'scores', 'proba-prefix', "
    )


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ('labell = "y"', 2, "unknown key 'labell'; did you mean 'label'?"),
        ("label = [", 4, "cannot be read as TOML"),
        ("label = true", 2, "label must be one value; it is True"),
        ("force = 1", 2, "force must be true or false; it is 1"),
        ("label = ['a', 'b']", 2, "label must be one value"),
        ("subject-to = [[1]]", 2, "must contain strings or numbers"),
        ("tol = -1", 2, "is not a number >= 0"),
    ],
)
def test_refusals(folder, capsys, text, code, words):
    Path("task.toml").write_text(text)
    fails(capsys, (main(["fit", "task.toml"]), code), words)


def test_a_missing_file_and_a_second_one(task, capsys):
    fails(capsys, (main(["fit", "none.toml"]), 4), "none.toml: No such file")
    fails(capsys, (main(["fit", "task.toml", "scores.csv"]), 2), "already names the input files")
