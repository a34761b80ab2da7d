"""The list of all metric functions, used by the text form, the command line, the docs and the tests."""

from __future__ import annotations

from collections.abc import Callable

from metricfit.metrics import agreement, comparison, coverages, fairness, means, overlap, per_class
from metricfit.metrics.base import Metric

FUNCTIONS: tuple[Callable[..., Metric], ...] = (
    per_class.accuracy,
    per_class.recall,
    per_class.precision,
    per_class.specificity,
    per_class.false_positive_rate,
    per_class.coverage,
    overlap.f1,
    overlap.f_beta,
    overlap.macro_f1,
    overlap.jaccard,
    per_class.selective_accuracy,
    per_class.selective_recall,
    means.balanced_accuracy,
    means.g_mean,
    means.h_mean,
    means.q_mean,
    means.min_recall,
    means.micro_f1,
    agreement.cost,
    agreement.ordinal_error,
    agreement.cohen_kappa,
    agreement.mcc,
    coverages.coverage_deviation,
    coverages.quantification_kld,
    coverages.churn,
    fairness.demographic_parity,
    fairness.equal_opportunity,
    fairness.equalized_odds,
    fairness.equal_error_rates,
    fairness.predictive_parity,
    comparison.disparity,
    comparison.worst,
    means.minimum,
    means.maximum,
)
METRICS: dict[str, Callable[..., Metric]] = {function.__name__: function for function in FUNCTIONS}
