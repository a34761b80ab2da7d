"""Pictures show the numbers of the result, in either style, wherever they are drawn."""

import pickle
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import metricfit as mf
from metricfit.intervals.estimate import wilson
from metricfit.report import (
    AchievableDisplay,
    ConfusionDisplay,
    ConvergenceDisplay,
    FrontierDisplay,
    GroupsDisplay,
    RegionsDisplay,
    ReliabilityDisplay,
    WeightsDisplay,
)
from metricfit.report.pictures.style import plain
from metricfit.report.pictures.weights import scores
from metricfit.report.rates import bins, rate


@pytest.fixture(scope="module")
def three():
    random = np.random.default_rng(0)
    proba = random.dirichlet([2, 1, 0.6], 800)
    y = (random.random(800)[:, None] > proba.cumsum(axis=1)).sum(axis=1)
    return mf.optimize(proba, y, "g_mean", [mf.precision(2) >= 0.6], counting="model")


def displays(result, three):
    return {
        "confusion": ConfusionDisplay.from_result(result),
        "convergence": ConvergenceDisplay.from_result(result),
        "frontier": FrontierDisplay.from_result(result, 0, [0.5, 0.7, 0.85]),
        "groups": GroupsDisplay.from_result(result),
        "reliability": ReliabilityDisplay.from_result(result),
        "weights": WeightsDisplay.from_result(result),
        "regions": RegionsDisplay.from_result(three),
        "achievable": AchievableDisplay.from_result(result, mf.recall("legit"), "recall('fraud')", 12),
    }


NAMES = ["confusion", "convergence", "frontier", "groups", "reliability", "weights", "regions", "achievable"]


