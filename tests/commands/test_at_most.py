"""`metricfit apply --at-most`: a capacity for the rows of a whole table."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import PROBA, apply, fails, fit

import metricfit as mf


@pytest.fixture
def fitted(folder):
    assert fit("--attribute", "region", "--subject-to", "coverage('suspicious') <= 0.1") == 0
    return mf.Policy.load("policy.json")


def test_a_capacity_counts_for_the_whole_table(fitted, frame, capsys):
    capsys.readouterr()
    assert apply("--at-most", "suspicious=120", "fraud=150", "--key", "id", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    made = pd.read_csv("decisions.csv")["decision"].to_numpy()
    expected = fitted.decide(
        frame[PROBA].to_numpy(),
        frame[["region"]],
        key=frame["id"],
        capacity={"suspicious": 120, "fraud": 150},
    )
    np.testing.assert_array_equal(made, expected)
    limits = told["capacity"]["limits"]
    assert [(one["decision"], one["at_most"], one["rows"]) for one in limits] == [
        ("suspicious", 120, 120),
        ("fraud", 150, 150),
    ]
    free = fitted.decide(frame[PROBA].to_numpy(), frame[["region"]], key=frame["id"])
    assert limits[0]["wanted"] == (free == "suspicious").sum()
    assert told["capacity"]["moved"] == (free != made).sum()


def test_what_it_costs_is_printed(fitted, capsys):
    capsys.readouterr()
    assert apply("--at-most", "suspicious=120") == 0
    shown = capsys.readouterr().out
    assert "rows would get it without the limit of 120" in shown
    assert "rows lost their decision; by the policy's own losses that costs" in shown
    assert apply("--at-most", "suspicious=3000") == 0
    assert "no row lost its decision" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["review=3"], "unknown decision 'review'"),
        (["fraud"], "write a decision, = and a whole number of rows"),
        (["fraud=-3"], "write a decision, = and a whole number of rows"),
        (["fraud=3", "fraud=4"], "fraud has two limits"),
        (["fraud=1", "legit=1", "suspicious=1", "chargeback=1"], "limits all 4 decisions to 4 rows together"),
    ],
)
def test_bad_capacities_are_usage_errors(fitted, capsys, given, words):
    capsys.readouterr()
    fails(capsys, (apply("--at-most", *given), 2), "--at-most", words)
