"""What the user asked for, in natural signs: an objective and constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from metricfit.data.axes import Axes
from metricfit.functions.binding import Binding
from metricfit.functions.sums import negative
from metricfit.messages import some
from metricfit.metrics import Constraint, Metric, custom, parse
from metricfit.metrics.few_rows import ThinRate, limited
from metricfit.metrics.text.parse import constraint_of
from metricfit.problem.limit import Limit
from metricfit.problem.program import Program
from metricfit.types import FloatArray, IntArray

ObjectiveLike = Metric | str | Callable[[FloatArray], float]
ConstraintLike = Constraint | str


@dataclass(frozen=True)
class Problem:
    """An objective and the constraints to keep.

    Examples
    --------
    >>> import metricfit as mf
    >>> print(Problem.of("g_mean", [mf.recall(1) >= 0.5]))
    maximize g_mean() subject to recall(1) >= 0.5
    """

    objective: Metric
    constraints: tuple[Constraint, ...] = ()
    left_out: tuple[ThinRate, ...] = ()

    @classmethod
    def of(
        cls, objective: ObjectiveLike, constraints: ConstraintLike | Iterable[ConstraintLike] = ()
    ) -> Problem:
        """Read an objective (metric, name, text or callable) and constraints (objects or text)."""
        if isinstance(constraints, Constraint | str | bool):
            constraints = [constraints]
        try:
            given = list(constraints)
        except TypeError:
            raise ValueError(f"constraints must be a list of constraints, got {constraints!r}") from None
        return cls(_objective(objective), tuple(constraint_of(c) for c in given))

    @property
    def sign(self) -> int:
        """The factor by which the objective becomes one to minimise; metrics without a better side are maximised."""
        return 1 if self.objective.direction < 0 else -1

    def __str__(self) -> str:
        limits = f" subject to {', '.join(map(str, self.constraints))}" if self.constraints else ""
        return f"{'maximize' if self.sign < 0 else 'minimize'} {self.objective}{limits}"

    def limited(self, axes: Axes, counts: IntArray, min_rows: int) -> Problem:
        """Return the problem without the rates of groups that its limits cannot bind, and a record of them.

        A limit over groups leaves out the rates of groups that rest on fewer than ``min_rows`` rows, given the numbers
        of rows (cells x classes), as long as two groups remain.
        """
        constraints, thin = limited(self.constraints, axes, counts, min_rows)
        return replace(self, constraints=constraints, left_out=thin)

    def bind(self, axes: Axes, margins: FloatArray) -> Program:
        """Return the problem on data with these axes and class priors (cells x classes)."""
        seen = axes.seen
        binding = Binding.of(seen, margins.reshape(len(seen.cells), seen.n))
        goal = binding.take(self.objective)
        if (seen.match < 0).all() and np.array_equal(*goal.reach()):
            raise ValueError(
                f"{self.objective} is the same whatever is decided, because no decision is a class; decisions names "
                f"all decisions, those that are classes too: {some([*seen.classes, *seen.decisions], limit=10)}"
            )
        limits = tuple(Limit(c, binding.take(c.metric)) for c in self.constraints)
        functions = binding.finish("diagonal" if seen is axes else "full")
        return Program(
            self,
            axes,
            functions.layout,
            functions.matrix,
            functions.constant,
            functions.low,
            functions.high,
            goal if self.sign > 0 else negative(goal),
            limits,
        )


def _objective(objective: ObjectiveLike) -> Metric:
    if isinstance(objective, str):
        objective = parse(objective)  # type: ignore[assignment]
    if isinstance(objective, Metric):
        return objective
    if isinstance(objective, Constraint):
        raise ValueError(
            f"objective is the constraint '{objective}'; pass it in constraints= and a metric as objective"
        )
    if callable(objective):
        if getattr(objective, "__module__", "").startswith("metricfit.metrics"):
            raise ValueError(
                f"objective is the function {objective.__name__}; call it: mf.{objective.__name__}(...)"
            )
        return custom(objective)
    raise ValueError(
        f"objective must be a metric, its name, text or a callable on the n x k matrix, got {objective!r}"
    )
