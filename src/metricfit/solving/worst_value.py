"""A warning where limits leave only policies of the worst value.

A floor that the rows hardly allow is met by never deciding its class. Then a geometric mean of recalls is 0 whatever
else is decided.
"""

from __future__ import annotations

import numpy as np

from metricfit.exceptions import WorstValueWarning
from metricfit.messages import warn
from metricfit.oracles.base import OracleBase
from metricfit.problem import Problem
from metricfit.result import Result

# Values that differ by less are equal.
ROUNDING = 1e-9


def warn_if_worst(problem: Problem, oracle: OracleBase, result: Result) -> None:
    """Warn if limits hold only for want of rows and the objective could not be worse.

    A value that is worst for another reason, because the few rows of a class are missed, may be good on new rows.
    """
    empty = [record.name for record in result.constraints if np.isnan(record.value)]
    if not empty:
        return
    if problem.sign * result.value < problem.bind(oracle.axes, oracle.margins).highest_value - ROUNDING:
        return
    other = result.calibrated
    told = ""
    if other is not None and not np.isclose(other.value, result.value):
        told = f", or use counting='calibrated' ({other.value:.3f} if the calibrated probabilities are right)"
    warn(
        f"the objective is {result.value:g}, and could not be worse: the only policies found that keep "
        f"{' and '.join(empty)} leave the rate without rows, such as the precision of a class that is never decided. "
        f"Loosen the limit (mf.frontier shows what each level allows), give more rows{told}",
        WorstValueWarning,
    )
