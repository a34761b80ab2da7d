"""The demonstration, and the Python code it prints."""

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import metricfit as mf
from metricfit.cli import main
from metricfit.commands import demo


@pytest.fixture(scope="module")
def found():
    return demo.compute()


def test_it_shows_what_was_asked_for(found):
    text = demo.report(found)
    assert max(map(len, text.splitlines())) <= 110
    for word in (
        "most probable",
        "policy",
        "held-out",
        "price",
        "proven",
        "expect",
        "open",
        "decides",
    ):
        assert word in text
    for name in ("chargeback", "fraud", "suspicious"):
        assert f"{name}: found" in text
        assert f"{name}: right, if decided" in text


def test_the_result_is_one_that_somebody_would_want(found):
    assert found.result.certified
    assert found.result.feasible
    limit, g_mean = found.problem.constraints[0], found.problem.objective
    for half in (found.fitted, found.held_out):
        before, after = half.argmax, half.policy(found.result.policy)
        assert abs(limit.metric(after) - limit.limit) < 0.01
        assert mf.accuracy()(after) > 0.9
        for rare in ("chargeback", "suspicious"):
            assert mf.recall(rare)(after) > mf.recall(rare)(before) + 0.25
            assert mf.precision(rare)(after) > 0.25
        assert mf.recall("fraud")(after) > mf.recall("fraud")(before) + 0.1
        assert g_mean(after) > g_mean(before) + 0.2
    assert found.result.expected.constraints[0].outlook == "open"


def test_the_printed_code_gives_the_same(found, capsys):
    names = {}
    with threadpool_limits(limits=1):
        exec(demo.CODE, names)
    assert names["clf"].result_.value == pytest.approx(found.result.value, abs=1e-6)
    assert names["decisions"].shape == (demo.ROWS - demo.FITTED,)
    assert np.isin(names["decisions"], names["data"].classes).all()


def test_the_command(monkeypatch, capsys, found):
    monkeypatch.setattr(demo, "compute", lambda: found)
    assert main(["demo"]) == 0
    assert "The same in Python:" in capsys.readouterr().out


def test_tables_of_scores_are_written(monkeypatch, capsys, found, tmp_path):
    monkeypatch.setattr(demo, "compute", lambda: found)
    assert main(["demo", "--save", str(tmp_path)]) == 0
    assert f"{tmp_path / 'scores.csv'} and {tmp_path / 'new.csv'}" in capsys.readouterr().out
    for name, half in (("scores.csv", found.fitted), ("new.csv", found.held_out)):
        table = pd.read_csv(tmp_path / name)
        rows = half.oracle.rows
        assert table["y"].tolist() == [rows.axes.classes[i] for i in rows.labels]
        assert np.allclose(table[[f"p_{c}" for c in rows.axes.classes]], rows.proba, atol=1e-6)
    assert main(["demo", "--save", str(tmp_path)]) == 2  # nothing is replaced without --force
    assert "--force" in capsys.readouterr().err
    assert main(["demo", "--save", str(tmp_path / "none")]) == 2
