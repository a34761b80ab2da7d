"""Column generation: fully corrective and certified, the default.

Every iteration solves the master problem (the best mixture, cell by cell, of all rules found so far, with the
constraints exact), prices its tangent plane with one oracle call, and adds the answer. The call is also the
certificate: nothing achievable lies below the plane's minimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from metricfit.functions.curvature import Curvature
from metricfit.methods.base import FEASIBLE, Iterate, Method, Walk
from metricfit.methods.master import feasibility
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.fewer_rules import fewer_rules
from metricfit.methods.master.firm import firm
from metricfit.methods.master.generation import generate
from metricfit.methods.master.head_start import head_start
from metricfit.methods.master.master import Master
from metricfit.methods.starts import first_rules
from metricfit.problem import Program


class ColumnGeneration(Method):
    """Find the best mixture of all rules so far, and price its multipliers to find the next rule.

    With an exact oracle the bound is a proof, and the method stops when value minus bound is at most ``tol``. Otherwise
    it ends when it finds no new rule, and claims no bound.
    """

    name = "column_generation"
    reference = "fully corrective Frank-Wolfe with Dantzig-Wolfe columns per cell"
    accepts = frozenset({Curvature.LINEAR, Curvature.CONVEX, Curvature.RATIO})
    constrained = True
    proves = True
    default_calls = 1000

    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield the master's solution and the bound after each oracle call."""
        head_start(self, program, walk)
        first_rules(program, walk)
        columns = Columns(program, walk.vertices)
        start, master = None, Master(program, walk)
        if program.limits:
            for start in feasibility.reach(program, walk, columns, master):
                yield start
            if start is not None and program.excess(start.u) > FEASIBLE:
                return
        worst = False
        for iterate in generate(program, walk, columns, start, master=master):
            worst = program.value(iterate.u) >= program.highest_value
            yield replace(iterate, settled=False) if worst else iterate
        if worst:
            # No rule ever hits a certain class, so a mean of recalls is 0 for all mixtures and has no useful slope.
            feasibility.add_constants(program, walk, columns)
            yield from generate(program, walk, columns)

    def firm(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Make the denominators of the objective as large as possible."""
        return firm(program, walk, best, slack)

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Drop rules that the mixture can do without."""
        return best if best.weights.ndim == 1 else fewer_rules(program, walk, best, slack)
