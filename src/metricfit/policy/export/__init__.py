"""Export: the deterministic rule of a policy for programs that do not run this package.

`rule` is the small form that all targets share; each target is one module that writes it in another language. A new
target is a function of a `DeterministicRule`.
"""

from metricfit.policy.export.exportable import Exportable
from metricfit.policy.export.rule import DeterministicRule

__all__ = ["DeterministicRule", "Exportable"]
