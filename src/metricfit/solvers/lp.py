"""Linear programs, by HiGHS, which goes on from its last corner when costs change, or rows and columns come and go."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricfit.functions.matrices import row_lists
from metricfit.solvers.attempts import TOLERANCE, read, solving
from metricfit.types import BoolArray, FloatArray, IntArray

# A corner stays feasible when costs change or columns are added, its multipliers do when rows are added: the primal
# simplex method continues from it in the first case, the dual in the second. The other takes three times as long.
DUAL, PRIMAL = ("simplex_strategy", 1), ("simplex_strategy", 4)
# HiGHS divides rows and columns by their largest entries. Under equalized odds of 30 groups x 8 classes that takes a
# tenth to a quarter off the steps of what it does by itself.
BY_LARGEST = 4


class LinearProgram:
    """Minimise ``cost @ x`` where ``lowest <= system @ x <= highest`` and ``low <= x <= high``.

    Examples
    --------
    >>> import numpy as np
    >>> program = LinearProgram(np.zeros(2), np.full(2, np.inf))
    >>> program.add_rows(np.array([[1.0, 2.0]]), np.array([2.0]), np.array([np.inf]))
    >>> x, multipliers = program.minimise(np.array([1.0, 1.0]))
    >>> x.tolist(), multipliers.tolist()
    ([0.0, 1.0], [0.5])
    """

    def __init__(self, low: FloatArray, high: FloatArray) -> None:
        import highspy

        self.optimal, self.basic = highspy.HighsModelStatus.kOptimal, highspy.HighsBasisStatus.kBasic
        self.solver: Any = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "simplex_scale_strategy": BY_LARGEST,
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        }.items():
            self.solver.setOptionValue(option, value)
        self.add_columns(np.zeros((0, low.size)), low, high)

    def add_columns(self, system: Any, low: FloatArray, high: FloatArray) -> None:
        """Add unknowns between two ends, with their coefficients in all rows there are."""
        starts, places, values = row_lists(system.T)
        self.solver.addCols(low.size, np.zeros(low.size), low, high, values.size, starts, places, values)

    def add_rows(self, system: Any, lowest: FloatArray, highest: FloatArray) -> None:
        """Add rows, with the coefficients of all unknowns there are."""
        self.solver.setOptionValue(*DUAL)
        starts, places, values = row_lists(system)
        self.solver.addRows(lowest.size, lowest, highest, values.size, starts, places, values)

    def loose_rows(self) -> BoolArray:
        """Return which rows do not hold the last corner in place: it stays one when they are taken out."""
        return np.array([status == self.basic for status in self.solver.getBasis().row_status], bool)

    def remove_rows(self, places: IntArray) -> None:
        """Take rows out."""
        if places.size:
            self.solver.deleteRows(places.size, places.astype(np.int32))

    def remove_columns(self, places: IntArray) -> None:
        """Take unknowns out."""
        if places.size:
            self.solver.deleteCols(places.size, places.astype(np.int32))

    def minimise(self, cost: FloatArray, seconds: float = np.inf) -> tuple[FloatArray, FloatArray]:
        """Return the best corner and the multipliers of all rows (by how much the cost rises per unit of their ends).

        Raises `UnsolvedError` if there is none, or if HiGHS fails, or does not find it in so many seconds.
        """
        with solving():
            self.solver.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost)
            # HiGHS counts the time of all its runs.
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + seconds)
            self.solver.run()
            self.solver.setOptionValue(*PRIMAL)
            status, answer = self.solver.getModelStatus(), self.solver.getSolution()
            x, multipliers = np.array(answer.col_value), np.array(answer.row_dual)
            read(status == self.optimal, self.solver.modelStatusToString(status), x, multipliers)
        return x, multipliers
