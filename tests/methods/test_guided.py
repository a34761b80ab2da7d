"""Guided search on counted labels: never behind simple methods, limits kept on the labels, steady, and robust."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

import metricfit as mf
from metricfit.exceptions import OverfitWarning
from metricfit.methods import Plugin, guide
from metricfit.methods.search.room import stricter


@cache
def bent(seed, rows=600, prior=(3.0, 1.5, 0.8), bend=0.4):
    """Draw labels from probabilities, and return these bent: factors per class and a power, as no model is right."""
    random = np.random.default_rng(seed)
    true = random.dirichlet(prior, rows)
    y = (true.cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    proba = true ** random.uniform(0.6, 1.6) * np.exp(bend * random.normal(size=len(prior)))
    return proba / proba.sum(axis=1, keepdims=True), y


def floors(seed):
    """Return a precision floor for the rarest class, above its share, that rules can keep."""
    return [f"precision(2) >= {[0.35, 0.5, 0.6][seed % 3]}"]


@pytest.mark.parametrize("seed", range(6))
def test_it_is_never_behind_simple_methods_where_there_are_floors(seed):
    proba, y = bent(seed)
    found = mf.optimize(proba, y, "g_mean", floors(seed))
    assert found.method == "guided"
    assert all(record.violation <= 1e-9 for record in found.constraints)
    others = {
        "argmax": (Plugin(), 0.0),
        "balanced": (Plugin(balanced=True), 0.0),
        "grid": ("grid", 0.005),  # a direct search too, of which the room to the limits may take a little
        "local": ("local", 0.005),
    }
    for name, (method, room) in others.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OverfitWarning)
            try:
                options = {"max_calls": 1000} if name == "grid" else {}
                other = mf.optimize(
                    proba, y, "g_mean", floors(seed), method=method, random_state=0, **options
                )
            except mf.InfeasibleError:
                continue
        if all(record.violation <= 1e-9 for record in other.constraints):
            assert found.value >= other.value - room - 1e-12, name


@pytest.mark.parametrize("seed", range(3))
def test_the_limits_hold_on_the_labels_of_the_policy_as_it_is_deployed(seed):
    proba, y = bent(seed)
    limit = float(floors(seed)[0].split()[-1])
    found = mf.optimize(proba, y, "g_mean", floors(seed))
    chances = found.policy.decision_proba(proba)
    assert chances[y == 2, 2].sum() >= (limit - 1e-9) * chances[:, 2].sum()
    recalls = [chances[y == i, i].mean() for i in range(3)]
    assert found.value == pytest.approx(np.prod(recalls) ** (1 / 3), abs=1e-9)
    assert found.constraints[0].value == pytest.approx(
        chances[y == 2, 2].sum() / chances[:, 2].sum(), abs=1e-9
    )


@pytest.mark.parametrize("seed", [0, 3, 13, 34])
def test_limits_that_a_direct_search_keeps_are_kept(seed):
    """A floor for one group, a floor for all: weights of single cells are searched where nothing else keeps both."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, 150)
    proba = random.dirichlet(np.ones(3), 150) + 0.4 * np.eye(3)[y]
    proba /= proba.sum(axis=1, keepdims=True)
    group = np.where(random.random(150) < 0.5, "F", "M")
    plain = mf.Confusion.from_predictions(y, proba.argmax(axis=1), sensitive_features=group)
    floors = ((mf.precision(0).at(group="F"), 0.05), (mf.recall(0), 0.02), (mf.accuracy(), 0.0))
    limits = [metric >= min(float(metric(plain)) + more, 0.99) for metric, more in floors]
    found = mf.optimize(proba, y, "g_mean", limits, sensitive_features=group)
    shares = found.policy.decision_proba(proba, group)
    rows, decided = np.nonzero(shares)
    made = mf.Confusion.from_predictions(
        y[rows],
        decided,
        sensitive_features=group[rows],
        sample_weight=shares[rows, decided],
    )
    assert all(metric(made) >= limit.limit - 1e-9 for (metric, _), limit in zip(floors, limits, strict=True))
    assert mf.g_mean()(made) == pytest.approx(found.value)


@pytest.mark.parametrize("limits", [(), ("precision(2) >= 0.5",)], ids=["free", "floor"])
def test_it_claims_no_bound_and_says_what_the_calibrated_problem_proves(limits):
    proba, y = bent(0)
    found = mf.optimize(proba, y, "g_mean", limits)
    assert (found.status, found.bound, found.gap, found.certified) == ("searched", np.inf, np.inf, False)
    assert found.calibrated.value <= found.calibrated.bound <= found.calibrated.value + 1e-4
    again = mf.optimize(proba, y, "g_mean", limits, counting="calibrated")
    assert again.value == pytest.approx(found.calibrated.value, abs=2e-4)


