"""The demonstration, and the Python code it prints."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from metricfit.cli import main
from metricfit.commands import demo


@pytest.fixture(scope="module")
def found():
    return demo.compute()


def test_it_shows_what_was_asked_for(found):
    text = demo.report(found)
    assert max(map(len, text.splitlines())) <= 125
    for word in (
        "precision",
        "recall",
        "argmax",
        "policy",
        "price",
        "bound",
        "gap",
        "proven",
        "none claimed",
    ):
        assert word in text
    for name in ("chargeback", "fraud", "legit", "suspicious"):
        assert name in text


def test_the_policies_keep_their_promises(found):
    assert found.labels.feasible
    assert found.calibrated.feasible
    assert found.calibrated.certified
    assert found.calibrated.gap <= 1e-4
    g_mean = found.problem.objective
    before, after = g_mean(found.fitted.argmax), g_mean(found.fitted.policy(found.labels.policy))
    assert after == pytest.approx(found.labels.value, abs=1e-9)
    assert after > before + 0.2
    # On rows that neither the model nor the policy has seen, most of it is still there.
    unseen = found.held_out.policy(found.labels.policy)
    assert g_mean(unseen) > g_mean(found.held_out.argmax) + 0.2
    for constraint in found.problem.constraints:
        assert abs(constraint.metric(unseen) - constraint.limit) < 0.05


def test_the_printed_code_gives_the_same(found, capsys):
    names = {}
    with threadpool_limits(limits=1):
        exec(demo.CODE, names)
    assert names["clf"].result_.value == pytest.approx(found.labels.value, abs=1e-6)
    assert names["decisions"].shape == (demo.ROWS - demo.FITTED,)
    assert np.isin(names["decisions"], names["data"].classes).all()


def test_the_command(monkeypatch, capsys, found):
    monkeypatch.setattr(demo, "compute", lambda: found)
    assert main(["demo"]) == 0
    assert "The same in Python:" in capsys.readouterr().out
