"""What is said of limits that the best policy so far does not keep, in Python and on the command line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import metricfit as mf
from metricfit.exceptions import BrokenLimitWarning
from metricfit.methods import Plugin
from metricfit.result.broken import why_broken

P = np.array([0.9, 0.6, 0.2, 0.1, 0.3, 0.2, 0.1, 0.35])
ROWS = dict(
    proba=np.column_stack([1 - P, P]), y=[1, 1, 0, 0, 0, 0, 0, 1], objective="accuracy", counting="model"
)
FLOOR = [mf.recall(1) >= 0.9]


def test_a_budget_of_calls_asks_for_more_of_them():
    with pytest.warns(BrokenLimitWarning, match=r"recall\(1\) >= 0.9, violated by .*raise max_calls"):
        mf.optimize(**ROWS, constraints=FLOOR, max_calls=1)


@pytest.mark.filterwarnings("ignore::metricfit.exceptions.BrokenLimitWarning")
@pytest.mark.parametrize("status", ["stalled", "searched"])
def test_where_the_search_ended_by_itself_more_time_is_not_advised(status):
    result = replace(mf.optimize(**ROWS, constraints=FLOOR, method=Plugin()), status=status)
    told = why_broken(result)
    assert "more time does not help: loosen a limit" in told
    assert "method='auto'" in told
    assert "raise" not in told


def test_nothing_is_said_of_limits_that_are_kept():
    assert why_broken(mf.optimize(**ROWS, constraints=FLOOR)) == ""


def test_the_command_line_says_the_same(tmp_path, monkeypatch, capsys):
    from metricfit.cli import main

    table = "y,p_0,p_1\n" + "\n".join(f"{y},{1 - p},{p}" for y, p in zip(ROWS["y"], P, strict=True))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text(table)
    words = "fit scores.csv --label y --proba-prefix p_ --maximize accuracy --counting model --no-expect"
    code = main([*words.split(), "--subject-to", "recall(1) >= 0.9", "--max-calls", "1", "--out", "a.json"])
    told = " ".join(capsys.readouterr().err.split())
    assert code == 3
    assert "raise max_calls" in told
    assert told.count("violated by") == 1
