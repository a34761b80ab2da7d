"""`MetricClassifier`: a scikit-learn estimator whose decisions are fitted to a metric under constraints."""

from metricfit.estimator.classifier import MetricClassifier

__all__ = ["MetricClassifier"]
