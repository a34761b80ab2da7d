"""The quadratic (or linear) program over mixtures of columns, solved by Clarabel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.methods.columns import Columns, Unsolved
from metricfit.methods.polyhedron import Polyhedron
from metricfit.problem import Limit
from metricfit.types import FloatArray

# Constraint rows are kept with this much to spare where that is possible, so that rounding breaks none.
SPARE = 2e-9


def minimise_quadratic(
    columns: Columns, body: Polyhedron, gradient: FloatArray, hessian: Any, u: FloatArray, cost: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``cost @ (v, t) + gradient @ (v - u) + (v - u) @ hessian @ (v - u) / 2`` over mixtures v.

    Parameters
    ----------
    columns : Columns
        What may be mixed: ``v = columns.matrix @ alpha + constant`` with weights that sum to 1 in every cell.
    body : Polyhedron
        Rows over (v, t) that must be <= 0.
    gradient, hessian, u
        The local model; a hessian of None makes it linear.
    cost : array
        Linear cost on (v, t), possibly shorter.

    Returns
    -------
    alpha, multipliers : arrays
        Weights of the columns (not yet rounded to a mixture) and multipliers of the rows of ``body``.
    """
    import clarabel

    constant = columns.program.constant
    count, width, extra = len(columns), constant.size, len(body.maxima)
    cells = len(columns.program.axes.cells)
    rows, offsets = body.system()
    convexity = sp.csc_array((np.ones(count), (columns.cell, np.arange(count))), shape=(cells, count))
    weights = sp.vstack([-columns.matrix, convexity, sp.csc_array(rows.shape[:1] + (count,)), -sp.eye_array(count)])
    others = sp.vstack([sp.eye_array(width, width + extra), sp.csc_array((cells, width + extra)), rows])
    others = sp.vstack([others, sp.csc_array((count, width + extra))])
    system = sp.csc_matrix(sp.hstack([weights, others], format="csc"))
    linear = np.zeros(count + width + extra)
    linear[count : count + width] = gradient if hessian is None else gradient - hessian @ u
    linear[count : count + cost.size] += cost
    bend = sp.csc_array((width, width)) if hessian is None else sp.triu(hessian)
    zero = sp.csc_array((count, count)), sp.csc_array((extra, extra))
    quadratic = sp.csc_matrix(sp.block_diag([zero[0], bend, zero[1]], format="csc"))
    cones = [clarabel.ZeroConeT(width + cells), clarabel.NonnegativeConeT(rows.shape[0] + count)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    spare = np.concatenate([np.full(r.constant.size, isinstance(r.owner, Limit) * SPARE) for r in body.rows] or [[]])
    for slack in (spare, 0 * spare) if spare.any() else (spare,):
        right = np.concatenate([constant, np.ones(cells), -offsets - slack, np.zeros(count)])
        answer = clarabel.DefaultSolver(quadratic, linear, system, right, cones, settings).solve()
        x, z = np.array(answer.x), np.array(answer.z)
        if str(answer.status) in ("Solved", "AlmostSolved") and np.isfinite(x).all() and np.isfinite(z).all():
            return x[:count], z[width + cells : width + cells + rows.shape[0]]
    raise Unsolved(str(answer.status))
