"""Oracles: the cheapest rule for a linear loss, and the statistic it reaches."""

from metricfit.data.rows import Rows
from metricfit.oracles.base import Oracle, Vertex
from metricfit.oracles.in_memory import PluginOracle
from metricfit.oracles.retrain import RetrainOracle

__all__ = ["Oracle", "PluginOracle", "RetrainOracle", "Rows", "Vertex"]
