"""Constraints that hold on the population with a given confidence: paths of policies, tested on held-out rows."""
