"""Quadratic programs, by Clarabel."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.functions.matrices import by_columns
from metricfit.solvers.attempts import TOLERANCE, read, solving
from metricfit.types import FloatArray

# Clarabel's ordering sets rows apart that have more entries than about this times the square root of its unknowns.
# Where it does (30 groups, each with rows of its own, and equations for what all share), factors stay sparse, and
# its solver without blocks takes half the time of the one with blocks, which is its default.
DENSE_ROW = 16.0


def accurate(seconds: float = np.inf) -> Any:
    """Return Clarabel's settings: quiet and accurate, and no longer than so many seconds."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    settings.time_limit = seconds
    settings.max_threads = 1  # more of them take longer for programs of this size
    return settings


def minimise(
    quadratic: Any,
    linear: FloatArray,
    system: Any,
    right: FloatArray,
    equations: int,
    seconds: float = np.inf,
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``x @ quadratic @ x / 2 + linear @ x`` where ``system @ x <= right``; the first rows are equations.

    Parameters
    ----------
    quadratic : array, sparse matrix or ByColumns
        Its upper triangle.
    linear, right : arrays
    system : array, sparse matrix or ByColumns
    equations : int
        How many of the first rows hold with equality.
    seconds : float
        The most that it may take.

    Returns
    -------
    x, multipliers : arrays
        A point in the middle of the set of minimisers, and the multipliers of all rows.

    Raises
    ------
    UnsolvedError
        If there is no minimiser, or Clarabel fails, or does not find it in time.

    Examples
    --------
    >>> import numpy as np
    >>> x, multipliers = minimise(np.eye(2), np.zeros(2), np.array([[1.0, 1.0]]), np.array([2.0]), 1)
    >>> np.round(x, 6).tolist(), np.round(multipliers, 6).tolist()
    ([1.0, 1.0], [-1.0])
    """
    import clarabel

    settings = accurate(seconds)
    system = by_columns(system)
    many = DENSE_ROW * np.sqrt(sum(system.shape))
    if system.shape[1] > many and np.bincount(system.indices).max(initial=0) > many:
        settings.direct_solve_method = "qdldl"
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(right.size - equations)]
    with solving():
        vectors = linear.tolist(), system, right.tolist()  # as lists, see `ByColumns`
        answer = clarabel.DefaultSolver(by_columns(quadratic), *vectors, cones, settings).solve()
        x, multipliers = np.array(answer.x), np.array(answer.z)
        read(str(answer.status) in ("Solved", "AlmostSolved"), answer.status, x, multipliers)
    return x, multipliers
