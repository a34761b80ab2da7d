"""`metricfit adapt`, and what apply and evaluate say about class shares that have changed."""

import json

import numpy as np
import pytest
from command_line import PROBA, apply, fails, fit

import metricfit as mf
from metricfit.cli import main
from metricfit.datasets import make_fraud_triage


@pytest.fixture
def moved(folder, frame):
    """A fitted policy, and new rows with a third of the legitimate ones; labels stay unknown to `adapt`."""
    assert fit("--attribute", "region", "--subject-to", "precision('fraud') >= 0.7", "--no-expect") == 0
    data = make_fraud_triage(n_rows=6000, random_state=1)
    kept = np.flatnonzero((data.y != "legit") | (np.arange(6000) % 3 == 0))
    table = frame.iloc[np.zeros(len(kept), int)].reset_index(drop=True)
    table[PROBA], table["label"] = data.proba[kept], data.y[kept]
    table["region"] = data.X["region"].astype(str).to_numpy()[kept]
    table.to_csv("new.csv", index=False)
    return {c: float(np.mean(data.y[kept] == c)) for c in mf.Policy.load("policy.json").axes.classes}


def adapt(*extra):
    return main(
        ["adapt", "policy.json", "scores.csv", "--label", "label", "--out", "adapted.json", "--force", *extra]
    )


def test_the_problem_is_solved_for_the_shares_of_new_rows(moved, capsys):
    capsys.readouterr()
    assert adapt("--to", "new.csv", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    for one in told["shares"]["classes"]:
        assert one["low"] <= moved[one["class"]] <= one["high"]
    assert told["expected"] is not None
    policy = mf.Policy.load("adapted.json")
    estimated = [one["share"] for one in told["shares"]["classes"]]
    np.testing.assert_allclose(policy.at_fit.classes, estimated, atol=1e-9)
    assert policy.provenance["constraints"] == ["precision('fraud') >= 0.7"]
    assert adapt("--shares", *(f"{c}={share!r}" for c, share in moved.items())) == 0
    np.testing.assert_allclose(mf.Policy.load("adapted.json").at_fit.classes, list(moved.values()), atol=1e-9)


def test_apply_and_evaluate_say_when_shares_have_changed(moved, capsys):
    capsys.readouterr()
    assert apply(scores="new.csv") == 0
    shown = capsys.readouterr().out
    assert "class shares, estimated without labels, have changed: " in shown
    assert "legit 0.8" in shown
    assert main(["evaluate", "policy.json", "new.csv", "--label", "label"]) in (0, 1)
    assert "have changed" in capsys.readouterr().out
    assert apply("--json") == 0
    assert "note" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["fraud=0.5"], "shares lacks the classes"),
        (["fraud=half"], "write a class, = and its share"),
        (["review=1"], "unknown class in shares 'review'"),
        (["fraud=1", "legit=1", "suspicious=0", "chargeback=0"], "sum to 1; they sum to 2"),
    ],
)
def test_bad_shares(moved, capsys, given, words):
    capsys.readouterr()
    fails(capsys, (adapt("--shares", *given), 2), "--shares", words)
