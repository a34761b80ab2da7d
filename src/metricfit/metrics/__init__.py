"""Metrics: what users write. Named metrics, their algebra, their text form, and constraints on them."""

from metricfit.functions.curvature import Curvature
from metricfit.metrics.agreement import cohen_kappa, cost, mcc, ordinal_error
from metricfit.metrics.base import Metric, as_metric
from metricfit.metrics.comparison import disparity, worst
from metricfit.metrics.constraint import Constraint
from metricfit.metrics.coverages import churn, coverage_deviation, quantification_kld
from metricfit.metrics.custom import custom
from metricfit.metrics.fairness import (
    demographic_parity,
    equal_error_rates,
    equal_opportunity,
    equalized_odds,
    predictive_parity,
)
from metricfit.metrics.means import (
    balanced_accuracy,
    g_mean,
    h_mean,
    maximum,
    micro_f1,
    min_recall,
    minimum,
    q_mean,
)
from metricfit.metrics.overlap import f1, f_beta, jaccard, macro_f1
from metricfit.metrics.per_class import (
    accuracy,
    coverage,
    false_positive_rate,
    precision,
    recall,
    selective_accuracy,
    selective_recall,
    specificity,
)
from metricfit.metrics.registry import METRICS
from metricfit.metrics.text.parse import parse

__all__ = [
    "METRICS",
    "Constraint",
    "Curvature",
    "Metric",
    "accuracy",
    "as_metric",
    "balanced_accuracy",
    "churn",
    "cohen_kappa",
    "cost",
    "coverage",
    "coverage_deviation",
    "custom",
    "demographic_parity",
    "disparity",
    "equal_error_rates",
    "equal_opportunity",
    "equalized_odds",
    "f1",
    "f_beta",
    "false_positive_rate",
    "g_mean",
    "h_mean",
    "jaccard",
    "macro_f1",
    "maximum",
    "mcc",
    "micro_f1",
    "min_recall",
    "minimum",
    "ordinal_error",
    "parse",
    "precision",
    "predictive_parity",
    "q_mean",
    "quantification_kld",
    "recall",
    "selective_accuracy",
    "selective_recall",
    "specificity",
    "worst",
]
