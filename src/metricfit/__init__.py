"""Fit the metric you are judged by, under the constraints you must keep."""

from metricfit import datasets
from metricfit.data.confusion import Confusion
from metricfit.estimator import MetricClassifier
from metricfit.exceptions import InfeasibleError
from metricfit.metrics import (
    Constraint,
    Metric,
    accuracy,
    balanced_accuracy,
    churn,
    cohen_kappa,
    cost,
    coverage,
    coverage_deviation,
    custom,
    demographic_parity,
    disparity,
    equal_opportunity,
    equalized_odds,
    f1,
    f_beta,
    false_positive_rate,
    g_mean,
    h_mean,
    jaccard,
    macro_f1,
    maximum,
    mcc,
    micro_f1,
    min_recall,
    minimum,
    ordinal_error,
    parse,
    precision,
    predictive_parity,
    q_mean,
    quantification_kld,
    recall,
    selective_accuracy,
    selective_recall,
    specificity,
    worst,
)
from metricfit.oracles import RetrainOracle
from metricfit.oracles.files.scores import scores
from metricfit.policy import Policy
from metricfit.policy.models import ModelPolicy
from metricfit.result import Result
from metricfit.solve import optimize

__version__ = "0.1.0"

# In the order of the flow: the doors, what they answer, what they are asked with; then the metrics.
__all__ = [  # noqa: RUF022
    "optimize",
    "MetricClassifier",
    "Result",
    "Policy",
    "ModelPolicy",
    "InfeasibleError",
    "Metric",
    "Constraint",
    "parse",
    "Confusion",
    "RetrainOracle",
    "scores",
    "datasets",
    "accuracy",
    "balanced_accuracy",
    "churn",
    "cohen_kappa",
    "cost",
    "coverage",
    "coverage_deviation",
    "custom",
    "demographic_parity",
    "disparity",
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