@pytest.mark.parametrize("seed", range(4))
def test_a_limit_changed_in_its_last_digits_changes_nothing(seed):
    proba, y = bent(seed)
    limit = float(floors(seed)[0].split()[-1])
    values = [mf.optimize(proba, y, "g_mean", mf.precision(2) >= limit + e).value for e in (0.0, 1e-12)]
    assert abs(values[1] - values[0]) < 1e-3


@pytest.mark.parametrize("seed", [0, 4])
def test_nor_does_it_with_many_classes_that_are_hard_to_tell_apart(seed):
    """Ten grades along one line: many rules are about as good, and a search may end at any of them."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=1200)
    edges = np.quantile(rng.normal(size=4000), np.arange(1, 10) / 10)
    y = np.digitize(score + 0.7 * rng.normal(size=1200), edges)
    centres = np.quantile(rng.normal(size=4000), (np.arange(10) + 0.5) / 10)
    proba = np.exp(-((score[:, None] - centres) ** 2) / 0.8)
    proba /= proba.sum(axis=1, keepdims=True)
    floor = np.mean(y[proba.argmax(axis=1) == 3] == 3) + 0.1
    limits = [mf.precision(3) >= floor + e for e in (0.0, 1e-13, 1e-12, 1e-11)]
    assert np.ptp([mf.optimize(proba, y, "g_mean", limit).value for limit in limits]) < 1e-3


@pytest.mark.parametrize("objective", ["g_mean", "h_mean", "min_recall"])
def test_an_objective_that_is_worst_whatever_is_decided_is_worst(objective):
    """One of three classes is never decided, so its recall is 0, and so are means of all recalls."""
    proba, y = bent(0)
    found = mf.optimize(proba, y, objective, decisions=[0, 1])
    assert (found.value, found.status) == (0.0, "searched")
    assert set(found.policy.decide(proba)) <= {0, 1}


@pytest.mark.parametrize("seed", range(3))
def test_classes_in_another_order_are_the_same_problem(seed):
    proba, y = bent(seed)
    order = np.array([2, 0, 1])  # column j holds class order[j]
    # Other versions of the solvers end some 1e-9 apart where columns come in another order.
    first = mf.optimize(proba, y, "g_mean", mf.precision(2) >= 0.5)
    other = mf.optimize(proba[:, order], np.argsort(order)[y], "g_mean", mf.precision(0) >= 0.5)
    assert other.calibrated.value == pytest.approx(first.calibrated.value, abs=1e-7)
    assert other.value == pytest.approx(first.value, abs=1e-7)
    np.testing.assert_allclose(
        other.confusion.values, first.confusion.values[:, order][:, :, order], atol=1e-7
    )


def test_a_floor_that_no_policy_keeps_is_an_error():
    proba, y = bent(0)
    with pytest.raises(mf.InfeasibleError) as caught:
        mf.optimize(proba, y, "g_mean", ["precision(2) >= 0.99", "recall(2) >= 0.9"])
    assert max(caught.value.violations.values()) > 0.05


@pytest.mark.parametrize("limits", [(), ("precision(2) >= 0.5",)], ids=["free", "floor"])
@pytest.mark.parametrize("calls", [1, 2, 3, 5, 10, 30])
def test_any_budget_of_calls_is_kept_and_has_an_answer(limits, calls):
    proba, y = bent(0)
    found = mf.optimize(proba, y, "g_mean", limits, max_calls=calls)
    assert found.n_oracle_calls <= calls
    assert found.status == "max_calls" if calls < 8 else found.status in ("max_calls", "searched")
    assert found.value > 0.3
    np.testing.assert_allclose(found.policy.decision_proba(proba).sum(axis=1), 1.0)


@pytest.mark.parametrize("limits", [(), ("precision(2) >= 0.5",)], ids=["free", "floor"])
def test_no_time_at_all_still_has_an_answer(limits):
    proba, y = bent(0)
    found = mf.optimize(proba, y, "g_mean", limits, max_seconds=1e-9)
    assert found.status == "max_seconds"
    assert found.n_oracle_calls <= 5
    assert found.value > 0.3


def hostile():
    """Return rows, by name, in which something is as bad as it can be."""
    proba, y = bent(3, 200)
    random = np.random.default_rng(0)
    one = np.where(y == 2, 0, y)
    one[7] = 2
    sure = np.eye(3)[np.where(random.random(len(y)) < 0.8, y, 0)]
    group = random.integers(0, 2, len(y))
    return {
        "a class with one row": (proba, one, {}),
        "a cell without a class": (
            proba,
            np.where((group == 1) & (y == 2), 1, y),
            {"sensitive_features": group},
        ),
        "zeros and ones": (sure, y, {}),
        "all probabilities equal": (np.full_like(proba, 1 / 3), y, {}),
        "weights of 1e8": (proba, y, {"sample_weight": np.where(random.random(len(y)) < 0.5, 1e8, 1.0)}),
        "weights from 1e-8 to 1e8": (proba, y, {"sample_weight": 10.0 ** random.uniform(-8, 8, len(y))}),
    }


@pytest.mark.parametrize("limits", [(), ("precision(0) >= 0.3",)], ids=["free", "floor"])
@pytest.mark.parametrize("name", hostile())
def test_bad_rows_have_a_sensible_answer(name, limits):
    proba, y, given = hostile()[name]
    found = mf.optimize(proba, y, "g_mean", limits, **given)
    assert 0 <= found.value <= 1
    assert all(record.violation <= 1e-9 for record in found.constraints)
    plain = mf.optimize(proba, y, "g_mean", method=Plugin(), **given)
    assert found.value >= plain.value - 1e-9 or limits
    groups = {k: v for k, v in given.items() if k == "sensitive_features"}
    chances = found.policy.decision_proba(proba, **groups)
    assert np.isfinite(chances).all()
    weight = given.get("sample_weight", np.ones(len(y)))
    recalls = [np.average(chances[y == i, i], weights=weight[y == i]) for i in range(3)]
    assert found.value == pytest.approx(np.prod(recalls) ** (1 / 3), abs=1e-6)


def test_fewer_rows_than_classes_have_a_sensible_answer():
    proba = np.random.default_rng(0).dirichlet(np.ones(6), 4)
    found = mf.optimize(proba, [0, 3, 5, 3], "accuracy", "coverage(3) <= 0.5")
    assert found.constraints[0].value <= 0.5 + 1e-9
    assert 0 <= found.value <= 1


def test_small_shares_of_weight_count():
    """A class of a billionth of the weight keeps its floor by its own rows."""
    proba, y = bent(1)
    weight = np.where((y == 2) | (proba.argmax(axis=1) == 2), 1e-9, 1.0)
    found = mf.optimize(proba, y, "g_mean", "precision(2) >= 0.6", sample_weight=weight)
    chances = found.policy.decision_proba(proba)
    decided = (weight * chances[:, 2]).sum()
    assert (weight * chances[:, 2])[y == 2].sum() >= (0.6 - 1e-6) * decided


@cache
def small_groups(seed, rows):
    """Draw five groups, most of them small, whose labels a model that does not see them tells well but for a shift."""
    random = np.random.default_rng(seed)
    group = random.choice(5, rows, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    shift = 0.4 * np.random.default_rng(1).normal(size=(5, 4))
    seen = 1.5 * random.normal(size=(rows, 4)) + np.log([0.6, 0.25, 0.1, 0.05])
    true = np.exp(seen + shift[group])
    y = (true.cumsum(axis=1) > random.random((rows, 1)) * true.sum(axis=1, keepdims=True)).argmax(axis=1)
    proba = np.exp(seen)
    return proba / proba.sum(axis=1, keepdims=True), y, group


def test_limits_on_small_groups_are_kept_by_labels_and_nearly_so_on_new_rows():
    """A search of each group's own weights has the worst recall .15 below its limit on new rows, on the mean."""
    worst = mf.worst(mf.recall(3), over="group")
    new, new_y, new_group = small_groups(99, 60_000)
    reached = []
    for seed in range(4):
        proba, y, group = small_groups(seed, 4000)
        found = mf.optimize(proba, y, "accuracy", [worst >= 0.6], sensitive_features=group)
        assert found.constraints[0].violation <= 1e-9
        table = found.policy.evaluate(new, new_y, [worst], sensitive_features=new_group)
        reached.append(float(table["value"].iloc[0]))
    assert np.mean(reached) >= 0.55, reached


