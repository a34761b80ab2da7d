"""How uncertain a metric of labelled rows is: 95 % intervals for any function of the confusion tensor.

`Evidence` summarises the rows, `estimate` returns the value of a metric on them with its interval.
"""

from __future__ import annotations

from metricfit.intervals.estimate import Estimate, estimate
from metricfit.intervals.evidence import Evidence

__all__ = ["Estimate", "Evidence", "estimate"]
