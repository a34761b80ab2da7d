"""On random data metrics are the scores of scikit-learn and the differences of fairlearn."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

import metricfit as mf

SETTINGS = settings(max_examples=60, deadline=None)
# Rates of no rows are 0, but the recall of a class without rows is undefined.
OF_A_CLASS = {
    "recall": (mf.recall, partial(sk.recall_score, zero_division=np.nan)),
    "precision": (mf.precision, partial(sk.precision_score, zero_division=0)),
    "f1": (mf.f1, partial(sk.f1_score, zero_division=0)),
    "jaccard": (mf.jaccard, partial(sk.jaccard_score, zero_division=0)),
}
OVERALL = {
    "accuracy": (mf.accuracy(), sk.accuracy_score),
    "balanced_accuracy": (mf.balanced_accuracy(), sk.balanced_accuracy_score),
    "macro_f1": (mf.macro_f1(), partial(sk.f1_score, average="macro")),
    "weighted F2": (mf.f_beta(2, average="weighted"), partial(sk.fbeta_score, beta=2, average="weighted")),
    "cohen_kappa": (mf.cohen_kappa(), sk.cohen_kappa_score),
    "linear kappa": (mf.cohen_kappa("linear"), partial(sk.cohen_kappa_score, weights="linear")),
    "quadratic kappa": (mf.cohen_kappa("quadratic"), partial(sk.cohen_kappa_score, weights="quadratic")),
    "mcc": (mf.mcc(), sk.matthews_corrcoef),
    "ordinal_error": (mf.ordinal_error(), sk.mean_absolute_error),
}


@st.composite
def rows(draw):
    """Labels, decisions, groups and weights; a class may lack labels in a group, and decisions."""
    n, size = draw(st.integers(2, 5)), draw(st.integers(5, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.concatenate([np.arange(n), rng.integers(n, size=size)])
    decided = rng.choice(n, size=draw(st.integers(2, n)), replace=False)
    made = np.where(rng.random(len(y)) < draw(st.floats(0, 0.9)), y, rng.choice(decided, len(y)))
    group = rng.integers(draw(st.integers(1, 4)), size=len(y))
    weight = rng.exponential(size=len(y)) if draw(st.booleans()) else np.ones(len(y))
    return y, made, group, weight


def confusion_of(y, made, group, weight):
    return mf.Confusion.from_predictions(y, made, {"group": group}, weight, classes=range(y.max() + 1))


def value(metric, confusion):
    """Return the value of a metric, NaN if it is undefined."""
    try:
        return metric(confusion)
    except ValueError as error:
        if "undefined" not in str(error):
            raise
        return np.nan


@SETTINGS
@given(rows())
def test_scores_are_those_of_scikit_learn(drawn):
    y, made, _, weight = drawn
    confusion = confusion_of(*drawn)
    for name, (ours, theirs) in OVERALL.items():
        assert value(ours, confusion) == pytest.approx(theirs(y, made, sample_weight=weight), abs=1e-9), name
    for name, (ours, theirs) in OF_A_CLASS.items():
        for c in range(y.max() + 1):
            known = theirs(y, made, sample_weight=weight, labels=[c], average="macro")
            assert value(ours(c), confusion) == pytest.approx(known, abs=1e-9, nan_ok=True), (name, c)


@SETTINGS
@given(rows())
def test_groups_are_those_of_a_metric_frame(drawn):
    fair = pytest.importorskip("fairlearn.metrics")
    y, made, group, weight = drawn
    confusion = confusion_of(*drawn)
    compared = {
        name: (ours(1), partial(theirs, labels=[1], average="macro"))
        for name, (ours, theirs) in OF_A_CLASS.items()
    }
    compared["accuracy"] = OVERALL["accuracy"]
    compared["coverage"] = (mf.coverage(1), partial(fair.selection_rate, pos_label=1))
    frame = fair.MetricFrame(
        metrics={name: theirs for name, (_, theirs) in compared.items()},
        y_true=y,
        y_pred=made,
        sensitive_features=group,
        sample_params={name: {"sample_weight": weight} for name in compared},
    )
    for name, (metric, _) in compared.items():
        known = frame.by_group[name].astype(float)
        for g in np.unique(group):
            assert value(metric.at(group=g), confusion) == pytest.approx(known[g], abs=1e-9, nan_ok=True), (
                name
            )
        # Groups are not compared by a rate of no rows.
        decided, labelled = (set(group[rows == 1]) for rows in (made, y))
        counted = {"precision": decided, "f1": decided | labelled, "jaccard": decided | labelled}
        known = known[[g in counted.get(name, known.index) for g in known.index]]
        if known.notna().sum() > 1:
            far = value(mf.disparity(metric, "group", to="pairs"), confusion)
            assert far == pytest.approx(known.max() - known.min(), abs=1e-9), name
            if known.max() > 0:
                ratio = value(mf.disparity(metric, "group", to="pairs", as_ratio=True), confusion)
                assert ratio == pytest.approx(known.min() / known.max(), abs=1e-9), name