@pytest.mark.parametrize("options", [{}, {"to": "pairs"}, {"to": "pairs", "as_ratio": True}])
def test_a_group_without_rows_of_a_class_gives_the_class_up_under_predictive_parity(options):
    """Its precision there is 0 in any other case; the other attributes make cells that the constraint does not know."""
    random = np.random.default_rng(6)
    proba = random.dirichlet(np.ones(3), 2500)
    y = (proba.cumsum(axis=1) < random.random((2500, 1))).sum(axis=1).clip(max=2)
    region, sex = random.choice(["n", "s", "w"], 2500, p=[0.6, 0.3, 0.1]), random.choice(["F", "M"], 2500)
    lacks = region == "w"
    y[lacks & (y == 2)] = 0
    plain = np.where(lacks[:, None] & (np.arange(3) == 2), -1.0, proba).argmax(axis=1)
    parity = mf.predictive_parity("region", c=2, **options)
    by_hand = parity(mf.Confusion.from_predictions(y, plain, {"region": region}))
    limit = parity >= 0.8 if "as_ratio" in options else parity <= 0.05
    assert by_hand >= 0.8 if "as_ratio" in options else by_hand <= 0.05
    found = mf.optimize(proba, y, "accuracy", [limit], sensitive_features={"region": region, "sex": sex})
    assert found.constraints[0].violation <= 1e-9
    assert found.value >= np.mean(plain == y) - 1e-12


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_labels_do_not_mix_the_rules_of_the_guide_anew(seed):
    """The lowest recall needs a mixture of several rules: labels would find fewer that are as good by luck."""
    random = np.random.default_rng(seed)
    proba = np.array([0.5, 0.2, 0.15, 0.1, 0.05]) * np.exp(1.5 * random.normal(size=(800, 5)))
    proba /= proba.sum(axis=1, keepdims=True)
    y = (proba.cumsum(axis=1) > random.random((800, 1))).argmax(axis=1)
    found, guide = (mf.optimize(proba, y, "min_recall", counting=how) for how in ("labels", "calibrated"))
    assert found.calibrated.value == pytest.approx(guide.value, abs=1e-9)
    shares = [result.policy.decision_proba(proba) for result in (found, guide)]
    np.testing.assert_allclose(*shares, atol=1e-6)
    assert len(found.policy.rules[0]) > 3


