"""The history of a run: records of its iterations, and a warning if it has diverged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metricfit.exceptions import DivergenceWarning
from metricfit.messages import warn
from metricfit.problem import Program
from metricfit.types import FloatArray

# Constraint functions up to this value count as kept: sums of a million weights are not known more accurately.
FEASIBLE = 1e-9

# A run of LONG_RUN calls should be better than deciding at random, and should not violate by FAR_MISS a constraint
# that deciding at random keeps.
LONG_RUN = 100
FAR_MISS = 0.01


@dataclass(frozen=True)
class Record:
    """One iteration, in the natural sign of the objective.

    ``violation`` is the largest violation of a constraint (minus infinity without constraints), ``bound`` the best
    bound so far.
    """

    calls: int
    seconds: float
    value: float
    bound: float
    violation: float

    def __str__(self) -> str:
        """Return a line for a person."""
        line = f"calls {self.calls:5d}  {self.seconds:8.2f} s  value {self.value:.6f}  bound {self.bound:.6f}"
        return line + (f"  violation {self.violation:+.2e}" if np.isfinite(self.violation) else "")


class Standing(NamedTuple):
    """How good a mixture is, in minimisation; computed once per iterate, because some methods take many cheap steps."""

    excess: float
    value: float
    violation: float

    @classmethod
    def of(cls, program: Program, u: FloatArray) -> Standing:
        """Judge u. All mixtures that keep the constraints get the same excess, so that their values decide."""
        excess, violation = program.missed(u)
        return cls(max(excess, FEASIBLE), program.value(u), violation)

    @property
    def kept(self) -> bool:
        """Whether all constraints hold."""
        return self.excess <= FEASIBLE

    def proven(self, bound: float, tol: float) -> bool:
        """Whether all constraints hold, and a lower bound says that no value is better by more than a tolerance."""
        return self.kept and self.value - bound <= tol

    def beats(self, other: Standing | None) -> bool:
        """Whether this mixture is at least as good as the other: constraints first, then the objective."""
        return other is None or (self.excess, self.value) <= (other.excess, other.value)

    def record(self, program: Program, calls: int, seconds: float, bound: float) -> Record:
        """Return the record of an iteration that ends here."""
        shown = min(bound, self.value) if self.kept else bound
        return Record(calls, seconds, program.sign * self.value, program.sign * shown, self.violation)


def warn_if_astray(
    method: tuple[str, str],
    program: Program,
    margins: FloatArray,
    calls: int,
    path: tuple[Standing, Standing, Standing],
) -> None:
    """Warn when a long run has led nowhere; ``path`` is its first, its last and its best iterate.

    Its last iterate is worse than deciding at random, or misses constraints that this keeps by more than its first.
    ``method`` is the method's name and that of the option which sets its steps.
    """
    first, end, best = path
    chance = Standing.of(program, program.uniform(margins))
    if calls < LONG_RUN or not chance.kept:
        return
    missed = end.violation > max(first.violation, FAR_MISS)
    if missed or (end.kept and end.value > chance.value + 1e-6):
        told = [f"{program.sign * s.value + 0.0:.4g}" + _missed(s) for s in (end, chance, best)]
        warn(
            f"{method[0]} diverged: after {calls} calls its last iterate has {told[0]}, deciding at random has "
            f"{told[1]}; the best reached is {told[2]}. Use smaller steps, see its option "
            f"{method[1]}, or method='column_generation'",
            DivergenceWarning,
        )


def _missed(standing: Standing) -> str:
    return f" (violation {standing.violation:.3g})" if standing.violation > 0 else ""
