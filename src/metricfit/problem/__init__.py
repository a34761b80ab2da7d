"""Objective and constraints, as stated and on data: the only package that knows about signs."""

from metricfit.problem.limit import Limit
from metricfit.problem.program import Program
from metricfit.problem.statement import ConstraintLike, ObjectiveLike, Problem

__all__ = ["ConstraintLike", "Limit", "ObjectiveLike", "Problem", "Program"]
