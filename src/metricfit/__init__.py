"""Fit the metric you are judged by, under the constraints you must keep."""

# Nothing is imported here, not even typing: until the command has its answer to Ctrl-C, one would end in a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from metricfit import calibration, datasets, exceptions, methods, oracles, report
    from metricfit.data.confusion import Confusion
    from metricfit.estimator import MetricClassifier
    from metricfit.exceptions import InfeasibleError
    from metricfit.explorer import explore
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
        equal_error_rates,
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
    from metricfit.options import Options
    from metricfit.oracles import RetrainOracle
    from metricfit.oracles.files.scores import scores
    from metricfit.policy import Policy
    from metricfit.policy.models import ModelPolicy
    from metricfit.problem import Problem
    from metricfit.result import Result
    from metricfit.solving import optimize, solve
    from metricfit.tradeoff import Frontier, frontier
    from metricfit.trust.class_shares import class_shares
    from metricfit.trust.monitoring.monitor import Monitor

__version__ = "0.1.0"

# In the order of the flow: the doors, what they answer, what they are asked with; then the metrics. Type checkers read
# these names and those above, so both are written out.
__all__ = [  # noqa: RUF022
    "optimize",
    "frontier",
    "explore",
    "solve",
    "Options",
    "MetricClassifier",
    "Result",
    "Frontier",
    "Policy",
    "ModelPolicy",
    "Monitor",
    "class_shares",
    "InfeasibleError",
    "Problem",
    "Metric",
    "Constraint",
    "parse",
    "Confusion",
    "RetrainOracle",
    "scores",
    "calibration",
    "datasets",
    "exceptions",
    "methods",
    "oracles",
    "report",
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

# Where each public name lives that is no metric. It is imported when it is first asked for, so that a program that only
# decides rows with a policy imports NumPy and nothing else.
_HOMES = {
    "metricfit.data.confusion": ("Confusion",),
    "metricfit.estimator": ("MetricClassifier",),
    "metricfit.exceptions": ("InfeasibleError",),
    "metricfit.explorer": ("explore",),
    "metricfit.options": ("Options",),
    "metricfit.oracles": ("RetrainOracle",),
    "metricfit.oracles.files.scores": ("scores",),
    "metricfit.policy": ("Policy",),
    "metricfit.policy.models": ("ModelPolicy",),
    "metricfit.problem": ("Problem",),
    "metricfit.result": ("Result",),
    "metricfit.solving": ("optimize", "solve"),
    "metricfit.tradeoff": ("Frontier", "frontier"),
    "metricfit.trust.class_shares": ("class_shares",),
    "metricfit.trust.monitoring.monitor": ("Monitor",),
}
_MODULES = ("calibration", "datasets", "exceptions", "methods", "oracles", "report")
_HOME = dict.fromkeys(__all__, "metricfit.metrics")
_HOME |= {name: module for module, names in _HOMES.items() for name in names}


# Hidden from type checkers, to which a module with __getattr__ has every name, misspelt ones too.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for."""
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"metricfit.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'metricfit' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value  # the next time it is found without asking here
        return value

    def __dir__() -> list[str]:
        """Return the public names, imported or not."""
        return sorted({*(name for name in globals() if name.startswith("__")), *_MODULES, *__all__})
