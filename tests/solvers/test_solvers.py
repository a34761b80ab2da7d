"""The solvers: answers against SciPy's, one exception for all that goes wrong, and nobody else who calls one."""

from __future__ import annotations

import re
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import metricfit
from metricfit.exceptions import UnsolvedError
from metricfit.functions.expression import Entries
from metricfit.functions.extremes import Largest
from metricfit.functions.sums import Sum, Total
from metricfit.solvers import cone, qp
from metricfit.solvers.attempts import first_solved, solving
from metricfit.solvers.lp import LinearProgram


class PanicException(BaseException):
    """As pyo3 makes it: no Exception, and of a module that cannot be imported."""


class TestAttempts:
    @pytest.mark.parametrize(
        "error", [PanicException("assertion failed"), ValueError("x"), ZeroDivisionError()]
    )
    def test_whatever_a_solver_raises_is_unsolved(self, error):
        with pytest.raises(UnsolvedError, match=type(error).__name__), solving():
            raise error

    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_interrupts_get_through(self, error):
        with pytest.raises(error), solving():
            raise error

    def test_the_last_failure_is_told(self):
        def solve(form):
            raise UnsolvedError(f"form {form}")

        with pytest.raises(UnsolvedError, match="form 2"):
            first_solved(solve, (1, 2))

    def test_a_panic_inside_clarabel_ends_no_run(self, monkeypatch):
        """A geometric mean of rates at its best value panicked in Clarabel."""

        def panics(*args):
            raise PanicException("assertion failed")

        monkeypatch.setattr("clarabel.DefaultSolver", panics)
        random = np.random.default_rng(0)
        proba = random.dirichlet([2, 1, 0.7], 50)
        y = np.array([random.choice(3, p=p) for p in proba])
        result = metricfit.optimize(proba, y, "g_mean", counting="model", max_calls=30)
        assert result.value > 0.3


class TestLinear:
    """Going on from the last corner gives what a program made anew gives."""

    def test_costs_rows_and_columns_that_come_and_go(self):
        random = np.random.default_rng(0)
        system, right = random.uniform(0, 1, (12, 8)), random.uniform(1, 2, 12)
        program = LinearProgram(np.zeros(8), np.ones(8))

        def check(cost, rows, columns):
            expected = linprog(cost, system[:rows][:, columns], right[:rows], bounds=(0, 1))
            x, multipliers = program.minimise(cost)
            assert cost @ x == pytest.approx(expected.fun, abs=1e-9)
            assert np.all(system[:rows][:, columns] @ x <= right[:rows] + 1e-9)
            np.testing.assert_allclose(multipliers, expected.ineqlin.marginals, atol=1e-8)

        def add(first, last):
            program.add_rows(system[first:last], np.full(last - first, -np.inf), right[first:last])

        add(0, 5)
        check(-random.uniform(0.5, 1, 8), 5, np.arange(8))
        check(-random.uniform(0.5, 1, 8), 5, np.arange(8))
        add(5, 12)
        check(-random.uniform(0.5, 1, 8), 12, np.arange(8))
        program.remove_columns(np.array([1, 4]))
        left = np.array([0, 2, 3, 5, 6, 7])
        check(-random.uniform(0.5, 1, 6), 12, left)
        program.add_columns(system[:, [4]], np.zeros(1), np.ones(1))
        check(-random.uniform(0.5, 1, 7), 12, np.append(left, 4))

    def test_a_corner_stays_when_its_loose_rows_are_taken_out(self):
        random = np.random.default_rng(2)
        system, right = random.uniform(0, 1, (30, 6)), random.uniform(1, 2, 30)
        program, cost = LinearProgram(np.zeros(6), np.ones(6)), -random.uniform(0.5, 1, 6)
        program.add_rows(system, np.full(30, -np.inf), right)
        x, multipliers = program.minimise(cost)
        loose = program.loose_rows()
        assert 24 <= loose.sum() < 30
        assert np.all(loose[system @ x < right - 1e-6])
        program.remove_rows(np.flatnonzero(loose))
        again, fewer = program.minimise(cost)
        np.testing.assert_allclose(again, x, atol=1e-9)
        np.testing.assert_allclose(fewer, multipliers[~loose], atol=1e-9)

    def test_none(self):
        program = LinearProgram(np.zeros(1), np.ones(1))
        program.add_rows(np.ones((1, 1)), np.array([2.0]), np.array([np.inf]))
        with pytest.raises(UnsolvedError, match="Infeasible"):
            program.minimise(np.ones(1))
        with pytest.raises(UnsolvedError):
            LinearProgram(np.full(1, -np.inf), np.ones(1)).minimise(np.ones(1))