@pytest.mark.parametrize("style", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_every_picture_draws_in_both_styles_and_on_given_axes(result, three, name, style, tmp_path):
    before = dict(plt.rcParams)
    display = displays(result, three)[name]
    assert display.plot(style=style) is display
    display.figure_.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    figure, axes = plt.subplots(1, display.panels, squeeze=False)
    again = displays(result, three)[name].plot(ax=axes[0] if display.panels > 1 else axes[0, 0])
    assert again.figure_ is figure
    assert np.atleast_1d(again.ax_)[0] is axes[0, 0]
    assert dict(plt.rcParams) == before  # the reader's settings stay
    assert len(display.describe()) > 20


def test_unknown_styles_and_too_few_axes_are_refused(result):
    display = ConfusionDisplay.from_result(result)
    with pytest.raises(ValueError, match="unknown style 'drak'; did you mean 'dark'"):
        display.plot(style="drak")
    with pytest.raises(ValueError, match="ax must be 2 axes"):
        display.plot(ax=plt.subplots()[1])


def test_confusion_shows_the_results_shares_and_argmax(data, result):
    display = ConfusionDisplay.from_result(result).plot()
    expected = result.confusion.matrix / result.confusion.matrix.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(display.shares(display.after), expected)
    made = np.argmax(data.proba, axis=1)
    soft = np.array([data.proba[made == j].sum(axis=0) for j in range(4)]).T / len(made)
    np.testing.assert_allclose(display.before.matrix, soft, atol=1e-9)
    texts = [text.get_text() for text in display.ax_[1].texts]
    assert texts[5] == f"{expected[1, 1]:.0%}"  # fraud decided fraud
    assert (
        f"fraud: {display.shares(display.before)[1, 1]:.1%} before, {expected[1, 1]:.1%} after"
        in display.describe()
    )


def test_confusion_of_a_policy_counts_labels(data, result):
    display = ConfusionDisplay.from_policy(
        result.policy, data.proba, data.y, sensitive_features=data.X[["region"]]
    )
    chances = result.policy.decision_proba(data.proba, data.X[["region"]])
    counts = np.array([chances[data.y == c].sum(axis=0) for c in data.classes]) / len(data.y)
    np.testing.assert_allclose(display.after.matrix, counts, atol=1e-12)


def test_pictures_of_an_estimator(data):
    X = data.X.drop(columns=["region", "channel"]).assign(region=data.X["region"].cat.codes)
    model = GaussianNB()
    clf = mf.MetricClassifier(model, "g_mean", attributes=["region"], cv=2).fit(X, data.y)
    display = ConfusionDisplay.from_estimator(clf, X, data.y)
    assert display.after.matrix.sum() == pytest.approx(1)
    groups = GroupsDisplay.from_estimator(clf, X, data.y, sensitive_features=X[["region"]], decision="fraud")
    assert groups.groups == (0, 1, 2, 3)
    assert ConvergenceDisplay.from_estimator(clf).values[-1] == clf.result_.history[-1].value
    assert len(WeightsDisplay.from_estimator(clf).rules) <= clf.policy_.n_rules


def test_convergence_shows_the_history(result):
    display = ConvergenceDisplay.from_result(result).plot()
    assert display.values[-1] == pytest.approx(result.value)
    assert display.bounds[-1] == result.bound
    assert f"{result.value:.4f}" in display.describe()
    assert "proven" in display.describe()


def test_frontier_marks_the_result(result):
    display = FrontierDisplay.from_result(result, 0, [0.5, 0.85]).plot()
    lines = {line.get_label(): line for line in display.ax_.lines}
    reached = result.constraints[0].value
    assert lines["the policy"].get_xydata().tolist() == [[reached, result.value]]
    assert set(lines["the limit asked for"].get_xdata()) == {0.85}
    assert [p.result.value for p in display.frontier][1] == pytest.approx(result.value, abs=2e-4)


def test_a_curve_keeps_the_margins_that_its_policy_keeps(data):
    """The policy was solved for a tighter parity, so its curve for the floor is one of that parity."""
    same = {"sensitive_features": data.X[["region"]], "counting": "model"}
    floor, parity = mf.precision("fraud") >= 0.8, mf.demographic_parity(over="region") <= 0.005
    tight = mf.optimize(data.proba, data.y, "g_mean", [floor, parity], **same)
    assert tight.constraints[1].price > 0
    loose = replace(parity, limit=0.02)
    problem = replace(tight.origin.problem, constraints=(floor, loose))
    records = (tight.constraints[0], replace(tight.constraints[1], limit=0.02))
    asked = replace(tight, constraints=records, origin=replace(tight.origin, problem=problem))
    display = FrontierDisplay.from_result(asked, 0, [0.7, 0.8])
    assert display.frontier.problem.constraints[0].limit == pytest.approx(0.005, abs=1e-4)
    assert display.frontier.ordered[-1].value == pytest.approx(tight.value, abs=2e-4)


def test_a_mark_away_from_its_curve_is_explained(result):
    """The same curve with a mark 0.01 below it, and on it."""
    display = FrontierDisplay.from_result(result, 0, [0.5, 0.7, 0.85])
    at = display.frontier.points[1]
    for off, told in ((0.0, False), (0.01, True)):
        mark = replace(at, result=replace(at.result, value=at.result.value - off))
        words = FrontierDisplay(display.frontier, mark).describe()
        assert ("away from the curve" in words) is told, words
        assert "0.010" in words or not told


def test_a_grid_has_a_line_for_each_level(data):
    front = mf.frontier(
        data.proba,
        data.y,
        "g_mean",
        [mf.precision("fraud"), mf.coverage("suspicious") <= 0],
        [[0.5, 0.8], [0.05, 0.1]],
        counting="model",
    )
    display = front.plot()
    assert [line.get_label() for line in display.ax_.lines] == [
        "precision of fraud ≥ 0.5",
        "precision of fraud ≥ 0.8",
    ]
    np.testing.assert_allclose(display.ax_.lines[1].get_ydata(), [p.result.value for p in front.ordered][2:])


def test_rates_by_group_are_those_of_the_slices(result):
    display = GroupsDisplay.from_result(result, decision="fraud").plot()
    for group, one in zip(display.groups, display.rates("recall"), strict=True):
        assert one.value == pytest.approx(mf.recall("fraud").at(region=group)(result.confusion))
        assert one.low < one.value < one.high
    for group, one in zip(display.groups, display.rates("precision"), strict=True):
        assert one.value == pytest.approx(mf.precision("fraud").at(region=group)(result.confusion))
    for group, one in zip(display.groups, display.rates("decided"), strict=True):
        assert one.value == pytest.approx(mf.coverage("fraud").at(region=group)(result.confusion))
    with pytest.raises(ValueError, match="unknown attribute 'regon'; did you mean 'region'"):
        GroupsDisplay.from_result(result, over="regon")


def test_groups_need_attributes(three):
    with pytest.raises(ValueError, match="pass sensitive_features"):
        GroupsDisplay.from_result(three)


def test_wilsons_interval_is_the_known_one():
    low, high = wilson(0.2, 10)  # two of ten
    assert low == pytest.approx(0.0567, abs=5e-5)
    assert high == pytest.approx(0.5098, abs=5e-5)
    assert wilson(0.0, 20)[0] == 0.0
    assert np.isnan(rate(mf.Confusion.from_predictions([0, 1], [0, 0]), "precision", 0, None).low)


def test_bins_of_right_probabilities_lie_on_the_line():
    random = np.random.default_rng(1)
    proba = random.beta(0.3, 5, 40_000)
    hits = (random.random(40_000) < proba).astype(float)
    found = bins(proba, hits, np.ones(40_000))
    assert len(found) == 10
    assert sum(one.low <= mean <= one.high for mean, one in found) >= 8
    assert found[-1][0] > 0.4  # the few large probabilities have a bin


def test_reliability_sees_what_calibration_mends():
    random = np.random.default_rng(2)
    right = random.dirichlet([1, 1], 4000)
    labels = (random.random(4000) < right[:, 1]).astype(int)
    sharp = right**2 / (right**2).sum(axis=1, keepdims=True)
    display = ReliabilityDisplay(sharp, labels, ("no", "yes"), calibrated=right).plot()
    assert display.error() > 0.05 > display.error(calibrated=True)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()][-2:] == [
        "as given",
        "calibrated",
    ]


