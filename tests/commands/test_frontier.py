"""`metricfit frontier` and `fit --report`: the table, the picture and the report are those of the library."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import CLASSES, FLOOR, PROBA, fails, fit, written

import metricfit as mf
from metricfit.cli import main

pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")


def front(*extra, trade=("precision('fraud')",), levels=("0.6,0.8",), out="front.csv"):
    task = ["--label", "label", "--proba-prefix", "p_", "--maximize", "g_mean", "--counting", "model"]
    return main(
        ["frontier", "scores.csv", *task, "--trade", *trade, "--levels", *levels, "--out", out, *extra]
    )


def test_the_table_is_that_of_the_library(folder, frame, capsys):
    assert front("--picture", "front.png") == 0
    made = pd.read_csv("front.csv")
    expected = mf.frontier(
        frame[PROBA].to_numpy(),
        frame["label"],
        "g_mean",
        mf.precision("fraud"),
        [0.6, 0.8],
        classes=CLASSES,
        counting="model",
    ).to_frame()
    assert list(made.columns) == list(expected.columns)
    np.testing.assert_allclose(made["value"], expected["value"], atol=1e-9)
    shown = capsys.readouterr().out
    assert f"{expected['value'].iloc[0]:.4f}" in shown
    assert "The table is in front.csv, and the picture in front.png" in shown
    assert (folder / "front.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_on_screen_has_the_columns_that_say_something(folder, capsys):
    assert front("--expect", "--counting", "labels") == 0
    counted = capsys.readouterr().out
    head, first = (re.split(r"\s{2,}", line.strip()) for line in counted.splitlines()[2:4])
    assert head == ["precision('fraud')", "reached", "g_mean()", "expect", "price", "status"]
    made = pd.read_csv("front.csv").iloc[0]
    assert first[3] == f"{made['expected']:.3f} [{made['low']:.3f}, {made['high']:.3f}]"
    assert first[1] == f"{made['reached']:.4f}"
    assert front("--force") == 0
    proven = capsys.readouterr().out
    head = re.split(r"\s{2,}", proven.splitlines()[2].strip())
    assert head == ["precision('fraud')", "reached", "g_mean()", "bound", "price", "status"]


def test_a_grid_and_levels_that_cannot_be_kept(folder, capsys):
    two = ("min_recall", "coverage('fraud') <= 0")
    assert front(trade=two, levels=("0.5,0.99", "0.05,0.5"), out="grid.csv") == 0
    made = pd.read_csv("grid.csv")
    assert len(made) == 4
    assert (made["status"] == "infeasible").sum() == 2
    assert "cannot be kept" in capsys.readouterr().out


def test_levels_of_one_constraint_may_be_separated_by_spaces(folder):
    assert front(levels=("0.5,0.6,0.7",), out="commas.csv") == 0
    assert front(levels=("0.5", "0.6", "0.7"), out="spaces.csv") == 0
    assert Path("spaces.csv").read_bytes() == Path("commas.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"levels": ("0.5,x",)}, ["--levels 0.5,x", "commas"]),
        ({"levels": ("0.5", "x")}, ["--levels 0.5,x", "commas"]),
        ({"levels": ("1",)}, ["--levels 1", "from 2"]),
        ({"levels": (",",)}, ["--levels", "empty"]),
        ({"levels": ("0.5,nan",)}, ["--levels", "NaN or infinite"]),
        ({"levels": ("0.5,0.6", "0.7")}, ["2 lists for 1 --trade constraint;"]),
        ({"trade": ("precision('froud')",)}, ["--trade", "did you mean 'fraud'"]),
        ({"trade": ("coverage('fraud')",)}, ["--trade", "direction"]),
        ({"out": "front.txt"}, ["ending"]),
    ],
)
def test_bad_requests_write_nothing(folder, capsys, options, words):
    fails(capsys, (front(**options), 2), *words)
    assert written(folder) == []


def test_levels_none_of_which_can_be_kept_write_nothing(folder, capsys):
    assert front(trade=("min_recall", "coverage('fraud') <= 0"), levels=("0.9,0.99", "0.05")) == 3
    assert "no policy keeps any of these limits; nothing was written" in capsys.readouterr().err
    assert not written(folder)


def test_pictures_have_known_endings(folder, capsys):
    fails(capsys, (front("--picture", "front.bmp"), 2), "--picture front.bmp", ".svg")
    assert written(folder) == []


def test_fit_writes_a_report(folder, capsys):
    assert fit("--subject-to", FLOOR, "--counting", "model", "--report", "report.html") == 0
    assert written(folder) == ["policy.json", "report.html"]
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "metricfit fit scores.csv --label label --proba-prefix p_ --maximize g_mean" in text
    value = float(re.search(r"^  value   ([\d.]+)", capsys.readouterr().out, re.MULTILINE)[1])
    assert f"{value:.4f}" in text


def test_a_report_of_a_command_names_options_of_the_command(folder):
    assert fit("--subject-to", FLOOR, "--report", "report.html") == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "open" in re.findall(r'class="mark \w+">. ([a-z ]+)<', text)
    assert "<code>--confidence 0.95</code> looks for a policy" in text


def test_a_report_in_the_place_of_the_policy_is_refused(folder, capsys):
    fails(capsys, (fit("--report", "policy.json"), 2), "--report policy.json")
    fails(capsys, (fit("--report", "nowhere/report.html"), 2), "--report nowhere/report.html", "folder")
    assert written(folder) == []
