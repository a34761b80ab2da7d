"""Linear programs, by HiGHS, which goes on from its last corner when costs change or rows are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from metricfit.solvers.attempts import TOLERANCE, read, solving
from metricfit.types import FloatArray


class LinearProgram:
    """Minimise ``cost @ x`` where ``lowest <= system @ x <= highest`` and ``low <= x <= high``.

    Examples
    --------
    >>> import numpy as np
    >>> program = LinearProgram(np.zeros(2), np.full(2, np.inf))
    >>> program.add(np.array([[1.0, 2.0]]), np.array([2.0]), np.array([np.inf]))
    >>> x, multipliers = program.minimise(np.array([1.0, 1.0]))
    >>> x.tolist(), multipliers.tolist()
    ([0.0, 1.0], [0.5])
    """

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        import highspy

        self.optimal = highspy.HighsModelStatus.kOptimal
        self.solver: Any = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        }.items():
            self.solver.setOptionValue(option, value)
        self.places = np.arange(low.size, dtype=np.int32)
        none = np.zeros(0, np.int32)
        self.solver.addCols(low.size, np.zeros(low.size), low, high, 0, none, none, np.zeros(0))

    def add(self, system: Any, lowest: FloatArray, highest: FloatArray) -> None:
        """Add rows."""
        rows = sp.csr_array(system)
        starts, places = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self.solver.addRows(lowest.size, lowest, highest, rows.nnz, starts, places, rows.data.astype(float))

    def minimise(self, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a corner and the multipliers of all rows (what a unit more of their ends adds to the cost).

        Raises `Unsolved` where there is none, or HiGHS fails.
        """
        with solving():
            self.solver.changeColsCost(self.places.size, self.places, cost)
            self.solver.run()
            status, answer = self.solver.getModelStatus(), self.solver.getSolution()
            x, multipliers = np.array(answer.col_value), np.array(answer.row_dual)
            read(status == self.optimal, self.solver.modelStatusToString(status), x, multipliers)
        return x, multipliers
