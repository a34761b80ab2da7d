"""Objectives without curvature, alone and under constraints of any kind, and decisions that are no class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score, jaccard_score, matthews_corrcoef

import metricfit as mf

CLASSES = 3


def rows(seed=0, N=240):
    """Draw unequal classes with probabilities that are too sure of the first, and two groups."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(CLASSES), rng.choice(CLASSES, N - CLASSES, p=[0.6, 0.25, 0.15])])
    proba = rng.dirichlet(np.ones(CLASSES), N) + 0.6 * np.eye(CLASSES)[y] + [0.3, 0.0, 0.0]
    return proba / proba.sum(axis=1, keepdims=True), y, rng.choice(["a", "b"], N)


def floor_of_recalls(matrix):
    recalls = np.diag(matrix) / matrix.sum(axis=1)
    return float(np.sqrt(recalls).min() + 0.1 * np.prod(recalls))


OBJECTIVES = {
    "macro_f1": mf.macro_f1(),
    "mcc": mf.mcc(),
    "macro f2": mf.f_beta(2, average="macro"),
    "weighted f0.5": mf.f_beta(0.5, average="weighted"),
    "macro jaccard": mf.jaccard(average="macro"),
    "weighted jaccard": mf.jaccard(average="weighted"),
    "product": mf.macro_f1() * mf.balanced_accuracy(),
    "quotient": mf.macro_f1() / (0.2 + mf.coverage(0)),
    "quotient of ratios": mf.precision(1) / (1 + mf.jaccard(0)),
    "function": mf.custom(floor_of_recalls),
}
LIMITS = {
    "none": [],
    "linear": [mf.coverage(0) <= 0.5],
    "ratio": [mf.precision(1) >= 0.5, mf.recall(2) >= 0.3],
    "parity": [mf.demographic_parity("group") <= 0.1],
    "without curvature": [mf.mcc() >= 0.3],
}


@pytest.mark.filterwarnings("ignore::metricfit.methods.OverfitWarning")
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_any_objective_under_any_constraints(objective, limits):
    proba, y, group = rows()
    metric, wanted = OBJECTIVES[objective], LIMITS[limits]
    result = mf.optimize(proba, y, metric, wanted, sensitive_features={"group": group}, counting="labels")
    # What is reported is what the policy does to these rows.
    shares = result.policy.decision_proba(proba, {"group": group})
    tensor = np.zeros((2, CLASSES, CLASSES))
    for a, name in enumerate("ab"):
        mine = group == name
        tensor[a] = np.eye(CLASSES)[y[mine]].T @ shares[mine] / len(y)
    reached = mf.Confusion(tensor, result.confusion.axes)
    assert metric(reached) == pytest.approx(result.value, abs=1e-9)
    assert not result.certified
    for limit, record in zip(wanted, result.constraints, strict=True):
        sign = 1 if limit.sense == "<=" else -1
        assert sign * (limit.metric(reached) - limit.limit) <= 1e-7
        assert record.violation <= 1e-7
    # Rules that everybody knows are no better, where they keep the constraints.
    prior = np.bincount(y) / len(y)
    for weights in (np.ones(CLASSES), 1 / prior):
        decided = (proba * weights).argmax(axis=1)
        plain = mf.Confusion.from_predictions(y, decided, sensitive_features={"group": group})
        signs = [1 if limit.sense == "<=" else -1 for limit in wanted]
        if all(s * (c.metric(plain) - c.limit) <= 0 for s, c in zip(signs, wanted, strict=True)):
            assert result.value >= metric(plain) - 1e-9


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        (mf.f_beta(2, average="macro"), lambda y, d: fbeta_score(y, d, beta=2, average="macro")),
        (mf.f_beta(0.5, average="weighted"), lambda y, d: fbeta_score(y, d, beta=0.5, average="weighted")),
        (mf.jaccard(average="macro"), lambda y, d: jaccard_score(y, d, average="macro")),
        (mf.jaccard(average="weighted"), lambda y, d: jaccard_score(y, d, average="weighted")),
        (mf.mcc(), matthews_corrcoef),
    ],
    ids=lambda given: str(given) if isinstance(given, mf.Metric) else "scikit-learn",
)
def test_the_value_is_scikit_learns(metric, score):
    proba, y, _ = rows(1, 2000)
    result = mf.optimize(proba, y, metric, counting="labels")
    plain = score(y, proba.argmax(axis=1))
    if result.policy.n_rules == 1:
        assert score(y, result.policy.decide(proba)) == pytest.approx(result.value, abs=1e-12)
    assert result.value >= plain - 0.002  # no more is gained than the noise of these rows


