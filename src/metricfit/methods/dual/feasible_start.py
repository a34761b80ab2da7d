"""How the paper's constrained methods begin: with rules of which some mixture keeps the constraints.

Algorithms 7 and 8 ask for a strictly feasible classifier, and pruning can keep the constraints only if some
mixture of the iterates does. So all of them begin with the first phase, which also tells when no classifier
keeps the constraints.
"""

from __future__ import annotations

from collections.abc import Iterator

from metricfit.methods.base import Iterate, Walk
from metricfit.methods.master.columns import Columns
from metricfit.methods.master.feasibility import reach
from metricfit.methods.starts import first_rules
from metricfit.problem import Program


def opening(program: Program, walk: Walk) -> Iterator[Iterate]:
    """Ask for Plugin(bal) and Plugin[0-1] unless there are rules; walk until some mixture is feasible."""
    first_rules(program, walk)
    if program.limits:
        yield from reach(program, walk, Columns(program, walk.vertices))
