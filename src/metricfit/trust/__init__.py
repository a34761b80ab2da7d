"""What makes tuned decisions hold on new rows: probabilities from models that did not see the row."""

from __future__ import annotations

from metricfit.trust.crossfit import OutOfFold, class_proba, cross_fit, weight_argument

__all__ = ["OutOfFold", "class_proba", "cross_fit", "weight_argument"]
