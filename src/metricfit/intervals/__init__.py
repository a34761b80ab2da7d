"""How sure a metric of labelled rows is: 95 % intervals for any function of the confusion tensor.

`Evidence` is what was seen, `estimate` says what a metric is on it and between which ends.
"""

from __future__ import annotations

from metricfit.intervals.estimate import Estimate, estimate
from metricfit.intervals.evidence import Evidence

__all__ = ["Estimate", "Evidence", "estimate"]