class TestQuadratic:
    def test_against_the_conditions_of_the_best_point(self):
        random = np.random.default_rng(1)
        root = random.normal(size=(4, 4))
        quadratic, linear = root @ root.T, random.normal(size=4)
        system = np.vstack([np.ones(4), -np.eye(4)])
        right = np.append(1.0, np.zeros(4))
        x, z = qp.minimise(sp.csc_matrix(np.triu(quadratic)), linear, sp.csc_matrix(system), right, 1)
        np.testing.assert_allclose(quadratic @ x + linear + system.T @ z, 0, atol=1e-7)
        assert x.sum() == pytest.approx(1, abs=1e-9)
        assert np.all(x >= -1e-9)
        assert np.all(z[1:] >= -1e-9)
        np.testing.assert_allclose(z[1:] * x, 0, atol=1e-7)

    def test_none(self):
        with pytest.raises(UnsolvedError):
            qp.minimise(
                sp.csc_matrix((1, 1)), np.ones(1), sp.csc_matrix([[1.0], [-1.0]]), np.array([0.0, -1.0]), 0
            )


class TestCone:
    def test_value_and_none(self):
        x = cp.Variable(2)
        assert cone.solve(cp.Problem(cp.Minimize(cp.norm(x - 1)), [cp.sum(x) <= 1]), x) == pytest.approx(
            1 / np.sqrt(2), abs=1e-8
        )
        with pytest.raises(UnsolvedError, match="infeasible"):
            cone.solve(cp.Problem(cp.Minimize(cp.norm(x)), [x >= 1, cp.sum(x) <= 1]), x)

    def test_one_translation_for_all_mixtures(self):
        """The least u0 where u1 is at most .7, of mixtures of two columns, then of three."""
        u = Entries(0, 2, np.zeros(2), np.ones(2))
        goal, limit = Total(np.array([1.0, 0.0]), u), Sum(((1.0, Largest(u)),), -0.7)
        program = cone.ConeProgram(goal, [limit], 2)
        for columns, room, best in ((np.eye(2), 0.0, 0.3), (np.eye(2), 0.1, 0.4), (np.eye(2, 3), 0.0, 0.0)):
            count = columns.shape[1]
            alpha = program.minimise(room, columns, np.zeros(2), sp.csr_array(np.ones((1, count))))
            assert (columns @ alpha)[0] == pytest.approx(best, abs=1e-8)
            assert alpha.sum() == pytest.approx(1, abs=1e-8)
            assert float(program.limits[0].dual_value[0]) == pytest.approx(1 if count == 2 else 0, abs=1e-6)
        with pytest.raises(UnsolvedError):
            program.minimise(0.3, np.eye(2), np.zeros(2), sp.csr_array(np.ones((1, 2))))


def test_nobody_else_calls_a_solver():
    source = Path(metricfit.__file__).parent
    calls = re.compile(r"import (clarabel|highspy)|linprog|milp|cp\.CLARABEL")
    found = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if calls.search(path.read_text("utf-8"))
    }
    assert found == {"solvers/cone.py", "solvers/lp.py", "solvers/qp.py"}
