"""Objectives and limits over many rates: as good as the full linear program, with few rules and little memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import metricfit as mf
from metricfit.methods.master.mixtures import Mixtures
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem

CLASSES = 40


def scores(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    prior = 1 / np.arange(1, CLASSES + 1)
    y = np.append(np.arange(CLASSES), rng.choice(CLASSES, rows - CLASSES, p=prior / prior.sum()))
    centre = rng.normal(size=(CLASSES, 6)) * 1.5
    x = centre[y] + rng.normal(size=(rows, 6))
    logits = x @ centre.T - (centre**2).sum(axis=1) / 2 + np.log(prior)
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True), y


def smallest_recall(proba: np.ndarray) -> float:
    """Return the best smallest recall over all randomised decisions of single rows."""
    rows = len(proba)
    unknowns = rows * CLASSES + 1
    place = np.arange(rows * CLASSES)
    recalls = sp.csr_array(
        (-(proba / proba.sum(axis=0)).ravel(), (place % CLASSES, place)), (CLASSES, unknowns)
    )
    at_least = sp.csr_array(
        (np.ones(CLASSES), (np.arange(CLASSES), np.full(CLASSES, unknowns - 1))), recalls.shape
    )
    once = sp.csr_array((np.ones(place.size), (place // CLASSES, place)), (rows, unknowns))
    cost = np.zeros(unknowns)
    cost[-1] = -1.0
    return -linprog(cost, recalls + at_least, np.zeros(CLASSES), once, np.ones(rows), method="highs").fun


def test_smallest_of_many_recalls():
    proba, y = scores(1500)
    found = mf.optimize(proba, y, "min_recall", counting="model")
    assert found.status == "optimal"
    assert found.value == pytest.approx(smallest_recall(proba), abs=1e-4)
    # Multipliers of the linear program alone need several rules for each class.
    assert found.n_oracle_calls < 3 * CLASSES


def test_equations_of_many_shared_rates_are_sparse():
    proba, y = scores(200)
    rows = Rows.of(proba, y, sensitive_features=pd.DataFrame({"group": np.arange(len(y)) % 2}))
    oracle = PluginOracle(rows, "model")
    problem = Problem.of("accuracy", [mf.equalized_odds("group") <= 0.1])
    program = problem.bind(oracle.axes, oracle.margins)
    body = Polyhedron(program.constant.size)
    for limit in program.limits:
        body.limit(limit, limit.convex)
    mixtures = Mixtures(program, body, program.constant)
    assert mixtures.kept.size >= CLASSES**2
    assert mixtures.head().size == mixtures.kept.size