def test_a_bound_is_never_made_up():
    proba, y, _ = rows(2, 2000)
    for metric in OBJECTIVES.values():
        result = mf.optimize(proba, y, metric, counting="labels")
        assert (result.bound, result.gap, result.certified) == (np.inf, np.inf, False)


def payments():
    rng = np.random.default_rng(3)
    y = rng.choice(["legit", "odd", "fraud"], 3000, p=[0.7, 0.2, 0.1])
    centre = {"legit": (0, 0), "odd": (1.5, 0), "fraud": (1.5, 2)}
    return np.array([centre[label] for label in y]) + rng.normal(size=(3000, 2)), y


class TestReview:
    """A decision that is no class, in `optimize`, in the estimator and in a policy read back from its file."""

    def test_the_queue_is_bounded_and_worth_it(self, tmp_path):
        X, y = payments()
        classes = ["legit", "odd", "fraud"]
        model = LogisticRegression().fit(X, y)
        proba = model.predict_proba(X)[:, [list(model.classes_).index(c) for c in classes]]
        goal = mf.selective_accuracy() * mf.selective_recall("fraud")
        options = dict(classes=classes, decisions=[*classes, "review"])
        limit = mf.coverage("review") <= 0.05
        result = mf.optimize(proba, y, goal, limit, **options, counting="labels")
        without = mf.optimize(proba, y, goal, classes=classes, counting="labels")
        assert result.method == "local"
        assert 0.01 < result.constraints[0].value <= 0.05 + 1e-9
        assert result.value > without.value
        decided = result.policy.decide(proba, randomize="never")
        kept = decided != "review"
        assert set(decided) <= {*classes, "review"}
        by_hand = np.mean(decided[kept] == y[kept]) * np.mean(decided[kept & (y == "fraud")] == "fraud")
        seen = mf.Confusion.from_predictions(y, decided, classes=classes)
        assert goal(seen) == pytest.approx(by_hand, abs=1e-12)
        result.policy.save(tmp_path / "policy.json")
        again = mf.Policy.load(tmp_path / "policy.json")
        np.testing.assert_array_equal(again.decide(proba), result.policy.decide(proba))

    def test_in_the_estimator(self):
        X, y = payments()
        classes = ["fraud", "legit", "odd"]
        tuned = mf.MetricClassifier(
            LogisticRegression(),
            mf.selective_accuracy() * mf.selective_recall("fraud"),
            [mf.coverage("review") <= 0.05],
            decisions=[*classes, "review"],
            random_state=0,
        ).fit(X[:2000], y[:2000])
        decided = tuned.predict(X[2000:])
        assert set(decided) <= {*classes, "review"}
        assert 0 < np.mean(decided == "review") < 0.08  # new rows, so not exactly
        assert tuned.result_.constraints[0].value <= 0.05 + 1e-9
        plain = tuned.estimator_.predict(X[2000:])
        goal = mf.selective_accuracy() * mf.selective_recall("fraud")
        values = [
            goal(mf.Confusion.from_predictions(y[2000:], made, classes=classes)) for made in (decided, plain)
        ]
        assert values[0] > values[1]
