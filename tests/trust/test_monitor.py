"""Monitors: bets that are fair, intervals that hold, alarms that are proofs, and a state that is not lost."""

from __future__ import annotations

import json

import numpy as np
import pytest

import metricfit as mf
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.exceptions import MonitorFileError, RepeatedBatchWarning
from metricfit.policy import Policy, Rule
from metricfit.policy.at_fit import AtFit
from metricfit.trust.monitoring.bets import Bets, values_around
from metricfit.trust.monitoring.watched import plan_of

ARGMAX = [[0, 1], [1, 0]]


def draw(rng, rows, recall=0.8, share=0.3):
    """Rows of which a share is positive; a model that finds them with a recall, calibrated for one of .8."""
    y = (rng.random(rows) < share).astype(int)
    said = np.where(y == 1, rng.random(rows) < recall, rng.random(rows) < 0.1)
    p = np.where(said, 0.24 / (0.24 + 0.07), 0.06 / (0.06 + 0.63))
    return np.column_stack([1 - p, p]), y


def policy_of(*constraints, attribute=None, known=True, **more):
    cells = Cells() if attribute is None else Cells(("sex",), (("F",), ("M",)))
    proba, y = draw(np.random.default_rng(99), 20_000)
    at_fit = AtFit.of(proba, y, np.eye(2)[proba.argmax(axis=1)]) if known else None
    provenance = {"objective": "g_mean()", "constraints": list(constraints), **more}
    return Policy(
        Axes((0, 1), cells=cells),
        "full",
        [[Rule(1, ARGMAX)]] * len(cells),
        provenance=provenance,
        at_fit=at_fit,
    )


def test_the_wealth_is_that_of_bettors_who_bet_row_by_row():
    """Known answer: each bettor's wealth multiplied out, for stakes that begin at each batch."""
    rng = np.random.default_rng(0)
    values = np.array([0.0, 0.3, 0.8, 1.0])
    bets, batches = Bets.on(values), [rng.integers(0, 2, 7).astype(float) for _ in range(3)]
    reach = np.maximum([values, 1 - values], 1e-9)
    for x in batches:
        bets = bets.after(x, x, np.ones(7), np.ones(7), reach)
    for place, t in enumerate(values[1:3], start=1):
        for side, sign in enumerate((1, -1)):
            total = 1 / 4
            for begun in range(3):
                for part in 0.75 / 2.0 ** np.arange(8):
                    rows = np.concatenate(batches[begun:])
                    growth = np.prod(1 + part * sign * (rows - t) / reach[side, place])
                    total += growth / 8 / ((begun + 1) * (begun + 2))
            assert bets.wealth[side, place] == pytest.approx(np.log(total))


def test_the_mean_wealth_of_a_fair_game_is_one():
    """Over all outcomes of a few rows, at their probabilities: nothing is won on average, so Ville's bound holds."""
    t, rows = 0.3, 8
    reach = np.maximum([np.array([t]), np.array([1 - t])], 1e-9)
    mean = np.zeros(2)
    for code in range(2**rows):
        x = np.array([(code >> i) & 1 for i in range(rows)], float)
        bets = Bets.on(np.array([t]))
        for part in (x[:3], x[3:5], x[5:]):
            bets = bets.after(part, part, np.ones(part.size), np.ones(part.size), reach)
        mean += t ** x.sum() * (1 - t) ** (rows - x.sum()) * np.exp(bets.wealth[:, 0])
    np.testing.assert_allclose(mean, 1.0)


def test_intervals_contain_the_rate_at_all_times_and_narrow():
    rng = np.random.default_rng(1)
    values = values_around([0.7], 0.0, 1.0)
    reach = np.maximum([values, 1 - values], 1e-9)
    missed = 0
    for _ in range(100):
        bets, ever = Bets.on(values), False
        for _ in range(30):
            x = (rng.random(100) < 0.7).astype(float)
            ones = np.ones(100)
            bets = bets.after(x, x, ones, ones, reach)
            low, high = bets.interval(0.1)
            ever |= not low <= 0.7 <= high
        missed += ever
        assert high - low < 0.2
    assert missed <= 17  # 10 expected at the most; 17 or more of 100 have a probability of .02


def test_a_broken_limit_is_proven_and_a_kept_one_is_not():
    rng = np.random.default_rng(2)
    monitor = policy_of("recall(1) >= 0.75").monitor()
    for _ in range(20):
        monitor.update(*draw(rng, 300))
    assert monitor.alarms == ()
    for _ in range(20):
        frame = monitor.update(*draw(rng, 300, recall=0.6))
    broken = next(alarm for alarm in monitor.alarms if alarm.kind == "limit")
    assert broken.name == "recall(1) >= 0.75"
    assert broken.told == "it is below 0.75"
    assert 20 < broken.batch < 40
    assert frame.loc["recall(1) >= 0.75", "alarm"]
    # Fewer positives are found, so fewer are decided, and probabilities are wrong too.
    assert {alarm.kind for alarm in monitor.alarms} >= {"limit", "decision", "probabilities"}


def test_shares_of_decisions_need_no_labels():
    rng = np.random.default_rng(3)
    monitor = policy_of("recall(1) >= 0.75").monitor()
    for _ in range(15):
        frame = monitor.update(draw(rng, 400, share=0.5)[0])
    assert {alarm.kind for alarm in monitor.alarms} == {"decision"}
    assert frame.loc["recall(1) >= 0.75", "rows"] == 0
    assert frame.loc["share decided 1", "rows"] == 6000


