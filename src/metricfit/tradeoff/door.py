"""`frontier`: the best value of the objective at each level of a constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from metricfit.messages import renamed
from metricfit.methods import Method, Record
from metricfit.metrics.few_rows import MIN_ROWS, limited
from metricfit.options import Options, check_options, check_switches, threads
from metricfit.oracles.base import Counting
from metricfit.oracles.choice import oracle_for
from metricfit.problem import ConstraintLike, ObjectiveLike, Problem
from metricfit.tradeoff.expectation import with_expected
from metricfit.tradeoff.levels import TradedLike, traded_constraints
from metricfit.tradeoff.points import Frontier
from metricfit.tradeoff.trace import trace


@renamed(confusion="counting")
def frontier(
    proba: Any,
    y: Any,
    objective: ObjectiveLike,
    constraint: TradedLike | Sequence[TradedLike],
    levels: int | Iterable[float] | Sequence[Iterable[float]],
    *,
    constraints: ConstraintLike | Iterable[ConstraintLike] = (),
    classes: Iterable[object] | None = None,
    decisions: Iterable[object] | None = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    method: str | Method = "auto",
    counting: Counting = "auto",
    blind: bool = False,
    missing: Literal["error", "cell"] = "error",
    min_rows: int = MIN_ROWS,
    expect: bool = False,
    tol: float = 1e-4,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
    start: Any = None,
    callback: Callable[[Record], object] | None = None,
    verbose: int = 0,
) -> Frontier:
    """Trade an objective against a constraint: the best policy at each of several limits.

    Every level is solved as `optimize` would, on rows that are checked and calibrated once; what one level has counted
    is not counted again. All levels count alike: what the default chooses for most of five levels, see
    `Frontier.counting`. A policy that keeps a stricter limit is a candidate for a looser one, so the values are
    monotone.

    Parameters
    ----------
    proba, y, objective
        As in `optimize`.
    constraint : Metric, Constraint or str, or a list of them
        The constraint whose limit varies: a metric such as ``mf.precision("fraud")``, whose direction makes the limit a
        floor or a ceiling, or a comparison such as ``mf.coverage("fraud") <= 0.1``, whose own limit is ignored. Several
        make a grid.
    levels : int or list of numbers, or a list of lists for a grid
        The limits, of which the frontier has one point each, in their order; an integer is their number, from
        the loosest that matters to the strictest that can be kept.
    constraints : list of Constraint or str
        Constraints that every level keeps.
    classes, decisions, sensitive_features, sample_weight, method, counting, blind, missing
        As in `optimize`.
    tol, n_jobs, random_state, start, verbose
        As in `optimize`; every level begins at ``start``.
    min_rows : int, default=10
        As in `optimize`: the fewest rows of a rate that constraints over groups bind.
    expect : bool
        Also estimate what to expect on new rows at each level: the frontier is computed again without each of three
        folds.
    max_calls, max_seconds : optional
        Budgets of each level.
    callback : callable, optional
        Called with the newest record after each iteration of each level that is solved; returning True ends that level.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> import metricfit as mf
    >>> data = mf.datasets.make_fraud_triage(n_rows=2000, random_state=0)
    >>> front = mf.frontier(
    ...     data.proba, data.y, "g_mean", mf.precision("fraud"), [0.5, 0.7, 0.9], counting="model"
    ... )
    >>> values = [point.result.value for point in front]
    >>> values == sorted(values, reverse=True)
    True
    """
    problem = Problem.of(objective, constraints)
    traded = traded_constraints(constraint)
    check_options(tol, max_calls, max_seconds, counting, min_rows)
    check_switches(expect=expect, blind=blind)
    options = Options(method, tol, max_calls, max_seconds, random_state, start, callback, verbose)
    oracle = oracle_for(
        proba,
        y,
        classes=classes,
        decisions=decisions,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        counting=counting,
        threads=threads(n_jobs),
        blind=blind,
        missing=missing,
    )
    problem = problem.limited(oracle.axes, oracle.class_counts, min_rows)
    traded, _ = limited(traded, oracle.axes, oracle.class_counts, min_rows)
    front = trace(problem, traded, levels, oracle, options)
    return with_expected(front, oracle, options) if expect else front
