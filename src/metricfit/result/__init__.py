"""What a solve ends with, in natural signs: value, bound, prices, history and the policy."""

from metricfit.result.records import Calibrated, ConstraintRecord, Deterministic, Origin, constraint_records
from metricfit.result.result import Result

__all__ = ["Calibrated", "ConstraintRecord", "Deterministic", "Origin", "Result", "constraint_records"]
