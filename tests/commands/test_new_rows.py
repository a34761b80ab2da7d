"""The command line on new rows: what to expect, confidence, and which limits hold."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import FLOOR, fails, fit

from metricfit.cli import main

EVALUATE = ["evaluate", "policy.json", "scores.csv", "--proba-prefix", "p_", "--label", "label"]


def test_fit_tells_what_to_expect(folder, capsys):
    assert fit("--subject-to", FLOOR) == 0
    text = capsys.readouterr().out
    assert "on new rows" in text
    document = json.loads((folder / "policy.json").read_text())
    assert document["provenance"]["constraints"] == [FLOOR]
    assert len(document["provenance"]["expected_low"]) == 2
    assert fit("--subject-to", FLOOR, "--no-expect") == 0
    assert "on new rows" not in capsys.readouterr().out


def test_evaluate_needs_no_metrics(folder, capsys):
    assert fit("--subject-to", FLOOR, "--no-expect") == 0
    capsys.readouterr()
    assert main(EVALUATE) == 0
    text = capsys.readouterr().out
    line = next(line for line in text.splitlines() if "precision('fraud')" in line)
    assert ">= 0.85" in line
    assert "open: " in line
    assert main([*EVALUATE, "--by", "region", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["group"] for row in found["metrics"]} == {"all", "east", "north", "south", "west"}
    (limit,) = found["limits"]
    assert (limit["constraint"], limit["limit"]) == (FLOOR, 0.85)
    assert limit["low"] < 0.85 < limit["high"]
    assert (limit["verdict"], limit["met_here"]) == ("open", limit["value"] >= 0.85)
    limits = ["precision('fraud') >= 0.5", "precision('fraud') <= 0.5"]
    assert main([*EVALUATE, "--json", "--metric", *limits]) == 1
    found = json.loads(capsys.readouterr().out)["limits"]
    assert [limit["verdict"] for limit in found] == ["likely met", "likely violated"]


def test_a_broken_limit_has_an_exit_code_of_its_own(folder, frame, capsys):
    assert fit("--subject-to", FLOOR, "--no-expect") == 0
    capsys.readouterr()
    # The world has changed: what looks like fraud mostly is not.
    labels = frame["label"].where((frame["label"] != "fraud") | (np.arange(len(frame)) % 3 == 0), "legit")
    frame.assign(label=labels).to_csv("changed.csv", index=False)
    argv = ["changed.csv" if word == "scores.csv" else word for word in EVALUATE]
    assert main(argv) == 1
    assert "likely violated" in capsys.readouterr().out


def test_a_limit_missed_by_chance_is_no_error(folder, capsys):
    assert fit("--subject-to", FLOOR, "--no-expect") == 0
    capsys.readouterr()
    assert main([*EVALUATE, "--metric", "precision('fraud') >= 0.88"]) == 0
    assert "by no more than chance explains" in capsys.readouterr().out


def test_confidence(folder, capsys):
    limit = "recall('fraud') >= 0.5"
    assert fit("--subject-to", limit, "--confidence", "0.9") == 0
    text = capsys.readouterr().out
    assert "with confidence 0.9, by 2,250 held-out rows" in text
    assert "at the worst" in text
    assert json.loads((folder / "policy.json").read_text())["provenance"]["confidence"] == 0.9


def test_confidence_that_cannot_be_had(folder, frame, capsys):
    frame.head(200).to_csv("few.csv", index=False)
    code = fit(
        "--subject-to", "recall('legit') >= 0.99", "--confidence", "0.999", scores="few.csv", out="few.json"
    )
    fails(capsys, (code, 3), "confidence=0.999", "nothing was written")
    assert not (folder / "few.json").exists()


@pytest.mark.parametrize("level", ["95", "0", "1", "often"])
def test_confidence_is_a_share(folder, capsys, level):
    assert fit("--confidence", level) == 2
    assert "--confidence" in capsys.readouterr().err


def test_evaluate_by_unknown_group(folder, capsys):
    assert fit("--no-expect") == 0
    capsys.readouterr()
    fails(capsys, (main([*EVALUATE, "--by", "planet"]), 4), "planet")
