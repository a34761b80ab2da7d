"""Cone programs, written in CVXPY and solved by Clarabel."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.functions.expression import Constant, Entries, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.nonlinear import Smooth
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.solvers.attempts import TOLERANCE, read, solving
from metricfit.solvers.qp import accurate
from metricfit.types import FloatArray


class Translator:
    """Turns nodes into CVXPY expressions; maxima become variables above their parts, to read multipliers."""

    def __init__(self, u: Any) -> None:
        self.u = u
        self.constraints: list[Any] = []
        self.maxima: dict[Largest, Any] = {}

    def of(self, node: Node) -> Any:
        """Return a node as an expression of u."""
        import cvxpy as cp

        match node:
            case Entries(start, stop, _, _):
                return self.u[start:stop]
            case Constant(values):
                return cp.Constant(values)
            case Sum(terms, constant):
                return sum(
                    (c * self.of(part) for c, part in terms), start=cp.Constant(np.full(node.size, constant))
                )
            case Total(weights, part):
                return cp.reshape(weights @ self.of(part), (1,), order="C")
            case Stack(parts):
                return cp.hstack([self.of(part) for part in parts])
            case Smooth(atom, part):
                return cp.reshape(atom.cvxpy(self.of(part)), (1,), order="C")
            case Largest(part):
                above = cp.Variable(1)
                self.maxima[node] = self.of(part) <= above
                self.constraints.append(self.maxima[node])
                return above
        raise TypeError(f"{type(node).__name__} has no cone form")


class ConeProgram:
    """Minimise a convex goal over mixtures ``u = matrix @ alpha + constant`` that keep convex functions of u <= 0.

    CVXPY takes several times as long to translate a problem as Clarabel to solve it. So it translates once what does
    not depend on the mixtures, and rows that define u are put under its own.

    Parameters
    ----------
    goal : Node
        Of size one.
    limits : sequence of Node
        Functions that must be <= 0.
    width : int
        The number of entries of u.
    """

    def __init__(self, goal: Node, limits: Sequence[Node], width: int) -> None:
        import cvxpy as cp

        self.u, self.room = cp.Variable(width), cp.Parameter()
        translate = Translator(self.u)
        objective = translate.of(goal)
        self.maxima = translate.maxima
        self.limits = [translate.of(node) <= -self.room for node in limits]
        self.problem = cp.Problem(cp.Minimize(cp.sum(objective)), translate.constraints + self.limits)
        self._translated: dict[float, tuple[Any, Any, Any]] = {}

    def minimise(
        self, room: float, matrix: Any, constant: FloatArray, sums: Any, seconds: float = np.inf
    ) -> FloatArray:
        """Return weights alpha >= 0 with ``sums @ alpha == 1``; ``limits`` and ``maxima`` then have their multipliers.

        Limits are kept with some room. An answer that Clarabel calls inaccurate is accepted, because no bound depends
        on it. Raises `UnsolvedError` if there is no answer, or none in so many seconds.
        """
        import clarabel
        import cvxpy as cp
        from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones

        with solving(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if room not in self._translated:
                self.room.value = room
                self._translated[room] = self.problem.get_problem_data(cp.CLARABEL, solver_opts={})
            data, chain, inverse = self._translated[room]
            rows, own = data["A"].shape
            width, count = matrix.shape
            place = data["param_prob"].var_id_to_col[self.u.id] + np.arange(width)
            entries = sp.csc_array((np.ones(width), (np.arange(width), place)), shape=(width, own))
            parts = [
                [data["A"], None],
                [entries, -sp.csc_array(matrix)],
                [None, sums],
                [None, -sp.eye_array(count)],
            ]
            system = sp.csc_matrix(sp.block_array(parts))
            right = np.concatenate([data["b"], constant, np.ones(sums.shape[0]), np.zeros(count)])
            quadratic = sp.csc_matrix((own + count, own + count))
            if "P" in data:
                quadratic = sp.csc_matrix(sp.block_diag([sp.triu(data["P"]), sp.csc_array((count, count))]))
            cones = [
                *dims_to_solver_cones(data["dims"]),
                clarabel.ZeroConeT(width + sums.shape[0]),
                clarabel.NonnegativeConeT(count),
            ]
            linear = np.concatenate([data["c"], np.zeros(count)])
            answer = clarabel.DefaultSolver(
                quadratic, linear, system, right, cones, accurate(seconds)
            ).solve()
            x, z = np.array(answer.x), np.array(answer.z)
            read(str(answer.status) in ("Solved", "AlmostSolved"), answer.status, x, z)
            shown = {"x": x[:own], "z": z[:rows], "obj_val": answer.obj_val, "status": answer.status}
            times = {"solve_time": answer.solve_time, "iterations": answer.iterations}
            self.problem.unpack_results(SimpleNamespace(**shown, **times), chain, inverse)
        return x[own:]


def solve(problem: Any, unknowns: Any) -> float:
    """Solve a CVXPY problem and return its value; raise `UnsolvedError` unless ``unknowns`` then has values.

    An answer that the solver calls inaccurate is accepted, because no bound depends on it.
    """
    import cvxpy as cp

    # CVXPY warns of inaccurate answers, and evaluates the objective at rates that may be just below zero by rounding.
    with solving(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=TOLERANCE, tol_gap_rel=TOLERANCE, tol_feas=TOLERANCE)
        read(problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE), problem.status, unknowns.value)
    return float(problem.solution.opt_val)