def test_weights_say_what_the_policy_decides(data, result):
    rules = scores(result.policy)
    cells = result.policy.axes.cells
    codes = cells.encode(data.X[["region"]], len(data.y))
    chances = np.zeros_like(data.proba)
    for one in rules:
        inside = codes == one.cell
        made = (data.proba[inside] * one.gain + one.bonus).argmax(axis=1)
        chances[np.flatnonzero(inside), made] += one.share
    same = np.abs(chances - result.policy.decision_proba(data.proba, data.X[["region"]])).max(axis=1) < 1e-9
    assert same.mean() > 0.999  # ties aside


def test_weights_cannot_show_prices_of_pairs():
    loss = [[0, 1, 4], [1, 0, 1], [9, 1, 0]]
    policy = mf.Policy(mf.Confusion.from_predictions([0, 1, 2], [0, 1, 2]).axes, "full", [[_rule(loss)]])
    with pytest.raises(ValueError, match="RegionsDisplay"):
        WeightsDisplay.from_policy(policy)
    chances = RegionsDisplay.from_policy(policy).chances(0, np.eye(3))
    assert chances.tolist() == np.eye(3).tolist()


def _rule(loss):
    from metricfit.policy import Rule

    return Rule(1.0, loss)


def test_regions_are_for_two_or_three_classes(result):
    with pytest.raises(ValueError, match="two or three classes, not 4"):
        RegionsDisplay.from_result(result)


