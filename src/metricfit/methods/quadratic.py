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
    if count < width and not offsets.size and not body.maxima:
        slope = gradient - hessian.times(u - constant)
        slope[: cost.size] += cost
        return _over_columns(columns, slope, hessian), np.zeros(0)
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
    spare = SPARE * body.belongs_to(Limit)
    for slack in (spare, 0 * spare) if spare.any() else (spare,):
        right = np.concatenate([constant, np.ones(cells), -offsets - slack, np.zeros(count)])
        answer = clarabel.DefaultSolver(quadratic, linear, system, right, cones, _settings()).solve()
        x, z = np.array(answer.x), np.array(answer.z)
        if str(answer.status) in ("Solved", "AlmostSolved") and np.isfinite(x).all() and np.isfinite(z).all():
            return x[:count], z[equations : equations + offsets.size]
    raise Unsolved(str(answer.status))


def _over_columns(columns: Columns, slope: FloatArray, hessian: Triplets) -> FloatArray:
    """Minimise ``slope @ v + v @ hessian @ v / 2``, v less its constant, with no unknowns but the columns' weights.

    With many classes these are few, and the program over v as well would take most of the time of a solve.
    """
    import clarabel

    mixed, count, cells = columns.matrix, len(columns), len(columns.program.axes.cells)
    bend = sp.csr_array((hessian.value, (hessian.row, hessian.column)), shape=(slope.size, slope.size))
    quadratic = sp.csc_matrix(sp.triu((mixed.T @ bend @ mixed).tocsc()))
    each, ones = np.arange(count), np.ones(count)
    system = _matrix([columns.cell, cells + each], [each, each], [ones, -ones], (cells + count, count))
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


def _matrix(
    rows: list[IntArray], columns: list[IntArray], values: list[FloatArray], shape: tuple[int, int]
) -> Any:
    places = np.concatenate(rows), np.concatenate(columns)
    return sp.csc_matrix((np.concatenate(values), places), shape=shape)
