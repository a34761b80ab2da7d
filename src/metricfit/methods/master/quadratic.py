"""The quadratic (or linear) program over mixtures of columns, solved by Clarabel."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.exceptions import Unsolved
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.curve import Triplets
from metricfit.methods.master.polyhedron import Polyhedron
from metricfit.problem import Limit
from metricfit.types import FloatArray

# Constraint rows are kept with this much to spare where that is possible, so that rounding breaks none.
SPARE = 2e-9


class QuadraticProgram:
    """Minimises quadratic functions over the mixtures of some columns; what these have in common is built once.

    Parameters
    ----------
    columns : Columns
        What may be mixed: ``v = columns.matrix @ alpha + constant`` with weights that sum to 1 in every cell.
    body : Polyhedron
        Rows over v, and over a t for each maximum, that must be <= 0.
    """

    def __init__(self, columns: Columns, body: Polyhedron) -> None:
        self.columns, self.body = columns, body
        self.constant = columns.program.constant
        self.rows, self.offsets = body.system()

    def minimise(
        self, gradient: FloatArray, hessian: Triplets, u: FloatArray, cost: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Minimise ``cost @ (v, t) + gradient @ (v - u) + (v - u) @ hessian @ (v - u) / 2``.

        An empty Hessian makes it linear; the cost may be shorter than (v, t).

        Returns
        -------
        alpha, multipliers : arrays
            Weights of the columns (not yet rounded to a mixture) and multipliers of the rows of ``body``.
        """
        import clarabel

        count, width = len(self.columns), self.constant.size
        if count < width and not self.offsets.size and not self.body.maxima:
            slope = gradient - hessian.times(u - self.constant)
            slope[: cost.size] += cost
            return _over_columns(self.columns, slope, hessian), np.zeros(0)
        system, (equations, inequalities) = self._system
        upper = hessian.row <= hessian.column
        places = count + hessian.row[upper], count + hessian.column[upper]
        unknowns = system.shape[1]
        quadratic = sp.csc_matrix((hessian.value[upper], places), shape=(unknowns, unknowns))
        linear = np.zeros(unknowns)
        linear[count : count + width] = gradient - hessian.times(u)
        linear[count : count + cost.size] += cost
        cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(inequalities)]
        spare = SPARE * self.body.belongs_to(Limit)
        for slack in (spare, 0 * spare) if spare.any() else (spare,):
            ones, zeros = np.ones(equations - width), np.zeros(count)
            right = np.concatenate([self.constant, ones, -self.offsets - slack, zeros])
            answer = clarabel.DefaultSolver(quadratic, linear, system, right, cones, _settings()).solve()
            x, z = np.array(answer.x), np.array(answer.z)
            solved = str(answer.status) in ("Solved", "AlmostSolved")
            if solved and np.isfinite(x).all() and np.isfinite(z).all():
                return x[:count], z[equations : equations + self.offsets.size]
        raise Unsolved(str(answer.status))

    @cached_property
    def _system(self) -> tuple[Any, tuple[int, int]]:
        """The rows over (alpha, v, t), and how many are equations and inequalities.

        v - columns @ alpha = constant; weights sum to 1 in every cell; rows @ (v, t) <= -offsets; -alpha <= 0.
        """
        columns, offsets, mixed = self.columns, self.offsets, self.columns.matrix
        count, width, cells = len(columns), self.constant.size, len(columns.program.axes.cells)
        equations, inequalities = width + cells, offsets.size + count
        rest, each, ones = self.rows.tocoo(), np.arange(count), np.ones(max(count, width))
        below = equations + offsets.size
        row = [mixed.indices, np.arange(width), width + columns.cell, equations + rest.row, below + each]
        column = [
            np.repeat(each, np.diff(mixed.indptr)),
            count + np.arange(width),
            each,
            count + rest.col,
            each,
        ]
        value = [-mixed.data, ones[:width], ones[:count], rest.data, -ones[:count]]
        places = np.concatenate(row), np.concatenate(column)
        shape = equations + inequalities, count + width + len(self.body.maxima)
        return sp.csc_matrix((np.concatenate(value), places), shape=shape), (equations, inequalities)


def _over_columns(columns: Columns, slope: FloatArray, hessian: Triplets) -> FloatArray:
    """Minimise ``slope @ v + v @ hessian @ v / 2``, v less its constant, with no unknowns but the columns' weights.

    With many classes these are few, and the program over v as well would take most of the time of a solve.
    """
    import clarabel

    mixed, count, cells = columns.matrix, len(columns), len(columns.program.axes.cells)
    bend = sp.csr_array((hessian.value, (hessian.row, hessian.column)), shape=(slope.size, slope.size))
    quadratic = sp.csc_matrix(np.triu((mixed.T @ (bend @ mixed)).toarray()))
    each, ones = np.arange(count), np.ones(count)
    places = np.concatenate([columns.cell, cells + each]), np.concatenate([each, each])
    system = sp.csc_matrix((np.concatenate([ones, -ones]), places), shape=(cells + count, count))
    right = np.concatenate([np.ones(cells), np.zeros(count)])
    cones = [clarabel.ZeroConeT(cells), clarabel.NonnegativeConeT(count)]
    answer = clarabel.DefaultSolver(quadratic, slope @ mixed, system, right, cones, _settings()).solve()
    alpha = np.array(answer.x)
    if str(answer.status) not in ("Solved", "AlmostSolved") or not np.isfinite(alpha).all():
        raise Unsolved(str(answer.status))
    return alpha


def _settings() -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    return settings
