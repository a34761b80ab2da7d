"""Seconds of solves with many groups and classes."""

from __future__ import annotations

import time
from collections.abc import Callable

from fairness_data import generated
from sklearn.linear_model import LogisticRegression

import metricfit as mf


def large(line: Callable[..., None]) -> None:
    """Print processor seconds of solves with many cells and 60,000 rows, after a first one that loads everything."""
    line("problem", "confusion", "s", "value", "bound", "calls")
    line(*["---"] * 6)
    soft = "model", "calibrated"
    for groups, classes, objective, constraint, counts in (
        (20, 10, "g_mean", mf.demographic_parity("group") <= 0.05, (*soft, "labels")),
        (30, 8, "accuracy", mf.equalized_odds("group") <= 0.05, soft),
        (300, 3, "accuracy", mf.demographic_parity("group") <= 0.05, (*soft, "labels")),
    ):
        rows = generated(60_000, groups, classes, 0)
        model = LogisticRegression(max_iter=500).fit(rows.X[:20_000], rows.y[:20_000])
        proba = model.predict_proba(rows.X)
        for confusion in counts:
            for few in (True, False):
                part = slice(20_000 if few else None)
                loose = mf.demographic_parity("group") <= 1 if few else constraint
                how = {"sensitive_features": {"group": rows.group[part]}, "counting": confusion}
                start = time.process_time()
                result = mf.optimize(proba[part], rows.y[part], objective, [loose], **how)
                seconds = time.process_time() - start
            name = f"{objective}, {constraint}, {groups} groups, {classes} classes"
            numbers = f"{seconds:.2f}", f"{result.value:.4f}", f"{result.bound:.4f}", result.n_oracle_calls
            line(name, confusion, *numbers)
