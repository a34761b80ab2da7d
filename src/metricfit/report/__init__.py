"""Pictures of results, in scikit-learn's manner, and the report that is made of them."""

from __future__ import annotations

from metricfit.report.pictures.achievable import AchievableDisplay
from metricfit.report.pictures.confusions import ConfusionDisplay
from metricfit.report.pictures.convergence import ConvergenceDisplay
from metricfit.report.pictures.frontiers import FrontierDisplay
from metricfit.report.pictures.groups import GroupsDisplay
from metricfit.report.pictures.regions import RegionsDisplay
from metricfit.report.pictures.reliability import ReliabilityDisplay
from metricfit.report.pictures.weights import WeightsDisplay

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
