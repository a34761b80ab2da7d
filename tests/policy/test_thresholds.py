"""Thresholds of two classes: they decide as the policy does, to the last bit; and what a policy decides, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metricfit as mf
from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.policy import Policy, Rule
from metricfit.policy.row_hash import cell_keys, salt_of, uniform
from metricfit.policy.wording import in_words

TWO = Axes(("no", "yes"))
SEXES = Axes(("no", "yes"), cells=Cells(("sex",), (("F",), ("M",))))
CALIBRATIONS = {
    "none": None,
    "bias": Calibration("bias", [[0, 0.7]]),
    "temperature": Calibration("temperature", [[0, 0]], steepness=[0.5]),
    "dirichlet": Calibration("dirichlet", [[0.1, -0.2]], matrix=[[1.1, -0.1], [-0.3, 0.9]]),
    "isotonic": Calibration(
        "isotonic",
        [[0.0, 0.0]],
        curves=[(np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.3, 0.8]))]
        * 2,  # a flat piece: many rows are equal
    ),
}


def rows(seed: int) -> np.ndarray:
    """Return 100,000 rows: continuous, of few values, extreme, and many with exactly the same probability."""
    rng = np.random.default_rng(seed)
    p = np.concatenate(
        [
            rng.random(40_000),
            rng.integers(0, 1001, 40_000) / 1000,
            rng.random(10_000) ** 30,
            np.full(10_000, 0.3),
        ]
    )
    return np.stack([1 - p, p], axis=1)


def rule(ratio: float, weight: float = 1.0) -> Rule:
    """Return the rule that says yes where p(yes) is at least 1 / (1 + ratio)."""
    return Rule(weight, [[0.0, 1.0], [ratio, 0.0]])


@pytest.mark.parametrize("family", CALIBRATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_threshold_decides_as_its_rule_does_ties_included(family, seed):
    proba, rng = rows(seed), np.random.default_rng(seed)
    # A ratio that puts the threshold on a probability which 10,000 rows have.
    on_a_row = 0.7 / 0.3 if family == "none" else float(np.exp(rng.normal()))
    calibration = CALIBRATIONS[family]
    policy = Policy(TWO, "full", [[rule(on_a_row)]], calibration=calibration)
    (told,) = policy.thresholds().itertuples()
    made = policy.decide(proba)
    np.testing.assert_array_equal(made == "yes", proba[:, 1] >= told.threshold)
    assert 0.05 < (made == "yes").mean() < 0.95
    q = proba if calibration is None else calibration(proba)
    np.testing.assert_array_equal(made == "yes", q[:, 1] >= told.calibrated)
    if calibration is None:
        assert told.calibrated == told.threshold == pytest.approx(0.3, abs=1e-15)


def test_mixtures_have_a_threshold_for_each_share_and_cell():
    mixtures = [[rule(1.0, 0.25), rule(3.0, 0.75), Rule(0.0, rule(2.0).loss)], [rule(0.25)]]
    policy = Policy(SEXES, "full", mixtures, single=(2, 0))
    frame = policy.thresholds()
    assert frame.index.tolist() == ["F", "F", "M"]
    assert frame.index.name == "sex"
    assert frame["decision"].tolist() == ["yes"] * 3
    assert frame["share"].tolist() == [0.25, 0.75, 1.0]
    assert frame["threshold"].tolist() == pytest.approx([0.5, 0.25, 0.8], abs=1e-12)
    alone = policy.thresholds("never")
    assert alone["threshold"].tolist() == pytest.approx([1 / 3, 0.8], abs=1e-12)
    assert alone["share"].tolist() == [1.0, 1.0]
    proba = rows(1)
    sex = np.where(np.arange(len(proba)) % 2, "M", "F")
    single = alone["threshold"].loc[sex].to_numpy()
    np.testing.assert_array_equal(policy.decide(proba, sex, "never") == "yes", proba[:, 1] >= single)
    # By hash: the row's number says which of the two thresholds of its cell is its own.
    cell = (sex == "M").astype(int)
    number = uniform(proba, cell, cell_keys(SEXES.cells.values), salt_of(None))
    first, second, other = frame["threshold"]
    own = np.where(cell == 1, other, np.where(number < 0.25, first, second))
    np.testing.assert_array_equal(policy.decide(proba, sex) == "yes", proba[:, 1] >= own)


def test_fitted_policies_are_reproduced_by_their_thresholds():
    data = mf.datasets.make_fraud_triage(n_rows=6000, random_state=0)
    y = np.where(data.y == "legit", "legit", "act")
    p = data.proba[:, data.classes.index("legit")] ** 1.3
    proba = np.stack([1 - p, p], axis=1)
    limits = [mf.precision("act") >= 0.6, mf.demographic_parity(over="region") <= 0.03]
    for counting in ("calibrated", "labels"):
        result = mf.optimize(
            proba, y, mf.recall("act"), limits, sensitive_features=data.X[["region"]], counting=counting
        )
        single = result.policy.thresholds("never")["threshold"].loc[data.X["region"].astype(str)]
        made = result.policy.decide(proba, data.X[["region"]], "never")
        np.testing.assert_array_equal(made == "legit", p >= single.to_numpy())
        known = result.policy.thresholds()
        assert known["share"].groupby(level=0).sum().tolist() == pytest.approx([1.0] * 4)
        assert "legit if its probability is at least" in repr(result)


def test_always_and_never():
    always, never = Rule(1, [[1.0, 0.0], [1.0, 0.0]]), Rule(1, [[0.0, 1.0], [0.0, 1.0]])
    policy = Policy(SEXES, "full", [[always], [never]])
    assert policy.thresholds()["threshold"].tolist() == [0.0, np.inf]
    assert policy.thresholds()["decision"].tolist() == ["yes", "yes"]
    assert in_words(policy) == ["sex F: always yes", "sex M: never yes"]


def test_a_rule_that_runs_the_other_way_names_the_decision_above_its_threshold():
    policy = Policy(TWO, "full", [[Rule(1, [[1.0, 0.0], [0.0, 1.0]])]])
    (told,) = policy.thresholds().itertuples()
    made = policy.decide(rows(0))
    assert told.decision == "no"
    np.testing.assert_array_equal(made == "no", rows(0)[:, 1] >= told.threshold)
    assert in_words(policy) == ["no from 0.5"]


def test_a_third_decision_has_a_threshold_of_its_own():
    axes = Axes(("ok", "fraud"), ("ok", "fraud", "review"))
    policy = Policy(axes, "full", [[Rule(1, [[0.0, 1.0, 0.3], [5.0, 0.0, 0.3]])]])
    frame = policy.thresholds()
    assert frame["decision"].tolist() == ["review", "fraud"]
    first, second = frame["threshold"]
    assert (first, second) == pytest.approx((0.06, 0.7), abs=1e-12)
    proba = rows(2)
    told = np.where(proba[:, 1] >= second, "fraud", np.where(proba[:, 1] >= first, "review", "ok"))
    np.testing.assert_array_equal(policy.decide(proba), told)
    assert in_words(policy) == ["review from 0.06, fraud from 0.7"]


def test_rows_of_unknown_values_come_last():
    policy = Policy(SEXES, "full", [[rule(1.0)], [rule(3.0)]], overall=Policy(TWO, "full", [[rule(4.0)]]))
    frame = policy.thresholds()
    assert frame.index.tolist() == ["F", "M", "any other"]
    assert frame["threshold"].tolist() == pytest.approx([0.5, 0.25, 0.2])
    assert in_words(policy)[-1] == "sex any other: yes if its probability is at least 0.2"


def test_two_attributes_make_an_index_of_two_levels():
    cells = Cells(("sex", "share"), (("F", 1), ("M", 2)))  # an attribute may have the name of a column
    frame = Policy(Axes((0, 1), cells=cells), "full", [[rule(1.0)], [rule(3.0)]]).thresholds()
    assert isinstance(frame.index, pd.MultiIndex)
    assert frame.loc[("M", 2), "threshold"] == pytest.approx(0.25)


def test_more_classes_are_told_by_weights_and_offsets():
    axes = Axes(("a", "b", "c"))
    policy = Policy(
        axes, "diagonal", [[Rule(0.5, [[-1, -2, -4], [0, 0, 0]]), Rule(0.5, [[-2, -2, -2], [0, -0.5, 0]])]]
    )
    assert in_words(policy) == [
        "the largest of 1 p(a), 2 p(b), 4 p(c) for 50 % of the rows; "
        "or the largest of 1 p(a) - 0.25, 1 p(b), 1 p(c) - 0.25 for 50 % of the rows"
    ]
    calibration = Calibration("bias", [[0, 0.5, 1.0]])
    known = Policy(axes, "diagonal", [[Rule(1, [[-1, -2, -4], [0, 0, 0]])]], calibration=calibration)
    assert in_words(known) == ["the largest of 1 p(a), 2 p(b), 4 p(c) (calibrated)"]
    # The words decide as the policy does.
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 1000)
    alone = Policy(axes, "diagonal", [[Rule(1, policy.rules[0][1].loss)]])
    scores = proba - [0.25, 0, 0.25]
    np.testing.assert_array_equal(alone.decide(proba), np.array(axes.classes)[scores.argmax(axis=1)])
    with pytest.raises(
        ValueError, match=r"thresholds are for two classes; this policy decides by 3 probabilities"
    ):
        policy.thresholds()
    with pytest.raises(ValueError, match="randomize"):
        Policy(TWO, "full", [[rule(1.0)]]).thresholds("nevr")


def test_hostile_labels_cannot_leave_a_line():
    axes = Axes(("no", "x\n); DROP TABLE scores; --"))
    policy = Policy(
        axes, "full", [[rule(1.0)]], provenance={"objective": "a\nb", "constraints": [], "reached": [0.5]}
    )
    source = policy.to_python()
    assert "\nb" not in source.split('"""')[2].split("from math")[0]
    assert all(line.isprintable() for line in policy.deterministic.about)


def test_many_groups_are_listed_briefly():
    cells = Cells(("g",), tuple((i,) for i in range(40)))
    policy = Policy(Axes((0, 1), cells=cells), "full", [[rule(1.0 + i // 2)] for i in range(40)])
    lines = in_words(policy)
    assert lines[0] == "g 0; 1: 1 if its probability is at least 0.5"
    assert len(lines) == 7
    assert lines[-1] == "and 14 more rules for other groups"
