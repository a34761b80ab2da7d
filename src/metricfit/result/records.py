"""The parts of a result besides its policy: constraints, the calibrated problem that guided the search, the input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metricfit.methods.base import Outcome
from metricfit.options import Options
from metricfit.oracles.base import OracleBase
from metricfit.problem import Problem, Program
from metricfit.types import FloatArray
from metricfit.verdicts import ROUNDING, on_these_rows


@dataclass(frozen=True)
class ConstraintRecord:
    """A constraint with its value, violation and price.

    The constraint holds if ``violation`` <= 0. ``price`` is how much the objective would gain, in its own units, per
    unit of slack in the limit. It is 0 if the constraint does not bind, and NaN if the method gives no multipliers or a
    multiplier so large that it only means that the rules found can just keep the limit.
    """

    name: str
    value: float
    limit: float
    violation: float
    price: float

    @property
    def kept(self) -> bool:
        """Whether the constraint holds, up to rounding."""
        return self.violation <= ROUNDING

    @property
    def verdict(self) -> str:
        """Whether the limit is met on the rows of the fit, and by how much it is violated there.

        Examples
        --------
        >>> ConstraintRecord("recall(1) >= 0.9", 0.88, 0.9, 0.02, 0.0).verdict
        'violated by 0.02'
        """
        return on_these_rows(self.violation)

    @property
    def shown(self) -> str:
        """The value as text.

        Examples
        --------
        >>> ConstraintRecord("precision('fraud') >= 0.9", math.nan, 0.9, 0.0, 0.0).shown
        'undefined, a rate of no rows'
        """
        return "undefined, a rate of no rows" if math.isnan(self.value) else f"{self.value:.6f}"

    @property
    def price_shown(self) -> str:
        """The price as text; one that is only the inaccuracy of the solver is 0.

        Examples
        --------
        >>> [ConstraintRecord("", 0.9, 0.9, 0.0, price).price_shown for price in (1.29312, 5e-10, math.nan)]
        ['1.293', '0', '-']
        """
        if math.isnan(self.price):
            return "-"
        return f"{self.price:.4g}" if abs(self.price) > 1e-7 else "0"


# The largest price that is meaningful, in units of the objective (of at least 1) for a whole unit of a constraint.
STEEPEST = 1e4


def constraint_records(
    program: Program, u: FloatArray, multipliers: Sequence[FloatArray] | None
) -> tuple[ConstraintRecord, ...]:
    """Return the records of all constraints of a program at u, with prices if there are multipliers of their rows."""
    records, most = [], STEEPEST * max(1.0, abs(program.value(u)))
    for k, limit in enumerate(program.limits):
        price = float("nan")
        if multipliers is not None and limit.node is not None:
            price = float(multipliers[k] @ limit.unit(u)) + 0.0
        price = price if abs(price) <= most else float("nan")
        constraint = limit.constraint
        records.append(
            ConstraintRecord(str(constraint), limit.value(u), constraint.limit, limit.violation(u), price)
        )
    return tuple(records)


# The smallest difference that shows with three digits, and one that is hardly due to chance.
SHOWN, FAR = 5e-4, 0.05


@dataclass(frozen=True)
class Calibrated:
    """The calibrated problem that guided a search on labels: value and bound, proven given its probabilities.

    Examples
    --------
    >>> print(Calibrated(0.6987, 0.7021))
    0.699; if the calibrated probabilities are right, no classifier exceeds 0.702
    >>> print(Calibrated(0.6987, 0.7021).beside(0.75, indent=4))
    if the calibrated probabilities are right, no classifier exceeds 0.702
        by counted labels this policy has 0.048 more: chance, or the probabilities do not fit these rows
    >>> print(Calibrated(0.6987, 0.7021).beside(0.85, indent=4))
    the calibrated probabilities do not fit these rows:
        this policy beats the bound that they give, 0.702, by 0.148
    """

    value: float
    bound: float
    _higher_is_better: bool = True

    @classmethod
    def of(cls, sign: int, outcome: Outcome) -> Calibrated:
        """Put an outcome into natural signs; infinite where there is no bound."""
        return cls(sign * outcome.value + 0.0, sign * outcome.bound + 0.0, sign < 0)

    def __str__(self) -> str:
        return f"{self.value:.3f}; {self.promise}"

    @property
    def promise(self) -> str:
        """What the bound says, in words."""
        if not np.isfinite(self.bound):
            return "no bound is known"
        beats = "exceeds" if self._higher_is_better else "is below"
        return f"if the calibrated probabilities are right, no classifier {beats} {self.bound:.3f}"

    def beyond(self, value: float) -> float:
        """Return by how much a value by counted labels is better than the bound; 0 if it is not."""
        gain = value - self.bound if self._higher_is_better else self.bound - value
        return gain if np.isfinite(gain) and gain >= SHOWN else 0.0

    def beside(self, value: float, indent: int) -> str:
        """Return the promise, with a second line if the value by counted labels is beyond the bound."""
        beyond = self.beyond(value)
        if not beyond:
            return self.promise
        if beyond > FAR:
            known = f"this policy beats the bound that they give, {self.bound:.3f}, by {beyond:.3f}"
            return f"the calibrated probabilities do not fit these rows:\n{' ' * indent}{known}"
        side = "more" if self._higher_is_better else "less"
        return (
            f"{self.promise}\n{' ' * indent}by counted labels this policy has {beyond:.3f} {side}: chance, or the "
            "probabilities do not fit these rows"
        )


@dataclass(frozen=True)
class Deterministic:
    """What the single rule per cell achieves, which ``randomize="never"`` and exports use, on the fitted rows.

    It is at least as good as the best single rule that the search has met, limits first. Of more than 50,000 rows it is
    counted on a sample.

    Attributes
    ----------
    value : float
        The objective.
    loss : float
        How much worse that is than the mixture's; negative if it is better.
    constraints : tuple of float
        The value of each constraint's metric, in their order.
    violation : float
        The largest violation; all constraints are met if it is at most 0.

    Examples
    --------
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)
    >>> result = mf.optimize(data.proba, data.y, "g_mean", [mf.precision("fraud") >= 0.9], counting="model")
    >>> alone = result.deterministic
    >>> round(alone.value, 3), round(alone.constraints[0], 2), alone.violation <= 1e-9
    (0.68, 0.9, True)
    >>> print(Deterministic(0.8051, 0.0122, (0.914,), -0.014))
    0.805100, 0.0122 less good than the mixture, limits met
    """

    value: float
    loss: float
    constraints: tuple[float, ...]
    violation: float

    def __str__(self) -> str:
        parts = [f"{self.value:.6f}"]
        if abs(self.loss) >= SHOWN:
            parts.append(
                f"{abs(self.loss):.4f} {'less good' if self.loss > 0 else 'better'} than the mixture"
            )
        else:
            parts.append("as good as the mixture")
        if self.constraints:
            parts.append(
                "limits met" if self.violation <= 1e-9 else f"limits VIOLATED by {self.violation:.3g}"
            )
        return ", ".join(parts)


@dataclass(frozen=True, eq=False)
class Origin:
    """The input of a result, kept for pictures and reports.

    Attributes
    ----------
    problem : Problem
    oracle : OracleBase
        The rows as they were given.
    counting : OracleBase
        The rows that rules were counted on: the same, or with calibrated probabilities.
    options : Options
        How it was solved.
    """

    problem: Problem
    oracle: OracleBase
    counting: OracleBase
    options: Options

    @property
    def baseline(self) -> OracleBase:
        """The oracle that counts the most probable class in the same way as the result."""
        return self.counting if self.oracle.calibrates else self.oracle
