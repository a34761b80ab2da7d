"""Every error and warning that the package raises."""

from __future__ import annotations

from math import isnan
from typing import Any

CUT_SHORT = (
    ". The search for the conflict was cut short by max_calls or max_seconds: fewer constraints may conflict, and "
    "smaller violations may be possible. Raise the budget to find out"
)


class InfeasibleError(ValueError):
    """No policy keeps all constraints.

    Attributes
    ----------
    violations : dict
        For each constraint, its violation under the policy whose largest violation is smallest.
    alone : dict
        For each constraint, the smallest violation of any policy when it is the only constraint: positive if the
        constraint cannot be kept at all, NaN if ``max_calls`` or ``max_seconds`` ended the search first.
    conflict : tuple of str
        Constraints that cannot be kept together. With up to a few hundred candidate sets it is a smallest set;
        otherwise it is a set from which no constraint can be left out. If the search was cut short, it may be larger.
    proven : bool
        Whether this is proven for all randomised classifiers (``counting="calibrated"`` or ``"model"``), or only
        found for the rules that were tried.
    complete : bool
        Whether the search for the conflict was completed. If not, ``conflict`` may be larger than necessary, and
        ``violations`` are those of the best policy found.

    Examples
    --------
    >>> import metricfit as mf
    >>> proba, y = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1]
    >>> try:
    ...     mf.optimize(proba, y, "accuracy", ["coverage(1) >= 0.9", "coverage(1) <= 0.5"], counting="model")
    ... except mf.InfeasibleError as error:
    ...     error.conflict, {name: round(by, 2) for name, by in error.violations.items()}
    (('coverage(1) >= 0.9', 'coverage(1) <= 0.5'), {'coverage(1) >= 0.9': 0.2, 'coverage(1) <= 0.5': 0.2})
    """

    def __init__(
        self,
        violations: dict[str, float],
        alone: dict[str, float],
        conflict: tuple[str, ...],
        proven: bool,
        complete: bool = True,
    ) -> None:
        self.violations, self.alone, self.conflict = violations, alone, conflict
        self.proven, self.complete = proven, complete
        least = max(violations.values())
        table = "; ".join(
            f"{name} is {_missed(v)}"
            + (" together with the others" if len(violations) > 1 else "")
            + (f", {_missed(alone[name])} alone" if len(violations) > 1 and not isnan(alone[name]) else "")
            for name, v in violations.items()
        )
        together = "cannot be kept at all" if len(conflict) == 1 else "cannot be kept together"
        super().__init__(
            f"no {'policy' if proven else 'policy found'} keeps all constraints: {', '.join(conflict)} "
            f"{together}. In the best compromise the largest violation is {least:.4g}: {table}. Relax each limit by "
            "the amount it is missed by, or drop a constraint" + ("" if complete else CUT_SHORT)
        )

    def __reduce__(self) -> Any:
        return type(self), (self.violations, self.alone, self.conflict, self.proven, self.complete)


def _missed(violation: float) -> str:
    return f"missed by {violation:.4g}" if violation > 0 else "kept"


class PolicyFileError(ValueError):
    """A policy file that is damaged, was written by a newer version, or is not a policy file at all.

    Examples
    --------
    >>> issubclass(PolicyFileError, ValueError)
    True
    """


class ComparisonError(TypeError, ValueError):
    """A metric is compared by ``<`` or ``>``, which does not make a constraint.

    It is a TypeError, like Python's own error for an unsupported comparison, and a ValueError, like all errors here.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.recall("fraud") > 0.9
    Traceback (most recent call last):
        ...
    metricfit.exceptions.ComparisonError: constraints use <= or >=; write mf.recall('fraud') >= 0.9
    """


class DatasetError(ValueError):
    """A data set that is not available, or does not have the expected content.

    Examples
    --------
    >>> from metricfit.datasets import DatasetError, load
    >>> try:
    ...     load("abalone", folder="nowhere")
    ... except DatasetError as error:
    ...     print(error)
    folder='nowhere' has no file abalone.npz. Give the folder that holds it, or set METRICFIT_DATA to it.
    """


