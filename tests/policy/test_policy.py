"""Policies: known decisions, mixtures that keep their shares, and rules that keep their rows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from metricfit.calibration import Calibration
from metricfit.data.axes import Axes
from metricfit.data.cells import Cells
from metricfit.data.rows import Rows
from metricfit.policy import Policy, Rule

ZERO_ONE = [[0, 1], [1, 0]]
REVIEW = [[0, 1, 0.25], [5, 0, 0.25]]  # asymmetric, so that a transposed loss decides otherwise
TRIAGE = Axes(("ok", "fraud"), ("ok", "fraud", "review"))
SEXES = Cells(("sex",), (("F",), ("M",)))
ALWAYS_A, ALWAYS_B = [[0, 1], [0, 1]], [[1, 0], [1, 0]]


def mixture(weights, axes=None):
    """Rules that always take one decision, so that shares of decisions are the weights."""
    axes = axes or Axes(tuple(range(len(weights))))
    losses = 1.0 - np.eye(axes.k)[: len(weights)]
    return Policy(
        axes, "full", [[Rule(w, np.tile(loss, (axes.n, 1))) for w, loss in zip(weights, losses, strict=True)]]
    )


def rows_of(n_rows, n, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n), size=n_rows)


def test_more_decisions_than_classes():
    policy = Policy(TRIAGE, "full", [[Rule(1, REVIEW)]])
    proba = [[0.99, 0.01], [0.5, 0.5], [0.1, 0.9], [0.25, 0.75]]
    # Costs: ok 5 q, fraud p, review 0.25; in the last row fraud and review tie and the larger index wins.
    assert policy.decide(proba).tolist() == ["ok", "review", "fraud", "review"]
    expected = [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
    np.testing.assert_array_equal(policy.decision_proba(proba), expected)


def test_fewer_decisions_than_classes():
    policy = Policy(Axes((0, 1, 2), ("stop", "go")), "full", [[Rule(1, [[0, 1], [0, 1], [3, 0]])]])
    assert policy.decide([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]).tolist() == ["stop", "go"]


def test_diagonal_layout():
    # score_j = loss[0, j] * p of the class that j names + loss[1, j]; "review" names none, so its 77 is idle.
    loss = [[-1, -2, 77], [0.5, 0.8, -0.05]]
    policy = Policy(TRIAGE, "diagonal", [[Rule(1, loss)]])
    # (0.9, 0.1): -0.4, 0.6, -0.05   (0.5, 0.5): 0, -0.2, -0.05   (0.5625, 0.4375): -0.0625, -0.075, -0.05
    assert policy.decide([[0.9, 0.1], [0.5, 0.5], [0.5625, 0.4375]]).tolist() == ["ok", "fraud", "fraud"]
    assert policy.decide([[0.55, 0.45], [0.6, 0.4]]).tolist() == ["fraud", "ok"]


@pytest.mark.parametrize("layout", ["full", "diagonal"])
def test_ties_go_to_the_larger_index(layout):
    policy = Policy(Axes(("a", "b", "c")), layout, [[Rule(1, np.zeros((3 if layout == "full" else 2, 3)))]])
    for randomize in ("hash", "draw", "never"):
        assert set(policy.decide(rows_of(20, 3), randomize=randomize)) == {"c"}


def test_cells_decide_alone():
    axes = Axes(("a", "b"), cells=SEXES)
    policy = Policy(axes, "full", [[Rule(1, ALWAYS_A)], [Rule(0.25, ALWAYS_A), Rule(0.75, ALWAYS_B)]])
    proba, sex = rows_of(4, 2), ["M", "F", "F", "M"]
    np.testing.assert_array_equal(
        policy.decision_proba(proba, sex), [[0.25, 0.75], [1, 0], [1, 0], [0.25, 0.75]]
    )
    assert policy.single == (0, 1)
    assert policy.decide(proba, sex, randomize="never").tolist() == ["b", "a", "a", "b"]
    assert policy.decide(proba, pd.DataFrame({"sex": sex, "x": 1}), randomize="never").tolist() == [
        "b",
        "a",
        "a",
        "b",
    ]
    assert set(policy.decide(proba, ["F"] * 4)) == {"a"}
    assert (policy.n_rules, repr(policy)) == (
        3,
        "Policy(2 classes, 2 decisions, 2 cells, 3 rules, layout='full')",
    )


def test_a_rule_without_weight_only_decides_alone():
    policy = Policy(
        Axes(("a", "b")), "full", [[Rule(0, ALWAYS_B), Rule(1, ALWAYS_A), Rule(0, ALWAYS_B)]], [2]
    )
    proba = rows_of(3000, 2)
    np.testing.assert_array_equal(policy.decision_proba(proba), np.tile([1, 0], (3000, 1)))
    assert set(policy.decide(proba)) == set(policy.decide(proba, randomize="draw", random_state=0)) == {"a"}
    assert set(policy.decide(proba, randomize="never")) == {"b"}


@pytest.mark.parametrize("randomize", ["hash", "draw"])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.0, 0.3, 0.5), (1.0, 0.0)])
def test_frequencies_match_the_mixture(randomize, weights):
    policy, size = mixture(weights), 20_000
    made = policy.decide(rows_of(size, len(weights)), randomize=randomize, random_state=3)
    expected = np.array(weights)
    bound = 4 * np.sqrt(expected * (1 - expected) / size)
    assert np.all(np.abs(np.bincount(made, minlength=len(weights)) / size - expected) <= bound)


def test_frequencies_match_decision_proba_of_real_rules():
    rng = np.random.default_rng(5)
    axes = Axes(range(3), (0, 1, 2, "wait"), Cells(("g",), ((0,), (1,), (2,))))
    shares = [[1.0], [0.3, 0.7], [0.2, 0.5, 0.3]]
    policy = Policy(axes, "full", [[Rule(share, rng.random((3, 4))) for share in cell] for cell in shares])
    proba, group = rows_of(30_000, 3), rng.integers(0, 3, 30_000)
    chances = policy.decision_proba(proba, group)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    made = policy.decide(proba, group)
    taken = np.array([[label == decision for decision in axes.decisions] for label in made])
    bound = 4 * np.sqrt((chances * (1 - chances)).sum(axis=0)) + 1e-9
    assert np.all(np.abs((taken - chances).sum(axis=0)) <= bound)
    assert np.all(chances[taken] > 0)


def test_decision_proba_is_the_weighted_sum_of_its_rules():
    rng = np.random.default_rng(6)
    losses = rng.random((3, 4, 4))
    weights = np.array([0.2, 0.3, 0.5])
    axes, proba = Axes(range(4)), rows_of(500, 4)
    whole = Policy(axes, "full", [[Rule(w, loss) for w, loss in zip(weights, losses, strict=True)]])
    parts = [Policy(axes, "full", [[Rule(1, loss)]]).decide(proba) for loss in losses]
    expected = sum(weight * np.eye(4)[part] for weight, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(whole.decision_proba(proba), expected, atol=1e-12)
    by_hand = (proba @ losses[1]).argmin(axis=1)
    np.testing.assert_array_equal(parts[1], by_hand)


def test_hash_ignores_order_batch_and_precision():
    policy = mixture((0.3, 0.3, 0.4))
    proba = rows_of(2000, 3).astype(np.float32)
    made = policy.decide(proba)
    order = np.random.default_rng(1).permutation(2000)
    np.testing.assert_array_equal(policy.decide(proba[order]), made[order])
    np.testing.assert_array_equal(
        np.concatenate([policy.decide(proba[i : i + 7]) for i in range(0, 2000, 7)]), made
    )
    np.testing.assert_array_equal(policy.decide(proba.astype(np.float64)), made)
    np.testing.assert_array_equal(policy.decide(np.asfortranarray(proba)), made)
    assert (policy.decide(proba, random_state=1) != made).mean() > 0.5
    np.testing.assert_array_equal(policy.decide(proba, random_state=0), made)


def test_hash_follows_a_cells_values_not_its_number():
    axes = [
        Axes((0, 1), cells=Cells(("g",), values)) for values in [(("F",), ("M",)), (("M",), ("F",), ("X",))]
    ]
    rules = [Rule(0.5, ALWAYS_A), Rule(0.5, ALWAYS_B)]
    proba, group = rows_of(500, 2), np.array(["F", "M"] * 250)
    one, other = (Policy(a, "full", [rules] * len(a.cells)).decide(proba, group) for a in axes)
    np.testing.assert_array_equal(one, other)
    assert (Policy(axes[0], "full", [rules] * 2).decide(proba, group[::-1]) != one).mean() > 0.3


def test_draw_follows_its_seed():
    policy, proba = mixture((0.5, 0.5)), rows_of(200, 2)
    first = policy.decide(proba, randomize="draw", random_state=1)
    np.testing.assert_array_equal(policy.decide(proba, randomize="draw", random_state=1), first)
    np.testing.assert_array_equal(
        policy.decide(proba, randomize="draw", random_state=np.random.default_rng(1)), first
    )
    assert (policy.decide(proba, randomize="draw", random_state=2) != first).any()


@pytest.mark.parametrize(
    ("decisions", "kind"),
    [
        (("a", "b"), "U"),
        ((0, 1), "i"),
        ((0.5, 1.5), "f"),
        ((False, True), "b"),
        ((0, "b"), "O"),
        ((0, 1.5), "O"),
    ],
)
def test_labels_keep_their_types(decisions, kind):
    policy = Policy(Axes((0, 1), decisions), "full", [[Rule(1, ZERO_ONE)]])
    made = policy.decide([[0.9, 0.1], [0.1, 0.9]])
    assert made.dtype.kind == kind
    assert [repr(value) for value in made.tolist()] == [repr(value) for value in decisions]


def test_no_rows_give_no_decisions():
    policy = mixture((0.5, 0.5))
    assert policy.decide(np.empty((0, 2))).shape == (0,)
    assert policy.decision_proba(np.empty((0, 2))).shape == (0, 2)


def test_what_is_handed_in_stays_untouched():
    loss, weights = np.array(ZERO_ONE, dtype=float), np.ones(2)
    policy = Policy(Axes((0, 1)), "full", [[Rule(0.5, loss), Rule(0.5, ALWAYS_A)]])
    loss[:] = weights
    assert policy.rules[0][0].loss.tolist() == ZERO_ONE
    assert loss.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        policy.rules[0][0].loss[0, 0] = 1
    proba = rows_of(50, 2)
    before = proba.copy()
    policy.decide(proba)
    policy.decision_proba(proba)
    np.testing.assert_array_equal(proba, before)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            {"proba": [[0.5, 0.5]], "randomize": "hsh"},
            "unknown randomize 'hsh'; did you mean 'hash'.*'draw', 'never'",
        ),
        ({"proba": [[0.5, 0.5]], "random_state": "x"}, "random_state must be an integer or None"),
        ({"proba": [[0.5, 0.5]], "randomize": "draw", "random_state": "x"}, "a generator or None .* got 'x'"),
        ({"proba": [[0.5, 0.5]], "randomize": "draw", "random_state": -1}, "whole number >= 0, .* got -1"),
        ({"proba": [[0.2, 0.3, 0.5]]}, "3 columns but there are 2 classes"),
        ({"proba": [[np.nan, 0.5]]}, "NaN"),
        ({"proba": [[2.0, 2.0]]}, r"proba / proba\.sum"),
        ({"proba": [[0.5, 0.5]], "sensitive_features": ["X"]}, "values not seen in fit.*sex='X'"),
        ({"proba": [[0.5, 0.5]], "sensitive_features": None}, "sensitive_features is needed"),
        ({"proba": [[0.5, 0.5]], "sensitive_features": ["F", "M"]}, "the data has 1 row,"),
    ],
)
def test_bad_calls(call, words):
    policy = Policy(Axes((0, 1), cells=SEXES), "full", [[Rule(1, ZERO_ONE)]] * 2)
    with pytest.raises(ValueError, match=words):
        policy.decide(**{"sensitive_features": ["F"], **call})


@pytest.mark.parametrize(
    ("layout", "rules", "single", "words"),
    [
        ("diag", [[Rule(1, ZERO_ONE)]], (), "unknown layout 'diag'.*'diagonal', 'full'"),
        ("full", [], (), "one entry per cell"),
        ("full", [[]], (), "sum to 1"),
        ("full", [[Rule(0.5, ZERO_ONE)]], (), "sum to 0.5"),
        ("full", [[Rule(-0.5, ZERO_ONE), Rule(1.5, ZERO_ONE)]], (), "at least 0"),
        ("full", [[Rule(np.nan, ZERO_ONE)]], (), "sum to nan"),
        ("full", [[Rule(1, [[0, np.inf], [1, 0]])]], (), "finite"),
        ("full", [[Rule(1, [[0, 1, 2], [1, 0, 2]])]], (), r"shape \(2, 2\); got one of shape \(2, 3\)"),
        ("full", [[Rule(1, ZERO_ONE)]], (1,), "single must name a rule"),
        ("full", [[Rule(1, ZERO_ONE)]], (-1,), "single must name a rule"),
        ("full", [[Rule(1, ZERO_ONE)]], (0, 0), "single must have one entry per cell"),
    ],
)
def test_bad_policies(layout, rules, single, words):
    with pytest.raises(ValueError, match=words):
        Policy(Axes((0, 1)), layout, rules, single)


def test_weights_are_renormalised_once():
    policy = Policy(Axes((0, 1)), "full", [[Rule(0.5 + 4e-10, ZERO_ONE), Rule(0.5, ALWAYS_A)]])
    weights = [rule.weight for rule in policy.rules[0]]
    assert sum(weights) == pytest.approx(1, abs=1e-15)
    again = Policy(policy.axes, "full", policy.rules)
    assert [rule.weight for rule in again.rules[0]] == weights


def test_equality_pickle_and_copies():
    policy = Policy(TRIAGE, "full", [[Rule(0.4, REVIEW), Rule(0.6, np.array(REVIEW) * 2)]])
    policy.decide([[0.5, 0.5]])
    for same in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy), copy.copy(policy)):
        assert same == policy
        assert hash(same) == hash(policy)
        assert not same.rules[0][0].loss.flags.writeable
        assert same.decide([[0.5, 0.5]]) == policy.decide([[0.5, 0.5]])
    others = [
        Policy(TRIAGE, "full", [[Rule(0.5, REVIEW), Rule(0.5, np.array(REVIEW) * 2)]]),
        Policy(TRIAGE, "full", [[Rule(0.4, REVIEW), Rule(0.6, np.array(REVIEW) * 3)]]),
        Policy(TRIAGE, "full", policy.rules, [0]),
        Policy(TRIAGE, "diagonal", [[Rule(0.4, REVIEW), Rule(0.6, np.array(REVIEW) * 2)]]),
        Policy(Axes(TRIAGE.decisions[:2], (1, 2, 3)), "full", policy.rules),
        None,
    ]
    assert all(policy != other for other in others)


def test_rules_for_another_problem():
    loss = np.array([[-1.0, -2.0, 0.0], [0.5, 0.75, -0.25]])
    other = 2 * loss
    small = Policy(TRIAGE, "diagonal", [[Rule(0.5, loss), Rule(0.5, other)]])
    by_sex = Axes(TRIAGE.classes, TRIAGE.decisions, SEXES)
    made = small.losses_for(by_sex, "diagonal")
    np.testing.assert_array_equal(made, [[loss, loss], [other, other]])
    full = small.losses_for(by_sex, "full")
    np.testing.assert_array_equal(full[0][1], [[-0.5, 0.75, -0.25], [0.5, -1.25, -0.25]])
    back = Policy(TRIAGE, "full", [[Rule(1, full[0][0])]]).losses_for(TRIAGE, "diagonal")
    np.testing.assert_allclose(back, [[loss]])


def test_rules_for_other_cells():
    policy = Policy(
        Axes((0, 1), cells=SEXES), "full", [[Rule(1, ALWAYS_A)], [Rule(0.5, ALWAYS_B), Rule(0.5, ZERO_ONE)]]
    )
    other = Axes((0, 1), cells=Cells(("sex",), (("M",), ("X",), ("F",))))
    expected = [[ALWAYS_B, ALWAYS_A, ALWAYS_A], [ZERO_ONE, ALWAYS_A, ALWAYS_A]]
    np.testing.assert_array_equal(policy.losses_for(other, "full"), expected)


def test_rules_that_the_layout_cannot_say_are_left_out():
    axes = Axes((0, 1, 2))
    ordinal = np.abs(np.subtract.outer(range(3), range(3)))
    policy = Policy(axes, "full", [[Rule(0.5, ordinal), Rule(0.5, 1 - np.eye(3))]])
    np.testing.assert_array_equal(policy.losses_for(axes, "diagonal"), [[[[-1, -1, -1], [1, 1, 1]]]])


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (Axes((0, 2), cells=SEXES), "same classes"),
        (Axes((0, 1), (1, 0), SEXES), "decisions"),
        (Axes((0, 1)), "attributes"),
    ],
)
def test_rules_for_a_problem_of_other_names(axes, words):
    policy = Policy(Axes((0, 1), cells=SEXES), "full", [[Rule(1, ZERO_ONE)]] * 2)
    with pytest.raises(ValueError, match=words):
        policy.losses_for(axes, "full")


def test_a_calibration_comes_before_the_rules():
    axes = Axes((0, 1), cells=Cells(("g",), (("a",), ("b",))))
    zero_one = [[Rule(1, [[0, 1], [1, 0]])]] * 2
    calibration = Calibration("bias", [[0.0, 0.0], [0.0, np.log(4)]])
    policy = Policy(axes, "full", zero_one, calibration=calibration)
    proba, groups = np.array([[0.7, 0.3], [0.7, 0.3]]), ["a", "b"]
    assert policy.decide(proba, groups).tolist() == [0, 1]
    assert policy.decision_proba(proba, groups).tolist() == [[1, 0], [0, 1]]
    plain = Policy(axes, "full", zero_one)
    random = np.random.default_rng(0)
    rows, of = random.dirichlet([1, 1], 500), random.integers(0, 2, 500)
    cells = np.array(["a", "b"])[of]
    made = calibration(rows, of)
    assert policy.decide(rows, cells).tolist() == plain.decide(made, cells).tolist()
    np.testing.assert_array_equal(policy.decision_proba(rows, cells), plain.decision_proba(made, cells))
    assert repr(policy).endswith("calibration='bias')")
    assert policy != plain
    for again in (pickle.loads(pickle.dumps(policy)), copy.copy(policy), copy.deepcopy(policy)):
        assert again == policy
        assert again.decide(rows, cells).tolist() == policy.decide(rows, cells).tolist()


def test_the_hash_is_of_the_models_own_probabilities():
    halves = [[Rule(0.5, [[0, 1], [0, 1]]), Rule(0.5, [[1, 0], [1, 0]])]]
    plain = Policy(Axes((0, 1)), "full", halves)
    calibrated = Policy(Axes((0, 1)), "full", halves, calibration=Calibration("bias", [[0, 1]]))
    rows = np.random.default_rng(0).dirichlet([1, 1], 300)
    assert plain.decide(rows).tolist() == calibrated.decide(rows).tolist()


def test_an_identity_is_no_calibration():
    policy = Policy(Axes((0, 1)), "full", [[Rule(1, np.eye(2))]], calibration=Calibration.identity(2))
    assert policy.calibration is None
    assert policy == Policy(Axes((0, 1)), "full", [[Rule(1, np.eye(2))]])


def test_provenance_is_kept_and_checked():
    rules = [[Rule(1, np.eye(2))]]
    told = {"objective": "g_mean()"}
    policy = Policy(Axes((0, 1)), "full", rules, provenance=told)
    assert policy.provenance == told
    assert policy.provenance is not told
    assert pickle.loads(pickle.dumps(policy)).provenance == told
    assert Policy(Axes((0, 1)), "full", rules).provenance == {}
    with pytest.raises(ValueError, match="provenance 'model' must be"):
        Policy(Axes((0, 1)), "full", rules, provenance={"model": object()})


@pytest.mark.parametrize(
    ("calibration", "words"),
    [
        (Calibration("bias", [[0, 1, 2]]), "calibration has 3 classes, the policy 2"),
        (Calibration("bias", [[0, 1], [1, 0]]), "calibration has 2 cells, the policy 1"),
    ],
)
def test_calibrations_that_do_not_fit(calibration, words):
    with pytest.raises(ValueError, match=words):
        Policy(Axes((0, 1)), "full", [[Rule(1, np.eye(2))]], calibration=calibration)


@pytest.mark.parametrize("own", [True, False])
def test_checked_rows_are_decided_alike_whether_or_not_their_cells_are_looked_up(own):
    rng = np.random.default_rng(4)
    proba, sex = rng.dirichlet([1, 1], 50), rng.choice(["F", "M"], 50)
    rows = Rows.of(proba, rng.integers(0, 2, 50), sensitive_features={"sex": sex})
    axes = rows.axes if own else Axes((0, 1), cells=Cells(("sex",), (("M",), ("F",))))
    losses = np.array([[[0, 1], [3, 0]], [[0, 2], [1, 0]], [[0, 1], [1, 0]]])
    mixtures = [[Rule(0.3, losses[0]), Rule(0.7, losses[1])], [Rule(1, losses[2])]]
    policy = Policy(axes, "full", mixtures if own else mixtures[::-1])
    np.testing.assert_array_equal(policy.chances(rows), policy.decision_proba(proba, {"sex": sex}))
    bold, even = (proba[:, 1] * cost > proba[:, 0] for cost in (3, 1))
    told = np.where(sex == "F", 0.3 * bold + 0.7 * (proba[:, 1] > 2 * proba[:, 0]), even)
    np.testing.assert_allclose(policy.chances(rows)[:, 1], told)
