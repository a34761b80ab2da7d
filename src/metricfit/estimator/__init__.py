"""`MetricClassifier`: the scikit-learn door to the flow."""

from metricfit.estimator.classifier import MetricClassifier

__all__ = ["MetricClassifier"]
