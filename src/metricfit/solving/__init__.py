"""From a problem and rows to a result: `optimize` takes arrays, `solve` an oracle, and all go through `solve`."""

from metricfit.solving.arrays import answered, optimize
from metricfit.solving.door import solve
from metricfit.solving.new_rows import confirmed, confirmed_by_folds, with_expected
from metricfit.solving.provenance import judge_of, provenance_of

__all__ = [
    "answered",
    "confirmed",
    "confirmed_by_folds",
    "judge_of",
    "optimize",
    "provenance_of",
    "solve",
    "with_expected",
]
