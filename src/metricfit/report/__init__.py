"""Pictures of results, in scikit-learn's manner, and the report that is made of them."""

from __future__ import annotations

from metricfit.report.achievable import AchievableDisplay
from metricfit.report.confusions import ConfusionDisplay
from metricfit.report.convergence import ConvergenceDisplay
from metricfit.report.frontiers import FrontierDisplay
from metricfit.report.groups import GroupsDisplay
from metricfit.report.regions import RegionsDisplay
from metricfit.report.reliability import ReliabilityDisplay
from metricfit.report.weights import WeightsDisplay

__all__ = [
    "AchievableDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "FrontierDisplay",
    "GroupsDisplay",
    "RegionsDisplay",
    "ReliabilityDisplay",
    "WeightsDisplay",
]
