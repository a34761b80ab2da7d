"""Oracles: the cheapest rule for a linear loss, and the statistic it reaches."""

from metricfit.oracles.base import Oracle, Vertex
from metricfit.oracles.in_memory import PluginOracle
from metricfit.oracles.retrain import RetrainOracle
from metricfit.oracles.rows import Rows

__all__ = ["Oracle", "PluginOracle", "RetrainOracle", "Rows", "Vertex"]
