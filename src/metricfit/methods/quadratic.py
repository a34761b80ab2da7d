"""The quadratic (or linear) program over mixtures of columns, solved by Clarabel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.methods.columns import Columns, Unsolved
from metricfit.methods.curve import Triplets
from metricfit.methods.polyhedron import Polyhedron
from metricfit.problem import Limit
from metricfit.types import FloatArray, IntArray

# Constraint rows are kept with this much to spare where that is possible, so that rounding breaks none.
SPARE = 2e-9


def minimise_quadratic(
    columns: Columns,
    body: Polyhedron,
    gradient: FloatArray,
    hessian: Triplets,
    u: FloatArray,
    cost: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``cost @ (v, t) + gradient @ (v - u) + (v - u) @ hessian @ (v - u) / 2`` over mixtures v.

    Parameters
    ----------
    columns : Columns
        What may be mixed: ``v = columns.matrix @ alpha + constant`` with weights that sum to 1 in every cell.
    body : Polyhedron
        Rows over (v, t) that must be <= 0.
    gradient, hessian, u
        The local model; an empty Hessian makes it linear.
    cost : array
        Linear cost on (v, t), possibly shorter.

    Returns
    -------
    alpha, multipliers : arrays
        Weights of the columns (not yet rounded to a mixture) and multipliers of the rows of ``body``.
    """
    import clarabel

    constant = columns.program.constant
    count, width, cells = len(columns), constant.size, len(columns.program.axes.cells)
    rows, offsets = body.system()
    unknowns, equations = count + width + len(body.maxima), width + cells
    mixed, rest, each = columns.matrix, rows.tocoo(), np.arange(count)
    ones = np.ones(max(count, width))
    # v - columns @ alpha = constant; weights sum to 1 in every cell; rows @ (v, t) <= -offsets; -alpha <= 0.
    system = _matrix(
        [
            mixed.indices,
            np.arange(width),
            width + columns.cell,
            equations + rest.row,
            equations + offsets.size + each,
        ],
        [np.repeat(each, np.diff(mixed.indptr)), count + np.arange(width), each, count + rest.col, each],
        [-mixed.data, ones[:width], ones[:count], rest.data, -ones[:count]],
        (equations + offsets.size + count, unknowns),
    )
    upper = hessian.row <= hessian.column
    places = count + hessian.row[upper], count + hessian.column[upper]
    quadratic = _matrix([places[0]], [places[1]], [hessian.value[upper]], (unknowns, unknowns))
    linear = np.zeros(unknowns)
    linear[count : count + width] = gradient - hessian.times(u)
    linear[count : count + cost.size] += cost
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(offsets.size + count)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    spare = SPARE * body.belongs_to(Limit)
    for slack in (spare, 0 * spare) if spare.any() else (spare,):
        right = np.concatenate([constant, np.ones(cells), -offsets - slack, np.zeros(count)])
        answer = clarabel.DefaultSolver(quadratic, linear, system, right, cones, settings).solve()
        x, z = np.array(answer.x), np.array(answer.z)
        if str(answer.status) in ("Solved", "AlmostSolved") and np.isfinite(x).all() and np.isfinite(z).all():
            return x[:count], z[equations : equations + offsets.size]
    raise Unsolved(str(answer.status))


def _matrix(
    rows: list[IntArray], columns: list[IntArray], values: list[FloatArray], shape: tuple[int, int]
) -> Any:
    places = np.concatenate(rows), np.concatenate(columns)
    return sp.csc_matrix((np.concatenate(values), places), shape=shape)
