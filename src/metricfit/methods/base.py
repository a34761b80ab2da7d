"""What every method declares and implements; how one is run is in `metricfit.methods.walk.loop`.

A method is a generator over a `Walk`. It asks the walk for vertices and yields what it has reached; it
never looks at a clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Literal

from metricfit.functions.curvature import Curvature
from metricfit.methods.walk import (
    FEASIBLE,
    NEVER,
    Budget,
    Deadline,
    Exhausted,
    HeldBack,
    Iterate,
    Outcome,
    Record,
    Standing,
    Status,
    Walk,
    better,
    run,
)
from metricfit.problem import Program


class Method(ABC):
    """How to walk the set of achievable confusion tensors.

    A method declares what it can do; "auto", the docs and the error messages read these declarations. ``accepts``
    lists the curvatures that a minimised objective may have, ``needs_smooth`` says whether it must have a gradient,
    ``constrained`` whether there may be convex constraints, ``nonconvex`` whether there may be any others. ``proves``
    says that with an exact oracle the bound converges to the value, ``step_option`` names the option that sets the size
    of its steps. A method may also choose, by its options, ``counts``: whether rows count by their calibrated
    probabilities or by their labels unless the user says it, and ``best_seen``: whether the answer is the best iterate
    seen, or what `finish` makes of the last one.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    accepts: ClassVar[frozenset[Curvature]]
    needs_smooth: ClassVar[bool] = False
    constrained: ClassVar[bool] = False
    nonconvex: ClassVar[bool] = False
    proves: ClassVar[bool] = False
    step_option: ClassVar[str | None] = None
    default_calls: ClassVar[int] = 1000
    counts: Literal["calibrated", "labels"] = "calibrated"
    best_seen: bool = True

    @abstractmethod
    def steps(self, program: Program, walk: Walk) -> Iterator[Iterate]:
        """Yield one iterate after the other."""

    def calls(self, program: Program) -> int:
        """Return the budget of oracle calls when the user gives none."""
        return self.default_calls

    def finish(self, program: Program, walk: Walk, best: Iterate) -> Iterate:
        """Return the method's final answer, however the walk ended; by default the best iterate."""
        return best

    def firm(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Return a mixture at most ``slack`` worse that rests on rules which it uses more; by default the given one."""
        return best

    def polish(self, program: Program, walk: Walk, best: Iterate, slack: float) -> Iterate:
        """Return a simpler mixture that is at most ``slack`` worse; by default the given one."""
        return best

    def refusal(self, program: Program) -> str | None:
        """Say why the method cannot take a problem, or return None when it can."""
        objective = program.problem.objective
        kind = program.curvature
        if kind is Curvature.UNKNOWN and program.quasiconvex:
            kind = Curvature.RATIO
        if kind not in self.accepts:
            wanted = " or ".join(sorted(c.value for c in self.accepts))
            known = kind is not Curvature.UNKNOWN
            shape = objective.curvature.value if known else "of unknown curvature"
            return f"{objective} is {shape}; {self.name} minimises {wanted} functions"
        if self.needs_smooth and not objective.smooth:
            return f"{objective} is not smooth; {self.name} needs a gradient"
        if program.limits and not self.constrained:
            return f"there are constraints; {self.name} takes none"
        if not self.nonconvex:
            for limit in program.limits:
                if limit.node is None:
                    kept = f"'{limit.constraint}' does not keep a convex set"
                    return f"{kept}; {self.name} needs convex constraints"
        return None


__all__ = [
    "FEASIBLE",
    "NEVER",
    "Budget",
    "Deadline",
    "Exhausted",
    "HeldBack",
    "Iterate",
    "Method",
    "Outcome",
    "Record",
    "Standing",
    "Status",
    "Walk",
    "better",
    "run",
]
