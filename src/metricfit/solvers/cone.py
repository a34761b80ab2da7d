"""Cone programs, written in CVXPY and solved by Clarabel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from metricfit.functions.expression import Constant, Entries, Node
from metricfit.functions.extremes import Largest
from metricfit.functions.nonlinear import Smooth
from metricfit.functions.sums import Stack, Sum, Total
from metricfit.solvers.attempts import TOLERANCE, read, solving


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


def solve(problem: Any, unknowns: Any) -> float:
    """Solve a CVXPY problem and return its value; raise `Unsolved` unless ``unknowns`` then has values.

    An answer that the solver calls inaccurate is accepted, because no bound depends on it.
    """
    import cvxpy as cp

    # CVXPY warns of inaccurate answers, and evaluates the objective at rates that may be just below zero by rounding.
    with solving(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=TOLERANCE, tol_gap_rel=TOLERANCE, tol_feas=TOLERANCE)
        read(problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE), problem.status, unknowns.value)
    return float(problem.solution.opt_val)