class SchedulerLostError(ConnectionError, ValueError):
    """The scheduler of the Dask cluster cannot be reached any more.

    Examples
    --------
    >>> issubclass(SchedulerLostError, ValueError)
    True
    """


class OverfitWarning(UserWarning):
    """There are few rows for the number of weights tuned on them, so the value on new rows may be much lower."""


class DivergenceWarning(RuntimeWarning):
    """A long run of a method whose steps can be chosen has ended worse than decisions at random.

    Examples
    --------
    >>> issubclass(DivergenceWarning, RuntimeWarning)
    True
    """


class CalibrationWarning(UserWarning):
    """The labels refute the probabilities that a result was computed from.

    Examples
    --------
    >>> issubclass(CalibrationWarning, UserWarning)
    True
    """


class FewRowsWarning(UserWarning):
    """Rates compared over groups rest on few rows, so the limits on them may not hold on new rows."""


class BrokenLimitWarning(UserWarning):
    """The best policy so far does not keep all limits; the message says which it breaks, and the next move."""


class WorstValueWarning(UserWarning):
    """Limits hold only for want of rows, and with them the objective has its worst value."""


class NotJudgedWarning(UserWarning):
    """A policy was fitted for a function of the user's own, which is not stored in it, so it is not evaluated."""


class NotConvexError(ValueError):
    """The set where a metric keeps a limit is not convex."""


class UndefinedError(ValueError):
    """A rate has no rows in its denominator; the text says where and why, but not in which metric."""


class UnsolvedError(Exception):
    """A solver gave up on a master problem."""


class UnconfirmedError(ValueError):
    """No policy passes the test that its constraints hold with the confidence asked for.

    Attributes
    ----------
    rows : int or None
        Roughly how many rows would be needed; None if the present rows do not tell.
    reached : float
        The confidence that the present rows suffice for, by the policy that comes closest. It was read from the test
        rows, so a second fit with exactly this confidence promises slightly less than it says.
    late : bool
        Whether max_seconds ended the search.
    """

    def __init__(
        self,
        constraints: list[str],
        level: float,
        kept: int,
        rows: int | None,
        reached: float = 0.0,
        late: bool = False,
    ) -> None:
        self.constraints, self.level, self.kept, self.rows = constraints, level, kept, rows
        self.reached, self.late = reached, late
        need = (
            f"About {rows:,} rows would be needed. Pass more rows, relax a limit, or lower the confidence"
            if rows is not None
            else "On these rows no policy was found that keeps all limits with a margin, so they do not tell how many "
            "rows would be needed: relax a limit, drop a constraint, or pass more rows"
        )
        if late:
            need = "max_seconds ended the search for a more cautious policy: give it more time"
        would = (
            f"; they would with a confidence of about {int(100 * reached) / 100:.2f}"
            if reached >= 0.5
            else ""
        )
        # One half is judged by folds of all rows, see metricfit.trust.by_folds.
        judging = "held out" if level > 0.5 else "in folds"
        super().__init__(
            f"confidence={level:g}: the {kept:,} rows {judging} do not confirm {'; '.join(constraints)}{would}. {need}"
        )

    def __reduce__(self) -> Any:
        return type(self), (self.constraints, self.level, self.kept, self.rows, self.reached, self.late)


class MonitorFileError(ValueError):
    """The state file of a monitor that is damaged, or belongs to another policy.

    Examples
    --------
    >>> raise MonitorFileError("it belongs to another policy")
    Traceback (most recent call last):
    ...
    metricfit.exceptions.MonitorFileError: it belongs to another policy
    """


class RepeatedBatchWarning(UserWarning):
    """Rows that a monitor has counted before were sent again, and were not counted again."""


class ShiftWarning(UserWarning):
    """New rows differ from the tuning rows in their class shares, or in more than these."""
