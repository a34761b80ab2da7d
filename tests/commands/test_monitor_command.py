"""`metricfit monitor`: a weekly job with a state file."""

import json
import os

import numpy as np
import pytest
from command_line import PROBA, fails, fit

from metricfit.cli import main
from metricfit.datasets import make_fraud_triage


@pytest.fixture
def weeks(folder, frame):
    """A fitted policy and three weeks of rows; fraud is missed by the model in the last one."""
    assert fit("--attribute", "region", "--subject-to", "recall('legit') >= 0.8") == 0
    for week in (1, 2, 3):
        data = make_fraud_triage(n_rows=1500, random_state=week)
        table = frame.iloc[:1500].copy()
        proba = data.proba if week < 3 else data.proba[:, [2, 1, 0, 3]]
        table[PROBA], table["label"], table["region"] = proba, data.y, data.X["region"].astype(str).to_numpy()
        if week == 2:
            table.loc[::3, "label"] = np.nan
        table.to_csv(f"week{week}.csv", index=False)


def monitor(week, *extra, state="state.json"):
    return main(["monitor", "policy.json", state, f"week{week}.csv", "--label", "label", *extra])


def test_weeks_are_counted_until_something_is_proven(weeks, capsys):
    capsys.readouterr()
    assert monitor(1) == 0
    shown = capsys.readouterr().out
    assert "1 batch counted" in shown
    assert "recall('legit') >= 0.8" in shown
    assert "not watched: g_mean()" in shown
    with pytest.warns(UserWarning, match="counted before"):
        assert monitor(1) == 0
    capsys.readouterr()
    assert monitor(2, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    watched = {one["name"]: one for one in told["watched"]}
    assert told["batches"] == 2
    assert watched["share decided 'fraud'"]["rows"] == 3000
    assert 3000 > sum(one["rows"] for name, one in watched.items() if "'fraud' above" in name) == 2500
    assert monitor(3) == 5
    shown = capsys.readouterr().out
    assert "ALARM" in shown
    assert "batch 3: recall('legit') >= 0.8: it is below 0.8" in shown
    with pytest.warns(UserWarning, match="counted before"):
        assert monitor(3) == 5  # what is proven stays proven


def test_refusals(weeks, capsys):
    assert monitor(1, "--level", "0.9") == 0
    capsys.readouterr()
    fails(capsys, (monitor(2, "--level", "0.99"), 2), "state.json was begun with 0.9")
    fails(capsys, (monitor(2, state="week2.csv"), 2), "this is the input week2.csv")
    fit("--attribute", "region", out="policy.json")
    capsys.readouterr()
    fails(capsys, (monitor(2), 4), "it belongs to another policy")
    with open("state.json", "a") as file:
        file.write("}")
    fails(capsys, (monitor(2), 4), "cannot load a monitor")
    assert not [name for name in os.listdir() if name.endswith(".tmp")]
