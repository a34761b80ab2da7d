"""The rules that everybody starts from, as methods to compare with: Plugin[0-1] and Plugin(bal) of the paper."""

from __future__ import annotations

from collections.abc import Iterator

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import Iterate, Method, Walk
from metricfit.methods.starts import argmax_loss, balanced_loss
from metricfit.problem import Program


class Plugin(Method):
    """Take the plug-in rule of a loss that does not depend on the metric, and ignore all constraints.

    Parameters
    ----------
    balanced : bool
        Weigh each class by its inverse prior; False takes the most probable class.

    Examples
    --------
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)
    >>> plain = mf.optimize(data.proba, data.y, "g_mean", method=mf.methods.Plugin())
    >>> balanced = mf.optimize(data.proba, data.y, "g_mean", method=mf.methods.Plugin(balanced=True))
    >>> best = mf.optimize(data.proba, data.y, "g_mean", counting="labels")
    >>> plain.value < balanced.value < best.value
    True
    """

    name = "plugin"
    reference = "Plugin[0-1] and Plugin(bal), section 8.1"
    accepts = frozenset(Curvature)
    constrained = True
    nonconvex = True
    counts = "labels"
    default_calls = 1

    def __init__(self, balanced: bool = False) -> None:
        self.balanced = balanced

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the one rule."""
        margins = walk.oracle.margins
        loss = balanced_loss(program, margins) if self.balanced else argmax_loss(program)
        yield walk.single(walk.ask(loss))