def test_limits_are_not_moved_to_where_no_rule_can_be(monkeypatch):
    """Labels of small groups miss the limit by more than the limit itself: to move it so far would make it negative."""
    asked = []

    def moved(program, moves):
        harder = stricter(program, moves)
        asked.extend(limit.constraint.limit for limit in harder.limits)
        return harder

    monkeypatch.setattr(guide, "stricter", moved)
    solved = guide.Guide._solved
    limits = []

    def counted(self, program, factor, attempt):
        limits.extend(limit.constraint.limit for limit in program.limits)
        return solved(self, program, factor, attempt)

    monkeypatch.setattr(guide.Guide, "_solved", counted)
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.ones(3), 300)
    y = (proba.cumsum(axis=1) < random.random((300, 1))).sum(axis=1)
    found = mf.optimize(
        proba,
        y,
        "accuracy",
        mf.equalized_odds("group") <= 0.05,
        sensitive_features=random.integers(0, 6, 300),
    )
    assert found.constraints[0].violation <= 1e-9
    assert min(asked) < 0 <= min(limits)


@pytest.mark.parametrize("objective", ["g_mean", "macro_f1"])
@pytest.mark.parametrize("seed", [9, 13, 15])
def test_two_recalls_that_only_a_mixture_of_two_thresholds_keeps(seed, objective):
    """A linear program over all thresholds says which recall of class 1 can be had beside that of class 0."""
    random = np.random.default_rng(seed)
    y = (random.random(300) < 0.6).astype(int)
    score = np.clip(0.5 + 0.12 * (2 * y - 1) + 0.2 * random.normal(size=300), 0.02, 0.98)
    score, weight = np.round(score * 25) / 25, random.exponential(size=300)
    zero, one = (np.where(y == c, weight, 0.0) / weight[y == c].sum() for c in (0, 1))
    below = score < np.append(np.unique(score), 2.0)[:, None]
    known = linprog(
        -(~below @ one), A_ub=-(below @ zero)[None], b_ub=[-0.5], A_eq=np.ones((1, len(below))), b_eq=[1]
    )
    proba = np.column_stack([1 - score, score])

    def solved(floor):
        return mf.optimize(
            proba, y, objective, [mf.recall(0) >= 0.5, mf.recall(1) >= floor], sample_weight=weight
        )

    assert solved(-known.fun - 0.002).feasible
    with pytest.raises(mf.InfeasibleError):
        solved(-known.fun + 0.002)


@pytest.mark.parametrize("seed", [9, 21, 30, 38])
def test_recalls_that_only_a_mixture_of_drawn_rules_keeps(seed):
    """A linear program over many drawn weights says which recalls can be had; the probabilities mislead."""
    random = np.random.default_rng(seed)
    y = random.choice(4, 200, p=[0.4, 0.3, 0.2, 0.1])
    proba = random.dirichlet(np.ones(4), 200) + 0.4 * np.eye(4)[y]
    proba /= proba.sum(axis=1, keepdims=True)
    drawn = ((proba * weights).argmax(axis=1) for weights in np.exp(0.8 * random.normal(size=(2000, 4))))
    recalls = np.array([[np.mean(made[y == c] == c) for c in range(4)] for made in drawn])
    mixed = linprog(
        -recalls @ random.dirichlet(np.ones(4)),
        A_ub=-recalls[:, :2].T,
        b_ub=-recalls[:, :2].mean(axis=0),
        A_eq=np.ones((1, len(recalls))),
        b_eq=[1],
    )
    limits = [mf.recall(c) >= level - 0.004 for c, level in enumerate(mixed.x @ recalls)]
    assert mf.optimize(proba, y, "g_mean", limits).feasible
