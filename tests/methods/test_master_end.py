"""A master that starts at its own minimum ends there: gains that are only rounding are no steps."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.master import Master
from metricfit.methods.master.quadratic import QuadraticProgram
from metricfit.oracles import PluginOracle, Rows
from metricfit.problem import Problem


@pytest.mark.parametrize("seed", [0, 88])  # of 88, the second solve took eight steps
def test_a_master_at_its_minimum_takes_no_further_steps(monkeypatch, seed):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(5), 2000)
    y = (proba.cumsum(axis=1) < random.random((2000, 1))).sum(axis=1).clip(max=4)
    oracle = PluginOracle(Rows.of(proba, y, classes=range(5)), "labels")
    program = Problem.of("g_mean", [mf.precision(1) >= 0.4]).bind(oracle.axes, oracle.margins)
    losses = -np.exp(random.normal(size=(24, 1, 2, 5)) * [[1.0], [0.0]]) * [[1.0], [0.0]]
    columns = Columns(program, [oracle(loss, program.layout) for loss in losses])
    steps, once = [], QuadraticProgram.minimise
    monkeypatch.setattr(
        QuadraticProgram, "minimise", lambda self, *args: steps.append(1) or once(self, *args)
    )
    best = found = Master(program).solve(columns, np.ones(len(columns)))
    for _ in range(4):
        steps.clear()
        found = Master(program).solve(columns, found.alpha)
        assert len(steps) <= 2
        assert abs(program.value(found.u) - program.value(best.u)) <= 1e-8