def test_differences_between_groups():
    rng = np.random.default_rng(4)
    monitor = policy_of("equal_opportunity(over='sex', c=1) <= 0.05", attribute="sex").monitor()
    assert monitor.unwatched == {}
    for _ in range(12):
        parts = [draw(rng, 1500, recall=recall) for recall in (0.9, 0.65)]
        proba, y = (np.concatenate(part) for part in zip(*parts, strict=True))
        frame = monitor.update(proba, y, {"sex": ["F"] * 1500 + ["M"] * 1500})
    alarm = next(one for one in monitor.alarms if one.kind == "limit")
    assert alarm.name.startswith("equal_opportunity")
    row = frame.loc[alarm.name]
    assert (
        0.05 < row["low"] <= 0.125 <= row["high"]
    )  # the recalls differ by .25, those from all rows by half of it
    assert row["batch"] == pytest.approx(0.125, abs=0.04)


def test_missing_labels_are_not_counted_and_may_come_later():
    rng = np.random.default_rng(5)
    proba, y = draw(rng, 200)
    some = [None if i % 2 else label for i, label in enumerate(y.tolist())]
    one, two = policy_of("accuracy() >= 0.5").monitor(), policy_of("accuracy() >= 0.5").monitor()
    one.update(proba, some)
    two.update(proba)
    with pytest.warns(RepeatedBatchWarning, match="counted before"):
        two.update(proba)
    two.update(proba, some)
    left, right = one.frame(), two.frame()
    assert left.loc["accuracy() >= 0.5", "rows"] == 100
    np.testing.assert_allclose(left[["low", "high", "rows"]], right[["low", "high", "rows"]])
    with pytest.warns(RepeatedBatchWarning, match="counted before with labels"):
        two.update(proba, some)
    assert two.batches == 1
    two.update(proba, some, name="another day")
    assert two.batches == 2
    with pytest.warns(RepeatedBatchWarning):
        two.update(*draw(rng, 200), name="another day")


def test_saving_changes_nothing_but_rounds_against_the_bettor(tmp_path):
    rng = np.random.default_rng(6)
    policy = policy_of("recall(1) >= 0.75", "precision(1) >= 0.9")
    kept, saved = policy.monitor(0.9), policy.monitor(0.9)
    for _ in range(6):
        batch = draw(rng, 300)
        kept.update(*batch)
        saved.update(*batch)
        saved.save(tmp_path / "state.json")
        saved = mf.Monitor.load(tmp_path / "state.json", policy)
    assert saved.level == 0.9
    assert saved.alarms == kept.alarms != ()
    np.testing.assert_allclose(saved.frame()["rows"], kept.frame()["rows"])
    for one, two in zip(saved._bets, kept._bets, strict=True):
        assert np.all(one.logs <= two.logs + 1e-12)
        np.testing.assert_allclose(one.logs, two.logs, atol=1e-3)
    assert (tmp_path / "state.json").stat().st_size < 100_000
    with pytest.warns(RepeatedBatchWarning):
        saved.update(*batch)


def test_damaged_states_and_those_of_other_policies_are_refused(tmp_path):
    path, policy = tmp_path / "state.json", policy_of("recall(1) >= 0.75")
    monitor = policy.monitor()
    monitor.update(*draw(np.random.default_rng(7), 100))
    monitor.save(path)
    with pytest.raises(MonitorFileError, match="another policy"):
        mf.Monitor.load(path, policy_of("recall(1) >= 0.7"))
    text = path.read_text()
    for damage in (text[:-20], text.replace("0.95", "0.99", 1), "{}", "[]"):
        path.write_text(damage)
        with pytest.raises(MonitorFileError, match="cannot load a monitor"):
            mf.Monitor.load(path, policy)
    from metricfit.policy import file as policy_file

    for change in (
        {"batches": []},
        {"bets": []},
        {"bets": [{}]},
        {"alarms": [["x"]]},
        {"level": 2},
        {"version": 9},
    ):
        document = json.loads(text)
        del document["checksum"]
        path.write_bytes(policy_file.encode(document | change))
        with pytest.raises(MonitorFileError, match="cannot load a monitor"):
            mf.Monitor.load(path, policy)


def test_bad_batches():
    monitor = policy_of("recall(1) >= 0.75").monitor()
    for given, words in [
        ((np.zeros((0, 2)), []), "no rows"),
        (([[0.2, 0.3, 0.5]], [1]), "3 columns"),
        (([[0.2, 0.8]], [7]), "7"),
        (([[0.2, 0.8]], [1, 0]), "lengths differ"),
    ]:
        with pytest.raises(ValueError, match=words):
            monitor.update(*given)
    assert monitor.batches == 0
    with pytest.raises(ValueError, match="level must be"):
        policy_of().monitor(95)
    with pytest.raises(ValueError, match="does not say what it was fitted for"):
        Policy(Axes((0, 1)), "full", [[Rule(1, ARGMAX)]]).monitor()


def test_the_objective_is_watched_where_it_is_a_rate():
    promised = {"expected_low": [0.7], "expected_high": [0.9]}
    plan = plan_of(policy_of(objective="recall(1)", direction="maximize", **promised), 0.95)
    assert [(one.name, one.least) for one in plan.rates if one.kind == "objective"] == [
        ("recall(1) >= 0.7", 0.7)
    ]
    plan = plan_of(policy_of(direction="maximize", **promised), 0.95)
    assert "g_mean()" in plan.unwatched
    assert (
        "decisions and probabilities" in plan_of(policy_of("recall(1) >= 0.5", known=False), 0.95).unwatched
    )
