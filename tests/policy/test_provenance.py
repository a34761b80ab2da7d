"""Provenance that is too long for a policy file is shortened, and says so; it never ends a solve."""

from __future__ import annotations

import json

import numpy as np
import pytest

import metricfit as mf
from metricfit.exceptions import NotJudgedWarning
from metricfit.policy import Policy
from metricfit.policy.document import MAX_PROVENANCE
from metricfit.policy.provenance import BEGINNING, asked, shortened

RNG = np.random.default_rng(0)


def kept(policy, path):
    """Return the policy after a round trip through a file."""
    policy.save(path / "policy.json")
    loaded = Policy.load(path / "policy.json")
    assert loaded == policy
    assert loaded.provenance == policy.provenance
    assert len(json.dumps(loaded.provenance, separators=(",", ":"))) <= MAX_PROVENANCE
    return loaded


def test_a_large_table_of_costs_is_shortened(tmp_path):
    n, rows = 60, 300
    costs = mf.cost(RNG.random((n, n)))
    proba, y = RNG.dirichlet(np.ones(n), rows), np.arange(rows) % n
    result = mf.optimize(proba, y, costs, counting="model", max_calls=3, expect=True)
    loaded = kept(result.policy, tmp_path)
    assert loaded.provenance["shortened"] == ["classes", "objective"]
    assert loaded.provenance["objective"].startswith(str(costs)[:BEGINNING])
    assert len(loaded.provenance["reached"]) == len(loaded.provenance["expected"]) == 1
    with (
        pytest.warns(NotJudgedWarning, match="the objective that the policy was fitted for had too long"),
        pytest.raises(ValueError, match="pass metrics="),
    ):
        loaded.evaluate(proba, y)
    assert len(loaded.evaluate(proba, y, costs)) == 1


def test_two_thousand_classes_with_long_names_are_left_out(tmp_path):
    n = 2000
    classes = [f"{i:04d} a name that is as long as those of some products" for i in range(n)]
    proba = RNG.dirichlet(np.ones(n), 40).astype(np.float32)
    y = [classes[i] for i in RNG.integers(0, n, 40)]
    result = mf.optimize(proba, y, "accuracy", classes=classes, counting="model", max_calls=2)
    loaded = kept(result.policy, tmp_path)
    assert loaded.axes.classes == tuple(classes)
    assert loaded.provenance["shortened"] == ["classes"]
    assert "classes" not in loaded.provenance
    assert [str(metric) for metric in [asked(loaded.provenance)[0]]] == ["accuracy()"]


def test_the_last_of_three_thousand_constraints_are_left_out_with_their_values():
    limits = [f"recall({i % 7}) >= 0.{i:04d}" for i in range(3000)]
    values = [0.5, *(i / 3000 for i in range(3000))]
    whole = {"objective": "g_mean()", "constraints": limits, "reached": values, "expected": values}
    made = shortened(whole)
    left = len(made["constraints"])
    assert 500 < left < 3000
    assert made["constraints"] == limits[:left]
    assert made["reached"] == made["expected"] == values[: 1 + left]
    assert made["shortened"] == ["constraints"]
    with pytest.warns(NotJudgedWarning, match="constraints that the policy was fitted for .* some are not"):
        assert len(asked(made)[1]) == left
    # Values that are added later belong to the constraints that are left.
    later = shortened({**made, "expected_low": values})
    assert later["expected_low"] == values[: 1 + left]
    assert later["shortened"] == ["constraints"]


def test_rates_that_are_left_out_go_with_their_constraint_and_are_never_cut():
    limits = [f"demographic_parity(over='g{i}') <= 0.1" for i in range(4)]
    rates = [json.dumps([limit, "r" * 1500, 3, {"g": j}]) for limit in limits for j in range(20)]
    made = shortened({"constraints": limits, "reached": [0.0] * 5, "left_out": rates})
    assert made["constraints"] == limits[:2]
    assert made["left_out"] == rates[:40]
    assert made["reached"] == [0.0] * 3
    none = shortened(
        {"constraints": limits[:1], "left_out": [json.dumps([limits[0], "r", 3, {"g": "x" * 70_000}])]}
    )
    assert none["constraints"] == none["left_out"] == []


@pytest.mark.parametrize("text", ["ü" * 70_000, "\x00" * 70_000])
def test_escaped_characters_count_as_they_are_written(text):
    made = shortened({"objective": text, "constraints": [text] * 50, "rows": 3})
    assert len(json.dumps(made, separators=(",", ":"))) <= MAX_PROVENANCE
    assert made["rows"] == 3


def test_what_fits_is_left_as_it_is():
    whole = {"objective": "g_mean()", "classes": ["a"] * 1000, "constraints": ["x" * 2000]}
    assert shortened(whole) == whole


def test_unseen_overall_is_refused_before_the_solve(monkeypatch):
    import metricfit.solving.arrays as arrays

    def unexpected(*args):
        raise AssertionError("the solve has begun")

    monkeypatch.setattr(arrays, "solve", unexpected)
    proba, y, sex = [[0.9, 0.1], [0.2, 0.8]] * 4, [0, 1] * 4, ["F", "F", "M", "M"] * 2
    with pytest.raises(ValueError, match="refers to certain values"):
        mf.optimize(proba, y, mf.recall(1).at(sex="F"), sensitive_features={"sex": sex}, unseen="overall")
    from metricfit.oracles import PluginOracle, Rows

    class Mine(PluginOracle):
        pass

    with pytest.raises(ValueError, match="needs the plug-in oracle"):
        mf.optimize(proba, y, oracle=Mine(Rows.of(proba, y)), objective="accuracy", unseen="overall")
