"""The door `optimize`: what it refuses and in which words, and that importing it is light."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import metricfit as mf
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem
from metricfit.solving import solve

PROBA = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]])
Y = [0, 1, 2, 1]
SEX = pd.DataFrame({"sex": ["F", "M", "F", "M"]})


def changed(row: int, column: int, value: float) -> np.ndarray:
    proba = PROBA.copy()
    proba[row, column] = value
    return proba


BAD_PROBA = {
    "nan": (changed(1, 1, np.nan), r"proba is NaN or infinite in 1 row \(1\); drop or repair"),
    "infinite": (changed(3, 0, np.inf), r"proba is NaN or infinite in 1 row \(3\)"),
    "missing": ([[None, 0.2, 0.8]] * 4, r"proba is NaN or infinite in 4 rows \(0, 1, 2, 3\)"),
    "negative": (changed(2, 1, -0.1), r"proba is negative in 1 row \(2\); if these are log-probabilities"),
    "not normalised": (PROBA * 2, r"does not sum to 1 .* in 4 rows \(0, 1, 2, 3\); .*keepdims=True\)"),
    "one dimension": (PROBA[:, 0], r"proba must have two dimensions.*column_stack\(\[1 - p, p\]\)"),
    "three dimensions": (
        PROBA[None],
        r"proba must have two dimensions, rows and classes; got shape \(1, 4, 3\)",
    ),
    "one of two columns": (PROBA[:, :1], r"proba has one column; .*column_stack\(\[1 - p, p\]\)"),
    "sparse": (csr_array(PROBA), r"proba must be a two-dimensional array.*pass proba.toarray\(\)"),
    "text": ([["a", "b", "c"]] * 4, "proba must be a two-dimensional array of numbers"),
    "complex": (PROBA * 1j, "proba must be a two-dimensional array of numbers"),
    "no rows": (np.zeros((0, 3)), "proba has no rows; pass at least one row"),
    "no columns": (np.zeros((4, 0)), "proba has no columns"),
    "one column": (np.ones((4, 1)), "one class and nothing to decide; pass two or more"),
}


@pytest.mark.parametrize("name", BAD_PROBA)
def test_bad_probabilities(name):
    proba, message = BAD_PROBA[name]
    with pytest.raises(ValueError, match=message):
        mf.optimize(proba, Y[: np.shape(proba)[0]], "accuracy")


BAD_LABELS = {
    "one label": (3, {}, "y must be one-dimensional, one value per row; got .*3"),
    "too few": (Y[:3], {}, "lengths differ: proba has 4 rows, y has 3; pass one entry per row"),
    "two dimensions": (np.array(Y)[:, None], {}, "y must be one-dimensional"),
    "outside the columns": (
        [0, 1, 2, 3],
        {},
        r"y has labels that are not classes in 1 row \(3\): 3. The classes are 0, 1, 2",
    ),
    "too many names": (
        list("abcd"),
        {},
        r"y has 4 distinct labels .* but proba has 3 columns; pass classes=\[...\]",
    ),
    "not among the classes": (
        list("abcz"),
        {"classes": ["a", "b", "c"]},
        r"in 1 row \(3\): 'z'. The classes are",
    ),
    "classes miscounted": (Y, {"classes": [0, 1]}, "classes names 2 classes but proba has 3 columns"),
    "classes repeated": (Y, {"classes": [0, 1, 1]}, "classes holds the same label twice: 1"),
    "missing": ([0, 1, np.nan, 1], {}, r"y is missing .* in 1 row \(2\)"),
    "none": (None, {}, "y is None"),
    "a class without rows": (
        [0, 1, 1, 1],
        {},
        "undefined, because class 2 has no rows .* Pass rows of every class",
    ),
    "one class": ([1, 1, 1, 1], {}, "undefined, because classes 0, 2 have no rows"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels(name):
    y, options, message = BAD_LABELS[name]
    with pytest.raises(ValueError, match=message):
        mf.optimize(PROBA, y, "g_mean", **options)


BAD_OPTIONS = {
    "negative weight": (
        {"sample_weight": [1, -1, 1, 1]},
        r"sample_weight is negative in 1 row \(1\); give these",
    ),
    "missing weight": (
        {"sample_weight": [1, np.nan, 1, 1]},
        r"sample_weight is NaN or infinite in 1 row \(1\)",
    ),
    "no weight": ({"sample_weight": [0] * 4}, "sample_weight is zero in all 4 rows"),
    "few weights": ({"sample_weight": [1] * 3}, "lengths differ.*sample_weight has 3"),
    "few attributes": ({"sensitive_features": [1, 2, 3]}, "lengths differ.*'group' has 3"),
    "missing attribute": (
        {"sensitive_features": ["a", None, "b", "b"]},
        r"'group' is missing .* in 1 row \(1\)",
    ),
    "repeated decision": ({"decisions": [0, 0, 1]}, "decisions holds the same label twice: 0"),
    "no decision": ({"decisions": []}, "decisions is empty; name at least one"),
    "decisions as text": ({"decisions": "abc"}, "decisions must be a list of labels; got the string 'abc'"),
    "negative tol": ({"tol": -1e-3}, "tol must be a number >= 0, got -0.001"),
    "tol nan": ({"tol": np.nan}, "tol must be a number >= 0, got nan"),
    "tol none": ({"tol": None}, "tol must be a number >= 0, got None"),
    "tol text": ({"tol": "small"}, "tol must be a number >= 0, got 'small'"),
    "no calls": ({"max_calls": 0}, "max_calls must be a whole number >= 1 or None, got 0"),
    "half calls": ({"max_calls": 1.5}, "max_calls must be a whole number >= 1 or None, got 1.5"),
    "true calls": ({"max_calls": True}, "max_calls must be a whole number >= 1 or None, got True"),
    "no seconds": ({"max_seconds": 0}, "max_seconds must be a positive number or None, got 0"),
    "seconds nan": ({"max_seconds": np.nan}, "max_seconds must be a positive number or None, got nan"),
    "seconds text": ({"max_seconds": "1 min"}, "max_seconds must be a positive number or None"),
    "counting": (
        {"counting": "soft"},
        "counting must be one of 'auto', 'labels', 'calibrated', 'model'; got 'soft'",
    ),
    "oracle": ({"oracle": "plug-in"}, "oracle must be 'plugin' or an object with .*, got 'plug-in'"),
    "oracle object": ({"oracle": object()}, "oracle must be 'plugin' or an object with axes, margins"),
    "no threads": ({"n_jobs": 0}, "n_jobs must be None, a positive number of threads, or -1"),
    "threads as text": ({"n_jobs": "2"}, "n_jobs must be None, a positive number of threads, or -1"),
    "callback": ({"callback": 3}, "callback must be a function of a record, got 3"),
    "verbose": ({"verbose": "yes"}, "verbose must be a whole number, got 'yes'"),
    "expect": ({"expect": "yes"}, "expect must be True or False, got 'yes'"),
    "blind": ({"blind": "yes"}, "blind must be True or False, got 'yes'"),
    "one class": ({"classes": 3}, "classes must be a list of labels; got 3"),
    "one decision": ({"decisions": 3}, "decisions must be a list of labels; got 3"),
    "seed": ({"random_state": -1}, "random_state must be a whole number >= 0 or None, got -1"),
    "seed as text": ({"random_state": "x"}, "random_state must be a whole number >= 0 or None, got 'x'"),
    "method": (
        {"method": "colum_generation"},
        "unknown method 'colum_generation'; did you mean 'column_generation'",
    ),
    "method type": ({"method": 3}, "unknown method 3; known: 'auto', 'column_generation'"),
    "method for a ratio": (
        {"method": "bisection"},
        "is concave; bisection minimises linear or ratio functions. Try method='column_generation'",
    ),
    "method without constraints": (
        {"method": "frank_wolfe", "constraints": "recall(0) >= 0.1"},
        "there are constraints; frank_wolfe takes none. Try method='column_generation'",
    ),
    "class": ({"constraints": "recall('fraud') >= 0.5"}, "unknown class 'fraud'. Known: 0, 1, 2"),
    "attribute": (
        {"constraints": "demographic_parity('sex') <= 0.1"},
        "unknown attribute 'sex'. Known: none; pass sensitive_features",
    ),
    "near attribute": (
        {"constraints": "demographic_parity('sx') <= 0.1", "sensitive_features": SEX},
        "unknown attribute 'sx'; did you mean 'sex'",
    ),
    "slice": (
        {"constraints": "recall(0).at(sex='X') >= 0.1", "sensitive_features": SEX},
        "unknown value of attribute 'sex': 'X'. Known: 'F', 'M'",
    ),
    "class without rows in a group": (
        {"constraints": "recall(0).at(sex='M') >= 0.1", "sensitive_features": SEX},
        "undefined where sex='M', because classes 0, 2 have no rows there",
    ),
    "rule for unseen values": ({"unseen": "guess"}, "unknown unseen 'guess'"),
    "rule for missing values": ({"missing": "guess", "sensitive_features": SEX}, "unknown missing 'guess'"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options(name):
    options, message = BAD_OPTIONS[name]
    with pytest.raises(ValueError, match=message):
        mf.optimize(PROBA, Y, "g_mean", **options)


def test_unknown_argument():
    with pytest.raises(TypeError, match="methd"):
        mf.optimize(PROBA, Y, "accuracy", methd="auto")


def test_arguments_are_those_of_the_contract():
    assert list(inspect.signature(mf.optimize).parameters) == [
        "proba",
        "y",
        "objective",
        "constraints",
        "classes",
        "decisions",
        "sensitive_features",
        "sample_weight",
        "method",
        "counting",
        "oracle",
        "blind",
        "missing",
        "unseen",
        "min_rows",
        "expect",
        "confidence",
        "tol",
        "max_calls",
        "max_seconds",
        "n_jobs",
        "random_state",
        "start",
        "callback",
        "verbose",
    ]


def test_attribute_value_not_seen_in_fit():
    policy = mf.optimize(PROBA, Y, "accuracy", sensitive_features=SEX).policy
    other = pd.DataFrame({"sex": ["F", "M", "X", "M"]})
    with pytest.raises(ValueError, match=r"values not seen in fit in 1 row \(2\): sex='X'. Map them"):
        policy.decide(PROBA, other)
    with pytest.raises(ValueError, match="sensitive_features is needed"):
        policy.decide(PROBA)


def test_soft_labels_need_no_row_of_each_class():
    assert mf.optimize(PROBA, [0, 1, 1, 1], "g_mean", counting="model").status == "optimal"


def test_a_single_decision_leaves_nothing_to_choose():
    result = mf.optimize(PROBA, Y, "accuracy", decisions=[1], counting="labels")
    assert result.policy.decide(PROBA).tolist() == [1, 1, 1, 1]
    assert result.value == 0.5


def test_classes_default_to_the_columns_or_the_sorted_labels():
    assert mf.optimize(PROBA, Y, "accuracy").policy.axes.classes == (0, 1, 2)
    assert mf.optimize(PROBA, list("bcab"), "accuracy").policy.axes.classes == ("a", "b", "c")


def test_solve_takes_a_problem_and_an_oracle():
    problem = Problem.of("g_mean", "recall(0) >= 0.5")
    rows = Rows.of(PROBA, Y)
    result = solve(problem, PluginOracle(rows, "model"))
    same = mf.optimize(PROBA, Y, "g_mean", "recall(0) >= 0.5", counting="model")
    assert result.value == same.value
    assert result.problem == str(problem)


HEAVY = {"cvxpy", "clarabel", "numba", "pandas", "pyarrow", "polars", "dask", "distributed", "matplotlib"}


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        env=os.environ | {"PYTHONPATH": str(Path(mf.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_import_is_light():
    """What is heavy is imported when it is first needed; scikit-learn itself may import some of it."""
    ours = loaded_by("from metricfit import optimize")
    used = sorted(name for name in ours if name.startswith(("numpy", "scipy", "sklearn")))
    theirs = loaded_by("import importlib\nfor name in " + repr(used) + ": importlib.import_module(name)")
    assert "metricfit.solving" in ours
    assert "metricfit" not in theirs
    assert ours & HEAVY <= theirs & HEAVY
    # Nor is the blame put on scikit-learn for parts of it that are not needed yet.
    assert not ours & {"sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection"}


def test_public_names():
    assert set(mf.__all__) <= set(dir(mf))
    assert len(set(mf.__all__)) == len(mf.__all__)
    for name in [
        "MetricClassifier",
        "optimize",
        "Policy",
        "Confusion",
        "InfeasibleError",
        "parse",
        "Metric",
        "Constraint",
        "Result",
    ]:
        assert name in mf.__all__


@pytest.mark.parametrize("confusion", ["labels", "calibrated", "model"])
def test_a_floor_for_a_class_without_rows_is_kept_by_never_deciding_it(confusion):
    proba, y = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]] * 20), np.array([0, 1] * 20)
    result = mf.optimize(
        proba, y, "accuracy", [mf.precision(2) >= 0.5], classes=[0, 1, 2], counting=confusion
    )
    assert np.array_equal(result.policy.decide(proba), y)
    assert np.isnan(result.constraints[0].value)
    group, positive = np.array(["a", "b"] * 20), np.arange(40) % 4 == 0
    proba = np.column_stack([1 - 0.8 * positive - 0.1, 0.8 * positive + 0.1])
    for limit in (mf.worst(mf.precision(1), over="g") >= 0.5, mf.precision(1).at(g="b") >= 0.5):
        found = mf.optimize(
            proba,
            positive.astype(int),
            "accuracy",
            [limit],
            sensitive_features={"g": group},
            counting=confusion,
        )
        assert np.array_equal(found.policy.decide(proba, {"g": group}), positive)
    with pytest.raises(mf.InfeasibleError, match="cannot be kept at all"):
        mf.optimize(proba, positive.astype(int), "accuracy", [mf.precision(1) >= 90], counting=confusion)


@pytest.mark.parametrize("confusion", ["labels", "calibrated", "model"])
@pytest.mark.parametrize(
    "objective", [mf.recall(0) * mf.precision(1), mf.recall(0) + 2 * mf.precision(1)], ids=["product", "sum"]
)
def test_a_precision_does_not_rest_on_a_rule_that_is_never_used(objective, confusion):
    """The more rarely 1 is decided the better, but never is worst: the best rules are those of the surest rows."""
    random = np.random.default_rng(0)
    proba = random.dirichlet([1, 1], 800)
    y = (random.random(800) > proba[:, 0]).astype(int)
    proba = np.round(5 * proba) / 5
    result = mf.optimize(proba, y, objective, counting=confusion)
    thresholds = [np.digitize(proba[:, 1], [t]) for t in (0.1, 0.3, 0.5, 0.7, 0.9)]
    counted = max(objective(mf.Confusion.from_predictions(y, made, classes=[0, 1])) for made in thresholds)
    shares = result.policy.decision_proba(proba)
    made = np.stack([shares[y == i].sum(axis=0) for i in (0, 1)])[None] / len(y)
    assert objective(mf.Confusion(made, result.policy.axes)) >= counted - 1e-9


ONE_CLASS = (
    ("f_beta(2, 'fraud')", []),
    ("recall('fraud')", ["precision('fraud') >= 0.8"]),
    ("precision('fraud')", ["recall('fraud') >= 0.6"]),
)


@pytest.mark.parametrize("confusion", ["labels", "calibrated", "model"])
@pytest.mark.parametrize(("objective", "limits"), ONE_CLASS)
def test_rows_get_the_most_probable_of_the_classes_that_a_problem_does_not_tell_apart(
    objective, limits, confusion
):
    """A metric of one class says nothing of the other rows: they must not all become one arbitrary class."""
    data = mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)
    result = mf.optimize(data.proba, data.y, objective, limits, counting=confusion)
    shares = result.policy.decision_proba(data.proba)
    fraud = result.policy.axes.classes.index("fraud")
    trusted = data.proba if result.policy.calibration is None else result.policy.calibration(data.proba)
    others = np.delete(trusted, fraud, axis=1)
    found = np.delete(shares, fraud, axis=1)
    clear = np.diff(np.sort(others, axis=1)[:, -2:], axis=1)[:, 0] > 1e-3
    left = found.sum(axis=1)
    assert clear.mean() > 0.9
    assert np.allclose(found[clear, others.argmax(axis=1)[clear]], left[clear])
    counted = result.policy.evaluate(data.proba, data.y, ["accuracy", objective])["value"]
    assert counted.iloc[0] > 0.9
    if confusion == "labels":
        assert counted.iloc[1] == pytest.approx(result.value)
    for limit in result.constraints:
        assert limit.violation <= 1e-9


@pytest.mark.parametrize(
    "confusion", ["auto", "calibrated", "model"]
)  # a search on labels follows single rows
@pytest.mark.parametrize("limit", [None, 0.5, 0.52])
def test_every_kind_of_decisions_that_is_not_told_apart_takes_its_most_probable_class(confusion, limit):
    """Costs that tell {0, 1} from {2, 3} only, with and without a limit that binds."""
    rng = np.random.default_rng(0)
    proba = np.exp(1.5 * rng.normal(size=(1000, 4)))
    proba /= proba.sum(axis=1, keepdims=True)
    y = np.minimum((proba.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1), 3)
    dear = mf.cost(np.kron([[0.0, 1.0], [3.0, 0.0]], np.ones((2, 2))))
    second = mf.cost(np.tile([0.0, 0.0, 1.0, 1.0], (4, 1)))
    limits = [] if limit is None else [second <= limit]
    made = mf.optimize(proba, y, dear, limits, counting=confusion).policy.decide(proba)
    of_kind = np.where(made < 2, proba[:, :2].argmax(axis=1), 2 + proba[:, 2:].argmax(axis=1))
    assert set(made.tolist()) == {0, 1, 2, 3}
    # Calibration may exchange two classes that are nearly equally probable.
    assert np.count_nonzero(made != of_kind) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_weight_0_change_nothing(seed):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(4), 500)
    y = (rng.random((500, 1)) > true.cumsum(axis=1)).sum(axis=1)
    proba = true**1.5 / (true**1.5).sum(axis=1, keepdims=True)
    weight = rng.choice([0.0, 1.0, 2.0], 500)
    some = weight > 0
    limit = ["precision(1) >= 0.6"]
    found = mf.optimize(proba, y, "g_mean", limit, sample_weight=weight)
    without = mf.optimize(proba[some], y[some], "g_mean", limit, sample_weight=weight[some])
    assert found.value == pytest.approx(without.value, abs=1e-12)
    assert found.policy.to_python() == without.policy.to_python()