def test_the_achievable_set_holds_the_policy_and_its_edge_is_the_hull(data):
    result = mf.optimize(data.proba, data.y, "g_mean", counting="model")
    display = AchievableDisplay.from_result(result, mf.recall("legit"), mf.recall("fraud"))
    x, y = display.after
    assert (x, y) == (mf.recall("legit")(result.confusion), mf.recall("fraud")(result.confusion))
    # Linear metrics: in any direction the edge is as far as the oracle's own answer, up to what cannot be seen.
    for weight in (0.2, 0.5, 0.8):
        best = mf.optimize(
            data.proba,
            data.y,
            weight * mf.recall("legit") + (1 - weight) * mf.recall("fraud"),
            counting="model",
        )
        reached = (display.edge @ [weight, 1 - weight]).max()
        assert reached == pytest.approx(best.value, abs=4e-3)
        assert reached <= best.bound + 1e-6


def test_results_from_a_pickle_say_what_they_lack(result):
    again = pickle.loads(pickle.dumps(result))
    assert again.origin is None
    assert again.value == result.value
    assert ConfusionDisplay.from_result(again).panels == 1
    with pytest.raises(ValueError, match="lost its rows"):
        FrontierDisplay.from_result(again)
    with pytest.raises(ValueError, match="not in memory"):
        ReliabilityDisplay.from_result(again)


def test_frontiers_without_a_result_or_a_constraint_say_what_to_call(data):
    front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), [0.5, 0.6], counting="model")
    with pytest.raises(TypeError, match=r"use FrontierDisplay\.from_frontier"):
        FrontierDisplay.from_result(front)
    free = mf.optimize(data.proba, data.y, "g_mean", counting="model")
    with pytest.raises(ValueError, match=r"no constraint to trade; call mf\.frontier"):
        FrontierDisplay.from_result(free)


@pytest.mark.parametrize(("confusion", "told"), [("model", "best policy"), ("labels", "best policy found")])
def test_frontiers_without_a_proof_are_what_was_found(data, confusion, told):
    front = mf.frontier(data.proba, data.y, "g_mean", mf.precision("fraud"), [0.5, 0.6], counting=confusion)
    display = FrontierDisplay.from_frontier(front).plot()
    assert told in [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert display.describe().startswith("Best G-mean by" if confusion == "model" else "Best G-mean found by")


def test_weights_are_told_with_their_bonuses(result):
    told = WeightsDisplay.from_result(result).describe()
    (rule, *_) = scores(result.policy)
    at = result.policy.axes.decisions.index("fraud")
    assert rule.bonus[at] < -5e-4
    assert f"fraud × {rule.gain[at]:.2f} − {-rule.bonus[at]:.2f}" in told
    assert "What follows + or − is added." in told


def test_mixed_colours_are_in_the_legend(three):
    note = "in between: mixed"
    assert any(len(mixture) > 1 for mixture in three.policy.rules)
    figure = RegionsDisplay.from_result(three).plot().figure_
    (legend,) = figure.legends
    assert note in [text.get_text() for text in legend.get_texts()]
    figure.canvas.draw()
    assert legend.get_window_extent().x0 >= 0
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    single = mf.optimize(proba, [0, 1, 2], "accuracy", counting="model")
    (legend,) = RegionsDisplay.from_result(single).plot().figure_.legends
    assert note not in [text.get_text() for text in legend.get_texts()]


def test_hostile_names_are_drawn_as_they_are(tmp_path):
    random = np.random.default_rng(0)
    proba = random.dirichlet([1, 1, 1], 300)
    names = ["$x_{", "</text><script>", "a\x00\nb" * 20]
    y = np.array(names, dtype=object)[(random.random(300)[:, None] > proba.cumsum(axis=1)).sum(axis=1)]
    result = mf.optimize(proba, y, "g_mean", classes=names, counting="model")
    for kind in (ConfusionDisplay, WeightsDisplay, RegionsDisplay, ReliabilityDisplay):
        kind.from_result(result).plot().figure_.savefig(tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "\x00" not in plain(names[2])
