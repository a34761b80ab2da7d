"""Ctrl-C late in a solve: what is left out is what would have made the policy better; the policy is kept."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import metricfit as mf
from metricfit.methods import ColumnGeneration
from metricfit.solving import auto, door, new_rows, policy_search
from metricfit.solving.answer import Answer


def right_probabilities(rows):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([4, 2, 1], rows)
    return proba, (rng.random((rows, 1)) > proba.cumsum(axis=1)).sum(axis=1)


def separable(rows):
    """Two per cent positives that separate perfectly, by scores with an offset of 7: labels serve them better."""
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.02).astype(int)
    score = np.where(y == 1, rng.normal(6, 1.5, rows), rng.normal(-6, 1.5, rows)) + 7
    proba = 1 / (1 + np.exp(-score))
    return np.stack([1 - proba, proba], axis=1), y


def ctrl_c(*arguments, **options):
    raise KeyboardInterrupt


LATE = {
    "firm": (ColumnGeneration, "finish"),
    "polish": (ColumnGeneration, "polish"),
    "told apart": (policy_search, "told_apart"),
    "single rule": (door, "with_single"),
    "search on labels": (auto, "on_labels"),
    "seen": (auto.Bench, "seen"),
}


@pytest.mark.parametrize("part", LATE)
def test_the_policy_is_kept(part, monkeypatch):
    proba, y = right_probabilities(2000)
    limits = [mf.precision(2) >= 0.5]
    whole = mf.optimize(proba, y, "g_mean", limits)
    monkeypatch.setattr(*LATE[part], ctrl_c)
    result = mf.optimize(proba, y, "g_mean", limits)
    assert result.status == "stopped"
    assert result.feasible
    assert result.value == pytest.approx(whole.value, abs=1e-3)
    assert result.policy.decide(proba[:5]).shape == (5,)


def test_while_candidates_are_compared(monkeypatch):
    monkeypatch.setattr(auto.Bench, "unseen", ctrl_c)
    proba, y = separable(3000)
    result = mf.optimize(proba, y, "accuracy", [mf.recall(1) >= 0.95], classes=[0, 1])
    assert result.status == "stopped"
    assert result.counting == "calibrated"


def test_while_it_is_put_together(monkeypatch):
    def interrupted(answer, tensor=Answer.tensor):
        signal.raise_signal(signal.SIGINT)
        return tensor(answer)

    monkeypatch.setattr(Answer, "tensor", interrupted)
    before = signal.getsignal(signal.SIGINT)
    result = mf.optimize(*right_probabilities(500), "g_mean")
    assert result.status == "stopped"
    assert signal.getsignal(signal.SIGINT) is before


def test_while_new_rows_are_judged(monkeypatch):
    monkeypatch.setattr(new_rows, "expected", ctrl_c)
    result = mf.optimize(*right_probabilities(500), "g_mean", expect=True)
    assert result.expected is None
    assert "Ctrl-C" in result.expected_note


def test_a_search_on_labels_leaves_its_guide(monkeypatch):
    monkeypatch.setattr(policy_search, "on_labels", ctrl_c)
    proba, y = right_probabilities(2000)
    result = mf.optimize(proba, y, "g_mean", counting="labels")
    assert result.status == "stopped"
    assert result.counting == "labels"
    assert result.value == pytest.approx(mf.optimize(proba, y, "g_mean", counting="labels").value, abs=0.03)


def test_before_there_is_a_policy_it_ends_the_call(monkeypatch):
    monkeypatch.setattr(auto.Bench, "of", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        mf.optimize(*right_probabilities(500), "g_mean")
