"""Policies: what is deployed. For each cell a small mixture of rules, saved, loaded and applied."""

from metricfit.exceptions import PolicyFileError
from metricfit.policy.models import ModelPolicy
from metricfit.policy.policy import Policy, Rule

__all__ = ["ModelPolicy", "Policy", "PolicyFileError", "Rule"]
